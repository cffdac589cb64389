//! Delays from the source: their bound, and hosts that are moved when latencies have changed.

use groupflow_base::Nanos;
use groupflow_tree::machine::{Demotion, FromHost, HostId, NodeConfig, Policy, RefusalCode, Slow, ToHost};
use proptest::collection::vec;
use proptest::prelude::*;

use super::dispatchers::{in_ms, measures, Told};
use super::forest::{Forest, SOURCE};
use super::grove::{Grove, MIDDLE};
use super::streaming::config;

/// One cluster, wherever hosts are; each measures again every three seconds.
fn policy(bound: Option<u64>) -> Policy {
    Policy {
        threshold: Nanos::from_millis(1000),
        delay_bound: bound.map(Nanos::from_millis),
        demotion: Demotion::Slowest,
        settling: Nanos::ZERO,
        review: Nanos::from_millis(3000),
        ..Policy::default()
    }
}

fn joins(forest: &mut Forest, place: u64, router: Option<u64>, capacity: u16) -> HostId {
    let host = forest.join(place, router, capacity);
    forest.settle();
    host
}

fn told(forest: &Forest, host: HostId) -> Option<(u64, u64)> {
    forest.hosts[&host].told.map(|(delay, bound)| (delay.as_millis(), bound.as_millis()))
}

/// The other host behind its router is 120 ms away, and itself 100 ms from the source.
#[test]
fn a_host_is_placed_where_its_delay_is_within_the_bound() {
    for (bound, parent) in [(None, HostId(1)), (Some(220), HostId(1)), (Some(219), SOURCE)] {
        let mut forest = Forest::new(policy(bound), 2);
        joins(&mut forest, 600, Some(1), 4);
        let host = joins(&mut forest, 480, Some(1), 0);
        assert_eq!(forest.hosts[&host].parent, Some(parent), "{bound:?}");
        assert_eq!(told(&forest, host), None, "nothing is to be said");
    }
}

/// It gets the best place that there is, and a better one when another host has left.
#[test]
fn a_host_without_a_place_within_the_bound_is_told_so_until_it_has_one() {
    let mut forest = Forest::new(policy(Some(150)), 2);
    let [above, leaves] = [(400, 2), (500, 0)].map(|(place, room)| joins(&mut forest, place, None, room));
    let host = joins(&mut forest, 520, None, 0);
    assert_eq!(forest.hosts[&host].parent, Some(above));
    assert_eq!(told(&forest, host), Some((220, 150)));
    forest.kill(leaves);
    forest.settle();
    assert_eq!(forest.hosts[&host].parent, Some(SOURCE));
    assert_eq!(told(&forest, host), Some((20, 150)));
    assert!([above, SOURCE].iter().all(|&other| told(&forest, other).is_none()));
}

/// The nearest cluster is 40 ms away, and its head 100 ms from the source, which is 60 ms away.
#[test]
fn a_host_is_not_sent_to_a_cluster_in_which_it_would_be_beyond_the_bound() {
    for (bound, below) in [(None, true), (Some(140), true), (Some(139), false)] {
        let threshold = Nanos::from_millis(60);
        let mut forest = Forest::new(Policy { threshold, ..policy(bound) }, 4);
        let far = joins(&mut forest, 600, None, 4);
        let host = joins(&mut forest, 560, None, 4);
        let cluster = |host| forest.hosts[&host].cluster;
        assert_ne!(cluster(far), forest.dispatchers.root);
        assert_eq!(cluster(host) == cluster(far), below, "{bound:?}");
        // A new cluster would take over that of the far host, for which the way would be no longer here.
        assert!([far, host].iter().all(|&host| told(&forest, host).is_none()));
    }
}

/// The head of the last cluster is below the head of the middle one, whose way to the source changes.
#[test]
fn clusters_below_know_their_delay_from_the_source() {
    let threshold = Nanos::from_millis(60);
    let mut forest = Forest::new(Policy { threshold, ..policy(Some(250)) }, 4);
    let [middle, last] = [600, 700].map(|place| joins(&mut forest, place, None, 4));
    let beside = joins(&mut forest, 720, None, 0);
    let delay = |forest: &Forest, host: HostId| {
        let dispatcher = forest.dispatchers.get(forest.hosts[&host].cluster).expect("a cluster");
        dispatcher.delay(host).map(Nanos::as_millis)
    };
    assert_eq!(forest.hosts[&last].parent, Some(middle));
    assert_eq!([middle, last, beside].map(|host| delay(&forest, host)), [Some(100), Some(200), Some(220)]);
    forest.hosts.get_mut(&middle).expect("a host").place = 640;
    forest.hosts.get_mut(&last).expect("a host").place = 760;
    forest.settle();
    assert_eq!([middle, last, beside].map(|host| delay(&forest, host)), [Some(140), Some(260), Some(300)]);
    assert_eq!([middle, last, beside].map(|host| told(&forest, host).is_some()), [false, true, true]);
}

/// The source has no room for the head of the far cluster, and its children do. The first is 70 ms from the
/// head when the head joins, and then farther from both.
#[test]
fn a_head_moves_within_the_cluster_above_when_its_parent_becomes_farther() {
    for (review, place, parent) in [(true, 460, 2), (true, 500, 1), (false, 460, 1)] {
        let review = if review { policy(None).review } else { Nanos::ZERO };
        let mut forest = Forest::new(Policy { threshold: Nanos::from_millis(60), review, ..policy(None) }, 2);
        let [near, other] = [530, 540].map(|place| joins(&mut forest, place, None, 2));
        let head = joins(&mut forest, 600, None, 2);
        assert_eq!((forest.hosts[&head].parent, [near, other]), (Some(near), [HostId(1), HostId(2)]));
        assert_ne!(forest.hosts[&head].cluster, forest.dispatchers.root);
        forest.hosts.get_mut(&near).expect("a host").place = place;
        (0..3).for_each(|_| forest.settle());
        assert_eq!(forest.hosts[&head].parent, Some(HostId(parent)), "{review:?} {place}");
    }
}

const PARENT: HostId = HostId(1);
const OTHER: HostId = HostId(2);
const HOST: HostId = HostId(3);

/// A source with two children, of which the first has a child; the latencies from there, in ms.
fn of_three() -> Told {
    let mut tree = Told::new(policy(None), 2);
    for (host, measured) in
        [(PARENT, vec![(SOURCE, 10)]), (OTHER, vec![(SOURCE, 10)]), (HOST, vec![(SOURCE, 12), (PARENT, 2)])]
    {
        tree.member(host, 4, &measured);
    }
    assert_eq!(tree.parent(HOST), Some(PARENT));
    tree
}

/// Lets time pass until this host is asked to measure; all others find what they know.
fn asked(tree: &mut Told, host: HostId) -> Vec<HostId> {
    for _ in 0..200 {
        let now = tree.all.deadline();
        assert_ne!(now, Nanos::MAX);
        tree.pass(now, &[]);
        for (to, message) in tree.outputs() {
            match message {
                ToHost::Probe(peers) if to == host => return peers.iter().map(|peer| peer.host).collect(),
                _ => {}
            }
        }
    }
    panic!("{host} is never asked");
}

fn delay(tree: &Told) -> Option<u64> {
    tree.root().delay(HOST).map(Nanos::as_millis)
}

#[test]
fn a_host_moves_to_a_parent_that_is_better_twice_by_the_margin() {
    // Over the present parent it has 32 ms: a quarter of that is 8.
    for (latency, moves) in [(14, true), (15, false)] {
        let mut tree = of_three();
        let found = measures(&[(PARENT, 22), (OTHER, latency)]);
        assert_eq!(asked(&mut tree, HOST), [PARENT, OTHER], "its parent, and those with room");
        tree.say(HOST, found.clone());
        assert_eq!(delay(&tree), Some(32), "what it measured counts");
        assert_eq!(tree.parent(HOST), Some(PARENT), "a single measurement may be an accident");
        let before = tree.now;
        asked(&mut tree, HOST);
        tree.say(HOST, found);
        assert_eq!(tree.parent(HOST), Some(if moves { OTHER } else { PARENT }), "{latency}");
        // A host that found a better parent is asked again before the others.
        assert_eq!(tree.now - before < Nanos::from_millis(2500), moves);
    }
}

/// So no host moves itself, or has others moved, by telling latencies when it likes.
#[test]
fn a_measurement_that_nobody_asked_for_is_refused() {
    let mut tree = of_three();
    let found = measures(&[(PARENT, 22), (OTHER, 1)]);
    let tell = |tree: &mut Told| {
        tree.say(HOST, found.clone());
        let is_bad =
            |message: &ToHost| matches!(message, ToHost::Refused { code: RefusalCode::BadMessage, .. });
        let refused = tree.outputs().iter().any(|(host, message)| *host == HOST && is_bad(message));
        (refused, delay(tree), tree.parent(HOST))
    };
    assert_eq!(tell(&mut tree), (true, Some(12), Some(PARENT)));
    asked(&mut tree, HOST);
    assert_eq!(tell(&mut tree), (false, Some(32), Some(PARENT)));
    assert_eq!(tell(&mut tree), (true, Some(32), Some(PARENT)), "one answer, one measurement");
    // The answer may come after a restart of the dispatcher.
    tree.resume(policy(None));
    assert_eq!(tell(&mut tree), (false, Some(11), Some(OTHER)));
}

#[test]
fn one_host_moves_at_a_time_and_then_rests_longer_each_time() {
    let mut tree = of_three();
    let (there, back) = (measures(&[(PARENT, 100), (OTHER, 1)]), measures(&[(OTHER, 100), (PARENT, 1)]));
    let mut moves = Vec::new();
    for _ in 0..40 {
        asked(&mut tree, HOST);
        let before = tree.parent(HOST);
        tree.say(HOST, if before == Some(PARENT) { there.clone() } else { back.clone() });
        if tree.parent(HOST) != before {
            // Until it is there, it is not asked, and no other host moves.
            assert!(!tree.root().tree.get(HOST).expect("a member").attached);
            tree.attached(HOST);
            moves.push(tree.now);
        }
    }
    let rests: Vec<u64> = moves.windows(2).map(|pair| (pair[1] - pair[0]).as_millis() / 3000).collect();
    assert!(rests.len() >= 3 && rests.windows(2).all(|pair| pair[1] > pair[0]), "{rests:?}");
}

/// It would be at the bottom for as long as it is slow.
#[test]
fn a_slow_host_is_not_moved_up_again_while_it_is_slow() {
    let mut forest = Forest::new(policy(None), 3);
    let [slow, ..] = [510, 520, 540].map(|place| joins(&mut forest, place, None, 3));
    forest.say(SOURCE, FromHost::Backlog { child: slow });
    forest.settle();
    let below = forest.hosts[&slow].parent.expect("a parent");
    assert_ne!(below, SOURCE);
    for _ in 0..4 {
        forest.say(below, FromHost::Backlog { child: slow });
        forest.settle();
        assert_eq!(forest.hosts[&slow].parent, Some(below));
    }
    (0..4).for_each(|_| forest.settle());
    assert_eq!(forest.hosts[&slow].parent, Some(SOURCE), "in the end it is forgiven");
}

#[test]
fn where_latencies_are_not_measured_again_nobody_is_asked() {
    let mut forest = Forest::new(Policy { review: Nanos::ZERO, ..policy(None) }, 2);
    let [near, other, host] = [(490, 2), (510, 2), (488, 0)].map(|(at, n)| joins(&mut forest, at, None, n));
    assert_eq!(forest.hosts[&host].parent, Some(near));
    forest.hosts.get_mut(&host).expect("a host").place = 512;
    forest.settle();
    assert_eq!(forest.hosts[&host].parent, Some(near));
    assert_ne!(other, near);
}

/// The host goes to and fro while the stream runs, and has every byte once (checked where it is read).
#[test]
fn hosts_that_are_moved_to_nearer_parents_miss_no_byte() {
    let patience = Nanos::from_millis(100_000);
    // Nobody is reported as slow: here messages and bytes take seconds.
    let config = NodeConfig { late_after: patience, ..config(Slow::Wait) };
    let mut grove = Grove::new(config, Policy { patience, ..policy(None) }, 2);
    let ends = [MIDDLE - 100, MIDDLE + 100];
    let relays = ends.map(|place| {
        let host = grove.join_from(place, 2, 1);
        grove.settle();
        host
    });
    let host = grove.join_from(ends[0], 0, 2);
    grove.settle();
    assert_eq!(grove.nodes[&host].node.parent(), Some(relays[0]));
    for turn in 1..4 {
        grove.place(host, ends[turn % 2]);
        for _ in 0..40 {
            grove.write(700);
            grove.carry_all(grove.wires());
            grove.read(host, 900);
            grove.pass(Nanos::from_millis(500 << turn));
            grove.deliver_all();
        }
        grove.settle();
        assert_eq!(grove.nodes[&host].node.parent(), Some(relays[turn % 2]), "turn {turn}");
    }
    grove.finish();
    grove.settle();
    assert!(grove.nodes[&host].ended);
    assert_eq!(grove.nodes[&host].count as u64, grove.written);
}

const HEAD: HostId = HostId(20);

/// The root of three with a cluster below it, whose head is connected to the host that is returned.
fn with_a_head() -> (Told, HostId) {
    let mut tree = of_three();
    tree.member(HEAD, 4, &[(SOURCE, 1000)]);
    assert_ne!(tree.cluster_of(HEAD), tree.all.root);
    let parent = tree.parent(HEAD).expect("a place");
    (tree, parent)
}

#[test]
fn a_head_is_asked_and_moved_no_more_often_than_reviews_demand() {
    let (mut tree, parent) = with_a_head();
    let better = if parent == OTHER { PARENT } else { OTHER };
    assert_eq!(asked(&mut tree, HEAD)[0], parent);
    // The place after the answer; the head is asked once more in its turn, as any host is.
    let tell = |tree: &mut Told, latencies: &[(HostId, u64)]| {
        tree.say(HEAD, measures(latencies));
        let mut told = tree.outputs().into_iter().filter(|(host, _)| *host == HEAD);
        assert!(!told.any(|(_, message)| matches!(message, ToHost::Probe(_))));
        asked(tree, HEAD);
        tree.parent(HEAD)
    };
    assert_eq!(tell(&mut tree, &[(parent, 90)]), Some(parent), "the other hosts did not answer");
    for _ in 0..3 {
        let found = tell(&mut tree, &[(parent, 90), (better, 1)]);
        assert_eq!(found, Some(parent), "a single measurement may be an accident");
        assert_eq!(tell(&mut tree, &[(parent, 90)]), Some(parent));
    }
    assert_eq!(tell(&mut tree, &[(parent, 90), (better, 1)]), Some(parent));
    (0..3).for_each(|_| drop(asked(&mut tree, HEAD)));
    tree.say(HEAD, measures(&[(parent, 90), (better, 1)]));
    assert_eq!(tree.parent(HEAD), Some(better));
    tree.attached(HEAD);
    tree.outputs();
    for _ in 0..3 {
        tree.say(HEAD, measures(&[(better, 90), (parent, 1)]));
        assert_eq!((tree.outputs(), tree.parent(HEAD)), (vec![], Some(better)), "it rests");
    }
}

/// It measures its parent and hosts beside that, and no more of its answer counts than was asked for.
#[test]
fn a_head_measures_hosts_of_the_parent_and_no_more_than_any_other_host() {
    let (mut tree, parent) = with_a_head();
    for host in (30..60).map(HostId) {
        tree.member(host, 4, &[(SOURCE, 1), (PARENT, 1), (OTHER, 1)]);
    }
    let measured = asked(&mut tree, HEAD);
    assert_eq!((measured.len(), measured[0]), (1 + policy(None).probes, parent));
    let is_refused = |tree: &mut Told| {
        let found: Vec<_> = (30..1030).map(|host| (HostId(host), 1)).collect();
        tree.say(HEAD, FromHost::Measured(in_ms(&found)));
        let mut told = tree.outputs().into_iter();
        told.any(|(host, message)| host == HEAD && matches!(message, ToHost::Refused { .. }))
    };
    assert!(!is_refused(&mut tree));
    let stored = serde_json::to_string(tree.dispatcher_of(HEAD)).expect("JSON");
    assert!(stored.len() < 4000, "{}", stored.len());
    assert!(is_refused(&mut tree), "nobody asked for that");
}

fn latencies() -> impl Strategy<Value = Vec<(HostId, Nanos)>> {
    let host = prop_oneof![4 => 0..4_u64, 1 => 20..22_u64, 1 => any::<u64>()].prop_map(HostId);
    let time = prop_oneof![4 => 0..200_000_000_u64, 1 => any::<u64>()].prop_map(Nanos);
    vec((host, time), 0..20)
}

proptest! {
    /// Nothing panics, and one message has few answers.
    #[test]
    fn no_latency_that_a_host_tells_harms_others(
        said in vec((proptest::sample::select(vec![HEAD, HOST, OTHER]), latencies()), 0..60),
    ) {
        let (mut tree, _) = with_a_head();
        for (host, latencies) in said {
            if tree.all.iter().all(|dispatcher| dispatcher.tree.get(host).is_none()) {
                continue;
            }
            tree.pass(tree.now + Nanos::from_secs(1), &[]);
            tree.outputs();
            tree.say(host, FromHost::Measured(latencies));
            prop_assert!(tree.outputs().len() <= 3);
            for dispatcher in tree.all.iter() {
                prop_assert!(serde_json::to_string(dispatcher).is_ok());
            }
        }
    }
}
