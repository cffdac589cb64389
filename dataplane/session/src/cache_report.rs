//! What a cache agent tells its owner.

use groupflow_base::Nanos;

use crate::control::{Joined, Mode, Policy, Refusal};
use crate::ids::{MemberId, Seq, SessionId};
use crate::stream_cache::StreamCache;
use crate::stream_table::StreamKey;

/// What a cache agent tells its owner.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CacheEvent {
    /// Known to the controller (again).
    Joined {
        /// What the controller said.
        joined: Joined,
        /// It was known before.
        again: bool,
        /// From the first JOIN to the answer.
        took: Nanos,
    },
    /// The controller does not want it.
    Refused {
        /// Why.
        code: Refusal,
        /// Why, in words.
        text: String,
    },
    /// The controller does not answer.
    ControllerSilent(Nanos),
    /// It answers again.
    ControllerBack,
    /// The byte bound is reached.
    Full,
    /// There is room again.
    Room,
    /// The membership ended; nothing more is sent.
    Left,
}

/// Figures of one stream at the cache.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StreamStats {
    /// Its session.
    pub session: SessionId,
    /// Its sender.
    pub source: MemberId,
    /// Bytes that some branch lacks.
    pub cache_bytes: u64,
    /// The most these were.
    pub cache_peak_bytes: u64,
    /// Bytes kept.
    pub stored_bytes: u64,
    /// Packets kept.
    pub packets: u64,
    /// The highest packet known to exist.
    pub highest: Seq,
    /// Everything below is here, or no longer needed.
    pub contiguous: Seq,
    /// Every branch has what is below.
    pub branch_min: Option<Seq>,
    /// Acknowledged upstream by this agent.
    pub acked: Seq,
    /// Whether the controller delegated it.
    pub active: bool,
    /// Who acknowledges.
    pub mode: Mode,
    /// What a slow receiver does.
    pub policy: Policy,
    /// Repairs and requests.
    pub counters: StreamCounters,
    /// Members that lag.
    pub slow: Vec<MemberId>,
}

/// Figures of a cache agent.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct CacheStats {
    /// Bytes that some branch lacks.
    pub cache_bytes: u64,
    /// The most these were.
    pub cache_peak_bytes: u64,
    /// Bytes kept.
    pub stored_bytes: u64,
    /// The most these were.
    pub stored_peak_bytes: u64,
    /// The bound.
    pub max_bytes: u64,
    /// Whether the bound is reached.
    pub full: bool,
    /// Repairs and requests, forgotten streams included.
    pub counters: StreamCounters,
    /// Every stream.
    pub streams: Vec<StreamStats>,
}

/// Figures of one stream.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct StreamCounters {
    /// Repairs to one requester.
    pub repairs_unicast: u64,
    /// Repairs to the group.
    pub repairs_multicast: u64,
    /// NACKs sent upstream.
    pub upstream_nacks: u64,
    /// NACKs received.
    pub requests: u64,
}

impl StreamCounters {
    /// Adds another stream's figures.
    pub(crate) fn add(&mut self, other: StreamCounters) {
        self.repairs_unicast += other.repairs_unicast;
        self.repairs_multicast += other.repairs_multicast;
        self.upstream_nacks += other.upstream_nacks;
        self.requests += other.requests;
    }
}

pub(crate) fn stream_stats((session, source): StreamKey, s: &StreamCache) -> StreamStats {
    StreamStats {
        session,
        source,
        cache_bytes: s.store.promised(),
        cache_peak_bytes: s.store.promised_peak(),
        stored_bytes: s.store.bytes(),
        packets: s.store.len() as u64,
        highest: s.highest(),
        contiguous: s.contiguous(),
        branch_min: s.branch_min(),
        acked: s.acked(),
        active: s.delegated,
        mode: s.terms.mode,
        policy: s.terms.policy,
        counters: s.counters,
        slow: s.requesters.slow(),
    }
}
