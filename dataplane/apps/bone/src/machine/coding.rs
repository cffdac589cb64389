//! Blocks of erasure coding: Reed-Solomon over the packets of a block.

use std::collections::BTreeMap;
use std::ops::Range;

use super::message::Parameters;

/// Packet sizes are multiples of this many bytes, as the coder requires.
pub const UNIT: u16 = 64;

/// The division of a file into blocks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Blocks {
    size: u64,
    /// Bytes of a packet.
    pub packet: u16,
    /// Packets of a whole block.
    pub per_block: u16,
}

impl Blocks {
    /// The blocks of the file that these control parameters describe.
    pub fn new(control: &Parameters) -> Blocks {
        Blocks { size: control.size, packet: control.packet, per_block: control.per_round }
    }

    fn length(&self) -> u64 {
        u64::from(self.packet) * u64::from(self.per_block)
    }

    /// Offset of the block that contains this byte.
    pub fn start(&self, offset: u64) -> u64 {
        offset - offset % self.length()
    }

    /// The end of the block that begins at `start`.
    pub fn end(&self, start: u64) -> u64 {
        self.size.min(start.saturating_add(self.length()))
    }

    /// How many packets of the file the block at `start` has.
    pub fn originals(&self, start: u64) -> u16 {
        // At most `per_block`.
        (self.end(start) - start).div_ceil(self.packet.into()) as u16
    }

    /// The file's bytes in the packet with this number of the block at `start`.
    pub fn packet_at(&self, start: u64, number: u16) -> Range<u64> {
        let from = start + u64::from(number) * u64::from(self.packet);
        from..self.end(start).min(from.saturating_add(self.packet.into()))
    }

    /// Makes coded packets, as many as a whole block has packets. All `originals` have the same length.
    pub fn encode(&self, originals: &[Vec<u8>]) -> Vec<Vec<u8>> {
        // The coder refuses only counts and lengths that a parsed `Parameters` cannot have.
        reed_solomon_simd::encode(originals.len(), self.per_block.into(), originals).unwrap_or_default()
    }
}

/// The received packets of the current block.
#[derive(Debug, Clone)]
pub struct Collector {
    blocks: Blocks,
    start: u64,
    /// Packets by their number in the block, padded.
    shards: BTreeMap<u16, Vec<u8>>,
}

impl Collector {
    pub fn new(blocks: Blocks) -> Collector {
        Collector { blocks, start: 0, shards: BTreeMap::new() }
    }

    /// Takes a packet. A packet of another block discards the packets of the current one.
    pub fn insert(&mut self, start: u64, shard: u16, bytes: &[u8]) {
        if start != self.start {
            (self.start, self.shards) = (start, BTreeMap::new());
        }
        let mut padded = bytes.to_vec();
        padded.resize(self.blocks.packet.into(), 0);
        self.shards.insert(shard, padded);
    }

    /// How many more packets are needed to restore the block at `start`.
    pub fn need(&self, start: u64) -> u16 {
        let held = if start == self.start { self.shards.len() as u16 } else { 0 };
        self.blocks.originals(start).saturating_sub(held)
    }

    /// Restores the missing originals, if there are enough packets: their numbers and bytes.
    pub fn restore(&mut self) -> Vec<(u16, Vec<u8>)> {
        let count = self.blocks.originals(self.start);
        if self.need(self.start) > 0 {
            return Vec::new();
        }
        let (originals, coded): (Vec<_>, Vec<_>) =
            std::mem::take(&mut self.shards).into_iter().partition(|(shard, _)| *shard < count);
        let originals = originals.into_iter().map(|(shard, bytes)| (usize::from(shard), bytes));
        let coded = coded.into_iter().map(|(shard, bytes)| (usize::from(shard - count), bytes));
        let restored =
            reed_solomon_simd::decode(count.into(), self.blocks.per_block.into(), originals, coded);
        let mut restored: Vec<(u16, Vec<u8>)> =
            restored.unwrap_or_default().into_iter().map(|(shard, bytes)| (shard as u16, bytes)).collect();
        restored.sort_unstable();
        restored
    }

    /// Bytes held in memory.
    pub fn memory(&self) -> usize {
        self.shards.len() * usize::from(self.blocks.packet)
    }
}
