//! What happens next: the total order of events within a switch.

use groupflow_base::Nanos;

/// Something that can happen at a place. Each stage of a place is on the agenda at most once, so
/// (time, place, stage) is a total order.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Stage {
    /// The inbound wire can take a packet from its queue.
    Receive,
    /// A packet arrives at the end of the inbound wire.
    Arrive,
    /// The outbound wire can take a packet from the traffic manager.
    Transmit,
    /// A packet arrives at the end of the outbound wire.
    Depart,
}

const STAGES: [Stage; 4] = [Stage::Receive, Stage::Arrive, Stage::Transmit, Stage::Depart];

/// The events to come. Places are numbered densely.
///
/// A tournament tree: places are its leaves, and each inner node has the earlier time of its two children.
/// What is next is at the root, and a change costs one walk from leaf to root, of four steps in a switch
/// with 16 places. There is nothing to allocate and nothing to clean up.
#[derive(Debug)]
pub struct Agenda {
    /// The root is at 1; the children of node n are at 2n and 2n + 1.
    tree: Vec<Nanos>,
    /// The time each stage is due.
    due: Vec<[Nanos; STAGES.len()]>,
}

impl Agenda {
    /// Nothing to do at `places` places.
    pub fn new(places: usize) -> Agenda {
        let leaves = places.next_power_of_two();
        Agenda { tree: vec![Nanos::MAX; 2 * leaves], due: vec![[Nanos::MAX; STAGES.len()]; leaves] }
    }

    /// Makes sure that a stage comes no later than `time`.
    pub fn schedule(&mut self, time: Nanos, place: u16, stage: Stage) {
        let place = usize::from(place);
        let due = &mut self.due[place][stage as usize];
        if time >= *due {
            return;
        }
        *due = time;
        // An earlier time only ever moves up, as far as it is the earliest.
        let mut node = self.due.len() + place;
        while node > 0 && time < self.tree[node] {
            self.tree[node] = time;
            node /= 2;
        }
    }

    /// When the next event is due.
    pub fn next(&self) -> Option<Nanos> {
        (self.tree[1] < Nanos::MAX).then_some(self.tree[1])
    }

    /// Whether there is something to do by `now`.
    #[inline]
    pub fn is_due(&self, now: Nanos) -> bool {
        self.tree[1] <= now && self.tree[1] < Nanos::MAX
    }

    /// Takes the next event if it is due by `now`.
    #[inline]
    pub fn pop(&mut self, now: Nanos) -> Option<(Nanos, u16, Stage)> {
        if self.is_due(now) {
            self.take(self.tree[1])
        } else {
            None
        }
    }

    /// Takes the first event, which is due at `time`.
    fn take(&mut self, time: Nanos) -> Option<(Nanos, u16, Stage)> {
        let leaves = self.due.len();
        let mut node = 1;
        while node < leaves {
            // On a tie the left child, whose places have the lower numbers.
            node = 2 * node + usize::from(self.tree[2 * node] != time);
        }
        let due = &mut self.due[node - leaves];
        let stage = STAGES.into_iter().find(|stage| due[*stage as usize] == time)?;
        due[stage as usize] = Nanos::MAX;
        let [a, b, c, d] = *due;
        let place = (node - leaves) as u16;
        self.tree[node] = a.min(b).min(c).min(d);
        while node > 1 {
            node /= 2;
            self.tree[node] = self.tree[2 * node].min(self.tree[2 * node + 1]);
        }
        Some((time, place, stage))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn events_come_by_time_then_place_then_stage() {
        let mut agenda = Agenda::new(3);
        agenda.schedule(Nanos(5), 2, Stage::Receive);
        agenda.schedule(Nanos(5), 1, Stage::Depart);
        agenda.schedule(Nanos(5), 1, Stage::Arrive);
        agenda.schedule(Nanos(4), 2, Stage::Transmit);
        let order: Vec<_> = std::iter::from_fn(|| agenda.pop(Nanos(5))).collect();
        let expected = [
            (Nanos(4), 2, Stage::Transmit),
            (Nanos(5), 1, Stage::Arrive),
            (Nanos(5), 1, Stage::Depart),
            (Nanos(5), 2, Stage::Receive),
        ];
        assert_eq!(order, expected);
    }

    #[test]
    fn an_event_moves_forward_never_back_and_comes_once() {
        let mut agenda = Agenda::new(1);
        agenda.schedule(Nanos(9), 0, Stage::Depart);
        agenda.schedule(Nanos(3), 0, Stage::Depart);
        agenda.schedule(Nanos(6), 0, Stage::Depart);
        assert_eq!(agenda.next(), Some(Nanos(3)));
        assert_eq!(agenda.pop(Nanos(2)), None);
        assert_eq!(agenda.pop(Nanos(9)), Some((Nanos(3), 0, Stage::Depart)));
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
            let mut known: std::collections::BTreeMap<(u16, Stage), Nanos> = Default::default();
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
