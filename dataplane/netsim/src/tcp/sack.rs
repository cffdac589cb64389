//! Loss recovery by selective acknowledgement: RFC 6675, and ns-2's Sack1 beside it.
//!
//! Where the two differ:
//! - RFC 6675 counts the packets in the network from the scoreboard at each acknowledgement; Sack1 keeps a
//!   running number that each acknowledgement lowers by one (by two where it is partial) and each packet sent
//!   raises.
//! - RFC 6675 repeats a packet when three above it arrived; Sack1, once in recovery, repeats every hole below
//!   the highest block.
//! - After a timeout, RFC 6675 repeats everything that is not on the scoreboard; Sack1 forgets it, goes back
//!   and repeats everything.
//! - Sack1 counts as duplicates only those acknowledgements that bring news, and none after a timeout until
//!   new data is acknowledged.
//!
//! A split agent with end-to-end control has packets that it does not acknowledge yet. It acknowledges them
//! selectively when it tells of a loss, so that what is missing is the first hole, and not always the lowest
//! packet not acknowledged.

use groupflow_base::Nanos;

use super::scoreboard::Scoreboard;
use super::segment::Segment;
use super::sender::{Recovery, Reduction, TcpSender, DUPLICATES};

impl TcpSender {
    fn board(&mut self) -> &mut Scoreboard {
        match &mut self.recovery {
            Recovery::Sack(board) | Recovery::Sack1(board, _) => board,
            // Only senders with a scoreboard come here.
            _ => unreachable!("a sender without scoreboard"),
        }
    }

    /// Enters the blocks of `segment`. Returns whether they report something new.
    fn note_blocks(&mut self, segment: &Segment) -> bool {
        let mut news = 0;
        for block in segment.sack.blocks() {
            if let Some((start, end)) = self.packets(block) {
                news += self.board().add(start, end);
            }
        }
        news > 0
    }

    pub(super) fn on_ack_sack(&mut self, now: Nanos, acked: u64, segment: &Segment, echoed: bool) {
        if acked < self.una {
            self.burst = 0;
            return;
        }
        let news = acked - self.una;
        if news > 0 {
            if self.recovering && acked < self.recover {
                // Partial: the window stays.
                let duplicates = self.dupacks;
                self.advance(now, acked, segment);
                self.dupacks = duplicates;
            } else {
                let was_recovering = std::mem::take(&mut self.recovering);
                self.advance(now, acked, segment);
                if was_recovering {
                    self.last_reduction = Reduction::None;
                } else {
                    self.open_window(now, news, echoed);
                }
                self.open_initial_window();
            }
            self.board().advance(acked);
        }
        let reported_new = self.note_blocks(segment);
        let una = self.una;
        if news == 0 && reported_new && una < self.max && self.board().has_hole(una) {
            self.dupacks += 1;
        }
        self.detect_loss(now);
    }

    /// RFC 6675, section 5, steps 1 to 4.
    fn detect_loss(&mut self, now: Nanos) {
        let una = self.una;
        if self.recovering || una < self.recover && self.last_reduction == Reduction::Timeout {
            return;
        }
        let lost_below = self.board().lost_below(DUPLICATES.into());
        let first = self.board().first_missing(una);
        if first < lost_below || self.dupacks >= DUPLICATES && self.board().has_hole(una) {
            self.stats.fast_retransmits += 1;
            self.recovering = true;
            self.recover = self.max;
            self.reduce(Reduction::Duplicates, None);
            self.forget_timing(now);
            self.board().restart(una);
            self.board().mark_repeated(una, first);
            self.resend = Some(first);
        }
    }

    /// RFC 6675's NextSeg, rules 1 to 3, where SetPipe leaves room.
    pub(super) fn next_sack(&mut self) -> Option<u64> {
        let (una, max, limit) = (self.una, self.max, self.limit);
        let threshold = DUPLICATES.into();
        let window = self.allowed();
        let receivable = una + self.most();
        let board = self.board();
        if board.is_empty() && board.lost_below(threshold) <= una {
            // Nothing is missing: the common case.
            return (max - una < window && max < limit).then_some(max);
        }
        if board.pipe(una, max, threshold) >= window {
            return None;
        }
        if let Some(hole) = board.next_hole(una, board.lost_below(threshold)) {
            board.mark_repeated(una, hole);
            return Some(hole);
        }
        if max < limit && max < receivable {
            return Some(max);
        }
        let hole = board.next_hole(una, board.highest())?;
        self.recovering.then(|| {
            self.board().mark_repeated(una, hole);
            hole
        })
    }

    pub(super) fn on_ack_sack1(&mut self, now: Nanos, acked: u64, segment: &Segment, echoed: bool) {
        if self.recovering {
            self.on_ack_sack1_recovering(now, acked, segment);
        } else if acked > self.una {
            let news = acked - self.una;
            self.advance(now, acked, segment);
            self.open_window(now, news, echoed);
            self.open_initial_window();
            self.partial_seen = false;
            if self.last_reduction == Reduction::Timeout {
                self.last_reduction = Reduction::None;
            }
            self.board().clear();
        } else if acked == self.una && self.una < self.max && self.last_reduction != Reduction::Timeout {
            self.on_duplicate_sack1(now, segment);
        } else {
            self.burst = 0;
        }
    }

    fn on_duplicate_sack1(&mut self, now: Nanos, segment: &Segment) {
        let reported_new = self.note_blocks(segment);
        let una = self.una;
        self.burst = 0;
        if !reported_new || !self.board().has_hole(una) {
            return;
        }
        self.dupacks += 1;
        if self.dupacks == DUPLICATES {
            self.enter_sack1_recovery(now);
        } else if self.dupacks < DUPLICATES {
            self.extra = true;
            self.burst = 1;
        }
    }

    fn enter_sack1_recovery(&mut self, now: Nanos) {
        let fresh = self.una > self.recover || self.una == 1 && self.config.syn;
        if !fresh && self.last_reduction != Reduction::Ecn {
            return;
        }
        self.stats.fast_retransmits += 1;
        self.forget_timing(now);
        let una = self.una;
        let gone = i64::from(DUPLICATES);
        if fresh {
            self.recover = self.max;
            self.reduce(Reduction::Duplicates, None);
        }
        self.last_reduction = Reduction::Duplicates;
        self.recovering = true;
        let first = self.board().first_missing(una);
        self.resend = Some(first);
        // ns-2 counts from the last packet sent, less those that the duplicates reported.
        let in_network = (self.max - una) as i64 - gone;
        if let Recovery::Sack1(board, pipe) = &mut self.recovery {
            board.mark_repeated(una, first);
            *pipe = in_network;
        }
    }

    fn on_ack_sack1_recovering(&mut self, now: Nanos, acked: u64, segment: &Segment) {
        let mut left = 1;
        if acked >= self.recover {
            self.recovering = false;
            self.recover = 0;
            self.last_reduction = Reduction::None;
            self.advance(now, acked, segment);
            self.board().clear();
        } else if acked > self.una {
            // The packet and its repetition; but one that the receiver held back was sent once.
            let una = self.una;
            left = if self.board().first_missing(una) == una { 2 } else { 1 };
            self.acknowledge(acked);
            self.board().advance(acked);
            self.note_blocks(segment);
            self.rtt.end_backoff();
            self.restart_timer(now);
        } else if acked == self.una {
            self.note_blocks(segment);
        } else {
            self.burst = 0;
        }
        if let Recovery::Sack1(_, pipe) = &mut self.recovery {
            *pipe -= left;
        }
    }

    pub(super) fn next_sack1(&mut self) -> Option<u64> {
        if !self.recovering {
            return self.next_in_window();
        }
        let una = self.una;
        let window = self.window.cwnd as i64;
        let receivable = una + self.most();
        let Recovery::Sack1(board, pipe) = &mut self.recovery else { return None };
        if *pipe >= window {
            return None;
        }
        let packet = match board.next_hole(una, board.highest()) {
            Some(hole) => {
                board.mark_repeated(una, hole);
                hole
            }
            None if self.next < receivable && self.next < self.limit => {
                self.next += 1;
                self.next - 1
            }
            None => return None,
        };
        *pipe += 1;
        Some(packet)
    }
}
