//! How a stream is carried: who acknowledges, and what a slow receiver does to the group.

use groupflow_base::{wire_enum, BitRate};

use crate::ids::WINDOW_MAX;

wire_enum!(
    /// Who acknowledges.
    Mode, "mode", {
        /// End to end: an agent acknowledges what all its branches have.
        EndToEnd = 0 => "e2e",
        /// Node to node: an agent acknowledges what it has cached.
        NodeToNode = 1 => "n2n",
    }
);
wire_enum!(
    /// What a slow receiver does to the group.
    Policy, "policy", {
        /// All wait for it.
        Strict = 0 => "strict",
        /// Its cache decouples it.
        Isolate = 1 => "isolate",
    }
);

/// How a stream is to be cached; a stream that is not delegated is only kept.
#[derive(Debug, Clone, Copy)]
pub struct Terms {
    /// Who acknowledges.
    pub mode: Mode,
    /// What a slow receiver does to the group.
    pub policy: Policy,
    /// The session's window in packets.
    pub window: u32,
    /// Bytes that the stream may take; 0: the cache's bound alone.
    pub max_bytes: u64,
    /// The rate at which repairs go out; 0: not known.
    pub rate: BitRate,
}

impl Terms {
    pub(crate) fn bounded(self) -> Terms {
        Terms { window: self.window.clamp(1, WINDOW_MAX), ..self }
    }
}

impl Default for Terms {
    fn default() -> Terms {
        let (mode, policy) = (Mode::EndToEnd, Policy::Strict);
        Terms { mode, policy, window: 1024, max_bytes: 0, rate: BitRate(0) }
    }
}
