use super::*;
use proptest::prelude::*;

fn drain(queue: &mut FrameQueue) -> Vec<(Nanos, Vec<u8>, u32)> {
    std::iter::from_fn(|| take(queue)).collect()
}

fn take(queue: &mut FrameQueue) -> Option<(Nanos, Vec<u8>, u32)> {
    let time = queue.next();
    let mut lent = queue.lend()?;
    let frame = (time, lent.head().to_vec(), lent.tail);
    queue.give_back(lent);
    Some(frame)
}

proptest! {
    #[test]
    fn frames_come_out_as_they_went_in(
        heads in proptest::collection::vec(proptest::collection::vec(any::<u8>(), 0..2000), 1..80),
    ) {
        let mut queue = FrameQueue::default();
        let mut expected = Vec::new();
        for (n, head) in (0..).zip(heads) {
            let (time, tail) = (Nanos(n), n as u32 * 3);
            queue.push(time, &head, tail);
            expected.push((time, head, tail));
        }
        prop_assert_eq!(queue.next(), Nanos(0));
        prop_assert_eq!(drain(&mut queue), expected);
        prop_assert_eq!(queue.next(), Nanos::MAX);
    }
}

#[test]
fn frames_may_be_pushed_while_one_is_lent() {
    let mut queue = FrameQueue::default();
    queue.push(Nanos(1), &[1; 3], 10);
    queue.push(Nanos(2), &[2; 5], 20);
    let lent = queue.lend().expect("the first");
    queue.push(Nanos(3), &[3; 2], 30);
    queue.give_back(lent);
    let lent = queue.lend().expect("the second");
    queue.give_back(lent);
    let mut lent = queue.lend().expect("the last");
    assert_eq!((lent.tail, lent.head()), (30, &mut [3; 2][..]));
    queue.push(Nanos(4), &[], 40);
    queue.give_back(lent);
    assert_eq!(drain(&mut queue), [(Nanos(4), vec![], 40)]);
}

#[test]
fn memory_does_not_grow_with_the_frames_that_passed() {
    let mut queue = FrameQueue::default();
    let mut held = Vec::new();
    for round in 0..100u64 {
        (0..1000).for_each(|n| queue.push(Nanos(round * 1000 + n), &[7; 54], 1460));
        while take(&mut queue).is_some() {}
        held.push(queue.batches.iter().chain(&queue.spare).map(Vec::capacity).sum::<usize>());
    }
    assert_eq!(held[10], held[99]);
}
