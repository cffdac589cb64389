//! A host's edges over QUIC: how they are made, and the bytes that come and go over them.

use std::net::SocketAddrV4;
use std::time::{Duration, Instant};

use bytes::Bytes;
use groupflow_base::Nanos;
use groupflow_host::error::AgentError;

use super::Host;
use crate::agent::args::EdgesArg;
use crate::agent::edge::BATCH;
use crate::agent::quic::{Happened, Quic};
use crate::machine::datagram::{body, parse_body};
use crate::machine::ConnId;

/// How long a parent is tried over UDP, beyond a round trip, before it is tried over TCP.
const PATIENCE: Duration = Duration::from_millis(400);
/// How long UDP is not tried again with a parent that only TCP reached; it may have been busy.
const BLOCKED_FOR: Duration = Duration::from_secs(600);
/// The most such parents that are remembered.
const MAX_BLOCKED: usize = 256;
/// How long a last word may take to be acknowledged.
const LAST_WORD: Duration = Duration::from_millis(1000);

impl Host<'_> {
    /// Begins a connection over QUIC; returns when it is given up. `None`: there is no QUIC, or UDP is known
    /// not to get through.
    pub(super) fn connect_quic(
        &mut self,
        conn: ConnId,
        to: SocketAddrV4,
    ) -> Result<Option<Instant>, AgentError> {
        let now = self.now;
        self.blocked.retain(|_, until| *until > now);
        if !self.args.edges.is_over_udp() || self.blocked.contains_key(&to) {
            return Ok(None);
        }
        let (Some(quic), Some(shared)) = (&mut self.quic, &self.shared) else { return Ok(None) };
        let begun = quic.links.connect(now, conn, to.into(), shared.connect_quic(to)?);
        let far = Duration::from_nanos(self.node.conns.far().0);
        Ok(begun.then_some(now + PATIENCE + far))
    }

    /// Remembers that TCP reached a parent that UDP did not.
    pub(super) fn is_blocked(&mut self, to: SocketAddrV4) {
        if self.blocked.len() < MAX_BLOCKED {
            self.blocked.insert(to, self.now + BLOCKED_FOR);
        }
    }

    /// Whether the edge to the parent was to be over UDP, and is over TCP.
    pub fn is_over_tcp(&self) -> bool {
        let over_quic = |conn| self.quic.as_ref().is_some_and(|quic| quic.links.has(conn));
        let mut conns = self.node.conns.to_parents().peekable();
        let asked = self.args.edges.is_over_udp() && self.attached;
        asked && conns.peek().is_some() && !conns.any(over_quic)
    }

    pub(super) fn take_quic(&mut self) -> Result<(), AgentError> {
        let now = self.now;
        let Some(quic) = &mut self.quic else { return Ok(()) };
        quic.receive(now);
        while let Some(happened) = self.quic.as_mut().and_then(|quic| quic.links.poll()) {
            match happened {
                Happened::Came(handle) => {
                    let named = self.node.conns.on_accepted(self.nanos());
                    let Some(quic) = &mut self.quic else { break };
                    match named {
                        Some(conn) => quic.links.name(handle, conn),
                        None => quic.links.refuse(now, handle),
                    }
                }
                Happened::Connected(conn) => {
                    if self.dials.remove(&conn).is_some() {
                        let deadline = Nanos::from_millis(self.args.deadline_ms);
                        self.node.offer(conn, deadline);
                        self.node.on_connected(self.nanos(), conn);
                    }
                }
                Happened::Readable(conn) => self.read_quic(conn),
                // A connection that was not established yet is tried over TCP.
                Happened::Closed(conn) if self.dials.contains_key(&conn) => self.dial_instead(conn, false),
                Happened::Closed(conn) => self.close(conn),
            }
        }
        Ok(())
    }

    fn read_quic(&mut self, conn: ConnId) {
        let now = self.nanos();
        let mut came = std::mem::take(&mut self.came);
        loop {
            came.clear();
            let Some(quic) = self.quic.as_mut().filter(|quic| quic.links.has(conn)) else { break };
            let open = quic.links.read(conn, BATCH, &mut came).is_some();
            if open || !came.is_empty() {
                // No bytes are a sign of life.
                self.node.on_bytes(now, conn, &came);
            }
            if !open {
                self.close(conn);
            }
            if came.len() < BATCH {
                break;
            }
        }
        self.came = came;
        while let Some(datagram) = self.quic.as_mut().and_then(|quic| quic.links.read_datagram(conn)) {
            if let Some((offset, bytes)) = parse_body(&datagram) {
                self.node.on_datagram(now, conn, offset, bytes);
            }
        }
    }

    /// Sends the packets that are due.
    pub(super) fn send_quic(&mut self) {
        self.send_datagrams();
        let (now, nanos) = (self.now, self.nanos());
        let Some(quic) = &mut self.quic else { return };
        for conn in quic.links.names() {
            while quic.links.takes(conn) {
                let mut batch = Vec::new();
                self.node.fill(nanos, conn, &mut batch, BATCH);
                if batch.is_empty() {
                    quic.links.finish(now, conn);
                    break;
                }
                quic.links.write(now, conn, batch);
            }
        }
        quic.send(now);
    }

    fn send_datagrams(&mut self) {
        let now = self.now;
        while let Some(datagram) = self.node.poll_datagram() {
            let bytes = Bytes::from(body(datagram.offset, &datagram.bytes));
            for conn in datagram.to {
                self.quic.iter_mut().for_each(|quic| quic.links.write_datagram(now, conn, bytes.clone()));
            }
        }
    }

    /// The source takes as many bytes as there is room for; returns how many.
    pub fn write(&mut self, bytes: &[u8]) -> usize {
        let taken = self.node.write(self.nanos(), bytes);
        self.send_datagrams();
        taken
    }

    /// Lets a child take datagrams; a child that asks for them over TCP is closed.
    pub(super) fn serve_datagrams(&mut self, conn: ConnId, deadline: Nanos) {
        match self.quic.as_mut().filter(|quic| quic.links.has(conn)) {
            Some(quic) => quic.links.limit(conn, Duration::from_nanos(deadline.0)),
            None => self.close(conn),
        }
    }

    /// Closes a connection when its last bytes are acknowledged.
    pub(super) fn end_link(&mut self, conn: ConnId) {
        let by = self.now + LAST_WORD;
        self.quic.iter_mut().for_each(|quic| quic.links.end(conn, by));
    }

    /// Whether no peer is still to hear a last word.
    pub fn is_silent(&mut self) -> bool {
        self.quic.as_ref().map_or(true, |quic| quic.links.names().is_empty())
    }

    /// Ends all edges over QUIC: last words wait in this process until they are acknowledged.
    pub fn hang_up(&mut self) {
        let names = self.quic.as_ref().map(|quic| quic.links.names()).unwrap_or_default();
        names.into_iter().for_each(|conn| self.end_link(conn));
    }

    /// Gives the endpoint the certificate by which children know this host.
    pub(super) fn serve_quic(&mut self) -> Result<(), AgentError> {
        if let (Some(Quic { links, .. }), Some(shared)) = (&mut self.quic, &self.shared) {
            links.serve(shared.accept_quic()?);
        }
        Ok(())
    }

    /// Whether this host asked for datagrams.
    pub fn takes_datagrams(&self) -> bool {
        self.args.edges == EdgesArg::Datagrams
    }
}
