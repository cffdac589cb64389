//! The sending side of a stream: which bytes go to which stripe, and to another one when a stripe is lost.

use std::collections::{BTreeMap, VecDeque};
use std::ops::Range;

use groupflow_base::codec::CodecError;
use groupflow_base::ranges::Ranges;
use groupflow_base::reassembly::MIN_BLOCK;
use groupflow_base::stream::ByteQueue;

use super::frame::Epoch;

/// The most bytes that a stripe is given at once.
pub const MAX_BLOCK: u64 = 16 << 10;
/// How many blocks may be smaller than [`MIN_BLOCK`], so that occasional small writes are sent at once.
const SMALL_BLOCKS: usize = 16;
/// A block is at most this fraction of the limit's room for each stripe.
const SHARE: u64 = 8;

/// A stripe's number, given by its owner.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct StripeId(pub u32);

/// The next thing to send on a stripe.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Send {
    /// These bytes of the stream.
    Data(Range<u64>),
    /// The stream's length.
    End(u64),
}

#[derive(Debug, Clone)]
struct Stripe {
    epoch: Epoch,
    leaving: bool,
    /// The stripe carries nothing at present; its bytes also go over others.
    stalled: bool,
    /// Ranges given to the stripe and not delivered yet, in the order in which they were given.
    given: VecDeque<Range<u64>>,
}

/// A client's stream. At all times `acknowledged <= sent <= read`, and `read - acknowledged` is at most the
/// capacity.
#[derive(Debug, Clone, Default)]
pub struct Outgoing {
    capacity: usize,
    /// Bytes from `acknowledged` to `read`.
    buffer: ByteQueue,
    /// The end of the bytes ever given to a stripe.
    sent: u64,
    /// Ranges given to stripes that are lost.
    lost: Ranges,
    limit: u64,
    epoch: Option<Epoch>,
    stripes: BTreeMap<StripeId, Stripe>,
    /// How many stripes the server wants.
    pub wanted: u16,
    ended: bool,
    end_given: Option<StripeId>,
    /// Whether the server has delivered the whole stream.
    pub complete: bool,
}

impl Outgoing {
    /// A stream that keeps at most `capacity` bytes until they are delivered.
    pub fn new(capacity: usize) -> Outgoing {
        Outgoing { capacity, wanted: 1, ..Outgoing::default() }
    }

    /// Bytes that may be taken from the input.
    pub fn room(&self) -> usize {
        match self.ended {
            true => 0,
            false => self.capacity - self.buffer.len(),
        }
    }

    /// Takes bytes from the input, at most [`Outgoing::room`]; returns their number.
    pub fn push(&mut self, bytes: &[u8]) -> usize {
        let taken = bytes.len().min(self.room());
        self.buffer.push(&bytes[..taken]);
        taken
    }

    /// Notes that the input has ended.
    pub fn finish(&mut self) {
        self.ended = true;
    }

    /// Handles a WELCOME. Returns the stripes that the server does not know any more: they are lost, and must
    /// be closed.
    pub fn on_welcome(
        &mut self, stripe: StripeId, epoch: Epoch, (delivered, limit): (u64, u64), wanted: u16,
    ) -> Result<Vec<StripeId>, CodecError> {
        let mut stale = Vec::new();
        if self.epoch != Some(epoch) {
            if delivered < self.acknowledged() {
                let text = format!("{delivered} is before {}, which was acknowledged", self.acknowledged());
                return Err(CodecError::new("welcome.delivered", text));
            }
            stale.extend(self.stripes.keys().copied());
            self.stripes.clear();
            self.end_given = None;
            self.epoch = Some(epoch);
            self.limit = limit;
            self.acknowledge(delivered)?;
            self.lost.clear();
            self.lost.insert(self.acknowledged()..self.sent);
        }
        self.stripes.insert(stripe, Stripe { epoch, leaving: false, stalled: false, given: VecDeque::new() });
        self.wanted = wanted;
        self.on_delivered(stripe, delivered, limit)?;
        Ok(stale)
    }

    /// Handles a DELIVERED. News on a lost stripe, and old news, are ignored.
    pub fn on_delivered(&mut self, from: StripeId, delivered: u64, limit: u64) -> Result<(), CodecError> {
        if self.stripes.get(&from).is_some_and(|stripe| Some(stripe.epoch) == self.epoch) {
            self.acknowledge(delivered)?;
            self.limit = self.limit.max(limit);
        }
        Ok(())
    }

    /// Handles a WANT: the server wants so many stripes.
    pub fn on_want(&mut self, wanted: u16) {
        self.wanted = wanted.max(1);
    }

    /// Handles a COMPLETE: the server has delivered the whole stream.
    pub fn on_complete(&mut self, length: u64) -> Result<(), CodecError> {
        if !self.ended || length != self.read() {
            return Err(CodecError::new("complete.length", format!("{length} is not the stream's")));
        }
        self.sent = length;
        self.acknowledge(length)?;
        self.complete = true;
        Ok(())
    }

    /// Handles the loss of a stripe: its undelivered bytes go to others.
    pub fn on_lost(&mut self, stripe: StripeId) {
        if let Some(lost) = self.stripes.remove(&stripe) {
            self.give_again(stripe, lost.given);
        }
    }

    /// Handles a stripe that is open but carries nothing: its undelivered bytes also go to others, and it is
    /// given nothing more until [`Outgoing::on_progress`].
    pub fn on_stalled(&mut self, stripe: StripeId) {
        let Some(stalled) = self.stripes.get_mut(&stripe).filter(|stripe| !stripe.leaving) else { return };
        stalled.stalled = true;
        let given = std::mem::take(&mut stalled.given);
        self.give_again(stripe, given);
    }

    /// Has the ranges that a stripe was given, and the end if it was, given to others.
    fn give_again(&mut self, stripe: StripeId, given: VecDeque<Range<u64>>) {
        for range in given {
            self.lost.insert(range.start.max(self.acknowledged())..range.end);
        }
        self.end_given = self.end_given.filter(|&id| id != stripe);
    }

    /// Handles a stalled stripe that carries bytes again.
    pub fn on_progress(&mut self, stripe: StripeId) {
        if let Some(stripe) = self.stripes.get_mut(&stripe) {
            stripe.stalled = false;
        }
    }

    /// Retires a stripe: it is given nothing more, and the caller sends its LEAVE.
    pub fn retire(&mut self, stripe: StripeId) {
        if let Some(stripe) = self.stripes.get_mut(&stripe) {
            stripe.leaving = true;
        }
    }

    /// Handles the end of a retired stripe, which the server has read: it has the stripe's bytes for as long
    /// as its epoch lasts.
    pub fn on_left(&mut self, stripe: StripeId) {
        match self.stripes.get(&stripe) {
            Some(left) if left.leaving => drop(self.stripes.remove(&stripe)),
            _ => self.on_lost(stripe),
        }
    }

    /// The next thing to send on a stripe that has room.
    pub fn give(&mut self, id: StripeId) -> Option<Send> {
        let most = self.block();
        let small = self.small_blocks_may_go();
        let stripe = self.stripes.get_mut(&id).filter(|stripe| !stripe.leaving && !stripe.stalled)?;
        let again = self.lost.first().filter(|range| range.start < self.limit);
        if let Some(range) = again {
            let range = self.lost.take_first(most.min(self.limit - range.start))?;
            stripe.given.push_back(range.clone());
            return Some(Send::Data(range));
        }
        let read = self.buffer.end();
        let end = read.min(self.limit).min(self.sent + most);
        let all = self.ended && end == read;
        if end > self.sent && (end - self.sent >= MIN_BLOCK || small || all) {
            let range = self.sent..end;
            self.sent = end;
            stripe.given.push_back(range.clone());
            return Some(Send::Data(range));
        }
        if self.ended && self.sent == read && self.end_given.is_none() {
            self.end_given = Some(id);
            return Some(Send::End(read));
        }
        None
    }

    /// The bytes of an undelivered range, in two consecutive parts.
    pub fn bytes(&self, range: &Range<u64>) -> (&[u8], &[u8]) {
        let from = range.start.max(self.acknowledged());
        // At most the bytes of the buffer.
        self.buffer.read(from, range.end.saturating_sub(from) as usize)
    }

    /// Bytes taken from the input.
    pub fn read(&self) -> u64 {
        self.buffer.end()
    }

    /// Bytes that are delivered.
    pub fn acknowledged(&self) -> u64 {
        self.buffer.base
    }

    /// The most bytes that a stripe is given at once: a fraction of the room, between [`MIN_BLOCK`] and
    /// [`MAX_BLOCK`], so that a slow stripe holds up little.
    fn block(&self) -> u64 {
        let room = self.limit.saturating_sub(self.acknowledged());
        (room / SHARE / u64::from(self.wanted)).clamp(MIN_BLOCK, MAX_BLOCK)
    }

    fn small_blocks_may_go(&self) -> bool {
        self.stripes.values().map(|stripe| stripe.given.len()).sum::<usize>() < SMALL_BLOCKS
    }

    fn acknowledge(&mut self, delivered: u64) -> Result<(), CodecError> {
        if delivered > self.sent {
            let text = format!("{delivered} lies beyond {}, which is all that was sent", self.sent);
            return Err(CodecError::new("delivered.delivered", text));
        }
        if delivered <= self.acknowledged() {
            return Ok(());
        }
        // All bytes sent were read, so that they are in the buffer.
        self.buffer.discard_below(delivered);
        self.lost.remove_below(delivered);
        for stripe in self.stripes.values_mut() {
            stripe.given.retain(|range| range.end > delivered);
        }
        Ok(())
    }
}
