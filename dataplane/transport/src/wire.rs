//! The group header over UDP.
//!
//! ```text
//!  0 version  u8   = 1
//!  1 type     u8   Kind
//!  2 flags    u8   Flags
//!  3 poll     u8   poll number (DATA, SYNC: the sender's current one; ACK: the one answered)
//!  4 session  u32
//!  8 source   u16  the member whose stream this is
//! 10 member   u16  the member that emitted this packet (0: the network, or not yet a member)
//! 12 seq      u32  meaning depends on the kind
//! 16 stamp    u32  DATA, SYNC: sender's clock in microseconds; ACK: its echo (0: none)
//! 20 length   u16  payload bytes after the header
//! 22 checksum u16  RFC 1071 over these 24 bytes
//! ```
//! All numbers are big endian.

use groupflow_base::codec::{internet_checksum, CodecError, Reader, Writer};
use groupflow_base::wire::WireField;
use groupflow_base::{wire_enum, wire_struct, Dest, Transmit};

use crate::ids::{MemberId, Seq, SessionId, MAX_PAYLOAD};

pub const HEADER: usize = 24;
pub const VERSION: u8 = 1;

wire_enum!(
    Kind, "type", {
        /// A packet of the stream; seq is its number.
        Data = 1,
        /// A packet of the stream from a cache; seq is its number.
        Repair = 2,
        /// Cumulative acknowledgement; seq is the next packet expected.
        Ack = 3,
        /// Missing packets; seq is the lowest.
        Nack = 4,
        /// The position of the stream; seq is the highest number sent.
        Sync = 5,
        /// Host to controller: take me into the session.
        Join = 6,
        /// Host to controller: I leave.
        Leave = 7,
        /// Host to controller: I am alive.
        Keepalive = 8,
        /// Controller to host: the answer to a request, or a notice.
        Reply = 9,
        /// Controller to pipeline; seq is the register's new value.
        Reset = 10,
        /// Cache agent to controller: which stream is this?
        Query = 11,
        /// Agent to controller: something happened.
        Report = 12,
    }
);

/// The header's flag bits.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
pub struct Flags(pub u8);

impl Flags {
    pub const NONE: Flags = Flags(0);
    /// DATA, REPAIR: the last packet of the stream.
    pub const FIN: Flags = Flags(0x01);
    /// DATA: sent again by the sender. REPAIR: sent to the whole group.
    pub const RETX: Flags = Flags(0x02);
    /// ACK that answers a poll.
    pub const FORCED: Flags = Flags(0x04);
    /// DATA, REPAIR: this packet starts a datagram.
    pub const BOUNDARY: Flags = Flags(0x08);
    /// REPAIR without payload: the packet is not available; stamp is the first one that is.
    pub const GONE: Flags = Flags(0x10);

    const KNOWN: u8 = 0x1f;

    /// Whether every bit of `other` is set.
    pub const fn has(self, other: Flags) -> bool {
        self.0 & other.0 == other.0
    }

    /// Both sets of bits.
    pub const fn with(self, other: Flags) -> Flags {
        Flags(self.0 | other.0)
    }

    pub const fn only(self, other: Flags) -> Flags {
        Flags(self.0 & other.0)
    }
}

impl WireField for Flags {
    fn write(&self, w: &mut Writer) {
        w.u8(self.0);
    }

    fn read(r: &mut Reader<'_>, field: &'static str) -> Result<Flags, CodecError> {
        match r.u8(field)? {
            bits if bits & !Flags::KNOWN == 0 => Ok(Flags(bits)),
            bits => Err(CodecError::value(field, bits)),
        }
    }
}

wire_struct!(
    /// The group header without version, length and checksum, which follow from the rest of the packet.
    #[derive(Copy)]
    Header, "", {
        kind: Kind,
        flags: Flags,
        /// Poll number; 0 before the first poll.
        poll: u8,
        session: SessionId,
        /// The member whose stream this is.
        source: MemberId,
        /// The member that emitted this packet.
        member: MemberId,
        /// Packet number; see [`Kind`].
        seq: Seq,
        /// The sender's clock in microseconds, or its echo.
        stamp: u32,
    }
);

impl Header {
    /// A header of `kind` for the stream of `source`, with all else zero.
    pub fn new(kind: Kind, session: SessionId, source: MemberId) -> Header {
        Header {
            kind,
            flags: Flags::NONE,
            poll: 0,
            session,
            source,
            member: MemberId::NONE,
            seq: Seq::ZERO,
            stamp: 0,
        }
    }

    /// Whether the packet answers one requester, and went to it alone.
    pub fn is_to_one(&self) -> bool {
        self.kind == Kind::Repair && !self.flags.has(Flags::RETX)
    }

    /// The packet's bytes. A payload beyond [`MAX_PAYLOAD`] is a programming error and is cut.
    pub fn encode(&self, payload: &[u8]) -> Vec<u8> {
        let payload = payload.get(..MAX_PAYLOAD).unwrap_or(payload);
        let mut w = Writer::with_capacity(HEADER + payload.len());
        self.write(w.u8(VERSION));
        w.u16(payload.len() as u16).u16(0).bytes(payload);
        let mut bytes = w.into_bytes();
        let sum = internet_checksum(&bytes[..HEADER]);
        bytes[22..HEADER].copy_from_slice(&sum.to_be_bytes());
        bytes
    }

    pub fn to_group(&self, payload: &[u8]) -> Transmit {
        Transmit { dest: Dest::Group(self.session.group()), bytes: self.encode(payload) }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct GroupPacket<'a> {
    pub header: Header,
    /// The bytes after the header.
    pub payload: &'a [u8],
}

impl<'a> GroupPacket<'a> {
    /// Parses a UDP payload. Bytes behind the header's length are padding and are ignored.
    pub fn parse(bytes: &'a [u8]) -> Result<GroupPacket<'a>, CodecError> {
        let mut r = Reader::new(bytes);
        let h = r.take(HEADER, "header")?;
        if h[0] != VERSION {
            return Err(CodecError::value("version", h[0]));
        }
        if internet_checksum(h) != 0 {
            return Err(damaged());
        }
        let mut fields = Reader::new(&h[1..]);
        let header = Header::read(&mut fields, "header")?;
        if header.session > SessionId::MAX {
            return Err(CodecError::value("session", header.session.0));
        }
        let length = fields.u16_in(0..=MAX_PAYLOAD as u16, "length")?;
        let payload = r.take(length.into(), "length")?;
        Ok(GroupPacket { header, payload })
    }

    /// Whether a UDP payload has this type, unless it turns out to be no packet.
    pub fn has_kind(bytes: &[u8], kind: Kind) -> bool {
        bytes.get(1) == Some(&(kind as u8))
    }

    /// Parses a UDP payload; a packet of another session is refused.
    pub fn of_session(bytes: &'a [u8], session: SessionId) -> Result<GroupPacket<'a>, CodecError> {
        let packet = GroupPacket::parse(bytes)?;
        match packet.header.session == session {
            true => Ok(packet),
            false => Err(CodecError::value("session", packet.header.session.0)),
        }
    }
}

fn damaged() -> CodecError {
    CodecError::new("checksum", "the header is damaged")
}
