//! The packets of a round.

use std::ops::Range;

use groupflow_base::ranges::Ranges;

use super::coding::Blocks;

/// A packet of a round.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Planned {
    /// Bytes of the file that the packet carries; for a coded packet, the bytes of its block.
    pub bytes: Range<u64>,
    /// With erasure coding, the packet's number in its block.
    pub shard: u16,
}

/// Plans at most `most` packets of up to `packet` bytes, from the first bytes that are lacking.
pub fn plan(lacks: &Ranges, packet: u16, most: u16) -> Vec<Planned> {
    let mut rest = lacks.clone();
    let mut planned = Vec::new();
    while planned.len() < usize::from(most) {
        let Some(bytes) = rest.take_first(packet.into()) else { break };
        planned.push(Planned { bytes, shard: 0 });
    }
    planned
}

/// The block of erasure coding that is being sent.
#[derive(Debug)]
pub struct CodedBlock {
    blocks: Blocks,
    /// The offset of the block's first byte.
    pub start: u64,
    coded: Vec<Vec<u8>>,
    /// The number of the next packet: originals first, then coded packets, then from the start again.
    next: u16,
}

impl CodedBlock {
    /// A block of these packets of the file, padded.
    pub fn new(blocks: Blocks, start: u64, originals: &[Vec<u8>]) -> CodedBlock {
        CodedBlock { blocks, start, coded: blocks.encode(originals), next: 0 }
    }

    /// The coded packet with this number, if the number is that of a coded packet.
    pub fn coded_packet(&self, shard: u16) -> Option<&[u8]> {
        let number = shard.checked_sub(self.blocks.originals(self.start))?;
        self.coded.get(usize::from(number)).map(Vec::as_slice)
    }

    /// Whether no packet of the block was sent yet.
    pub fn is_new(&self) -> bool {
        self.next == 0
    }

    /// Plans the next packets of the block.
    pub fn plan(&mut self, count: u16) -> Vec<Planned> {
        let originals = self.blocks.originals(self.start);
        let all = originals + self.coded.len() as u16;
        let mut planned = Vec::new();
        for _ in 0..count.min(all) {
            let shard = self.next % all;
            let bytes = match shard < originals {
                true => self.blocks.packet_at(self.start, shard),
                false => self.start..self.blocks.end(self.start),
            };
            planned.push(Planned { bytes, shard });
            self.next = (shard + 1) % all;
        }
        planned
    }
}
