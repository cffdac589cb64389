use groupflow_base::stream::ByteQueue;
use proptest::prelude::*;

proptest! {
    /// The queue reads as a plain vector does that forgets nothing.
    #[test]
    fn bytes_are_read_as_they_were_pushed(
        steps in proptest::collection::vec((0..40_usize, 0..40_u64, 0..60_u64, 0..60_usize), 1..60),
    ) {
        let (mut queue, mut all) = (ByteQueue::at(100), Vec::<u8>::new());
        let mut base = 0;
        for (count, discard, from, most) in steps {
            let new: Vec<u8> = (all.len()..all.len() + count).map(|at| (at * 7) as u8).collect();
            queue.push(&new);
            all.extend(new);
            base = (base + discard).min(all.len() as u64);
            queue.discard_below(100 + base);
            let from = base + from;
            let end = all.len().min((from as usize).saturating_add(most));
            let expected = all.get(from as usize..end).unwrap_or(&[]);
            let (first, second) = queue.read(100 + from, most);
            prop_assert_eq!([first, second].concat(), expected);
            prop_assert_eq!(queue.len() as u64, all.len() as u64 - base);
        }
        prop_assert_eq!(queue.read(0, 10), (&[][..], &[][..]), "before the stream");
    }
}
