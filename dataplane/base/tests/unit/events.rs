use groupflow_base::events::EventQueue;
use groupflow_base::Nanos;
use proptest::prelude::*;

proptest! {
    #[test]
    fn events_come_by_time_then_key_then_as_scheduled(
        events in proptest::collection::vec((0..10_u64, 0..3_u8), 0..60), now in 0..12_u64,
    ) {
        let mut queue = EventQueue::default();
        for (number, &(time, key)) in events.iter().enumerate() {
            queue.schedule_as(Nanos(time), key, (key, number));
        }
        let mut expected: Vec<_> =
            (0..).zip(&events).map(|(number, &(time, key))| (Nanos(time), (key, number))).collect();
        expected.sort();
        prop_assert_eq!(queue.next(), expected.first().map(|first| first.0));
        let due = std::iter::from_fn(|| {
            queue.next().filter(|&time| time <= Nanos(now))?;
            queue.pop()
        }).collect::<Vec<_>>();
        prop_assert!(due.iter().all(|event| event.0 <= Nanos(now)));
        prop_assert_eq!(queue.len(), expected.len() - due.len());
        let rest = std::iter::from_fn(|| queue.pop());
        prop_assert_eq!(due.into_iter().chain(rest).collect::<Vec<_>>(), expected);
    }
}
