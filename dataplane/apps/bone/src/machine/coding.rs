//! Blocks of erasure coding: Reed-Solomon over the packets of a block.

use std::collections::BTreeMap;

use super::message::Control;

/// Packets are a multiple of so many bytes, as the coder wants.
pub const UNIT: u16 = 64;

/// How a file is cut into blocks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Blocks {
    size: u64,
    /// Bytes of a packet.
    pub packet: u16,
    /// Packets of a whole block.
    pub per_block: u16,
}

impl Blocks {
    /// Of the file that the control parameters describe.
    pub fn new(control: &Control) -> Blocks {
        Blocks { size: control.size, packet: control.packet, per_block: control.per_round }
    }

    fn length(&self) -> u64 {
        u64::from(self.packet) * u64::from(self.per_block)
    }

    /// Where the block of this byte begins.
    pub fn start(&self, offset: u64) -> u64 {
        offset - offset % self.length()
    }

    /// Where the block that begins at `start` ends.
    pub fn end(&self, start: u64) -> u64 {
        self.size.min(start.saturating_add(self.length()))
    }

    /// How many packets of the file the block has.
    pub fn originals(&self, start: u64) -> u16 {
        // At most `per_block`.
        (self.end(start) - start).div_ceil(self.packet.into()) as u16
    }

    /// How many more can be made of it.
    pub fn coded(&self) -> u16 {
        self.per_block
    }

    /// Makes them. `originals` are all of one length.
    pub fn encode(&self, originals: &[Vec<u8>]) -> Vec<Vec<u8>> {
        // Refused are only counts and lengths that `Control` does not let through.
        reed_solomon_simd::encode(originals.len(), self.coded().into(), originals).unwrap_or_default()
    }
}

/// The packets of the block that is being received.
#[derive(Debug, Clone)]
pub struct Collector {
    blocks: Blocks,
    start: u64,
    /// By number, padded.
    shards: BTreeMap<u16, Vec<u8>>,
}

impl Collector {
    /// Nothing yet.
    pub fn new(blocks: Blocks) -> Collector {
        Collector { blocks, start: 0, shards: BTreeMap::new() }
    }

    /// Takes a packet. With another block, what was there of the last is let go.
    pub fn insert(&mut self, start: u64, shard: u16, bytes: &[u8]) {
        if start != self.start {
            (self.start, self.shards) = (start, BTreeMap::new());
        }
        let mut padded = bytes.to_vec();
        padded.resize(self.blocks.packet.into(), 0);
        self.shards.insert(shard, padded);
    }

    /// Packets that it still needs to restore the block.
    pub fn need(&self, start: u64) -> u16 {
        let held = if start == self.start { self.shards.len() as u16 } else { 0 };
        self.blocks.originals(start).saturating_sub(held)
    }

    /// Restores the originals that are not there, if enough is: numbers and bytes.
    pub fn restore(&mut self) -> Vec<(u16, Vec<u8>)> {
        let count = self.blocks.originals(self.start);
        if self.need(self.start) > 0 {
            return Vec::new();
        }
        let (originals, coded): (Vec<_>, Vec<_>) =
            std::mem::take(&mut self.shards).into_iter().partition(|(shard, _)| *shard < count);
        let originals = originals.into_iter().map(|(shard, bytes)| (usize::from(shard), bytes));
        let coded = coded.into_iter().map(|(shard, bytes)| (usize::from(shard - count), bytes));
        let restored = reed_solomon_simd::decode(count.into(), self.blocks.coded().into(), originals, coded);
        let mut restored: Vec<(u16, Vec<u8>)> =
            restored.unwrap_or_default().into_iter().map(|(shard, bytes)| (shard as u16, bytes)).collect();
        restored.sort_unstable();
        restored
    }

    /// Bytes held.
    pub fn memory(&self) -> usize {
        self.shards.len() * usize::from(self.blocks.packet)
    }
}
