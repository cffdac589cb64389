use super::*;
use groupflow_base::reassembly::PAGE;
use proptest::prelude::*;

const WAIT: Nanos = Nanos::from_millis(20);

fn byte(offset: u64) -> u8 {
    (offset.wrapping_mul(31) ^ (offset >> 8).wrapping_mul(17)) as u8
}

fn piece(range: std::ops::Range<u64>) -> Vec<u8> {
    range.map(byte).collect()
}

/// A reader that takes all pieces, and checks them.
#[derive(Debug, Default)]
struct TestReader {
    at: u64,
    bytes: u64,
    holes: u64,
    ended: Option<u64>,
}

impl TestReader {
    fn take(&mut self, piece: OrderedPiece, align: u64) {
        assert_eq!(self.ended, None, "{piece:?} after the end");
        match piece {
            OrderedPiece::Bytes(at, bytes) => {
                assert_eq!(at, self.at);
                assert!(!bytes.is_empty());
                for (offset, found) in (at..).zip(&bytes) {
                    assert_eq!(*found, byte(offset), "at {offset}");
                }
                self.at += bytes.len() as u64;
                self.bytes += bytes.len() as u64;
            }
            OrderedPiece::Hole { to } => {
                assert!(to > self.at && self.at % align == 0, "a hole from {} to {to}", self.at);
                self.at = to;
                self.holes += 1;
            }
            OrderedPiece::End(length) => {
                assert_eq!(length, self.at);
                self.ended = Some(length);
            }
        }
    }
}

proptest! {
    /// Pieces are lost, come late, twice, and cut otherwise than before; the reader gets whole records,
    /// in order, and is told each hole. No more than the most bytes are held.
    #[test]
    fn whole_records_come_out_in_order(
        align in proptest::sample::select(vec![1_u64, 7, 100, 250]),
        most in 2_000..6_000_u64,
        steps in proptest::collection::vec((0..10_u8, 1..90_u64, 0..600_u64, 0..2_000_u64), 1..400),
    ) {
        let (mut reorder, mut reader) = (Reorder::new(0, align, WAIT, most), TestReader::default());
        let (mut now, mut sent) = (Nanos::ZERO, 0);
        for (kind, count, back, room) in steps {
            match kind {
                // The piece is lost.
                0 => sent += count,
                // The piece is late, and perhaps not sent for the first time.
                1 | 2 => {
                    let start = sent.saturating_sub(back);
                    reorder.insert(now, start, &piece(start..(start + count).min(sent)));
                }
                3 => now += Nanos::from_millis(count / 4),
                _ => {
                    let new = reorder.insert(now, sent, &piece(sent..sent + count));
                    prop_assert!(new || sent + count <= reorder.next());
                    sent += count;
                }
            }
            prop_assert!(reorder.frontier() - reorder.from <= most && reorder.held() <= most);
            prop_assert!(reorder.store.memory() as u64 <= most + 2 * PAGE as u64);
            if kind % 2 == 0 {
                if let Some(piece) = reorder.poll(now, room, 1_000) {
                    if let OrderedPiece::Bytes(_, bytes) = &piece {
                        prop_assert!(bytes.len() as u64 <= room && bytes.len() as u64 % align == 0);
                    }
                    reader.take(piece, align);
                }
            }
        }
        reorder.end(now, sent);
        for _ in 0..2 {
            while let Some(piece) = reorder.poll(now, u64::MAX, 1_000) {
                reader.take(piece, align);
            }
            now += WAIT;
        }
        while let Some(piece) = reorder.poll(now, u64::MAX, 1_000) {
            reader.take(piece, align);
        }
        // Bytes that were given up as missing may lie behind the end that was told.
        let ended = reader.ended.is_some_and(|end| end >= sent);
        prop_assert!(ended, "{:?} of {}: {:?}", reader, sent, reorder);
        prop_assert_eq!(reorder.held(), 0);
    }

    /// Nothing is lost: all bytes come out, and no hole, however the pieces were mixed within the time
    /// that they are waited for.
    #[test]
    fn pieces_out_of_order_lose_no_byte(
        cuts in proptest::collection::vec(1..90_u64, 1..60), seed in any::<u64>(),
    ) {
        let (mut reorder, mut reader) = (Reorder::new(0, 10, WAIT, 100_000), TestReader::default());
        let cut = |at: &mut u64, count: &u64| {
            *at += count;
            Some(*at - count..*at)
        };
        let mut ranges: Vec<_> = cuts.iter().scan(0, cut).collect();
        let sent = cuts.iter().sum::<u64>();
        let mut state = seed;
        for at in (1..ranges.len()).rev() {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            ranges.swap(at, (state >> 33) as usize % (at + 1));
        }
        for range in ranges {
            prop_assert!(reorder.insert(Nanos::ZERO, range.start, &piece(range.clone())));
            prop_assert!(!reorder.insert(Nanos::ZERO, range.start, &piece(range)), "twice");
            while let Some(piece) = reorder.poll(Nanos(WAIT.0 - 1), u64::MAX, 1_000) {
                reader.take(piece, 10);
            }
        }
        reorder.end(Nanos::ZERO, sent);
        while let Some(piece) = reorder.poll(Nanos(WAIT.0 - 1), u64::MAX, 1_000) {
            reader.take(piece, 10);
        }
        prop_assert_eq!((reader.bytes, reader.holes, reader.ended), (sent, 0, Some(sent)));
    }
}

/// A hole is waited for as long as `wait` says, from the time when it is known; then the rest of its
/// record is left out.
#[test]
fn a_hole_is_given_up_in_time() {
    let mut reorder = Reorder::new(0, 100, WAIT, 10_000);
    reorder.insert(Nanos::ZERO, 0, &piece(0..150));
    assert_eq!(reorder.poll(Nanos::ZERO, 1_000, 5_000), Some(OrderedPiece::Bytes(0, piece(0..100))));
    let known = Nanos::from_millis(5);
    reorder.insert(known, 160, &piece(160..350));
    assert_eq!(reorder.deadline(), Some(known + WAIT));
    let due = known + WAIT;
    assert_eq!(reorder.poll(Nanos(due.0 - 1), 1_000, 5_000), None);
    assert_eq!(reorder.poll(due, 1_000, 5_000), Some(OrderedPiece::Hole { to: 200 }));
    assert_eq!(reorder.poll(due, 1_000, 5_000), Some(OrderedPiece::Bytes(200, piece(200..300))));
    assert_eq!(reorder.poll(due, 1_000, 5_000), None);
    assert!(!reorder.insert(due, 150, &piece(150..160)), "too late");
    reorder.end(due, 350);
    assert_eq!(reorder.poll(due, 1_000, 5_000), Some(OrderedPiece::Bytes(300, piece(300..350))));
    assert_eq!(reorder.poll(due, 1_000, 5_000), Some(OrderedPiece::End(350)));
    assert_eq!(reorder.poll(due, 1_000, 5_000), None);
}
