//! The dialogue of a tree's host with the dispatchers, and the latencies that it measures for them.

use groupflow_base::Nanos;
use groupflow_tree::machine::messages::{ClusterLine, HostHello, HostLine, ServiceLine};
use groupflow_tree::machine::{FromHost, ToHost};

use super::{Purpose, StreamEnds, StreamUse, TreeEnd};
use crate::host::byte_stream::send_line;

/// How long measurements are waited for, if one has come and if none has, as in `gfagent`.
const PATIENCE: Nanos = Nanos::from_millis(1000);
const LONGEST: Nanos = Nanos::from_millis(2000);

impl TreeEnd {
    /// Introduces the host to dispatchers that it has just connected to.
    pub(super) fn greet(&mut self, ends: StreamEnds) {
        let hello = HostHello {
            join: self.card.clone(),
            key: String::new(),
            source: self.source.is_some(),
            delay_ms: None,
            waits: false,
            root: self.standing.root,
        };
        if let Some((stream, _)) = self.streams.get(ends) {
            send_line(stream, &HostLine::Hello(hello));
        }
    }

    /// Tells the dispatchers; without a connection the lines are lost.
    pub(super) fn tell(&mut self, lines: impl IntoIterator<Item = ClusterLine<FromHost>>) {
        let mut streams = self.streams.iter();
        let Some((_, stream, _)) =
            streams.find(|(.., link)| link.connected && link.purpose == Purpose::Dispatchers)
        else {
            return;
        };
        for line in lines {
            send_line(stream, &HostLine::Message(line));
        }
    }

    /// Takes what the dispatchers say.
    pub(super) fn obey(&mut self, now: Nanos, bytes: &[u8]) {
        for line in self.lines.push(bytes).unwrap_or_default() {
            match serde_json::from_slice(&line) {
                Ok(ServiceLine::Welcome { root, .. }) => {
                    self.node.on_dispatchers(now, true);
                    let is_dial =
                        |link: &StreamUse| matches!(link.purpose, Purpose::Edge { .. }) && !link.connected;
                    let dials = self.streams.iter().any(|(.., link)| is_dial(link));
                    let lines = self.standing.welcomed(root, &self.node, dials, self.card.clone());
                    self.tell(lines.unwrap_or_default());
                }
                Ok(ServiceLine::Message(line)) => {
                    if let Some(order) = self.standing.order(line) {
                        let is_move = matches!(order, ToHost::Place { .. }) && self.sample.joined;
                        self.sample.moves += u64::from(is_move);
                        self.node.on_order(now, order);
                    }
                }
                _ => self.corrupt += 1,
            }
            self.act(now);
        }
    }

    /// The streams that measure latencies.
    pub(super) fn probes(&mut self) -> Vec<StreamEnds> {
        let probes = self.streams.iter().filter(|(.., link)| matches!(link.purpose, Purpose::Probe(..)));
        probes.map(|(ends, ..)| ends).collect()
    }

    pub(super) fn end_probes(&mut self) {
        self.measures_since = Nanos::MAX;
        self.measured.clear();
        for ends in self.probes() {
            self.streams.release(ends);
        }
    }

    /// When the latencies that were measured are reported at the latest.
    pub(super) fn measures_until(&self) -> Nanos {
        let patience = if self.measured.is_empty() { LONGEST } else { PATIENCE };
        Nanos(self.measures_since.0.saturating_add(patience.0))
    }

    pub(super) fn report_measured(&mut self, now: Nanos) {
        let measured = std::mem::take(&mut self.measured);
        self.end_probes();
        if !self.node.is_leaving() {
            self.node.on_measured(&measured);
            let line = self.standing.line(FromHost::Measured(measured));
            self.tell(line);
        }
        self.pending = now;
    }
}
