//! The rims that take part in a transfer, and the bytes that they asked for after a round.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

use groupflow_base::ranges::Ranges;

use super::message::{Reception, RimId, MAX_AWAITED, MAX_SPANS};

/// A rim that takes part.
#[derive(Debug, Clone, Copy)]
struct Participant {
    complete: bool,
    answered: bool,
    /// Consecutive requests that the rim left unanswered.
    silent: u8,
    /// Whether the rim joined after the transfer began: the punctual rims go first.
    late: bool,
}

impl Participant {
    fn is_awaited(&self) -> bool {
        !self.answered && !self.complete && !self.late
    }
}

#[derive(Debug, Default)]
pub struct RimGroup {
    members: BTreeMap<RimId, Participant>,
    most: usize,
    /// Rims that left without the file, or were dropped and have not answered since: the hub does not wait as
    /// long for them again.
    let_go: BTreeSet<RimId>,
    /// Bytes that punctual rims asked for.
    asked: Ranges,
    /// Bytes that late rims asked for.
    asked_late: Ranges,
    /// How many rims answered since the last call of [`RimGroup::await_all`].
    pub answers: usize,
    /// The least rate at which packets arrived at a rim, bytes/s.
    pub slowest: Option<u64>,
}

impl RimGroup {
    /// A group without rims, and with room for `most`.
    pub fn new(most: usize) -> RimGroup {
        RimGroup { most, ..RimGroup::default() }
    }

    /// Adds a rim. False: there is no room.
    pub fn join(&mut self, rim: RimId, late: bool) -> bool {
        let room = self.members.len() < self.most;
        if !self.members.contains_key(&rim) && !room {
            return false;
        }
        let silent = if self.let_go.contains(&rim) { u8::MAX - 1 } else { 0 };
        let member = Participant { complete: false, answered: false, silent, late };
        self.members.entry(rim).or_insert(member);
        true
    }

    /// Removes a rim, which has the file (`complete`) or goes without it.
    pub fn leave(&mut self, rim: RimId, complete: bool) {
        let left = self.members.remove(&rim);
        if !complete && !left.is_some_and(|member| member.complete) && self.let_go.len() < self.most {
            self.let_go.insert(rim);
        }
    }

    pub fn len(&self) -> usize {
        self.members.len()
    }

    pub fn is_empty(&self) -> bool {
        self.members.is_empty()
    }

    /// How many rims have the whole file.
    pub fn complete(&self) -> usize {
        self.members.values().filter(|member| member.complete).count()
    }

    /// Takes a reception result. Returns whether the rim asks for more than was known after this round.
    pub fn on_result(&mut self, result: &Reception) -> bool {
        let mut late = false;
        if let Some(member) = self.members.get_mut(&result.rim) {
            member.answered = true;
            member.silent = 0;
            self.let_go.remove(&result.rim);
            member.complete |= result.complete;
            late = member.late;
        }
        self.answers += 1;
        if result.complete {
            return false;
        }
        let asked = if late { &mut self.asked_late } else { &mut self.asked };
        let added: u64 = result.lacks.iter().map(|span| asked.insert(span.clone())).sum();
        if !late {
            let known = Some(result.rate).filter(|&rate| rate > 0);
            self.slowest = [self.slowest, known].into_iter().flatten().min();
        }
        added > 0 && !late
    }

    /// The bytes asked for after this round.
    pub fn asked(&self) -> Vec<Range<u64>> {
        self.asked.iter().take(MAX_SPANS).collect()
    }

    /// Takes out the bytes that punctual rims asked for.
    pub fn take_asked(&mut self) -> Ranges {
        std::mem::take(&mut self.asked)
    }

    pub fn await_all(&mut self) {
        self.members.values_mut().for_each(|member| member.answered = false);
        (self.answers, self.slowest) = (0, None);
        // The hub did not go back to the bytes that late rims asked for earlier; it went on with those of the
        // others.
        self.asked_late.clear();
    }

    pub fn all_answered(&self) -> bool {
        !self.members.values().any(Participant::is_awaited)
    }

    /// Whether all punctual rims have the whole file.
    pub fn all_complete(&self) -> bool {
        self.members.values().all(|member| member.complete || member.late)
    }

    /// Counts another silence of each rim that did not answer, and drops those that reach `patience`. Returns
    /// whether any rim is still awaited, and which rims were dropped.
    pub fn count_silent(&mut self, patience: u8) -> (bool, Vec<RimId>) {
        for member in self.members.values_mut().filter(|member| member.is_awaited()) {
            member.silent = member.silent.saturating_add(1);
        }
        let gone: Vec<RimId> =
            self.members.iter().filter(|(_, m)| m.silent >= patience).map(|(&rim, _)| rim).collect();
        self.members.retain(|_, member| member.silent < patience);
        let room = self.most.saturating_sub(self.let_go.len());
        self.let_go.extend(gone.iter().copied().take(room));
        (!self.all_answered(), gone)
    }

    /// Lets late rims take part as the others do. Returns the bytes that they lack: none, if they have not
    /// reported yet. `None`: no rim is late.
    pub fn admit_late(&mut self) -> Option<Ranges> {
        let mut any = false;
        for member in self.members.values_mut().filter(|member| member.late) {
            member.late = false;
            any |= !member.complete;
        }
        any.then(|| std::mem::take(&mut self.asked_late))
    }

    /// The rims that left without the file, or were dropped and have not answered since.
    pub fn let_go(&self) -> Vec<String> {
        self.let_go.iter().map(RimId::to_string).collect()
    }

    /// The rims that have neither answered nor said that they are complete, as a POLL names them.
    pub fn awaited(&self) -> Vec<RimId> {
        let open = self.members.iter().filter(|(_, member)| member.is_awaited()).map(|(&rim, _)| rim);
        let awaited: Vec<RimId> = open.take(MAX_AWAITED + 1).collect();
        if awaited.len() > MAX_AWAITED {
            return Vec::new();
        }
        awaited
    }
}
