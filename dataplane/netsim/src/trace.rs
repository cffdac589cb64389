//! The trace of a run, in total order: the evidence that two runs are the same.

use std::fmt;

use groupflow_base::Nanos;

use crate::engine::Observer;
use crate::ids::NodeId;

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum TraceKind {
    /// The frame arrived at the node.
    Received,
    /// The link behind the node's port lost the frame.
    Lost,
}

/// One line of a trace. The order of the fields is the order of the lines.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct TraceRecord {
    pub time: Nanos,
    pub node: NodeId,
    /// The number of the record among the node's.
    pub sequence: u64,
    pub kind: TraceKind,
    pub port: u16,
    /// Bytes of the frame, its tail included.
    pub bytes: u32,
    /// A hash of the head (FNV-1a, 64 bits).
    pub hash: u64,
}

impl fmt::Display for TraceRecord {
    /// `TIME_NS NODE SEQUENCE r|l PORT BYTES HASH`
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let kind = match self.kind {
            TraceKind::Received => 'r',
            TraceKind::Lost => 'l',
        };
        let TraceRecord { time, node, sequence, port, bytes, hash, .. } = self;
        write!(f, "{} {} {sequence} {kind} {port} {bytes} {hash:016x}", time.0, node.0)
    }
}

/// The records since they were last told.
#[derive(Debug)]
pub struct Tracer {
    records: Vec<TraceRecord>,
    /// The number of each node's next record.
    sequences: Vec<u64>,
}

impl Tracer {
    pub fn new(nodes: usize) -> Tracer {
        Tracer { records: Vec::new(), sequences: vec![0; nodes] }
    }

    pub fn record(&mut self, time: Nanos, node: NodeId, kind: TraceKind, port: u16, head: &[u8], tail: u32) {
        let sequence = self.sequences[node.index()];
        self.sequences[node.index()] += 1;
        let bytes = head.len() as u32 + tail;
        self.records.push(TraceRecord { time, node, sequence, kind, port, bytes, hash: fnv1a(head) });
    }

    /// Tells all records, which are then forgotten.
    pub fn tell(&mut self, observer: &mut dyn Observer) {
        self.records.sort_unstable();
        observer.trace(&self.records);
        self.records.clear();
    }
}

fn fnv1a(bytes: &[u8]) -> u64 {
    bytes
        .iter()
        .fold(0xcbf2_9ce4_8422_2325, |hash, &byte| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3))
}
