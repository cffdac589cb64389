use super::*;
use proptest::prelude::*;

fn byte(offset: u64) -> u8 {
    (offset % 251) as u8
}

/// A reader that computes each byte from its offset.
struct OffsetBytes(u64, usize);

impl Read for OffsetBytes {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = buffer.len().min(self.1);
        buffer[..count].iter_mut().zip(self.0..).for_each(|(b, at)| *b = byte(at));
        self.0 += count as u64;
        self.1 -= count;
        Ok(count)
    }

    fn read_vectored(&mut self, parts: &mut [IoSliceMut<'_>]) -> io::Result<usize> {
        parts.iter_mut().map(|part| self.read(part)).sum()
    }
}

proptest! {
    #[test]
    fn bytes_are_where_their_offsets_say(
        start in 0..1_000_000_u64,
        steps in proptest::collection::vec((0..300_000_u64, 0..300_000_usize, 0..100_u64), 1..20),
    ) {
        let mut pool = BlockPool::new(2 << 20);
        let mut cache = ByteCache::new(start);
        let (mut base, mut end) = (start, start);
        for (room, there, percent) in steps {
            let source = OffsetBytes(end, there);
            let count = cache.fill(&mut pool, source, room).expect("a source has no errors");
            end += count.unwrap_or(0) as u64;
            prop_assert!(pool.used() <= pool.limit());
            prop_assert!(pool.used() < end - base + 2 * BLOCK as u64);
            let mut got = Vec::new();
            let mut at = base;
            while at < end {
                at += cache.drain(&mut got, &(at..end)).expect("a vector takes all") as u64;
            }
            prop_assert!(got.iter().zip(base..).all(|(&b, at)| b == byte(at)));
            prop_assert_eq!(got.len() as u64, end - base);
            base += (end - base) * percent / 100;
            cache.discard(&mut pool, base);
        }
        cache.discard(&mut pool, end);
        prop_assert_eq!(pool.used(), 0);
    }
}

#[test]
fn an_exhausted_pool_stops_reading() {
    let mut pool = BlockPool::new(2 * BLOCK as u64);
    let mut cache = ByteCache::new(0);
    let mut other = ByteCache::new(0);
    let all = OffsetBytes(0, 1 << 20);
    assert_eq!(cache.fill(&mut pool, all, 1 << 20).expect("no errors"), Some(2 * BLOCK));
    assert_eq!(other.fill(&mut pool, OffsetBytes(0, 9), 9).expect("no errors"), None);
    cache.discard(&mut pool, BLOCK as u64);
    assert_eq!(other.fill(&mut pool, OffsetBytes(0, 9), 9).expect("no errors"), Some(9));
}
