//! What happens next: the total order of events within a switch.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use groupflow_pipeline::units::Nanos;

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

const STAGES: usize = 4;

/// The events to come. Places are numbered densely.
#[derive(Debug)]
pub struct Agenda {
    heap: BinaryHeap<Reverse<(Nanos, u16, Stage)>>,
    /// The time each stage is due; entries of the heap that say otherwise are void.
    due: Vec<[Nanos; STAGES]>,
}

impl Agenda {
    /// Nothing to do at `places` places.
    pub fn new(places: usize) -> Agenda {
        Agenda { heap: BinaryHeap::new(), due: vec![[Nanos::MAX; STAGES]; places] }
    }

    /// Makes sure that a stage comes no later than `time`.
    pub fn schedule(&mut self, time: Nanos, place: u16, stage: Stage) {
        let due = &mut self.due[usize::from(place)][stage as usize];
        if time < *due {
            *due = time;
            self.heap.push(Reverse((time, place, stage)));
        }
    }

    /// When the next event is due.
    pub fn next(&mut self) -> Option<Nanos> {
        while let Some(Reverse((time, place, stage))) = self.heap.peek() {
            if self.due[usize::from(*place)][*stage as usize] == *time {
                return Some(*time);
            }
            self.heap.pop();
        }
        None
    }

    /// Takes the next event if it is due by `now`.
    pub fn pop(&mut self, now: Nanos) -> Option<(Nanos, u16, Stage)> {
        if self.next()? > now {
            return None;
        }
        let Reverse((time, place, stage)) = self.heap.pop()?;
        self.due[usize::from(place)][stage as usize] = Nanos::MAX;
        Some((time, place, stage))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

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
}
