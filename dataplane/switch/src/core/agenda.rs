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
    /// The time each stage is due.
    due: Vec<[Nanos; STAGES.len()]>,
}

impl Agenda {
    /// An empty agenda for `places` places.
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

    /// When the next event is due.
    pub fn next(&self) -> Option<Nanos> {
        Some(self.first.time()).filter(|&time| time < Nanos::MAX)
    }

    /// Whether there is something to do by `now`.
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
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn events_come_by_time_then_place_then_stage() {
        let mut agenda = Agenda::new(3);
        agenda.schedule(Nanos(5), 2, LinkStage::Receive);
        agenda.schedule(Nanos(5), 1, LinkStage::Depart);
        agenda.schedule(Nanos(5), 1, LinkStage::Arrive);
        agenda.schedule(Nanos(4), 2, LinkStage::Transmit);
        let order: Vec<_> = std::iter::from_fn(|| agenda.pop(Nanos(5))).collect();
        let expected = [
            (Nanos(4), 2, LinkStage::Transmit),
            (Nanos(5), 1, LinkStage::Arrive),
            (Nanos(5), 1, LinkStage::Depart),
            (Nanos(5), 2, LinkStage::Receive),
        ];
        assert_eq!(order, expected);
    }

    #[test]
    fn an_event_moves_forward_never_back_and_comes_once() {
        let mut agenda = Agenda::new(1);
        agenda.schedule(Nanos(9), 0, LinkStage::Depart);
        agenda.schedule(Nanos(3), 0, LinkStage::Depart);
        agenda.schedule(Nanos(6), 0, LinkStage::Depart);
        assert_eq!(agenda.next(), Some(Nanos(3)));
        assert_eq!(agenda.pop(Nanos(2)), None);
        assert_eq!(agenda.pop(Nanos(9)), Some((Nanos(3), 0, LinkStage::Depart)));
        assert_eq!(agenda.pop(Nanos::MAX), None);
    }

    proptest! {
        /// The same as a sorted set of events would give.
        #[test]
        fn it_is_a_total_order(
            places in 1u16..20,
            steps in proptest::collection::vec((0u64..50, any::<u16>(), 0usize..4, any::<bool>()), 0..200),
        ) {
            let mut agenda = Agenda::new(usize::from(places));
            let mut known: std::collections::BTreeMap<(u16, LinkStage), Nanos> = Default::default();
            for (time, place, stage, take) in steps {
                if take {
                    let first = known.iter().map(|((place, stage), time)| (*time, *place, *stage)).min();
                    let expected = first.filter(|(due, ..)| *due <= Nanos(time));
                    prop_assert_eq!(agenda.pop(Nanos(time)), expected);
                    if let Some((_, place, stage)) = expected {
                        known.remove(&(place, stage));
                    }
                } else {
                    let key = (place % places, STAGES[stage]);
                    agenda.schedule(Nanos(time), key.0, key.1);
                    let due = known.entry(key).or_insert(Nanos(time));
                    *due = (*due).min(Nanos(time));
                }
                prop_assert_eq!(agenda.next(), known.values().min().copied());
            }
        }
    }
}
