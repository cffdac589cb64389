//! Answers to NACKs: the requesters that wait for each packet, and when it is sent to one or to all.
//!
//! A request waits a moment for other requesters of the same packet. If there is one requester, the packet
//! goes to it alone; if there are several, one packet goes to the group. Each requester's repairs are paced
//! by the branch's rate, so that they do not overrun the queue of its link.
//!
//! A requester that has a [`Share`] is isolated: copies that go to the group do not reach it. It is answered
//! alone, at the share's rate, and falls behind or catches up on its own.

use std::collections::{BTreeMap, VecDeque};
use std::net::SocketAddrV4;

use groupflow_base::{BitRate, Nanos};

use super::requesters::Budgets;
use super::store::FULL_PACKET;
use crate::ids::{Seq, MAX_PAYLOAD};
use crate::terms::Share;

/// How long a request waits for others.
const HOLD: Nanos = Nanos::from_millis(3);
/// A requester that asks again within this time sent its request before the repair to the group reached it.
const REPAIRED: Nanos = Nanos::from_millis(20);
/// A request that cannot be answered is forgotten after this time; its requester asks again.
const PATIENCE: Nanos = Nanos::from_secs(3);
/// The most packets that requesters of one stream wait for.
const WAITING_BOUND: usize = 8192;
/// The most requesters at a time; each has a lane.
const LANES_BOUND: usize = 64;
/// The part of a link's rate that repairs take, permille: they leave a little to others.
const LINK_PERMILLE: u64 = 950;
/// A lane that is late makes up for at most this much time.
const BURST: Nanos = Nanos::from_millis(2);
/// The same of a lane that has a share: all shares of a link fit it together, so that its queue is short.
const SHARE_BURST: Nanos = Nanos::from_millis(10);

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Recipient {
    All,
    One(SocketAddrV4),
}

#[derive(Debug, Clone, Copy)]
struct WaitingRequest {
    recipient: Recipient,
    since: Nanos,
    /// The request is in a lane already.
    queued: bool,
}

/// A request: a packet, and its requester where that one has a share.
type Key = (u32, Option<SocketAddrV4>);

#[derive(Debug, Default)]
struct RepairLane {
    next: Nanos,
    queue: VecDeque<Key>,
}

/// A share, and the requests that wait in it.
#[derive(Debug)]
struct Portion {
    share: Share,
    waiting: u64,
}

/// The requests of one stream that wait for an answer.
#[derive(Debug, Default)]
pub struct Repairs {
    budgets: Budgets,
    portions: BTreeMap<SocketAddrV4, Portion>,
    waiting: BTreeMap<Key, WaitingRequest>,
    /// Requests for packets that the cache has, by the end of their hold time.
    held: VecDeque<(Nanos, Key)>,
    lanes: BTreeMap<Recipient, RepairLane>,
    /// The times at which packets went to the group, in order of time, and by packet number.
    group_order: VecDeque<(Nanos, Seq)>,
    group_at: BTreeMap<u32, Nanos>,
}

impl Repairs {
    /// The shares from now on; a requester without one is served by the branches' rate.
    pub fn set_shares(&mut self, shares: &[Share]) {
        let former = std::mem::take(&mut self.portions);
        let portion = |share: &Share| {
            let waiting = former.get(&share.to).map_or(0, |portion| portion.waiting);
            (share.to, Portion { share: *share, waiting })
        };
        self.portions = shares.iter().map(portion).collect();
    }

    /// Notes that packet `seq` is missing at `from`; the cache has the packet, or must fetch it first. False:
    /// the requester's share, or its budget, which grows at `rate` (0: not known), has no packet left.
    pub fn request(&mut self, now: Nanos, seq: Seq, from: SocketAddrV4, here: bool, rate: BitRate) -> bool {
        self.prune(now);
        let portion = self.portions.get_mut(&from);
        if portion.is_none() && self.group_at.contains_key(&seq.0) {
            return true;
        }
        let key = (seq.0, portion.is_some().then_some(from));
        if let Some(waiting) = self.waiting.get_mut(&key) {
            if !waiting.queued && waiting.recipient != Recipient::One(from) {
                waiting.recipient = Recipient::All;
            }
            return true;
        }
        if self.waiting.len() >= WAITING_BOUND {
            return true;
        }
        let affordable = match portion {
            Some(portion) => portion.take(),
            None => self.budgets.take(now, *from.ip(), rate),
        };
        if !affordable {
            return false;
        }
        let waiting = WaitingRequest { recipient: Recipient::One(from), since: now, queued: false };
        self.waiting.insert(key, waiting);
        if here {
            self.held.push_back((now + HOLD, key));
        }
        true
    }

    /// Removes a request. False: there is none.
    fn remove(&mut self, key: Key) -> bool {
        if let Some(portion) = key.1.and_then(|to| self.portions.get_mut(&to)) {
            portion.waiting = portion.waiting.saturating_sub(u64::from(self.waiting.contains_key(&key)));
        }
        self.waiting.remove(&key).is_some()
    }

    fn requests(&self, seq: Seq) -> impl Iterator<Item = Key> + '_ {
        self.waiting.range((seq.0, None)..).map(|(&key, _)| key).take_while(move |key| key.0 == seq.0)
    }

    /// Notes that a packet came to this agent alone, so that its requesters can be answered.
    pub fn fetched(&mut self, now: Nanos, seq: Seq) {
        let keys: Vec<Key> = self.requests(seq).collect();
        keys.into_iter().for_each(|key| self.held.push_front((now, key)));
    }

    /// Notes that a packet came to the whole group: only requesters with a share, which are isolated, still
    /// wait for it.
    pub fn seen_by_all(&mut self, now: Nanos, seq: Seq) {
        self.remove((seq.0, None));
        self.fetched(now, seq);
    }

    pub fn awaits(&self, seq: Seq) -> bool {
        self.requests(seq).next().is_some()
    }

    /// The next repair to send, at the requester's share, or the rate of the slowest branch (0: not known).
    pub fn poll(&mut self, now: Nanos, rate: BitRate) -> Option<(Seq, Recipient)> {
        self.release(now);
        loop {
            let (&recipient, lane) =
                self.lanes.iter_mut().find(|(_, lane)| lane.next <= now && !lane.queue.is_empty())?;
            let key = lane.queue.pop_front()?;
            let share = key.1.and_then(|to| self.portions.get(&to)).map(|portion| portion.share.rate);
            let (rate, bytes, burst) = match share {
                Some(share) => (share, MAX_PAYLOAD as u64, SHARE_BURST),
                None => (rate.scaled(LINK_PERMILLE), FULL_PACKET, BURST),
            };
            if self.waiting.contains_key(&key) && rate.0 > 0 {
                lane.next = lane.next.max(now - burst) + rate.time_for(bytes);
            }
            if !self.remove(key) {
                continue;
            }
            let seq = Seq(key.0);
            if recipient == Recipient::All {
                self.group_at.insert(seq.0, now);
                self.group_order.push_back((now, seq));
            }
            return Some((seq, recipient));
        }
    }

    /// Moves requests whose hold time is over into lanes.
    fn release(&mut self, now: Nanos) {
        while let Some(&(due, key)) = self.held.front() {
            if due > now {
                return;
            }
            self.held.pop_front();
            let Some(waiting) = self.waiting.get_mut(&key).filter(|w| !w.queued) else { continue };
            if self.lanes.len() >= LANES_BOUND && !self.lanes.contains_key(&waiting.recipient) {
                self.lanes.retain(|_, lane| !lane.queue.is_empty());
            }
            if self.lanes.len() >= LANES_BOUND && !self.lanes.contains_key(&waiting.recipient) {
                self.remove(key);
                continue;
            }
            waiting.queued = true;
            let lane = self.lanes.entry(waiting.recipient).or_default();
            if lane.queue.is_empty() {
                lane.next = lane.next.max(now);
            }
            lane.queue.push_back(key);
        }
    }

    /// Forgets requests that were never answered; returns their packets.
    pub fn expire(&mut self, now: Nanos) -> Vec<Seq> {
        let stale = |w: &WaitingRequest| !w.queued && now - w.since > PATIENCE;
        let expired: Vec<Key> = self.waiting.iter().filter(|(_, w)| stale(w)).map(|(&key, _)| key).collect();
        expired.iter().for_each(|&key| _ = self.remove(key));
        expired.into_iter().map(|(seq, _)| Seq(seq)).collect()
    }

    fn prune(&mut self, now: Nanos) {
        while let Some(&(at, seq)) = self.group_order.front() {
            if now - at < REPAIRED {
                return;
            }
            self.group_order.pop_front();
            if self.group_at.get(&seq.0) == Some(&at) {
                self.group_at.remove(&seq.0);
            }
        }
    }

    pub fn next_deadline(&self) -> Option<Nanos> {
        let held = self.held.front().map(|&(due, _)| due);
        let lanes = self.lanes.values().filter(|lane| !lane.queue.is_empty()).map(|lane| lane.next).min();
        [held, lanes].into_iter().flatten().min()
    }
}

impl Portion {
    /// Takes the room of a packet, of which every share has that of one. False: there is none.
    fn take(&mut self) -> bool {
        let room =
            self.waiting == 0 || (self.waiting + 1) * MAX_PAYLOAD as u64 <= u64::from(self.share.bytes);
        self.waiting += u64::from(room);
        room
    }
}

#[cfg(test)]
#[path = "tests/repair.rs"]
mod tests;
