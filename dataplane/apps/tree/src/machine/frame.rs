//! What goes over the connections of an edge: kind (u8), 0 (u8), length of the body (u16), body; numbers in network
//! order. A child connects to its parent, once or several times, and says HELLO on each connection.

use groupflow_base::Nanos;
use groupflow_gather::machine::FrameError;

use super::names::{HostId, Ticket};

/// The version of these frames.
pub const VERSION: u8 = 1;
/// The version of a HELLO whose child takes its DATA in datagrams; 2 and 3 were of edges that are no more.
const WITH_DATAGRAMS: u8 = 4;
/// Bytes before the body.
pub const HEADER: usize = 4;
/// Bytes of DATA besides the stream's.
pub const DATA_HEADER: usize = HEADER + 8;
/// The most bytes of the stream in one DATA.
pub const MAX_BLOCK: usize = 16 << 10;
const DATA: u8 = 17;

/// Where a child begins.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Begin {
    /// With what comes next.
    Now,
    /// With this byte.
    At(u64),
}

/// Why a parent does not serve a child, or no longer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reason {
    /// A frame makes no sense.
    BadFrame,
    /// The child is not expected, or has another ticket. It may be expected soon.
    Unexpected,
    /// What it needs is not there any more.
    Gone,
    /// It is too slow, and was overtaken.
    Overtaken,
    /// It took nothing for so long that the others wait no longer.
    Stalled,
    /// It has as many connections as it may have.
    TooMany,
    /// The parent leaves, or begins elsewhere.
    Leaving,
}

impl Reason {
    const ALL: [Reason; 7] = [
        Reason::BadFrame,
        Reason::Unexpected,
        Reason::Gone,
        Reason::Overtaken,
        Reason::Stalled,
        Reason::TooMany,
        Reason::Leaving,
    ];
}

/// A frame; DATA as its offset and bytes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Frame {
    /// Child: who this is.
    Hello {
        /// Who.
        child: HostId,
        /// Its proof.
        ticket: Ticket,
        /// Goes up with each edge of the child to this parent: connections of one edge have the same.
        edge: u32,
        /// Where to begin.
        begin: Begin,
        /// Neither it nor any host below it needs what is before. The rest is kept for those below it, though it has it.
        needed: u64,
        /// Nothing may be sent that lies so many bytes or more beyond what it has.
        room: u64,
        /// Its DATA are to come in datagrams, none of which waited for longer at the parent: whole milliseconds, at most a `u32`.
        deadline: Option<Nanos>,
    },
    /// Child: all before `taken` is in its cache.
    Taken {
        /// Offset.
        taken: u64,
        /// Neither it nor any host below it needs what is before.
        needed: u64,
    },
    /// Child: it has all, and the end.
    Complete,
    /// Child: another parent serves it; nothing need be kept for it and those below it. Nothing follows.
    Moved,
    /// Parent: it serves this connection, from there on.
    Welcome {
        /// Offset.
        begin: u64,
    },
    /// Parent: nothing follows before `to`: it is too late for that.
    Skip {
        /// Offset.
        to: u64,
    },
    /// Parent: the stream ends there.
    End {
        /// Bytes.
        length: u64,
    },
    /// Parent: nothing follows on this connection.
    Refused(Reason),
    /// Parent: a part of the stream.
    Data {
        /// Where it belongs.
        offset: u64,
        /// 1 to [`MAX_BLOCK`] bytes.
        bytes: Vec<u8>,
    },
    /// Either: it is there.
    Alive,
}

impl Frame {
    /// Appends the frame as it is sent.
    pub fn encode(&self, out: &mut Vec<u8>) {
        let start = out.len();
        out.extend([self.kind(), 0, 0, 0]);
        match self {
            Frame::Hello { child, ticket, edge, begin, needed, room, deadline } => {
                out.push(if deadline.is_some() { WITH_DATAGRAMS } else { VERSION });
                out.extend(child.0.to_be_bytes());
                out.extend(ticket.0);
                out.extend(edge.to_be_bytes());
                let (at, offset) = match begin {
                    Begin::Now => (0, 0),
                    Begin::At(offset) => (1, *offset),
                };
                out.push(at);
                out.extend(offset.to_be_bytes());
                out.extend(needed.to_be_bytes());
                out.extend(room.to_be_bytes());
                if let Some(deadline) = deadline {
                    let millis = u32::try_from(deadline.0 / Nanos::from_millis(1).0).unwrap_or(u32::MAX);
                    out.extend(millis.to_be_bytes());
                }
            }
            Frame::Taken { taken, needed } => {
                out.extend(taken.to_be_bytes());
                out.extend(needed.to_be_bytes());
            }
            Frame::Welcome { begin: number } | Frame::Skip { to: number } | Frame::End { length: number } => {
                out.extend(number.to_be_bytes());
            }
            Frame::Refused(reason) => out.push(*reason as u8 + 1),
            Frame::Data { offset, bytes } => {
                out.extend(offset.to_be_bytes());
                out.extend(bytes);
            }
            Frame::Complete | Frame::Moved | Frame::Alive => {}
        }
        // At most 8 + MAX_BLOCK.
        let length = (out.len() - start - HEADER) as u16;
        out[start + 2..start + HEADER].copy_from_slice(&length.to_be_bytes());
    }

    /// Appends [`Frame::Data`] of two pieces that follow each other, 1 to [`MAX_BLOCK`] bytes in all.
    pub fn encode_data(offset: u64, (first, second): (&[u8], &[u8]), out: &mut Vec<u8>) {
        // At most 8 + MAX_BLOCK.
        let length = (8 + first.len() + second.len()) as u16;
        out.extend([DATA, 0]);
        out.extend(length.to_be_bytes());
        out.extend(offset.to_be_bytes());
        out.extend_from_slice(first);
        out.extend_from_slice(second);
    }

    fn kind(&self) -> u8 {
        match self {
            Frame::Hello { .. } => 1,
            Frame::Taken { .. } => 2,
            Frame::Complete => 3,
            Frame::Moved => 4,
            Frame::Welcome { .. } => 16,
            Frame::Data { .. } => DATA,
            Frame::Skip { .. } => 18,
            Frame::End { .. } => 19,
            Frame::Refused(_) => 20,
            Frame::Alive => 32,
        }
    }

    fn parse(kind: u8, body: &[u8]) -> Result<Frame, FrameError> {
        let mut fields = Fields(body);
        let frame = match kind {
            1 => {
                let [version] = fields.take("hello.version")?;
                if version != VERSION && version != WITH_DATAGRAMS {
                    let text = format!("{version} is neither {VERSION} nor {WITH_DATAGRAMS}");
                    return Err(FrameError::new("hello.version", text));
                }
                let child = HostId(fields.number("hello.child")?);
                let ticket = Ticket(fields.take("hello.ticket")?);
                let edge = u32::from_be_bytes(fields.take("hello.edge")?);
                let ([at], offset) = (fields.take("hello.begin")?, fields.number("hello.begin")?);
                let begin = match at {
                    0 => Begin::Now,
                    1 => Begin::At(offset),
                    _ => return Err(FrameError::new("hello.begin", format!("{at} is unknown"))),
                };
                let needed = fields.number("hello.needed")?;
                if matches!(begin, Begin::At(offset) if needed > offset) {
                    return Err(FrameError::new("hello.needed", format!("{needed} is beyond what it has")));
                }
                let room = fields.number("hello.room")?;
                if let (Begin::At(offset), true) = (begin, offset.checked_add(room).is_none()) {
                    let text = format!("{room} from {offset} on lies beyond the longest stream");
                    return Err(FrameError::new("hello.room", text));
                }
                let deadline = match version {
                    WITH_DATAGRAMS => {
                        let millis = u32::from_be_bytes(fields.take("hello.deadline")?);
                        Some(Nanos::from_millis(millis.into()))
                    }
                    _ => None,
                };
                Frame::Hello { child, ticket, edge, begin, needed, room, deadline }
            }
            2 => {
                let (taken, needed) = (fields.number("taken.taken")?, fields.number("taken.needed")?);
                if needed > taken {
                    return Err(FrameError::new("taken.needed", format!("{needed} is beyond {taken}")));
                }
                Frame::Taken { taken, needed }
            }
            3 => Frame::Complete,
            4 => Frame::Moved,
            16 => Frame::Welcome { begin: fields.number("welcome.begin")? },
            DATA => {
                let offset = fields.number("data.offset")?;
                let bytes = std::mem::take(&mut fields.0).to_vec();
                if bytes.is_empty() || bytes.len() > MAX_BLOCK {
                    let text = format!("has {} bytes, not 1 to {MAX_BLOCK}", bytes.len());
                    return Err(FrameError::new("data.bytes", text));
                }
                Frame::Data { offset, bytes }
            }
            18 => Frame::Skip { to: fields.number("skip.to")? },
            19 => Frame::End { length: fields.number("end.length")? },
            20 => {
                let [number] = fields.take("refused.reason")?;
                let reason = Reason::ALL.into_iter().find(|&reason| reason as u8 + 1 == number);
                let unknown = || FrameError::new("refused.reason", format!("{number} is unknown"));
                Frame::Refused(reason.ok_or_else(unknown)?)
            }
            32 => Frame::Alive,
            _ => return Err(FrameError::new("frame.kind", format!("{kind} is unknown"))),
        };
        match fields.0.len() {
            0 => Ok(frame),
            more => Err(FrameError::new("frame.length", format!("is {more} bytes too long for kind {kind}"))),
        }
    }
}

struct Fields<'a>(&'a [u8]);

impl Fields<'_> {
    fn take<const N: usize>(&mut self, field: &'static str) -> Result<[u8; N], FrameError> {
        let cut_off = || FrameError::new(field, "is cut off");
        let (taken, rest) = (self.0.get(..N).ok_or_else(cut_off)?, &self.0[N..]);
        let mut bytes = [0; N];
        bytes.copy_from_slice(taken);
        self.0 = rest;
        Ok(bytes)
    }

    fn number(&mut self, field: &'static str) -> Result<u64, FrameError> {
        self.take(field).map(u64::from_be_bytes)
    }
}

/// Cuts what comes over a connection into frames; holds at most one that is not complete.
#[derive(Debug, Clone, Default)]
pub struct Decoder {
    held: Vec<u8>,
}

impl Decoder {
    /// Takes the next frame off the front of `input`; `None`: all of it is taken. Nothing useful comes after an
    /// error.
    pub fn next_frame(&mut self, input: &mut &[u8]) -> Result<Option<Frame>, FrameError> {
        if !self.fill(HEADER, input) {
            return Ok(None);
        }
        let (kind, reserved) = (self.held[0], self.held[1]);
        let length = usize::from(u16::from_be_bytes([self.held[2], self.held[3]]));
        if reserved != 0 {
            return Err(FrameError::new("frame.reserved", "must be 0"));
        }
        let most = if kind == DATA { 8 + MAX_BLOCK } else { 64 };
        if length > most {
            return Err(FrameError::new("frame.length", format!("{length} is too long for kind {kind}")));
        }
        if !self.fill(HEADER + length, input) {
            return Ok(None);
        }
        let frame = Frame::parse(kind, &self.held[HEADER..])?;
        self.held.clear();
        Ok(Some(frame))
    }

    fn fill(&mut self, length: usize, input: &mut &[u8]) -> bool {
        let (now, rest) = input.split_at(length.saturating_sub(self.held.len()).min(input.len()));
        self.held.extend_from_slice(now);
        *input = rest;
        self.held.len() >= length
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn frame() -> impl Strategy<Value = Frame> {
        let begin = prop_oneof![Just(Begin::Now), (0..u64::MAX / 2).prop_map(Begin::At)];
        prop_oneof![
            (any::<u64>(), any::<[u8; 16]>(), any::<u32>(), begin, 0..u64::MAX / 2, any::<Option<u32>>())
                .prop_map(|(child, ticket, edge, begin, room, deadline)| Frame::Hello {
                    child: HostId(child),
                    ticket: Ticket(ticket),
                    edge,
                    begin,
                    needed: 0,
                    room,
                    deadline: deadline.map(|millis| Nanos::from_millis(millis.into())),
                }),
            (any::<u32>(), any::<u32>()).prop_map(|(more, needed)| Frame::Taken {
                taken: u64::from(needed) + u64::from(more),
                needed: needed.into()
            }),
            Just(Frame::Complete),
            Just(Frame::Moved),
            any::<u64>().prop_map(|begin| Frame::Welcome { begin }),
            (any::<u64>(), proptest::collection::vec(any::<u8>(), 1..300))
                .prop_map(|(offset, bytes)| Frame::Data { offset, bytes }),
            any::<u64>().prop_map(|to| Frame::Skip { to }),
            any::<u64>().prop_map(|length| Frame::End { length }),
            proptest::sample::select(&Reason::ALL[..]).prop_map(Frame::Refused),
            Just(Frame::Alive),
        ]
    }

    proptest! {
        #[test]
        fn frames_come_as_they_were_sent_however_they_are_cut(
            frames in proptest::collection::vec(frame(), 0..20), piece in 1..50_usize,
        ) {
            let mut bytes = Vec::new();
            frames.iter().for_each(|frame| frame.encode(&mut bytes));
            let (mut decoder, mut got) = (Decoder::default(), Vec::new());
            for mut input in bytes.chunks(piece) {
                while let Some(frame) = decoder.next_frame(&mut input).expect("frames") {
                    got.push(frame);
                }
            }
            prop_assert_eq!(got, frames);
        }

        #[test]
        fn nothing_that_comes_makes_it_panic_or_hold_much(bytes in proptest::collection::vec(any::<u8>(), 0..2000)) {
            let (mut decoder, mut input) = (Decoder::default(), &bytes[..]);
            while let Ok(Some(_)) = decoder.next_frame(&mut input) {}
            prop_assert!(decoder.held.len() <= HEADER + 8 + MAX_BLOCK);
        }
    }

    #[test]
    fn data_of_two_pieces_is_one_frame() {
        let (mut one, mut two) = (Vec::new(), Vec::new());
        Frame::Data { offset: 7, bytes: vec![1, 2, 3] }.encode(&mut one);
        Frame::encode_data(7, (&[1, 2], &[3]), &mut two);
        assert_eq!(one, two);
    }

    #[test]
    fn what_makes_no_sense_is_refused_and_named() {
        let hello = |version: u8, at: u8| {
            let mut body = vec![version];
            body.extend([0; 28]);
            body.push(at);
            body.extend([0; 24]);
            body
        };
        let beyond = {
            let mut body = hello(1, 1);
            body[30..46].copy_from_slice(&[8_u64.to_be_bytes(), 9_u64.to_be_bytes()].concat());
            body
        };
        let endless = {
            let mut body = hello(1, 1);
            body[30..38].copy_from_slice(&8_u64.to_be_bytes());
            body[46..54].copy_from_slice(&u64::MAX.to_be_bytes());
            body
        };
        let cases: [(u8, Vec<u8>, &str); 16] = [
            (9, vec![], "frame.kind 9 is unknown"),
            (1, vec![], "hello.version is cut off"),
            (1, hello(2, 0), "hello.version 2 is neither 1 nor 4"),
            (1, hello(4, 0), "hello.deadline is cut off"),
            (1, [hello(1, 0), vec![1; 10]].concat(), "frame.length is 10 bytes too long for kind 1"),
            (1, hello(1, 2), "hello.begin 2 is unknown"),
            (2, [[0; 7], [0; 7]].concat(), "taken.needed is cut off"),
            (2, [8_u64.to_be_bytes(), 9_u64.to_be_bytes()].concat(), "taken.needed 9 is beyond 8"),
            (1, beyond, "hello.needed 9 is beyond what it has"),
            (1, endless, "hello.room 18446744073709551615 from 8 on lies beyond the longest stream"),
            (17, vec![0; 9 + MAX_BLOCK], "frame.length 16393 is too long for kind 17"),
            (17, vec![0; 8], "data.bytes has 0 bytes, not 1 to 16384"),
            (20, vec![9], "refused.reason 9 is unknown"),
            (20, vec![0], "refused.reason 0 is unknown"),
            (3, vec![1], "frame.length is 1 bytes too long for kind 3"),
            (16, vec![0; 65], "frame.length 65 is too long for kind 16"),
        ];
        for (kind, body, error) in cases {
            let mut bytes = vec![kind, 0];
            bytes.extend((body.len() as u16).to_be_bytes());
            bytes.extend(body);
            let got = Decoder::default().next_frame(&mut &bytes[..]).expect_err(error);
            assert_eq!(got.to_string(), error);
        }
        let error = Decoder::default().next_frame(&mut &[1_u8, 1, 0, 0][..]).expect_err("reserved");
        assert_eq!(error.to_string(), "frame.reserved must be 0");
    }
}
