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
