//! Frames that agents send upstream, against a stream's direction, on the stream's connection.

use groupflow_base::codec::{CodecError, Envelope, Envelopes, Reader, Writer};
use groupflow_base::wire_enum;

pub const MAX_BODY: usize = 16 << 10;
/// Bytes of a reply that fit a frame.
pub const MAX_REPLY: usize = MAX_BODY - 4;
/// Bytes of the longest error text.
const MAX_TEXT: usize = 512;

wire_enum!(
    /// Why a stream, or a member's part of it, ended early.
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

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::collection::vec;
    use proptest::prelude::*;

    fn frame() -> impl Strategy<Value = SplitFrame> {
        let fault = proptest::sample::select(Fault::ALL);
        prop_oneof![
            any::<u64>().prop_map(|offset| SplitFrame::Welcome { offset }),
            any::<(u64, bool)>().prop_map(|(offset, complete)| SplitFrame::Progress { offset, complete }),
            any::<(u32, u64)>().prop_map(|(member, bytes)| SplitFrame::Receipt { member, bytes }),
            (any::<u32>(), vec(any::<u8>(), 0..300))
                .prop_map(|(member, bytes)| SplitFrame::Reply { member, bytes }),
            any::<u32>().prop_map(|member| SplitFrame::ReplyEnd { member }),
            (fault, any::<(u32, u64)>(), ".{0,100}").prop_map(|(fault, (member, offset), text)| {
                SplitFrame::Failure { fault, member, offset, text }
            }),
        ]
    }

    fn decode(bytes: &[u8], pieces: &[usize]) -> Result<Vec<SplitFrame>, CodecError> {
        let (mut decoder, mut frames, mut rest) = (SplitDecoder::default(), Vec::new(), bytes);
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
        SplitFrame::Reply { member: 1, bytes: vec![7; MAX_REPLY + 1] }.encode(&mut bytes);
        assert_eq!(bytes.len(), Envelope::HEADER + MAX_BODY);
        let cases: [(&[u8], &str); 5] = [
            (&[4, 0, 0x40, 1], "frame.length: 16385 is too long for kind 4"),
            (&[9, 0, 0, 0], "frame.kind: 9 is not a legal value"),
            (&[5, 0, 0, 5, 0, 0, 0, 0, 0], "frame: 1 bytes too many"),
            (&[6, 0, 0, 1, 7], "failure.fault: 7 is not a legal value"),
            (&[2, 0, 0, 9, 0, 0, 0, 0, 0, 0, 0, 0, 2], "progress.complete: 2 is not a legal value"),
        ];
        for (bytes, expected) in cases {
            assert_eq!(decode(bytes, &[]).map_err(|e| e.to_string()), Err(expected.to_owned()));
        }
        let text = "ä".repeat(400);
        let mut bytes = Vec::new();
        SplitFrame::Failure { fault: Fault::Reset, member: 0, offset: 0, text }.encode(&mut bytes);
        assert!(decode(&bytes, &[]).is_ok_and(|f| f.len() == 1), "cut between characters");
    }

    #[test]
    fn frames_are_these_bytes() {
        let (member, offset) = (0x0102_0304, 0x0506_0708_090a);
        let failure =
            SplitFrame::Failure { fault: Fault::MemberReset, member, offset, text: "ä".to_owned() };
        let cases = [
            (SplitFrame::Welcome { offset }, "01000008000005060708090a"),
            (SplitFrame::Progress { offset, complete: true }, "02000009000005060708090a01"),
            (SplitFrame::Receipt { member, bytes: offset }, "0300000c01020304000005060708090a"),
            (SplitFrame::Reply { member, bytes: vec![7, 8] }, "04000006010203040708"),
            (SplitFrame::ReplyEnd { member }, "0500000401020304"),
            (failure, "0600000f0601020304000005060708090ac3a4"),
        ];
        for (frame, expected) in cases {
            let mut bytes = Vec::new();
            frame.encode(&mut bytes);
            let hex: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
            assert_eq!(hex, expected);
        }
    }
}
