//! Names and quantities of the group protocols.

use std::fmt;
use std::net::{Ipv4Addr, SocketAddrV4};

use serde::{Deserialize, Serialize};

/// The UDP port of the group header, 0x6766 ("gf").
pub const GROUP_PORT: u16 = 26470;
/// The most payload bytes of a packet, which then fills a frame of 1514 bytes.
pub const MAX_PAYLOAD: usize = 1448;
/// The most packets that may be on their way.
pub const WINDOW_MAX: u32 = 1 << 16;
/// Bytes of a frame besides the payload: Ethernet 14, IPv4 20, UDP 8, group header 24.
pub const FRAME_OVERHEAD: u64 = 66;

/// A session: a group with an id. 0 is used by cache agents alone, before they serve one.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct SessionId(pub u32);

groupflow_base::wire_number!(SessionId, MemberId, Seq);

impl SessionId {
    /// The largest id: its 24 bits are the low bits of the group address.
    pub const MAX: SessionId = SessionId(0x00ff_ffff);

    /// The group's address: 239.x.y.z with the low 24 bits of the id, at [`GROUP_PORT`].
    pub fn group(self) -> SocketAddrV4 {
        let [_, a, b, c] = self.0.to_be_bytes();
        SocketAddrV4::new(Ipv4Addr::new(239, a, b, c), GROUP_PORT)
    }
}

/// A member of a session; as `source`, the stream that the member sends. 0 is no member.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct MemberId(pub u16);

impl MemberId {
    /// The network, or a host that is not yet a member.
    pub const NONE: MemberId = MemberId(0);
}

/// A packet number. Streams begin at 1 and never wrap.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Seq(pub u32);

impl Seq {
    /// The number before that of every packet.
    pub const ZERO: Seq = Seq(0);
    pub const FIRST: Seq = Seq(1);
    /// The last number of a packet: its acknowledgement, which is one more, still fits.
    pub const LAST: Seq = Seq(u32::MAX - 1);

    pub const fn next(self) -> Seq {
        Seq(self.0.saturating_add(1))
    }

    pub const fn prev(self) -> Seq {
        Seq(self.0.saturating_sub(1))
    }

    pub const fn forward(self, n: u32) -> Seq {
        Seq(self.0.saturating_add(n))
    }

    pub const fn back(self, n: u32) -> Seq {
        Seq(self.0.saturating_sub(n))
    }

    /// The number of packets from `earlier` to this one; 0 if `earlier` is not earlier.
    pub const fn since(self, earlier: Seq) -> u32 {
        self.0.saturating_sub(earlier.0)
    }
}

impl fmt::Display for Seq {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "packet {}", self.0)
    }
}
