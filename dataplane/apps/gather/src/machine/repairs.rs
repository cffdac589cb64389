//! Parity that was received, and pieces made from it when their own stripes are late or lost.

use std::collections::BTreeMap;

use groupflow_base::store::ByteStore;

use super::coding::ParityGroup;

/// Bytes of overhead counted for each block of parity.
const OVERHEAD: u64 = 128;
/// Groups examined when bytes arrive: the groups of a correct client do not overlap.
const OVERLAPPING: usize = 4;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Parity {
    pub group: ParityGroup,
    /// The index of the block, from 0.
    pub index: u8,
}

/// Parity of groups that are not delivered, within a budget; parity beyond it is dropped, since the bytes
/// themselves will arrive anyway.
#[derive(Debug, Clone)]
pub struct ParityQueue {
    /// Groups by their start.
    groups: BTreeMap<u64, PartialGroup>,
    budget: u64,
    cost: u64,
}

#[derive(Debug, Clone)]
struct PartialGroup {
    group: ParityGroup,
    blocks: BTreeMap<u8, Vec<u8>>,
}

impl PartialGroup {
    fn cost(&self) -> u64 {
        self.blocks.len() as u64 * cost(&self.group)
    }

    fn complete(&self) -> impl Iterator<Item = (u8, &[u8])> {
        let block = self.group.block() as usize;
        let blocks = self.blocks.iter().filter(move |(_, bytes)| bytes.len() == block);
        blocks.map(|(&index, bytes)| (index, &bytes[..]))
    }
}

fn cost(group: &ParityGroup) -> u64 {
    group.block() + OVERHEAD
}

impl ParityQueue {
    /// No parity yet, and a budget in bytes.
    pub fn new(budget: u64) -> ParityQueue {
        ParityQueue { groups: BTreeMap::new(), budget, cost: 0 }
    }

    /// Bytes of memory in use.
    pub fn cost(&self) -> u64 {
        self.cost
    }

    /// Takes bytes of parity that follow the first `at` bytes of their block.
    pub fn receive(&mut self, parity: Parity, at: usize, bytes: &[u8]) {
        let Parity { group, index } = parity;
        let is_new = match self.groups.get(&group.start) {
            Some(waiting) if waiting.group != group => return,
            Some(waiting) => !waiting.blocks.contains_key(&index),
            None => true,
        };
        if is_new && !(at == 0 && self.make_room(&group)) {
            return;
        }
        let waiting = self.groups.entry(group.start);
        let waiting = waiting.or_insert_with(|| PartialGroup { group, blocks: BTreeMap::new() });
        let block = waiting.blocks.entry(index).or_insert_with(|| Vec::with_capacity(group.block() as usize));
        self.cost += u64::from(is_new) * cost(&group);
        // If the bytes do not follow, another stripe may bring the block again.
        let fits = block.len() == at && at + bytes.len() <= group.block() as usize;
        if fits {
            block.extend_from_slice(bytes);
        }
    }

    /// Whether a block of this group may be kept: the last groups of the stream make room for earlier ones.
    fn make_room(&mut self, group: &ParityGroup) -> bool {
        while self.cost + cost(group) > self.budget {
            match self.groups.last_key_value().map(|(&start, _)| start) {
                Some(last) if last > group.start => self.drop_group(last),
                _ => return false,
            }
        }
        true
    }

    /// Drops groups that are delivered.
    pub fn discard_below(&mut self, delivered: u64) {
        let is_over = |waiting: &PartialGroup| waiting.group.end() <= delivered;
        while let Some((&start, _)) = self.groups.first_key_value().filter(|(_, waiting)| is_over(waiting)) {
            self.drop_group(start);
        }
    }

    /// Missing pieces around these bytes that can be made now, with their offsets.
    pub fn make(&mut self, range: std::ops::Range<u64>, store: &ByteStore) -> Vec<(u64, Vec<u8>)> {
        let mut made = Vec::new();
        let touched = self.groups.range(..range.end).rev().take(OVERLAPPING);
        let touched: Vec<u64> = touched
            .filter(|(_, waiting)| waiting.group.end() > range.start)
            .map(|(&start, _)| start)
            .collect();
        for start in touched {
            let Some(waiting) = self.groups.get(&start) else { continue };
            let group = waiting.group;
            let pieces = (0..group.pieces).map(|index| (index, group.piece(index)));
            let missing = pieces.clone().filter(|(_, piece)| store.missing(piece) > 0).count();
            if missing > waiting.complete().count() {
                continue;
            }
            if missing > 0 {
                let there: Vec<(u8, Vec<u8>)> = pieces
                    .filter(|(_, piece)| store.missing(piece) == 0)
                    .map(|(index, piece)| (index, store.copy(&piece)))
                    .collect();
                let parity: Vec<(u8, &[u8])> = waiting.complete().take(missing).collect();
                let restored = group.decode(&there, &parity).unwrap_or_default();
                made.extend(restored.into_iter().map(|(index, bytes)| (group.piece(index).start, bytes)));
            }
            self.drop_group(start);
        }
        made
    }

    fn drop_group(&mut self, start: u64) {
        if let Some(waiting) = self.groups.remove(&start) {
            self.cost -= waiting.cost();
        }
    }
}

#[cfg(test)]
#[path = "tests/repairs.rs"]
mod tests;
