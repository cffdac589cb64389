//! Messages between agents: the preamble of a connection to the next agent, which tells which stream follows,
//! and frames that agents send upstream, against the stream's direction.

use groupflow_base::codec::{CodecError, Envelopes, Reader, Writer};
use groupflow_base::wire::last_text;
use groupflow_base::{wire_enum, wire_frames, StreamId};
use groupflow_transport::fanout::Mode;

pub const MAX_BODY: usize = 16 << 10;
/// Bytes of a reply that fit a frame.
pub const MAX_REPLY: usize = MAX_BODY - 4;

wire_enum!(
    /// The reason why a stream, or a member's part of it, ended early.
    Fault, "failure.fault", {
        /// A member cannot be reached, or is too slow: the member leaves the session, and the stream goes on
        /// without it.
        MemberFailed = 1 => "member_failed",
        /// A member's connection was reset: the stream goes on without the member, which stays in the
        /// session.
        MemberReset = 6 => "member_reset",
        NoMembers = 2 => "no_members",
        /// An agent is lost, and with it a part of the group.
        AgentLost = 3 => "agent_lost",
        Refused = 4 => "refused",
        /// The stream was reset by its sender, or its session was removed.
        Reset = 5 => "reset",
    }
);

wire_frames!(
    SplitFrame, "frame.kind", "frame", {
        /// The agent accepts the stream, and wants it from this offset on.
        Welcome = 1 => "welcome." { offset: u64 },
        /// All members behind the agent have acknowledged the bytes before `offset`, and (`complete`) the
        /// stream's end, too.
        Progress = 2 => "progress." { offset: u64, complete: bool },
        /// A member has acknowledged the whole stream (its length is without bytes sent before the member
        /// joined) and its end.
        Receipt = 3 => "receipt." { member: u32, bytes: u64 },
        /// Bytes, at most [`MAX_REPLY`], that a member sends back to the sender.
        Reply = 4 => "reply." { member: u32, bytes: Vec<u8> => reply },
        ReplyEnd = 5 => "reply_end." { member: u32 },
        /// A failure of the stream or of one member.
        Failure = 6 => "failure." {
            fault: Fault,
            /// The member's number, or 0.
            member: u32,
            /// The offset that the member had acknowledged.
            offset: u64,
            /// The text for people.
            text: String => last_text,
        },
    }
);

mod reply {
    use groupflow_base::codec::{CodecError, Reader, Writer};

    pub(super) fn write(bytes: &[u8], w: &mut Writer) {
        w.bytes(bytes.get(..super::MAX_REPLY).unwrap_or(bytes));
    }

    pub(super) fn read(r: &mut Reader<'_>, _: &'static str) -> Result<Vec<u8>, CodecError> {
        Ok(r.rest().to_vec())
    }
}

impl SplitFrame {
    /// The next frame of received bytes; nothing useful comes after an error.
    pub fn next(envelopes: &mut Envelopes, input: &mut &[u8]) -> Result<Option<SplitFrame>, CodecError> {
        envelopes.next_frame(input, |_| MAX_BODY, SplitFrame::parse_body)
    }
}

pub const PREAMBLE: usize = 28;
const MAGIC: &[u8; 4] = b"GFSP";
const VERSION: u8 = 1;

/// The stream that a connection between agents carries.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Preamble {
    pub session: u32,
    /// The stream's number, the same at every agent, chosen by the agent to which its sender connected.
    pub stream: StreamId,
    /// The offset at which the bytes that follow begin.
    pub offset: u64,
    /// The session's mode, so that agents notice when they disagree.
    pub mode: Mode,
}

impl Preamble {
    pub fn encode(&self) -> Vec<u8> {
        let mut w = Writer::with_capacity(PREAMBLE);
        w.bytes(MAGIC).u8(VERSION).u8(self.mode as u8).u16(0);
        w.u32(self.session).u64(self.stream.0).u64(self.offset);
        w.into_bytes()
    }

    /// From [`PREAMBLE`] bytes that were received.
    pub fn parse(bytes: &[u8]) -> Result<Preamble, CodecError> {
        let mut r = Reader::new(bytes);
        if r.array("magic")? != *MAGIC {
            return Err(CodecError::new("magic", "the first four bytes are not GFSP"));
        }
        match r.u8("version")? {
            VERSION => {}
            other => return Err(CodecError::value("version", other)),
        }
        let mode = Mode::parse(r.u8("mode")?)?;
        r.u16_in(0..=0, "reserved")?;
        let (session, stream) = (r.u32("session")?, StreamId(r.u64("stream")?));
        let preamble = Preamble { session, stream, offset: r.u64("offset")?, mode };
        r.end("preamble")?;
        Ok(preamble)
    }
}
