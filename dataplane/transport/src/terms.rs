//! The terms of a stream: which node acknowledges, and the effect of a slow receiver on the group.

use std::net::SocketAddrV4;

use groupflow_base::{wire_enum, wire_struct, BitRate};

use crate::ids::WINDOW_MAX;

wire_enum!(
    /// The node that acknowledges.
    Mode, "mode", {
        /// End to end: an agent acknowledges packets that all its branches have.
        EndToEnd = 0 => "e2e",
        /// Node to node: an agent acknowledges packets that it has cached.
        NodeToNode = 1 => "n2n",
    }
);
wire_enum!(
    /// The effect of a slow receiver on the group.
    Policy, "policy", {
        /// The whole group waits for the receiver.
        Strict = 0 => "strict",
        /// The receiver's cache decouples it from the group.
        Isolate = 1 => "isolate",
    }
);

/// The terms of a stream that is delegated to a cache; any other stream is only kept.
#[derive(Debug, Clone, Copy)]
pub struct Terms {
    pub mode: Mode,
    pub policy: Policy,
    /// The session's window in packets.
    pub window: u32,
    /// Bytes that the stream may take; 0: the cache's bound alone.
    pub max_bytes: u64,
    /// The rate at which repairs go out; 0: not known.
    pub rate: BitRate,
}

wire_struct!(
    /// The most that a cache feeds to a receiver; the controller computes it from the receiver's target and
    /// priority.
    #[derive(Copy, serde::Deserialize)]
    Share, "share.", {
        to: SocketAddrV4,
        /// Payload that it is sent.
        rate: BitRate,
        /// Bytes of payload that may wait for it at a time.
        bytes: u32,
    }
);

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
