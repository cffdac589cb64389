//! The receiving side of a stream: bytes come over any stripe, in any order and more than once, and go out
//! once and in order. Missing bytes of a coded stream are made of parity where that is possible.

use groupflow_base::reassembly::Reassembly;
use groupflow_base::CodecError;

use super::repairs::{Parity, ParityQueue};

/// This part of a coded stream's room is for delivered bytes, from which missing bytes may have to be made,
/// and as much for parity.
const PART: u64 = 4;

/// One stream at the server.
#[derive(Debug, Clone)]
pub struct Incoming {
    bytes: Reassembly,
    coded: Option<Coded>,
}

#[derive(Debug, Clone)]
struct Coded {
    /// Delivered bytes that are kept.
    keeps: u64,
    repairs: ParityQueue,
}

impl Incoming {
    /// A stream whose first `delivered` bytes were delivered already; at most `room` bytes are held.
    pub fn new(delivered: u64, room: u64) -> Incoming {
        Incoming { bytes: Reassembly::new(delivered, room), coded: None }
    }

    /// A coded stream: half of the room is for bytes that wait for others, a quarter for delivered ones, a
    /// quarter for parity.
    pub fn coded(delivered: u64, room: u64) -> Incoming {
        let keeps = room / PART;
        let bytes = Reassembly::keeping(delivered, room - 2 * keeps, keeps);
        Incoming { bytes, coded: Some(Coded { keeps, repairs: ParityQueue::new(keeps) }) }
    }

    /// The stream's bytes, without parity.
    pub fn bytes(&self) -> &Reassembly {
        &self.bytes
    }

    /// Takes bytes that came over a stripe, as [`Reassembly::receive`] does; bytes that can be made count.
    pub fn receive(
        &mut self, offset: u64, bytes: &[u8], sink: &mut impl FnMut(&[u8]) -> usize,
    ) -> Result<u64, CodecError> {
        let before = self.bytes.delivered();
        let fresh = self.bytes.receive(offset, bytes, sink)?;
        let end = offset + bytes.len() as u64;
        match end <= before {
            true => Ok(0),
            false => Ok(fresh + self.repair(offset..end, sink)),
        }
    }

    /// Takes bytes of parity that came over a stripe, those of a block from `at` on. Returns the number of
    /// bytes that had not come before and could be made.
    pub fn receive_parity(
        &mut self, parity: Parity, at: usize, bytes: &[u8], sink: &mut impl FnMut(&[u8]) -> usize,
    ) -> Result<u64, CodecError> {
        let group = parity.group;
        self.bytes.check_end(group.start, group.length.into())?;
        let Some(coded) = &mut self.coded else {
            return Err(CodecError::new("parity.start", "comes in a stream that is not coded"));
        };
        if u64::from(group.length) > coded.keeps {
            let text = format!("{} is more than {}, a part of the room", group.length, coded.keeps);
            return Err(CodecError::new("parity.length", text));
        }
        if group.end() <= self.bytes.delivered() {
            return Ok(0);
        }
        coded.repairs.receive(parity, at, bytes);
        Ok(self.repair(group.start..group.end(), sink))
    }

    /// Makes the missing bytes around these ones, if they can be made.
    fn repair(&mut self, range: std::ops::Range<u64>, sink: &mut impl FnMut(&[u8]) -> usize) -> u64 {
        let Some(coded) = &mut self.coded else { return 0 };
        coded.repairs.discard_below(self.bytes.delivered());
        let made = coded.repairs.make(range, self.bytes.store());
        let fresh = made.iter().map(|(offset, bytes)| self.bytes.place(*offset, bytes)).sum();
        if fresh > 0 {
            self.drain(sink);
        }
        fresh
    }

    /// Offers the held bytes that are next in order to `sink`, until it takes no more. True: it took some.
    pub fn drain(&mut self, sink: &mut impl FnMut(&[u8]) -> usize) -> bool {
        let took = self.bytes.drain(sink);
        if let Some(coded) = &mut self.coded {
            coded.repairs.discard_below(self.bytes.delivered());
        }
        took
    }

    /// Takes the stream's length, which the client tells.
    pub fn end(&mut self, length: u64) -> Result<(), CodecError> {
        self.bytes.end(length)
    }

    /// Memory of the bytes held, of those kept and of parity.
    pub fn memory(&self) -> usize {
        self.bytes.store().memory() + self.coded.as_ref().map_or(0, |coded| coded.repairs.cost() as usize)
    }
}
