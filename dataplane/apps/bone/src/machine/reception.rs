//! The parts of a file that a rim has.

use std::collections::VecDeque;
use std::ops::Range;

use groupflow_base::{ranges::Ranges, CodecError};

use super::message::{DataPacket, Parameters, Repair, MAX_SPANS};

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
}

impl Stored {
    /// A file of which no byte is there.
    pub fn new(control: &Parameters) -> Stored {
        Stored { size: control.size, repair: control.repair, have: Ranges::default() }
    }

    pub fn complete(&self) -> bool {
        self.have.total == self.size
    }

    pub fn bytes(&self) -> u64 {
        self.have.total
    }

    /// The offset of the first byte that is lacking.
    pub fn position(&self) -> u64 {
        self.have.first().filter(|first| first.start == 0).map_or(0, |first| first.end)
    }

    /// The bytes that are lacking. If they do not fit into a message, the last span is the rest of the file.
    pub fn lacks(&self) -> Vec<Range<u64>> {
        if self.repair == Repair::GoBackN {
            let (position, size) = (self.position(), self.size);
            return (position < size).then_some(position..size).into_iter().collect();
        }
        let mut spans = self.have.gaps(self.size, MAX_SPANS);
        if let Some(last) = spans.last_mut().filter(|_| self.have.count() >= MAX_SPANS) {
            last.end = self.size;
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
    pub fn is_covered_by(&self, spans: &[Range<u64>]) -> bool {
        let mut others = Ranges::default();
        for span in spans {
            others.insert(span.clone());
        }
        self.lacks().into_iter().all(|span| others.missing(&span) == 0)
    }

    /// Takes a packet; appends the bytes to store to `writes`.
    pub fn accept(&mut self, data: DataPacket, writes: &mut VecDeque<FileWrite>) -> Result<(), CodecError> {
        let beyond = |field| Err(CodecError::new(field, "lies beyond the file"));
        if data.offset >= self.size {
            return beyond("data.offset");
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
            Repair::Selective => self.store(data.offset, data.bytes, writes),
        }
        Ok(())
    }

    fn store(&mut self, offset: u64, bytes: Vec<u8>, writes: &mut VecDeque<FileWrite>) {
        let range = offset..offset + bytes.len() as u64;
        let added = self.have.missing(&range);
        if added == 0 || self.have.count() >= MAX_PIECES {
            return;
        }
        self.have.insert(range);
        writes.push_back(FileWrite { offset, bytes });
    }

    pub fn pieces(&self) -> usize {
        self.have.count()
    }
}
