//! Frames that agents send upstream, against a stream's direction, on the stream's connection.

use groupflow_base::codec::{CodecError, Envelope, Envelopes, Reader, Writer};
use groupflow_base::wire_enum;

pub const MAX_BODY: usize = 16 << 10;
/// Bytes of a reply that fit a frame.
pub const MAX_REPLY: usize = MAX_BODY - 4;
/// Bytes of the longest error text.
const MAX_TEXT: usize = 512;

wire_enum!(
    /// The reason why a stream, or a member's part of it, ended early.
    Fault, "failure.fault", {
        /// A member cannot be reached, or is too slow: the member leaves the session, and the stream goes on
        /// without it.
        MemberFailed = 1 => "member_failed",
        /// A member's connection was reset: the stream goes on without the member, which stays in the
        /// session.
        MemberReset = 6 => "member_reset",
        /// No member is left.
        NoMembers = 2 => "no_members",
        /// An agent is lost, and with it a part of the group.
        AgentLost = 3 => "agent_lost",
        /// The agent refuses the stream.
        Refused = 4 => "refused",
        /// The stream was reset by its sender, or its session was removed.
        Reset = 5 => "reset",
    }
);

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SplitFrame {
    /// The agent accepts the stream, and wants it from this offset on.
    Welcome {
        /// The offset of the first byte wanted.
        offset: u64,
    },
    /// All members behind the agent have acknowledged the bytes before `offset`.
    Progress {
        /// The least offset over these members.
        offset: u64,
        /// Whether all of them have acknowledged the stream's end, too.
        complete: bool,
    },
    /// A member has acknowledged the whole stream and its end.
    Receipt {
        member: u32,
        /// The stream's length, without bytes sent before the member joined.
        bytes: u64,
    },
    /// Bytes that a member sends back to the sender.
    Reply {
        member: u32,
        /// The bytes, at most [`MAX_REPLY`].
        bytes: Vec<u8>,
    },
    /// A member sends no more replies.
    ReplyEnd { member: u32 },
    /// A failure of the stream or of one member.
    Failure {
        fault: Fault,
        /// The member's number, or 0.
        member: u32,
        /// The offset that the member had acknowledged.
        offset: u64,
        /// The text for people.
        text: String,
    },
}

impl SplitFrame {
    /// Appends the frame as it is sent. Replies and texts are cut at their bound.
    pub fn encode(&self, out: &mut impl Extend<u8>) {
        let mut w = Writer::default();
        let (kind, body) = match self {
            SplitFrame::Welcome { offset } => (1, w.u64(*offset)),
            SplitFrame::Progress { offset, complete } => (2, w.u64(*offset).u8((*complete).into())),
            SplitFrame::Receipt { member, bytes } => (3, w.u32(*member).u64(*bytes)),
            SplitFrame::Reply { member, bytes } => {
                (4, w.u32(*member).bytes(bytes.get(..MAX_REPLY).unwrap_or(bytes)))
            }
            SplitFrame::ReplyEnd { member } => (5, w.u32(*member)),
            SplitFrame::Failure { fault, member, offset, text } => {
                (6, w.u8(*fault as u8).u32(*member).u64(*offset).rest_text(text, MAX_TEXT))
            }
        };
        Envelope::seal(kind, body, out);
    }

    fn parse(kind: u8, body: &[u8]) -> Result<SplitFrame, CodecError> {
        let mut r = Reader::new(body);
        let frame = match kind {
            1 => SplitFrame::Welcome { offset: r.u64("welcome.offset")? },
            2 => {
                let offset = r.u64("progress.offset")?;
                SplitFrame::Progress { offset, complete: r.flag("progress.complete")? }
            }
            3 => SplitFrame::Receipt { member: r.u32("receipt.member")?, bytes: r.u64("receipt.bytes")? },
            4 => SplitFrame::Reply { member: r.u32("reply.member")?, bytes: r.rest().to_vec() },
            5 => SplitFrame::ReplyEnd { member: r.u32("reply_end.member")? },
            6 => SplitFrame::Failure {
                fault: Fault::parse(r.u8("failure.fault")?)?,
                member: r.u32("failure.member")?,
                offset: r.u64("failure.offset")?,
                text: r.rest_text(MAX_TEXT, "failure.text")?.to_owned(),
            },
            _ => return Err(CodecError::value("frame.kind", kind)),
        };
        r.end("frame")?;
        Ok(frame)
    }
}

/// Cuts received bytes into frames.
#[derive(Debug, Default)]
pub struct SplitDecoder {
    bytes: Vec<u8>,
    at: usize,
    envelopes: Envelopes,
}

impl SplitDecoder {
    /// Takes bytes in. Holds at most these and one incomplete frame.
    pub fn push(&mut self, bytes: &[u8]) {
        self.bytes.drain(..self.at);
        self.at = 0;
        self.bytes.extend_from_slice(bytes);
    }

    /// The next frame, if it is there; nothing useful comes after an error.
    pub fn next_frame(&mut self) -> Result<Option<SplitFrame>, CodecError> {
        let mut rest = &self.bytes[self.at..];
        let envelope = self.envelopes.next_whole(&mut rest, |_| MAX_BODY)?;
        self.at = self.bytes.len() - rest.len();
        envelope.map(|envelope| SplitFrame::parse(envelope.kind, envelope.body)).transpose()
    }
}
