//! Events and figures of a cache, for its owner. Figures are reported as they are named here.

use serde::Serialize;

use super::{LagChange, StreamKey};
use crate::ids::{MemberId, Seq, SessionId};
use crate::terms::{Mode, Policy};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CacheEvent {
    /// A packet of an unknown stream came.
    New(StreamKey),
    /// Another window of the stream would not fit in the byte bounds.
    Full(StreamKey),
    /// It fits again.
    Room(StreamKey),
    /// A requester lags behind the stream, or no longer does.
    Lag(StreamKey, LagChange),
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct StreamStats {
    pub session: SessionId,
    pub source: MemberId,
    /// Bytes that some branch lacks.
    pub cache_bytes: u64,
    pub cache_peak_bytes: u64,
    pub stored_bytes: u64,
    /// Packets kept.
    pub packets: u64,
    /// The highest packet known to exist.
    pub highest: Seq,
    /// The cache has every packet below this one, or it is no longer needed.
    pub contiguous: Seq,
    /// Every branch has the packets below this one.
    pub branch_min: Option<Seq>,
    /// Acknowledged upstream by this agent.
    pub acked: Seq,
    /// Whether the controller delegated the stream to this cache.
    pub active: bool,
    pub mode: Mode,
    pub policy: Policy,
    #[serde(flatten)]
    pub counters: StreamCounters,
    pub slow: Vec<MemberId>,
}

#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct CacheStats {
    /// Bytes that some branch lacks.
    pub cache_bytes: u64,
    pub cache_peak_bytes: u64,
    pub stored_bytes: u64,
    pub stored_peak_bytes: u64,
    pub max_bytes: u64,
    pub full: bool,
    /// Repairs and requests, forgotten streams included.
    #[serde(flatten)]
    pub counters: StreamCounters,
    pub streams: Vec<StreamStats>,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct StreamCounters {
    pub repairs_unicast: u64,
    pub repairs_multicast: u64,
    pub upstream_nacks: u64,
    /// NACKs received.
    pub requests: u64,
    /// NACKs that asked for more than their requester's budget.
    pub over_budget: u64,
}

impl StreamCounters {
    pub(super) fn add(&mut self, other: StreamCounters) {
        self.repairs_unicast += other.repairs_unicast;
        self.repairs_multicast += other.repairs_multicast;
        self.upstream_nacks += other.upstream_nacks;
        self.requests += other.requests;
        self.over_budget += other.over_budget;
    }
}
