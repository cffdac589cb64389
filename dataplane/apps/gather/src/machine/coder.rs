//! The sending side of a coded stream: groups whose blocks go over different stripes.

use std::collections::VecDeque;
use std::ops::Range;

use groupflow_base::SortedMap;

use super::coding::{ErasureCode, ParityGroup};
use super::outgoing::StripeId;
use super::repairs::Parity;

/// Groups whose parity may wait for a stripe; beyond, the oldest group's parity is dropped.
const WAITING: usize = 4;
/// Groups that may be begun but not fully handed out.
const BEGUN: usize = 2;

#[derive(Debug, PartialEq, Eq)]
pub(super) enum StripeBlock {
    /// These bytes of the stream.
    Piece(Range<u64>),
    /// A block of parity, and its bytes.
    Parity(Parity, Vec<u8>),
}

/// The groups being sent. With enough stripes, one stripe gets at most as many blocks of a group as the group
/// has blocks of parity, so that the blocks of a held-up stripe can be made of those of the others. With
/// fewer stripes, each gets its share of the blocks.
#[derive(Debug, Clone)]
pub(super) struct Coder {
    pub(super) code: ErasureCode,
    groups: VecDeque<Begun>,
}

#[derive(Debug, Clone)]
struct Begun {
    group: ParityGroup,
    /// The index of the next piece.
    next: u8,
    /// The blocks of parity that are left.
    parity: VecDeque<(u8, Vec<u8>)>,
    /// Blocks given to each stripe.
    given: SortedMap<StripeId, u8>,
}

impl Begun {
    fn takes(&self, stripe: StripeId, stripes: usize) -> bool {
        let blocks = usize::from(self.group.pieces + self.group.parity);
        let most = blocks.div_ceil(stripes.max(1)).max(self.group.parity.into());
        usize::from(self.given.get(&stripe).copied().unwrap_or(0)) < most
    }

    fn count(&mut self, stripe: StripeId) {
        *self.given.entry(stripe).or_insert(0) += 1;
    }

    fn piece(&mut self, stripe: StripeId) -> StripeBlock {
        self.count(stripe);
        self.next += 1;
        StripeBlock::Piece(self.group.piece(self.next - 1))
    }

    fn is_given(&self) -> bool {
        self.next == self.group.pieces
    }
}

impl Coder {
    pub(super) fn new(code: ErasureCode) -> Coder {
        Coder { code, groups: VecDeque::new() }
    }

    /// Whether another group may be begun.
    pub(super) fn may_begin(&self) -> bool {
        self.groups.iter().filter(|begun| !begun.is_given()).count() < BEGUN
    }

    /// Begins a group with these bytes of the stream.
    pub(super) fn begin(&mut self, start: u64, bytes: &[u8]) {
        let group = self.code.group(start, bytes.len() as u64);
        let parity = (0..).zip(group.encode(bytes)).collect();
        self.groups.push_back(Begun { group, next: 0, parity, given: SortedMap::new() });
        let waiting = |begun: &Begun| begun.is_given() && !begun.parity.is_empty();
        if self.groups.iter().filter(|begun| waiting(begun)).count() > WAITING {
            if let Some(oldest) = self.groups.iter_mut().find(|begun| waiting(begun)) {
                oldest.parity.clear();
            }
        }
    }

    /// A block for this stripe, one of `stripes`, if it may have another.
    pub(super) fn block(&mut self, stripe: StripeId, stripes: usize) -> Option<StripeBlock> {
        for begun in self.groups.iter_mut().filter(|begun| begun.takes(stripe, stripes)) {
            if !begun.is_given() {
                return Some(begun.piece(stripe));
            }
            if let Some((index, bytes)) = begun.parity.pop_front() {
                begun.count(stripe);
                return Some(StripeBlock::Parity(Parity { group: begun.group, index }, bytes));
            }
        }
        None
    }

    pub(super) fn has_pieces(&self) -> bool {
        self.groups.iter().any(|begun| !begun.is_given())
    }

    /// Drops groups that lie before `delivered`.
    pub(super) fn acknowledge(&mut self, delivered: u64) {
        self.groups.retain(|begun| begun.group.end() > delivered);
    }

    pub(super) fn clear(&mut self) {
        self.groups.clear();
    }
}

#[cfg(test)]
#[path = "tests/coder.rs"]
mod tests;
