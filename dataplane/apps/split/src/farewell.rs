//! The last frames of ended streams. In sessions that resume, the upstream agent may have been killed before
//! it heard that all members have everything, and asks again after its restart. In all sessions, a stream
//! that every member here has left may come again, but is not for these members.

use std::collections::VecDeque;

use groupflow_base::StreamId;

use super::frame::SplitFrame;

/// Bytes remembered, enough for some 10,000 streams with few members each.
const BYTES: usize = 1 << 20;

/// The last frames of each stream, the oldest stream first.
#[derive(Debug, Default)]
pub struct Farewells {
    words: VecDeque<(StreamId, Vec<u8>)>,
    bytes: usize,
}

impl Farewells {
    /// Remembers a stream that has ended; the oldest streams make room.
    pub fn remember(&mut self, id: StreamId, frames: &[SplitFrame]) {
        let mut words = Vec::new();
        frames.iter().for_each(|frame| frame.encode(&mut words));
        self.bytes += words.len();
        self.words.push_back((id, words));
        while self.bytes > BYTES {
            let Some((_, oldest)) = self.words.pop_front() else { break };
            self.bytes -= oldest.len();
        }
    }

    /// The last frames of a stream.
    pub fn of(&self, id: StreamId) -> Option<&[u8]> {
        let found = self.words.iter().rev().find(|(known, _)| *known == id);
        found.map(|(_, words)| words.as_slice())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_latest_are_remembered() {
        let mut farewells = Farewells::default();
        for number in 0..100_000 {
            let frame = SplitFrame::Progress { offset: number, complete: true };
            farewells.remember(StreamId(number), &[SplitFrame::Welcome { offset: number }, frame]);
        }
        assert!(farewells.of(StreamId(0)).is_none() && farewells.bytes <= BYTES);
        let mut expected = Vec::new();
        SplitFrame::Welcome { offset: 99_999 }.encode(&mut expected);
        assert!(farewells.of(StreamId(99_999)).is_some_and(|words| words.starts_with(&expected)));
    }
}
