//! The agenda: the total order of events within a switch.

use groupflow_base::min_tree::MinTree;
use groupflow_base::Nanos;

/// Something that can happen at a place. Each stage of a place is on the agenda at most once, so
/// (time, place, stage) is a total order.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum LinkStage {
    /// The inbound wire can take a packet from its queue.
    Receive,
    /// A packet arrives at the end of the inbound wire.
    Arrive,
    /// The outbound wire can take a packet from the traffic manager.
    Transmit,
    /// A packet arrives at the end of the outbound wire.
    Depart,
}

const STAGES: [LinkStage; 4] =
    [LinkStage::Receive, LinkStage::Arrive, LinkStage::Transmit, LinkStage::Depart];

/// The events to come. Places are numbered densely: they are the leaves of a tournament tree, so that a
/// change costs one walk from leaf to root, of four steps in a switch with 16 places.
#[derive(Debug)]
pub struct Agenda {
    first: MinTree,
    due: Vec<[Nanos; STAGES.len()]>,
}

impl Agenda {
    pub fn new(places: usize) -> Agenda {
        Agenda { first: MinTree::new(places), due: vec![[Nanos::MAX; STAGES.len()]; places] }
    }

    /// Makes sure that a stage comes no later than `time`.
    pub fn schedule(&mut self, time: Nanos, place: u16, stage: LinkStage) {
        let place = usize::from(place);
        let due = &mut self.due[place][stage as usize];
        if time >= *due {
            return;
        }
        *due = time;
        if time < self.first.get(place) {
            self.first.set(place, time);
        }
    }

    pub fn next(&self) -> Option<Nanos> {
        Some(self.first.time()).filter(|&time| time < Nanos::MAX)
    }

    #[inline]
    pub fn is_due(&self, now: Nanos) -> bool {
        self.first.time() <= now && self.first.time() < Nanos::MAX
    }

    /// Takes the next event if it is due by `now`.
    #[inline]
    pub fn pop(&mut self, now: Nanos) -> Option<(Nanos, u16, LinkStage)> {
        if !self.is_due(now) {
            return None;
        }
        // On a tie, the event at the lowest place is next.
        let (time, place) = (self.first.time(), self.first.first());
        let due = &mut self.due[place];
        let stage = STAGES.into_iter().find(|stage| due[*stage as usize] == time)?;
        due[stage as usize] = Nanos::MAX;
        let [a, b, c, d] = *due;
        self.first.set(place, a.min(b).min(c).min(d));
        Some((time, place as u16, stage))
    }
}

#[cfg(test)]
#[path = "tests/agenda.rs"]
mod tests;
