use super::*;
use proptest::prelude::*;

fn same_level(shares: &[Share]) -> Scheduler {
    let mut scheduler = Scheduler::new(shares.len() as u8);
    shares.iter().enumerate().for_each(|(queue, share)| scheduler.set(queue, 3, *share));
    scheduler
}

fn serve(scheduler: &mut Scheduler, ready: Mask, bytes: u32) -> usize {
    let queue = scheduler.choose(ready).expect("one is ready");
    scheduler.serve(queue, bytes);
    queue
}

#[test]
fn the_highest_level_goes_first() {
    let mut scheduler = Scheduler::new(8);
    assert_eq!(scheduler.choose(0), None);
    assert_eq!(scheduler.choose(0b0010_0110), Some(5));
    scheduler.set(1, 200, Share::Weight(1));
    assert_eq!(scheduler.choose(0b0010_0110), Some(1));
    scheduler.set(2, 200, Share::Demand(7));
    assert_eq!(scheduler.choose(0b0010_0110), Some(2), "a demand goes before a weight");
}

#[test]
fn two_to_one_is_two_to_one_at_any_time() {
    for shares in [[Share::Weight(2), Share::Weight(1)], [Share::Demand(2_000), Share::Demand(1_000)]] {
        let mut scheduler = same_level(&shares);
        let mut served = [0i64; 2];
        for _ in 0..3_000 {
            served[serve(&mut scheduler, 0b11, 1000)] += 1;
            assert!((served[0] - 2 * served[1]).abs() <= 2, "{served:?}");
        }
    }
}

#[test]
fn who_comes_back_after_idling_gets_the_share_from_then_on() {
    let mut scheduler = same_level(&[Share::Demand(100), Share::Demand(100)]);
    (0..10_000).for_each(|_| assert_eq!(serve(&mut scheduler, 0b01, 1000), 0));
    let served: Vec<usize> = (0..6).map(|_| serve(&mut scheduler, 0b11, 1000)).collect();
    assert_eq!(served, [1, 1, 0, 1, 0, 1], "served at once, not repaid, not starved");
}

#[test]
fn a_share_that_grows_counts_at_once() {
    let mut scheduler = same_level(&[Share::Demand(1), Share::Demand(1_000_000)]);
    while serve(&mut scheduler, 0b11, 1000) != 0 {}
    scheduler.set(0, 3, Share::Demand(1_000_000));
    let served: Vec<usize> = (0..4).map(|_| serve(&mut scheduler, 0b11, 1000)).collect();
    assert_eq!(served.iter().filter(|queue| **queue == 0).count(), 2, "{served:?}");
}

proptest! {
    /// SFQ's bound: while two queues both wait, their services differ by at most one packet each, over
    /// share.
    #[test]
    fn service_is_proportional_whatever_comes_and_goes(
        weights in proptest::collection::vec(1u16..1000, 2..8),
        steps in proptest::collection::vec((any::<u8>(), 64u32..1500), 1..400),
    ) {
        let mut scheduler = same_level(&weights.iter().map(|w| Share::Weight(*w)).collect::<Vec<_>>());
        // Queues 0 and 1 always wait; the others come and go.
        let mut served = [0f64; 2];
        for (others, bytes) in steps {
            let ready = (Mask::from(others) | 0b11) & ((1 << weights.len()) - 1);
            let queue = serve(&mut scheduler, ready, bytes);
            if queue < 2 {
                served[queue] += f64::from(bytes) / f64::from(weights[queue]);
            }
            let bound = 1500.0 / f64::from(weights[0]) + 1500.0 / f64::from(weights[1]);
            prop_assert!((served[0] - served[1]).abs() <= bound * 1.000_001, "{served:?} {bound}");
        }
    }

    /// No queue is ever further ahead than one packet.
    #[test]
    fn nobody_gets_far_ahead(
        steps in proptest::collection::vec((any::<u8>(), 1u32.., 0usize..4, 0u32.., 0u8..3), 0..300),
    ) {
        let mut scheduler = same_level(&[Share::Demand(1); 4]);
        for (ready, bytes, queue, demand, step) in steps {
            match step {
                0 => scheduler.set(queue, 3, Share::Demand(demand)),
                1 => scheduler.restart(),
                _ => {
                    let chosen = scheduler.choose(Mask::from(ready) & 0xf);
                    chosen.into_iter().for_each(|queue| scheduler.serve(queue, bytes));
                }
            }
            prop_assert!(scheduler.lanes.iter().all(|lane| lane.ahead <= lane.pace));
        }
    }
}
