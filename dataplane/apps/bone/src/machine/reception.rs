//! The parts of a file that a rim has.

use std::collections::VecDeque;

use groupflow_base::{ranges::Ranges, CodecError};

use super::coding::{Blocks, Collector};
use super::message::{DataPacket, Parameters, Repair, Span, MAX_SPANS};

/// The most separate pieces of a file; a packet that would make more is not taken.
const MAX_PIECES: usize = 4096;

/// Bytes to store.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileWrite {
    /// Offset of the bytes in the file.
    pub offset: u64,
    pub bytes: Vec<u8>,
}

/// The bytes of a file that are there, as ranges of offsets.
#[derive(Debug)]
pub struct Stored {
    size: u64,
    repair: Repair,
    have: Ranges,
    blocks: Blocks,
    collector: Collector,
}

impl Stored {
    /// A file of which no byte is there.
    pub fn new(control: &Parameters) -> Stored {
        let (blocks, have) = (Blocks::new(control), Ranges::default());
        Stored { size: control.size, repair: control.repair, have, blocks, collector: Collector::new(blocks) }
    }

    /// Whether every byte is there.
    pub fn complete(&self) -> bool {
        self.have.total() == self.size
    }

    pub fn bytes(&self) -> u64 {
        self.have.total()
    }

    /// The offset of the first byte that is lacking.
    pub fn position(&self) -> u64 {
        self.have.first().filter(|first| first.start == 0).map_or(0, |first| first.end)
    }

    /// The bytes that are lacking. If they do not fit into a message, the last span is the rest of the file.
    pub fn lacks(&self) -> Vec<Span> {
        let span =
            |range: std::ops::Range<u64>| Span { offset: range.start, length: range.end - range.start };
        if self.repair == Repair::GoBackN {
            let (position, size) = (self.position(), self.size);
            return (position < size).then(|| span(position..size)).into_iter().collect();
        }
        let mut spans: Vec<Span> = self.have.gaps(self.size, MAX_SPANS).into_iter().map(span).collect();
        if let Some(last) = spans.last_mut().filter(|_| self.have.count() >= MAX_SPANS) {
            last.length = self.size - last.offset;
        }
        spans
    }

    /// Go-Back-N: forgets the bytes from this offset on.
    pub fn go_back(&mut self, to: u64) {
        if self.repair == Repair::GoBackN && to < self.position() {
            self.have.clear();
            self.have.insert(0..to);
        }
    }

    /// Whether these spans cover all bytes that are lacking.
    pub fn is_covered_by(&self, spans: &[Span]) -> bool {
        let mut others = Ranges::default();
        for span in spans {
            others.insert(span.range());
        }
        self.lacks().into_iter().all(|span| others.missing(&span.range()) == 0)
    }

    /// Erasure coding: packets needed to restore the block that contains this byte.
    pub fn need(&self, offset: u64) -> u16 {
        if self.repair != Repair::Erasure || offset >= self.size {
            return 0;
        }
        let start = self.blocks.start(offset);
        match self.have.missing(&(start..self.blocks.end(start))) {
            0 => 0,
            _ => self.collector.need(start),
        }
    }

    /// Takes a packet; appends the bytes to store to `writes`.
    pub fn accept(&mut self, data: DataPacket, writes: &mut VecDeque<FileWrite>) -> Result<(), CodecError> {
        let beyond = |field| Err(CodecError::new(field, "lies beyond the file"));
        if data.offset >= self.size {
            return beyond("data.offset");
        }
        if self.repair == Repair::Erasure {
            return self.collect(data, writes);
        }
        let end = data.offset + data.bytes.len() as u64;
        if end > self.size {
            return beyond("data.length");
        }
        match self.repair {
            Repair::GoBackN => {
                // Only bytes that follow are taken; a round with another packet size may begin within bytes
                // that are there.
                let position = self.position();
                if (data.offset..end).contains(&position) {
                    let known = (position - data.offset) as usize;
                    self.store(position, data.bytes[known..].to_vec(), writes);
                }
            }
            _ => self.store(data.offset, data.bytes, writes),
        }
        Ok(())
    }

    fn store(&mut self, offset: u64, bytes: Vec<u8>, writes: &mut VecDeque<FileWrite>) {
        let range = offset..offset + bytes.len() as u64;
        let news = self.have.missing(&range);
        if news == 0 || self.have.count() >= MAX_PIECES {
            return;
        }
        self.have.insert(range);
        writes.push_back(FileWrite { offset, bytes });
    }

    /// Takes a packet of a block; when there are enough, restores the rest.
    fn collect(&mut self, data: DataPacket, writes: &mut VecDeque<FileWrite>) -> Result<(), CodecError> {
        let blocks = self.blocks;
        let wrong = |field, problem| Err(CodecError::new(field, problem));
        let start = blocks.start(data.offset);
        let (count, end) = (blocks.originals(start), blocks.end(start));
        if data.shard >= count + blocks.per_block {
            return wrong("data.shard", "is none of the block's");
        }
        let place = blocks.packet_at(start, data.shard);
        let (offset, length) = match data.shard < count {
            true => (place.start, place.end - place.start),
            false => (start, blocks.packet.into()),
        };
        if data.offset != offset {
            return wrong("data.offset", "is not where the packet belongs");
        }
        if data.bytes.len() as u64 != length {
            return wrong("data.length", "is not that of the packet");
        }
        if self.have.missing(&(start..end)) == 0 {
            return Ok(());
        }
        self.collector.insert(start, data.shard, &data.bytes);
        if data.shard < count {
            self.store(offset, data.bytes, writes);
        }
        for (shard, mut bytes) in self.collector.restore() {
            let place = blocks.packet_at(start, shard);
            bytes.truncate((place.end - place.start) as usize);
            self.store(place.start, bytes, writes);
        }
        Ok(())
    }

    /// Bytes held for the block that is arriving, and the number of separate pieces.
    pub fn memory(&self) -> (usize, usize) {
        (self.collector.memory(), self.have.count())
    }
}
