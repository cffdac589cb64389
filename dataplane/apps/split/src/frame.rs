//! Frames that agents send upstream, against a stream's direction, on the stream's connection.

use thiserror::Error;

/// The longest body.
pub const MAX_BODY: usize = 16 << 10;
const HEADER: usize = 4;
/// Bytes of a reply that fit a frame.
pub const MAX_REPLY: usize = MAX_BODY - 4;
/// Bytes of the longest error text.
const MAX_TEXT: usize = 512;

/// Why a stream, or a member's part of it, ended early.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fault {
    /// A member cannot be reached, or is too slow: it leaves the session, and the stream goes on without it.
    MemberFailed,
    /// A member's connection was reset: the stream goes on without it, and the member stays in the session.
    MemberReset,
    /// No member is left.
    NoMembers,
    /// An agent is lost, and with it a part of the group.
    AgentLost,
    /// The agent refuses the stream.
    Refused,
    /// The stream was reset by its sender, or its session was removed.
    Reset,
}

impl Fault {
    const ALL: [Fault; 6] = [
        Fault::MemberFailed,
        Fault::MemberReset,
        Fault::NoMembers,
        Fault::AgentLost,
        Fault::Refused,
        Fault::Reset,
    ];

    /// The fault's word in events.
    pub fn word(self) -> &'static str {
        match self {
            Fault::MemberFailed => "member_failed",
            Fault::MemberReset => "member_reset",
            Fault::NoMembers => "no_members",
            Fault::AgentLost => "agent_lost",
            Fault::Refused => "refused",
            Fault::Reset => "reset",
        }
    }

    fn code(self) -> u8 {
        match self {
            Fault::MemberFailed => 1,
            Fault::NoMembers => 2,
            Fault::AgentLost => 3,
            Fault::Refused => 4,
            Fault::Reset => 5,
            Fault::MemberReset => 6,
        }
    }
}

/// A frame.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Frame {
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
        /// The member's number.
        member: u32,
        /// The stream's length, without bytes sent before the member joined.
        bytes: u64,
    },
    /// Bytes that a member sends back to the sender.
    Reply {
        /// The member's number.
        member: u32,
        /// The bytes, at most [`MAX_REPLY`].
        bytes: Vec<u8>,
    },
    /// A member sends no more replies.
    ReplyEnd {
        /// The member's number.
        member: u32,
    },
    /// A failure of the stream or of one member.
    Failure {
        /// The kind of failure.
        fault: Fault,
        /// The member's number, or 0.
        member: u32,
        /// The offset that the member had acknowledged.
        offset: u64,
        /// The text for people.
        text: String,
    },
}

/// Why a frame is refused.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum FrameError {
    /// A kind without meaning.
    #[error("frame kind {0} is unknown")]
    Kind(u8),
    /// Longer than any.
    #[error("a frame of {0} bytes is too long")]
    TooLong(usize),
    /// Not what this kind has.
    #[error("the body of frame kind {0} makes no sense")]
    Body(u8),
}

impl Frame {
    /// Appends the frame as it is sent. Replies and texts are cut at their bound.
    pub fn encode(&self, out: &mut impl Extend<u8>) {
        let mut body = Vec::new();
        let kind = match self {
            Frame::Welcome { offset } => {
                body.extend(offset.to_be_bytes());
                1
            }
            Frame::Progress { offset, complete } => {
                body.extend(offset.to_be_bytes());
                body.push(u8::from(*complete));
                2
            }
            Frame::Receipt { member, bytes } => {
                body.extend(member.to_be_bytes());
                body.extend(bytes.to_be_bytes());
                3
            }
            Frame::Reply { member, bytes } => {
                body.extend(member.to_be_bytes());
                body.extend(bytes.iter().take(MAX_REPLY));
                4
            }
            Frame::ReplyEnd { member } => {
                body.extend(member.to_be_bytes());
                5
            }
            Frame::Failure { fault, member, offset, text } => {
                body.push(fault.code());
                body.extend(member.to_be_bytes());
                body.extend(offset.to_be_bytes());
                let cut = (0..=MAX_TEXT.min(text.len())).rev().find(|&at| text.is_char_boundary(at));
                body.extend(text[..cut.unwrap_or(0)].bytes());
                6
            }
        };
        // A body is at most MAX_BODY.
        let length = (body.len() as u16).to_be_bytes();
        out.extend([kind, 0, length[0], length[1]]);
        out.extend(body);
    }

    fn parse(kind: u8, body: &[u8]) -> Result<Frame, FrameError> {
        let wrong = || FrameError::Body(kind);
        let mut fields = Fields(body);
        let frame = match kind {
            1 => Frame::Welcome { offset: fields.u64().ok_or_else(wrong)? },
            2 => {
                let offset = fields.u64().ok_or_else(wrong)?;
                let complete = match fields.u8().ok_or_else(wrong)? {
                    0 => false,
                    1 => true,
                    _ => return Err(wrong()),
                };
                Frame::Progress { offset, complete }
            }
            3 => {
                let member = fields.u32().ok_or_else(wrong)?;
                Frame::Receipt { member, bytes: fields.u64().ok_or_else(wrong)? }
            }
            4 => {
                let member = fields.u32().ok_or_else(wrong)?;
                Frame::Reply { member, bytes: fields.rest().to_vec() }
            }
            5 => Frame::ReplyEnd { member: fields.u32().ok_or_else(wrong)? },
            6 => {
                let code = fields.u8().ok_or_else(wrong)?;
                let fault = Fault::ALL.into_iter().find(|f| f.code() == code).ok_or_else(wrong)?;
                let member = fields.u32().ok_or_else(wrong)?;
                let offset = fields.u64().ok_or_else(wrong)?;
                let text = std::str::from_utf8(fields.rest()).map_err(|_| wrong())?;
                if text.len() > MAX_TEXT {
                    return Err(wrong());
                }
                Frame::Failure { fault, member, offset, text: text.to_owned() }
            }
            _ => return Err(FrameError::Kind(kind)),
        };
        match fields.0 {
            [] => Ok(frame),
            _ => Err(wrong()),
        }
    }
}

/// Reads a body from its front.
struct Fields<'a>(&'a [u8]);

impl<'a> Fields<'a> {
    fn take<const N: usize>(&mut self) -> Option<[u8; N]> {
        let taken = self.0.get(..N)?.try_into().ok()?;
        self.0 = &self.0[N..];
        Some(taken)
    }

    fn u8(&mut self) -> Option<u8> {
        self.take().map(u8::from_be_bytes)
    }

    fn u32(&mut self) -> Option<u32> {
        self.take().map(u32::from_be_bytes)
    }

    fn u64(&mut self) -> Option<u64> {
        self.take().map(u64::from_be_bytes)
    }

    fn rest(&mut self) -> &'a [u8] {
        std::mem::take(&mut self.0)
    }
}

/// Cuts what comes into frames.
#[derive(Debug, Default)]
pub struct Decoder {
    bytes: Vec<u8>,
    at: usize,
}

impl Decoder {
    /// Takes bytes in. Holds at most these and one incomplete frame.
    pub fn push(&mut self, bytes: &[u8]) {
        self.bytes.drain(..self.at);
        self.at = 0;
        self.bytes.extend_from_slice(bytes);
    }

    /// The next frame, if it is there; nothing useful comes after an error.
    pub fn next_frame(&mut self) -> Result<Option<Frame>, FrameError> {
        let rest = &self.bytes[self.at..];
        let &[kind, zero, high, low, ..] = rest else {
            return Ok(None);
        };
        if zero != 0 {
            return Err(FrameError::Body(kind));
        }
        let length = usize::from(u16::from_be_bytes([high, low]));
        if length > MAX_BODY {
            return Err(FrameError::TooLong(length));
        }
        let Some(body) = rest.get(HEADER..HEADER + length) else {
            return Ok(None);
        };
        let frame = Frame::parse(kind, body)?;
        self.at += HEADER + length;
        Ok(Some(frame))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::collection::vec;
    use proptest::prelude::*;

    fn frame() -> impl Strategy<Value = Frame> {
        let fault = proptest::sample::select(&Fault::ALL[..]);
        prop_oneof![
            any::<u64>().prop_map(|offset| Frame::Welcome { offset }),
            any::<(u64, bool)>().prop_map(|(offset, complete)| Frame::Progress { offset, complete }),
            any::<(u32, u64)>().prop_map(|(member, bytes)| Frame::Receipt { member, bytes }),
            (any::<u32>(), vec(any::<u8>(), 0..300))
                .prop_map(|(member, bytes)| Frame::Reply { member, bytes }),
            any::<u32>().prop_map(|member| Frame::ReplyEnd { member }),
            (fault, any::<(u32, u64)>(), ".{0,100}").prop_map(|(fault, (member, offset), text)| {
                Frame::Failure { fault, member, offset, text }
            }),
        ]
    }

    fn decode(bytes: &[u8], pieces: &[usize]) -> Result<Vec<Frame>, FrameError> {
        let (mut decoder, mut frames, mut rest) = (Decoder::default(), Vec::new(), bytes);
        for &piece in pieces.iter().chain([&bytes.len()]) {
            let (now, later) = rest.split_at(piece.min(rest.len()));
            rest = later;
            decoder.push(now);
            while let Some(frame) = decoder.next_frame()? {
                frames.push(frame);
            }
        }
        Ok(frames)
    }

    proptest! {
        #[test]
        fn frames_round_trip_however_they_are_cut(
            frames in vec(frame(), 0..10), pieces in vec(0..50_usize, 0..60),
        ) {
            let mut bytes = Vec::new();
            frames.iter().for_each(|frame| frame.encode(&mut bytes));
            prop_assert_eq!(decode(&bytes, &pieces), Ok(frames));
        }

        #[test]
        fn any_bytes_are_parsed_or_refused(bytes in vec(any::<u8>(), 0..200), kind in 0..8_u8) {
            let _ = decode(&bytes, &[7]);
            let mut framed = vec![kind, 0, 0, bytes.len() as u8];
            framed.extend(bytes.iter().take(255));
            let _ = decode(&framed, &[]);
        }
    }

    #[test]
    fn bounds() {
        let mut bytes = Vec::new();
        Frame::Reply { member: 1, bytes: vec![7; MAX_REPLY + 1] }.encode(&mut bytes);
        assert_eq!(bytes.len(), HEADER + MAX_BODY);
        assert_eq!(decode(&[4, 0, 0x40, 1], &[]), Err(FrameError::TooLong(MAX_BODY + 1)));
        assert_eq!(decode(&[9, 0, 0, 0], &[]), Err(FrameError::Kind(9)));
        assert_eq!(decode(&[5, 0, 0, 5, 0, 0, 0, 0, 0], &[]), Err(FrameError::Body(5)));
        let text = "ä".repeat(400);
        let mut bytes = Vec::new();
        Frame::Failure { fault: Fault::Reset, member: 0, offset: 0, text }.encode(&mut bytes);
        assert!(decode(&bytes, &[]).is_ok_and(|f| f.len() == 1), "cut between characters");
    }
}
