use super::*;
use crate::random::Draws;

#[test]
fn what_is_on_a_link_when_it_goes_down_is_lost() {
    let mut outlet = Outlet {
        delay: Nanos(100),
        loss: LossProcess::None,
        random: Random::new(1, Draws::Link(0)),
        downs: vec![(Nanos(1000), Nanos(2000)), (Nanos(5000), Nanos(6000))],
        next_down: 0,
        destination: LinkTarget::Inlet(0),
        batch: Batch::new(),
        counters: OutletCounters::default(),
        entered: Marks::new(Nanos(1000), Nanos::ZERO),
        transits: Vec::new(),
    };
    let arrives = [0, 899, 900, 901, 1000, 1999, 2000, 4900, 4901, 5999, 6000]
        .map(|at| outlet.carry(Nanos(at), &[0; 54], 6));
    assert_eq!(arrives, [true, true, true, false, false, false, true, true, false, false, true]);
    assert_eq!(outlet.counters, OutletCounters { frames: 11, bytes: 660, lost: 0, down: 5 });
    let by_then: Vec<_> = (0..6).map(|_| outlet.sample().0).collect();
    assert_eq!(by_then, [5, 7, 7, 7, 9, 11], "at 1000, 2000, ... although all were announced before");
}
