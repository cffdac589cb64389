//! The frames on the connections of an edge: kind (u8), 0 (u8), length of the body (u16), body; numbers in
//! network order. A child connects to its parent, once or several times, and says HELLO on each connection.

use groupflow_base::codec::{CodecError, Envelope, Envelopes, Reader, Writer};
use groupflow_base::wire::WireField;
use groupflow_base::{wire_enum, wire_frames};

use super::messages::{HostId, Ticket};

/// The version of these frames. Versions 2 to 4 belonged to transports that no longer exist.
pub const VERSION: u8 = 1;
/// Bytes before the body.
pub const HEADER: usize = Envelope::HEADER;
/// Bytes of a DATA frame before those of the stream.
pub const DATA_HEADER: usize = HEADER + 8;
/// The most bytes of the stream in one DATA.
pub const MAX_BLOCK: usize = 16 << 10;
const DATA: u8 = 17;

/// The place in the stream at which a child begins.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StartAt {
    /// With the bytes that come next.
    Now,
    /// With the byte at this offset.
    Offset(u64),
}

wire_enum!(
    /// The reason for which a parent does not serve a child, or no longer.
    Reason, "refused.reason", {
        /// A frame is malformed, or illegal at this time.
        BadFrame = 1,
        /// The child is not expected, or has another ticket. It may be expected soon.
        Unexpected = 2,
        /// The parent does not have the bytes any more that the child needs.
        Gone = 3,
        /// The child is too slow, and was overtaken.
        Overtaken = 4,
        /// The child took nothing for so long that the others wait no longer.
        Stalled = 5,
        /// The child has as many connections as it may have, or the parent as many children.
        TooMany = 6,
        /// The parent leaves, or begins elsewhere.
        Leaving = 7,
    }
);

wire_frames!(
    /// A frame. Its first word says which end of the edge sends it.
    TreeFrame, "frame.kind", "frame", {
        /// Child: its introduction.
        Hello(hello: Hello) = 1,
        /// Child: all bytes before `taken` are in its cache; neither it nor any host below it needs bytes
        /// before `needed`.
        Taken = 2 => "taken." { taken: u64, needed: u64 },
        /// Child: it and all hosts below it have the whole stream, and its end.
        Complete = 3,
        /// Child: another parent serves it; no byte need be kept for it and the hosts below it. No frame
        /// follows.
        Moved = 4,
        /// Parent: it serves this connection, and sends bytes from this offset on.
        Welcome = 16 => "welcome." { begin: u64 },
        /// Parent: a part of the stream, 1 to [`MAX_BLOCK`] bytes.
        Data = 17 => "data." { offset: u64, bytes: Vec<u8> => block },
        /// Parent: the stream goes on at `to`, as earlier bytes are too late.
        Skip = 18 => "skip." { to: u64 },
        /// Parent: the stream ends; its length in bytes.
        End = 19 => "end." { length: u64 },
        /// Parent: it does not serve this connection any more, for this reason.
        Refused(reason: Reason) = 20,
        /// Either: it is alive.
        Alive = 32,
    }
);

mod block {
    use super::{CodecError, Reader, Writer, MAX_BLOCK};

    pub(super) fn write(bytes: &[u8], w: &mut Writer) {
        w.bytes(bytes);
    }

    pub(super) fn read(r: &mut Reader<'_>, field: &'static str) -> Result<Vec<u8>, CodecError> {
        let bytes = r.rest();
        if bytes.is_empty() || bytes.len() > MAX_BLOCK {
            let text = format!("has {} bytes, not 1 to {MAX_BLOCK}", bytes.len());
            return Err(CodecError::new(field, text));
        }
        Ok(bytes.to_vec())
    }
}

/// The introduction of a child.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Hello {
    pub child: HostId,
    /// The child's proof that the dispatchers sent it.
    pub ticket: Ticket,
    /// The number of the edge, which all its connections share; it goes up with each edge of the child.
    pub edge: u32,
    pub begin: StartAt,
    /// Neither the child nor any host below it needs bytes before this offset. Later bytes are kept for the
    /// hosts below, even if the child has them.
    pub needed: u64,
    /// The parent sends no byte that lies this many bytes or more beyond those that the child has.
    pub room: u64,
}

impl WireField for Hello {
    fn write(&self, w: &mut Writer) {
        w.u8(VERSION).u64(self.child.0).bytes(&self.ticket.0.to_be_bytes()).u32(self.edge);
        match self.begin {
            StartAt::Now => w.u8(0).u64(0),
            StartAt::Offset(offset) => w.u8(1).u64(offset),
        };
        w.u64(self.needed).u64(self.room);
    }

    fn read(r: &mut Reader<'_>, _: &'static str) -> Result<Hello, CodecError> {
        let version = r.u8("hello.version")?;
        if version != VERSION {
            return Err(CodecError::value("hello.version", version));
        }
        let child = HostId(r.u64("hello.child")?);
        let ticket = Ticket(u128::from_be_bytes(r.array("hello.ticket")?));
        let edge = r.u32("hello.edge")?;
        let begin = match (r.u8("hello.begin")?, r.u64("hello.begin")?) {
            (0, _) => StartAt::Now,
            (1, offset) => StartAt::Offset(offset),
            (other, _) => return Err(CodecError::value("hello.begin", other)),
        };
        let (needed, room) = (r.u64("hello.needed")?, r.u64("hello.room")?);
        if let StartAt::Offset(offset) = begin {
            if needed > offset {
                let text = format!("{needed} is beyond the bytes that the host has");
                return Err(CodecError::new("hello.needed", text));
            }
            if offset.checked_add(room).is_none() {
                let text = format!("{room} from {offset} on lies beyond the longest stream");
                return Err(CodecError::new("hello.room", text));
            }
        }
        Ok(Hello { child, ticket, edge, begin, needed, room })
    }
}

impl TreeFrame {
    /// Appends [`TreeFrame::Data`] of two pieces that follow each other, 1 to [`MAX_BLOCK`] bytes in all.
    pub fn encode_data(offset: u64, (first, second): (&[u8], &[u8]), out: &mut Vec<u8>) {
        out.extend(Envelope::header(DATA, 8 + first.len() + second.len()));
        out.extend(offset.to_be_bytes());
        out.extend_from_slice(first);
        out.extend_from_slice(second);
    }

    fn parse(kind: u8, body: &[u8]) -> Result<TreeFrame, CodecError> {
        let frame = TreeFrame::parse_body(kind, body)?;
        match frame {
            TreeFrame::Taken { taken, needed } if needed > taken => {
                Err(CodecError::new("taken.needed", format!("{needed} is beyond {taken}")))
            }
            frame => Ok(frame),
        }
    }
}

/// Cuts the bytes that come over a connection into frames; holds at most one frame that is not complete.
#[derive(Debug, Clone, Default)]
pub struct EdgeDecoder(Envelopes);

impl EdgeDecoder {
    /// Takes the next frame off the front of `input`; `None`: all bytes are taken. After an error no useful
    /// frame follows.
    pub fn next_frame(&mut self, input: &mut &[u8]) -> Result<Option<TreeFrame>, CodecError> {
        self.0.next_frame(input, |kind| if kind == DATA { 8 + MAX_BLOCK } else { 64 }, TreeFrame::parse)
    }
}

#[cfg(test)]
#[path = "tests/frame.rs"]
mod tests;
