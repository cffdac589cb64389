use super::*;
use crate::random::Draws;
use crate::sample::Sample;

#[test]
fn what_is_on_a_link_when_it_goes_down_is_lost() {
    let end = FarEnd { node: NodeId(0), port: 0, leaf: Leaf::default() };
    let mut link = Link {
        downs: vec![(Nanos(1000), Nanos(2000)), (Nanos(5000), Nanos(6000))],
        ..Link::new(Nanos(100), Random::new(1, Draws::Link(0)), Nanos(1000), end)
    };
    let arrives = [0, 899, 900, 901, 1000, 1999, 2000, 4900, 4901, 5999, 6000]
        .map(|at| link.carry(Nanos(at), &[0; 54], 6));
    assert_eq!(arrives, [true, true, true, false, false, false, true, true, false, false, true]);
    assert_eq!(link.counters, LinkCounters { frames: 11, bytes: 660, lost: 0, down: 5 });
    let mut sample = Sample::default();
    (0..6).for_each(|_| link.sample(0, &mut NodeSample { node: NodeId(0), sample: &mut sample }));
    let by_then: Vec<_> = sample.links.iter().map(|link| link.frames).collect();
    assert_eq!(by_then, [5, 7, 7, 7, 9, 11], "at 1000, 2000, ... although all were announced before");
}
