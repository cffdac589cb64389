//! A rim's requests to the hub for files that its clients want and that it does not have.
//!
//! An ASK is repeated until the hub answers: after one second, then after twice the last wait each time. An
//! answer that the file is queued is believed for [`BELIEVED`]; then the rim asks again, since the hub may
//! have restarted.

use std::collections::{BTreeMap, VecDeque};
use std::net::SocketAddrV4;

use groupflow_base::{Dest, Nanos, Transmit};

use super::message::{Body, FileName, Message, RimId, TransferId, Verdict};

const FIRST_WAIT: Nanos = Nanos::from_secs(1);
const LONGEST_WAIT: Nanos = Nanos::from_secs(16);
/// ASKs sent before a silent hub is given up.
const TRIES: u32 = 6;
/// How long the answer that a file is queued is believed.
pub const BELIEVED: Nanos = Nanos::from_secs(60);
/// The most files asked for at one time.
pub const MAX_ASKED: usize = 256;

/// The hub's answer to a wish; `None`: it did not answer.
pub type WishOutcome = (FileName, Option<Verdict>);

#[derive(Debug, Clone, Copy)]
struct Wish {
    next: Nanos,
    tries: u32,
}

/// The wishes of a rim.
#[derive(Debug)]
pub struct Asker {
    rim: RimId,
    wishes: BTreeMap<FileName, Wish>,
    events: VecDeque<WishOutcome>,
}

impl Asker {
    pub fn new(rim: RimId) -> Asker {
        Asker { rim, wishes: BTreeMap::new(), events: VecDeque::new() }
    }

    /// Asks for a file; repeated calls ask only once. False: there are too many wishes already.
    pub fn ask(&mut self, now: Nanos, name: FileName) -> bool {
        if self.wishes.len() >= MAX_ASKED && !self.wishes.contains_key(&name) {
            return false;
        }
        self.wishes.entry(name).or_insert(Wish { next: now, tries: 0 });
        true
    }

    /// Forgets a wish, because the file arrives or nobody wants it any more.
    pub fn forget(&mut self, name: &FileName) {
        self.wishes.remove(name);
    }

    /// Takes a message of the hub, if it answers one of this rim's wishes.
    pub fn handle(&mut self, now: Nanos, body: &Body) {
        let Body::Answer { rim, name, verdict } = body else { return };
        if *rim != self.rim {
            return;
        }
        let Some(wish) = self.wishes.get_mut(name) else { return };
        match verdict {
            Verdict::Queued => *wish = Wish { next: now + BELIEVED, tries: 0 },
            Verdict::Unknown | Verdict::Busy | Verdict::Unreadable => drop(self.wishes.remove(name)),
        }
        self.events.push_back((name.clone(), Some(*verdict)));
    }

    pub fn poll_transmit(&mut self, now: Nanos, hub: SocketAddrV4) -> Option<Transmit> {
        let due = |wishes: &BTreeMap<FileName, Wish>| {
            wishes.iter().find(|(_, wish)| wish.next <= now).map(|(name, _)| name.clone())
        };
        while let Some(name) = due(&self.wishes) {
            let wish = self.wishes.get_mut(&name)?;
            if wish.tries >= TRIES {
                self.wishes.remove(&name);
                self.events.push_back((name, None));
                continue;
            }
            wish.next = now + FIRST_WAIT.doubled(wish.tries, LONGEST_WAIT);
            wish.tries += 1;
            let ask = Message { transfer: TransferId(0), body: Body::Ask { rim: self.rim, name } };
            return Some(Transmit { dest: Dest::Host(hub), bytes: ask.encode() });
        }
        None
    }

    pub fn next_deadline(&self) -> Option<Nanos> {
        self.wishes.values().map(|wish| wish.next).min()
    }

    /// Outcomes of wishes since the last call.
    pub fn events(&mut self) -> impl Iterator<Item = WishOutcome> + '_ {
        self.events.drain(..)
    }
}
