//! The dispatchers of a clustered tree: those of `groupflow_tree::machine`, as `groupflow tree serve` drives
//! them, without a store and without tokens of their own.

use std::net::SocketAddrV4;

use groupflow_base::lines::LineBuffer;
use groupflow_base::Nanos;
use groupflow_tree::machine::messages::{ClusterLine, HostLine, ServiceLine};
use groupflow_tree::machine::{ClusterId, Dispatchers, FromHost, HostId, HostMessage, TreeJoin};

use super::byte_stream::{send_line, Arrival, LINE};
use super::streams::{StreamEnds, Streams};
use super::End;
use crate::sample::FlowSample;
use crate::spec::TreeSpec;
use crate::wire::Addresses;

/// The connection to a host.
#[derive(Debug)]
struct HostLink {
    lines: LineBuffer,
    /// The host, once it has introduced itself.
    host: Option<HostId>,
    /// Its cluster, and how often it has joined one.
    joined: Option<(ClusterId, u32)>,
}

#[derive(Debug)]
pub struct DispatchersEnd {
    dispatchers: Dispatchers,
    streams: Streams<HostLink>,
    pending: Nanos,
    malformed: u64,
}

impl DispatchersEnd {
    /// The dispatchers of a tree with this source. `own` has the port at which they are reached.
    pub fn new(own: Addresses, tree: &TreeSpec, source: &TreeJoin, seed: u64) -> DispatchersEnd {
        DispatchersEnd {
            dispatchers: Dispatchers::new(tree.policy, source.token.clone(), source, seed, Nanos::ZERO),
            streams: Streams::new(own, tree.window_packets),
            pending: Nanos::MAX,
            malformed: 0,
        }
    }

    /// Handles what has come from a host.
    fn hear(&mut self, now: Nanos, ends: StreamEnds) {
        while let Some((stream, link)) = self.streams.get(ends) {
            let lines = match stream.read() {
                Some(Arrival::Bytes(bytes)) => link.lines.push(&bytes).unwrap_or_default(),
                Some(Arrival::End) => {
                    let link = self.streams.release(ends);
                    return self.lose(now, link);
                }
                None => return,
            };
            for line in lines {
                match serde_json::from_slice(&line) {
                    Ok(HostLine::Hello(hello)) => self.welcome(ends, hello.join.peer.host),
                    Ok(HostLine::Message(line)) => self.on_line(now, ends, line),
                    Err(_) => self.malformed += 1,
                }
            }
        }
    }

    /// Greets a host, whose earlier connection counts no longer.
    fn welcome(&mut self, ends: StreamEnds, host: HostId) {
        let earlier = self.streams.iter().find(|(.., link)| link.host == Some(host)).map(|(ends, ..)| ends);
        if let Some(earlier) = earlier {
            self.streams.release(earlier);
        }
        let root = self.dispatchers.root;
        if let Some((stream, link)) = self.streams.get(ends) {
            link.host = Some(host);
            send_line(stream, &ServiceLine::Welcome { root, identity: None, alive_ms: None });
        }
    }

    fn on_line(&mut self, now: Nanos, ends: StreamEnds, line: ClusterLine<FromHost>) {
        let Some((_, link)) = self.streams.get(ends) else { return };
        let Some(host) = link.host else { return self.malformed += 1 };
        link.joined = Some((line.cluster, line.joins));
        let messages = self.dispatchers.on_host(now, line.cluster, host, line.message);
        self.tell(messages);
    }

    fn tell(&mut self, messages: Vec<HostMessage>) {
        for HostMessage { cluster, host, message } in messages {
            if let Some((_, stream, link)) = self.streams.iter().find(|(.., link)| link.host == Some(host)) {
                let joins = link.joined.map_or(0, |(_, joins)| joins);
                send_line(stream, &ServiceLine::Message(ClusterLine { cluster, joins, message }));
            }
        }
    }

    /// Handles the end of the connection to a host.
    fn lose(&mut self, now: Nanos, link: Option<HostLink>) {
        if let Some((host, (cluster, _))) = link.and_then(|link| link.host.zip(link.joined)) {
            let messages = self.dispatchers.on_gone(now, cluster, host);
            self.tell(messages);
        }
    }
}

impl End for DispatchersEnd {
    fn deadline(&self) -> Nanos {
        self.streams.deadline().min(self.dispatchers.deadline())
    }

    fn wants(&self) -> Nanos {
        self.pending
    }

    fn on_timer(&mut self, now: Nanos) {
        for link in self.streams.on_timer(now) {
            self.lose(now, Some(link));
        }
        if self.dispatchers.deadline() <= now {
            let messages = self.dispatchers.on_time(now);
            self.tell(messages);
        }
        self.pending = self.pending.min(now);
    }

    fn receive(&mut self, now: Nanos, from: SocketAddrV4, bytes: &[u8], _length: u32, _ecn: u8) {
        let new = || Some(HostLink { lines: LineBuffer::new(LINE), host: None, joined: None });
        if let Some(ends) = self.streams.receive(now, from, bytes, new) {
            self.hear(now, ends);
        }
        self.pending = self.pending.min(now);
    }

    fn poll(&mut self, now: Nanos, head: &mut Vec<u8>) -> Option<u32> {
        let sent = self.streams.poll(now, head);
        self.pending = if sent { now } else { Nanos::MAX };
        sent.then_some(0)
    }

    fn malformed(&self) -> u64 {
        self.streams.malformed + self.malformed
    }

    fn sample(&mut self, sample: &mut FlowSample) {
        sample.finished = Some(self.dispatchers.ended);
    }
}
