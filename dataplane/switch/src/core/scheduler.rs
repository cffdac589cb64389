//! The choice of the queue that a port serves next: by strict priority between levels, in proportion within a
//! level.
//!
//! Within a level this is start-time fair queueing (Goyal, Vin and Cheng, 1996): a packet's start tag is the
//! later of the level's virtual time and the finish tag of the queue's previous packet; its finish tag is
//! `cost / share` later. The packet with the least start tag is served, and its start tag is the virtual
//! time. So virtual time never falls behind the tags at any rate of the port, and a queue that comes back
//! after idling starts at the present virtual time: it gets its share from now on, and is neither starved nor
//! repaid for the time in which it had nothing to send.
//!
//! Only differences of tags matter, so each queue keeps the lead of its finish tag over virtual time. When
//! virtual time advances, the advance is subtracted from all leads, down to zero: nothing ever overflows, and
//! the tag of an idle queue is at most one packet ahead.

/// A queue's claim to service within its level.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Share {
    /// Bytes are served in proportion to these, from 1 on.
    Weight(u16),
    /// Packets are served in proportion to these, the rates that a program asked for, in 1/64 packet/s. In a
    /// level, such queues go before those with a weight: their rates limit them, and the rest is
    /// shared.
    Demand(u32),
}

impl Share {
    /// Virtual time of one packet or byte. The powers of two are as large as one packet of 64 KiB allows,
    /// and for demands as u64 does.
    fn pace(self) -> u64 {
        match self {
            Share::Weight(weight) => (1 << 46) / u64::from(weight.max(1)),
            Share::Demand(demand) => (1 << 62) / u64::from(demand.max(1)),
        }
    }

    fn is_demand(self) -> bool {
        matches!(self, Share::Demand(_))
    }
}

/// Queues, as bits: queue n is bit n.
pub type Mask = u64;

/// One queue as the scheduler sees it.
#[derive(Debug, Clone, Copy)]
struct ScheduledQueue {
    level: u8,
    share: Share,
    pace: u64,
    /// The distance of the queue's finish tag from its group's virtual time.
    ahead: u64,
}

/// The scheduler of one port. It knows numbers of queues, not packets.
#[derive(Debug)]
pub struct Scheduler {
    lanes: Vec<ScheduledQueue>,
    /// Queues that share service, in the order in which the groups are served.
    groups: Vec<Mask>,
    /// Queues that share service with no other: their packets take no service from others.
    alone: Mask,
    /// Whether any queue may be ahead.
    running: bool,
}

impl Scheduler {
    /// Queue n on level n, so that they are served by strict priority.
    pub fn new(queues: u8) -> Scheduler {
        let share = Share::Weight(1);
        let lane = |level| ScheduledQueue { level, share, pace: share.pace(), ahead: 0 };
        let mut scheduler = Scheduler {
            lanes: (0..queues.min(64)).map(lane).collect(),
            groups: Vec::new(),
            alone: 0,
            running: false,
        };
        scheduler.group();
        scheduler
    }

    /// Changes a queue's level and share. Its lead stays the same number of packets or bytes.
    pub fn set(&mut self, queue: usize, level: u8, share: Share) {
        let lane = &mut self.lanes[queue];
        if (lane.level, lane.share) == (level, share) {
            return;
        }
        let regroup = lane.level != level || lane.share.is_demand() != share.is_demand();
        let pace = share.pace();
        lane.ahead = match regroup {
            true => 0,
            false => (u128::from(lane.ahead) * u128::from(pace) / u128::from(lane.pace)) as u64,
        };
        (lane.level, lane.share, lane.pace) = (level, share, pace);
        if regroup {
            self.group();
        }
    }

    /// The queue among `ready` that is served next; on a tie, the one with the highest number.
    pub fn choose(&self, ready: Mask) -> Option<usize> {
        let mut candidates = self.groups.iter().map(|group| group & ready).find(|mask| *mask != 0)?;
        let mut best = highest(candidates);
        candidates ^= 1 << best;
        while candidates != 0 {
            let other = highest(candidates);
            candidates ^= 1 << other;
            if self.lanes[other].ahead < self.lanes[best].ahead {
                best = other;
            }
        }
        Some(best)
    }

    /// Notes that a packet of `bytes` of a queue is served.
    #[inline]
    pub fn serve(&mut self, queue: usize, bytes: u32) {
        if self.alone & (1 << queue) == 0 {
            self.serve_one_of_several(queue, bytes);
        }
    }

    fn serve_one_of_several(&mut self, queue: usize, bytes: u32) {
        let bit: Mask = 1 << queue;
        let group = self.groups.iter().copied().find(|group| group & bit != 0).unwrap_or(bit);
        let advance = self.lanes[queue].ahead;
        let mut others = group;
        while advance > 0 && others != 0 {
            let other = highest(others);
            others ^= 1 << other;
            self.lanes[other].ahead = self.lanes[other].ahead.saturating_sub(advance);
        }
        let lane = &mut self.lanes[queue];
        lane.ahead = match lane.share {
            Share::Weight(_) => lane.pace.saturating_mul(bytes.into()),
            Share::Demand(_) => lane.pace,
        };
        self.running = true;
    }

    /// Notes that the port had nothing to send for a while, so that no queue is ahead any more.
    pub fn restart(&mut self) {
        if std::mem::take(&mut self.running) {
            self.lanes.iter_mut().for_each(|lane| lane.ahead = 0);
        }
    }

    fn group(&mut self) {
        let mut groups: std::collections::BTreeMap<(u8, bool), Mask> = Default::default();
        for (queue, lane) in self.lanes.iter().enumerate() {
            *groups.entry((lane.level, lane.share.is_demand())).or_default() |= 1 << queue;
        }
        self.groups = groups.into_values().rev().collect();
        self.alone = self.groups.iter().filter(|group| group.count_ones() == 1).sum();
    }
}

fn highest(mask: Mask) -> usize {
    63 - mask.leading_zeros() as usize
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn same_level(shares: &[Share]) -> Scheduler {
        let mut scheduler = Scheduler::new(shares.len() as u8);
        shares.iter().enumerate().for_each(|(queue, share)| scheduler.set(queue, 3, *share));
        scheduler
    }

    fn serve(scheduler: &mut Scheduler, ready: Mask, bytes: u32) -> usize {
        let queue = scheduler.choose(ready).expect("one is ready");
        scheduler.serve(queue, bytes);
        queue
    }

    #[test]
    fn the_highest_level_goes_first() {
        let mut scheduler = Scheduler::new(8);
        assert_eq!(scheduler.choose(0), None);
        assert_eq!(scheduler.choose(0b0010_0110), Some(5));
        scheduler.set(1, 200, Share::Weight(1));
        assert_eq!(scheduler.choose(0b0010_0110), Some(1));
        scheduler.set(2, 200, Share::Demand(7));
        assert_eq!(scheduler.choose(0b0010_0110), Some(2), "a demand goes before a weight");
    }

    #[test]
    fn two_to_one_is_two_to_one_at_any_time() {
        for shares in [[Share::Weight(2), Share::Weight(1)], [Share::Demand(2_000), Share::Demand(1_000)]] {
            let mut scheduler = same_level(&shares);
            let mut served = [0i64; 2];
            for _ in 0..3_000 {
                served[serve(&mut scheduler, 0b11, 1000)] += 1;
                assert!((served[0] - 2 * served[1]).abs() <= 2, "{served:?}");
            }
        }
    }

    #[test]
    fn who_comes_back_after_idling_gets_the_share_from_then_on() {
        let mut scheduler = same_level(&[Share::Demand(100), Share::Demand(100)]);
        (0..10_000).for_each(|_| assert_eq!(serve(&mut scheduler, 0b01, 1000), 0));
        let served: Vec<usize> = (0..6).map(|_| serve(&mut scheduler, 0b11, 1000)).collect();
        assert_eq!(served, [1, 1, 0, 1, 0, 1], "served at once, not repaid, not starved");
    }

    #[test]
    fn a_share_that_grows_counts_at_once() {
        let mut scheduler = same_level(&[Share::Demand(1), Share::Demand(1_000_000)]);
        while serve(&mut scheduler, 0b11, 1000) != 0 {}
        scheduler.set(0, 3, Share::Demand(1_000_000));
        let served: Vec<usize> = (0..4).map(|_| serve(&mut scheduler, 0b11, 1000)).collect();
        assert_eq!(served.iter().filter(|queue| **queue == 0).count(), 2, "{served:?}");
    }

    proptest! {
        /// SFQ's bound: while two queues both wait, their services differ by at most one packet each, over
        /// share.
        #[test]
        fn service_is_proportional_whatever_comes_and_goes(
            weights in proptest::collection::vec(1u16..1000, 2..8),
            steps in proptest::collection::vec((any::<u8>(), 64u32..1500), 1..400),
        ) {
            let mut scheduler = same_level(&weights.iter().map(|w| Share::Weight(*w)).collect::<Vec<_>>());
            // Queues 0 and 1 always wait; the others come and go.
            let mut served = [0f64; 2];
            for (others, bytes) in steps {
                let ready = (Mask::from(others) | 0b11) & ((1 << weights.len()) - 1);
                let queue = serve(&mut scheduler, ready, bytes);
                if queue < 2 {
                    served[queue] += f64::from(bytes) / f64::from(weights[queue]);
                }
                let bound = 1500.0 / f64::from(weights[0]) + 1500.0 / f64::from(weights[1]);
                prop_assert!((served[0] - served[1]).abs() <= bound * 1.000_001, "{served:?} {bound}");
            }
        }

        /// No queue is ever further ahead than one packet.
        #[test]
        fn nobody_gets_far_ahead(
            steps in proptest::collection::vec((any::<u8>(), 1u32.., 0usize..4, 0u32.., 0u8..3), 0..300),
        ) {
            let mut scheduler = same_level(&[Share::Demand(1); 4]);
            for (ready, bytes, queue, demand, step) in steps {
                match step {
                    0 => scheduler.set(queue, 3, Share::Demand(demand)),
                    1 => scheduler.restart(),
                    _ => {
                        let chosen = scheduler.choose(Mask::from(ready) & 0xf);
                        chosen.into_iter().for_each(|queue| scheduler.serve(queue, bytes));
                    }
                }
                prop_assert!(scheduler.lanes.iter().all(|lane| lane.ahead <= lane.pace));
            }
        }
    }
}
