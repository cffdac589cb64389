//! The frames on the connections of an edge: kind (u8), 0 (u8), length of the body (u16), body; numbers in
//! network order. A child connects to its parent, once or several times, and says HELLO on each connection.

use groupflow_base::codec::{CodecError, Envelope, Envelopes, Reader, Writer};
use groupflow_base::{wire_enum, Nanos};

use super::names::{HostId, Ticket};

/// The version of these frames.
pub const VERSION: u8 = 1;
/// The version of a HELLO whose child takes its DATA in datagrams. Versions 2 and 3 belonged to a transport
/// that no longer exists.
const WITH_DATAGRAMS: u8 = 4;
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

/// A frame. Its first word says which end of the edge sends it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TreeFrame {
    /// Child: its introduction.
    Hello {
        /// The child.
        child: HostId,
        /// The child's proof that the dispatchers sent it.
        ticket: Ticket,
        /// The number of the edge, which all its connections share; it goes up with each edge of the child.
        edge: u32,
        /// The place at which the child begins.
        begin: StartAt,
        /// Neither the child nor any host below it needs bytes before this offset. Later bytes are kept for
        /// the hosts below, even if the child has them.
        needed: u64,
        /// The parent sends no byte that lies this many bytes or more beyond those that the child has.
        room: u64,
        /// The child's DATA are to come in datagrams, none of which waited for longer than this at the
        /// parent: whole milliseconds, at most a `u32`.
        deadline: Option<Nanos>,
    },
    /// Child: all bytes before `taken` are in its cache.
    Taken {
        /// An offset.
        taken: u64,
        /// Neither the child nor any host below it needs bytes before this offset.
        needed: u64,
    },
    /// Child: it and all hosts below it have the whole stream, and its end.
    Complete,
    /// Child: another parent serves it; no byte need be kept for it and the hosts below it. No frame follows.
    Moved,
    /// Parent: it serves this connection.
    Welcome {
        /// The offset of the first byte that the parent sends.
        begin: u64,
    },
    /// Parent: the stream goes on at `to`, as earlier bytes are too late.
    Skip {
        /// An offset.
        to: u64,
    },
    /// Parent: the stream ends.
    End {
        /// The stream's length in bytes.
        length: u64,
    },
    /// Parent: it does not serve this connection any more, for this reason.
    Refused(Reason),
    /// Parent: a part of the stream.
    Data {
        /// The offset of the bytes in the stream.
        offset: u64,
        /// 1 to [`MAX_BLOCK`] bytes.
        bytes: Vec<u8>,
    },
    /// Either: it is alive.
    Alive,
}

impl TreeFrame {
    /// Appends the frame's encoding.
    pub fn encode(&self, out: &mut Vec<u8>) {
        let mut w = Writer::default();
        let body = match self {
            TreeFrame::Hello { child, ticket, edge, begin, needed, room, deadline } => {
                let version = if deadline.is_some() { WITH_DATAGRAMS } else { VERSION };
                w.u8(version).u64(child.0).bytes(&ticket.0).u32(*edge);
                match begin {
                    StartAt::Now => w.u8(0).u64(0),
                    StartAt::Offset(offset) => w.u8(1).u64(*offset),
                };
                w.u64(*needed).u64(*room);
                match deadline.map(|deadline| u32::try_from(deadline.as_millis()).unwrap_or(u32::MAX)) {
                    Some(millis) => w.u32(millis),
                    None => &mut w,
                }
            }
            TreeFrame::Taken { taken, needed } => w.u64(*taken).u64(*needed),
            TreeFrame::Welcome { begin: number }
            | TreeFrame::Skip { to: number }
            | TreeFrame::End { length: number } => w.u64(*number),
            TreeFrame::Refused(reason) => w.u8(*reason as u8),
            TreeFrame::Data { offset, bytes } => w.u64(*offset).bytes(bytes),
            TreeFrame::Complete | TreeFrame::Moved | TreeFrame::Alive => &mut w,
        };
        Envelope::seal(self.kind(), body, out);
    }

    /// Appends [`TreeFrame::Data`] of two pieces that follow each other, 1 to [`MAX_BLOCK`] bytes in all.
    pub fn encode_data(offset: u64, (first, second): (&[u8], &[u8]), out: &mut Vec<u8>) {
        out.extend(Envelope::header(DATA, 8 + first.len() + second.len()));
        out.extend(offset.to_be_bytes());
        out.extend_from_slice(first);
        out.extend_from_slice(second);
    }

    fn kind(&self) -> u8 {
        match self {
            TreeFrame::Hello { .. } => 1,
            TreeFrame::Taken { .. } => 2,
            TreeFrame::Complete => 3,
            TreeFrame::Moved => 4,
            TreeFrame::Welcome { .. } => 16,
            TreeFrame::Data { .. } => DATA,
            TreeFrame::Skip { .. } => 18,
            TreeFrame::End { .. } => 19,
            TreeFrame::Refused(_) => 20,
            TreeFrame::Alive => 32,
        }
    }

    fn parse(kind: u8, body: &[u8]) -> Result<TreeFrame, CodecError> {
        let mut r = Reader::new(body);
        let frame = match kind {
            1 => hello(&mut r)?,
            2 => {
                let (taken, needed) = (r.u64("taken.taken")?, r.u64("taken.needed")?);
                if needed > taken {
                    return Err(CodecError::new("taken.needed", format!("{needed} is beyond {taken}")));
                }
                TreeFrame::Taken { taken, needed }
            }
            3 => TreeFrame::Complete,
            4 => TreeFrame::Moved,
            16 => TreeFrame::Welcome { begin: r.u64("welcome.begin")? },
            DATA => {
                let offset = r.u64("data.offset")?;
                let bytes = r.rest().to_vec();
                if bytes.is_empty() || bytes.len() > MAX_BLOCK {
                    let text = format!("has {} bytes, not 1 to {MAX_BLOCK}", bytes.len());
                    return Err(CodecError::new("data.bytes", text));
                }
                TreeFrame::Data { offset, bytes }
            }
            18 => TreeFrame::Skip { to: r.u64("skip.to")? },
            19 => TreeFrame::End { length: r.u64("end.length")? },
            20 => TreeFrame::Refused(Reason::parse(r.u8("refused.reason")?)?),
            32 => TreeFrame::Alive,
            _ => return Err(CodecError::value("frame.kind", kind)),
        };
        r.end("frame")?;
        Ok(frame)
    }
}

fn hello(r: &mut Reader<'_>) -> Result<TreeFrame, CodecError> {
    let version = r.u8("hello.version")?;
    if version != VERSION && version != WITH_DATAGRAMS {
        return Err(CodecError::value("hello.version", version));
    }
    let child = HostId(r.u64("hello.child")?);
    let ticket = Ticket(r.array("hello.ticket")?);
    let edge = r.u32("hello.edge")?;
    let (at, offset) = (r.u8("hello.begin")?, r.u64("hello.begin")?);
    let begin = match at {
        0 => StartAt::Now,
        1 => StartAt::Offset(offset),
        other => return Err(CodecError::value("hello.begin", other)),
    };
    let needed = r.u64("hello.needed")?;
    if matches!(begin, StartAt::Offset(offset) if needed > offset) {
        return Err(CodecError::new(
            "hello.needed",
            format!("{needed} is beyond the bytes that the host has"),
        ));
    }
    let room = r.u64("hello.room")?;
    if let (StartAt::Offset(offset), true) = (begin, offset.checked_add(room).is_none()) {
        let text = format!("{room} from {offset} on lies beyond the longest stream");
        return Err(CodecError::new("hello.room", text));
    }
    let deadline = match version {
        WITH_DATAGRAMS => Some(Nanos::from_millis(r.u32("hello.deadline")?.into())),
        _ => None,
    };
    Ok(TreeFrame::Hello { child, ticket, edge, begin, needed, room, deadline })
}

/// Cuts the bytes that come over a connection into frames; holds at most one frame that is not complete.
#[derive(Debug, Clone, Default)]
pub struct EdgeDecoder(Envelopes);

impl EdgeDecoder {
    /// Takes the next frame off the front of `input`; `None`: all bytes are taken. After an error no useful
    /// frame follows.
    pub fn next_frame(&mut self, input: &mut &[u8]) -> Result<Option<TreeFrame>, CodecError> {
        let envelope = self.0.next_whole(input, |kind| if kind == DATA { 8 + MAX_BLOCK } else { 64 })?;
        envelope.map(|envelope| TreeFrame::parse(envelope.kind, envelope.body)).transpose()
    }
}

#[cfg(test)]
#[path = "tests/frame.rs"]
mod tests;
