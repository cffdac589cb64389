use super::*;
use proptest::prelude::*;

/// RFC 6675, section 4, word for word over a window of flags.
struct Literal {
    sacked: Vec<bool>,
    repeated: u64,
}

impl Literal {
    fn is_lost(&self, packet: u64) -> bool {
        self.sacked.iter().skip(packet as usize + 1).filter(|sacked| **sacked).count() >= 3
    }

    fn pipe(&self, una: u64, max: u64) -> u64 {
        (una..max)
            .filter(|packet| !self.sacked[*packet as usize])
            .map(|packet| u64::from(!self.is_lost(packet)) + u64::from(packet < self.repeated))
            .sum()
    }

    fn next_lost(&self, una: u64, max: u64) -> Option<u64> {
        (una.max(self.repeated)..max).find(|packet| !self.sacked[*packet as usize] && self.is_lost(*packet))
    }
}

#[test]
fn a_receiver_may_claim_the_first_packet_itself() {
    let mut board = Scoreboard::default();
    board.add(5, 9);
    board.restart(5);
    board.mark_repeated(5, 5);
    assert_eq!(board.pipe(5, 9, 3), 0);
    board.advance(9);
    assert!(board.is_empty());
}

proptest! {
    #[test]
    fn it_agrees_with_the_rfc(
        blocks in proptest::collection::vec((1u64..60, 1u64..6, any::<bool>(), any::<bool>()), 1..30)
    ) {
        let max = 70;
        let mut una = 0;
        let mut board = Scoreboard::default();
        let mut literal = Literal { sacked: vec![false; max as usize], repeated: 0 };
        for (start, length, advance, repeat) in blocks {
            let start = start.max(una + 1);
            let end = (start + length).min(max);
            board.add(start, end);
            for packet in start..end {
                literal.sacked[packet as usize] = true;
            }
            if advance {
                let first = (una + 1..max).find(|packet| !literal.sacked[*packet as usize]);
                una = first.unwrap_or(max);
                board.advance(una);
                literal.repeated = literal.repeated.max(una);
            }
            let next = board.next_hole(una, board.lost_below(3));
            prop_assert_eq!(next, literal.next_lost(una, max));
            if let (Some(packet), true) = (next, repeat) {
                board.mark_repeated(una, packet);
                literal.repeated = packet + 1;
            }
            prop_assert_eq!(board.pipe(una, max, 3), literal.pipe(una, max));
        }
    }
}

#[test]
fn a_timeout_writes_everything_off() {
    let mut board = Scoreboard::default();
    board.add(3, 5);
    assert_eq!(board.pipe(0, 10, 3), 8, "two of ten arrived, none is lost");
    board.write_off(0, 10);
    assert_eq!(board.pipe(0, 10, 3), 0);
    for expected in [0, 1, 2, 5, 6] {
        let bound = board.lost_below(3);
        assert_eq!(board.next_hole(0, bound), Some(expected));
        board.mark_repeated(0, expected);
    }
    assert_eq!(board.pipe(0, 10, 3), 5);
    assert_eq!(board.pipe(0, 12, 3), 7, "new data counts");
}
