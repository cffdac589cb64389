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
    running: bool,
}

impl Scheduler {
    /// Queue n on level n, so that they are served by strict priority.
    pub fn new(queues: u8) -> Scheduler {
        let share = Share::Weight(1);
        let lane = |level| ScheduledQueue { level, share, pace: share.pace(), ahead: 0 };
        let lanes = (0..queues.min(64)).map(lane).collect();
        let mut scheduler = Scheduler { lanes, groups: Vec::new(), alone: 0, running: false };
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
        let kept = (u128::from(lane.ahead) * u128::from(pace) / u128::from(lane.pace)) as u64;
        lane.ahead = if regroup { 0 } else { kept };
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
#[path = "tests/scheduler.rs"]
mod tests;
