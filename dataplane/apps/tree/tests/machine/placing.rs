//! The places that dispatchers give to hosts.

use std::collections::BTreeSet;

use groupflow_base::Nanos;
use groupflow_tree::machine::{ClusterId, Demotion, FromHost, HostId, Policy, RefusalCode};
use proptest::collection::vec;
use proptest::prelude::*;

use super::forest::{Forest, SOURCE};

#[derive(Debug, Clone)]
enum Step {
    Join { place: u64, router: Option<u64>, capacity: u16 },
    Kill(usize),
    Leave(usize),
    Backlog(usize, usize),
    Move(usize, u64),
    Time(u64),
    Replace,
    Carry(usize),
}

fn step() -> impl Strategy<Value = Step> {
    let router = prop_oneof![Just(None), (0..4_u64).prop_map(Some)];
    prop_oneof![
        6 => (0..1000_u64, router, 0..5_u16).prop_map(|(place, router, capacity)| {
            Step::Join { place, router, capacity }
        }),
        1 => any::<usize>().prop_map(Step::Kill),
        1 => any::<usize>().prop_map(Step::Leave),
        2 => (any::<usize>(), any::<usize>()).prop_map(|(host, child)| Step::Backlog(host, child)),
        1 => (any::<usize>(), 0..1000_u64).prop_map(|(host, place)| Step::Move(host, place)),
        2 => (1..1500_u64).prop_map(Step::Time),
        1 => Just(Step::Replace),
        40 => any::<usize>().prop_map(Step::Carry),
    ]
}

fn policy(max_members: usize, demotion: Demotion) -> Policy {
    let settling = Nanos::ZERO;
    Policy {
        threshold: Nanos::from_millis(60),
        max_members,
        max_clusters: 3,
        max_children: 4,
        demotion,
        settling,
        review: Nanos::from_millis(3000),
        ..Policy::default()
    }
}

fn nth(forest: &Forest, n: usize) -> Option<HostId> {
    let others: Vec<HostId> = forest.hosts.keys().copied().filter(|&host| host != SOURCE).collect();
    (!others.is_empty()).then(|| others[n % others.len()])
}

fn run(forest: &mut Forest, step: Step) {
    match step {
        Step::Join { place, router, capacity } => drop(forest.join(place, router, capacity)),
        Step::Kill(n) => nth(forest, n).into_iter().for_each(|host| forest.kill(host)),
        Step::Leave(n) => {
            if let Some(host) = nth(forest, n) {
                forest.say(host, FromHost::Leave);
                forest.kill(host);
            }
        }
        Step::Backlog(n, m) => {
            let host = if n % 3 == 0 { Some(SOURCE) } else { nth(forest, n) };
            let children = host.map(|host| forest.children(host)).unwrap_or_default();
            if let (Some(host), false) = (host, children.is_empty()) {
                forest.say(host, FromHost::Backlog { child: children[m % children.len()] });
            }
        }
        Step::Move(n, place) => {
            let host = nth(forest, n).and_then(|host| forest.hosts.get_mut(&host));
            host.into_iter().for_each(|host| host.place = place);
        }
        Step::Time(milliseconds) => forest.pass(Nanos::from_millis(milliseconds)),
        Step::Replace => forest.replace(),
        Step::Carry(n) => drop(forest.carry(n)),
    }
}

proptest! {
    /// Hosts come, go, die and are demoted, dispatchers are replaced, and messages come in any order: there
    /// is never a cycle of connections, and all bounds are kept. In the end every host that was not refused
    /// receives.
    #[test]
    fn there_is_never_a_cycle_and_all_receive(
        steps in vec(step(), 0..600), max_members in 3..12_usize, slowest in any::<bool>(),
        bound in prop_oneof![Just(None), (20..400_u64).prop_map(Some)],
    ) {
        let demotion = if slowest { Demotion::Slowest } else { Demotion::LargestLatency };
        let delay_bound = bound.map(Nanos::from_millis);
        let mut forest = Forest::new(Policy { delay_bound, ..policy(max_members, demotion) }, 3);
        for step in steps {
            run(&mut forest, step);
            forest.check();
        }
        forest.settle();
        prop_assert_eq!(forest.under_way(), 0);
        let joined = forest.hosts.iter().filter(|(_, host)| host.refused.is_none());
        let cut: Vec<_> = joined.filter(|(&id, _)| !forest.receives(id)).collect();
        let stuck: Vec<_> = cut.iter().map(|(_, host)| forest.dispatchers.get(host.cluster)).collect();
        prop_assert!(cut.is_empty(), "{:?} of {:#?}", cut, stuck);
    }
}

#[test]
fn hosts_share_a_cluster_if_they_share_a_router_or_are_near() {
    let mut forest = Forest::new(policy(64, Demotion::Never), 4);
    let near = forest.join(520, None, 4);
    let far = forest.join(900, Some(1), 4);
    forest.settle();
    let beside_far = forest.join(930, None, 4);
    let on_its_router = forest.join(700, Some(1), 4);
    forest.settle();
    let cluster = |host| forest.hosts[&host].cluster;
    assert_eq!(cluster(near), forest.dispatchers.root);
    assert_ne!(cluster(far), forest.dispatchers.root);
    assert_eq!(cluster(beside_far), cluster(far));
    assert_ne!(cluster(on_its_router), cluster(far), "230 ms from another host, which has another router");
    let beside_it = forest.join(705, Some(1), 4);
    forest.settle();
    assert_eq!(forest.hosts[&beside_it].cluster, forest.hosts[&on_its_router].cluster);
}

proptest! {
    /// The paper's rule is one of pairs: in the same cluster only if they share a router or are near.
    #[test]
    fn any_two_hosts_of_a_cluster_share_a_router_or_are_near(
        hosts in vec((0..1000_u64, prop_oneof![Just(None), (0..4_u64).prop_map(Some)], 0..20_usize), 1..40),
    ) {
        let policy = policy(64, Demotion::Never);
        let mut forest = Forest::new(policy, 4);
        for (place, router, carried) in hosts {
            forest.join(place, router, 3);
            for choice in 0..carried {
                forest.carry(choice);
            }
        }
        forest.settle();
        for (one, a) in forest.hosts.iter().filter(|(_, host)| host.refused.is_none()) {
            for (other, b) in forest.hosts.range(..one).filter(|(_, b)| b.cluster == a.cluster) {
                let shares = a.router.is_some() && a.router == b.router;
                let near = Nanos::from_millis(a.place.abs_diff(b.place)) < policy.threshold;
                prop_assert!(shares || near || b.refused.is_some(), "{:?} and {:?}", one, other);
            }
        }
    }
}

/// A host that measured before another one founded a cluster does not know the cluster, and a host that is
/// sent there may come before its founder.
#[test]
fn hosts_that_join_at_once_do_not_each_found_a_cluster() {
    for router in [None, Some(1)] {
        let mut forest = Forest::new(policy(4, Demotion::Never), 2);
        let hosts: Vec<HostId> = (0..12).map(|_| forest.join(520, router, 2)).collect();
        for _ in 0..4 {
            forest.settle();
            forest.retry();
        }
        forest.settle();
        assert!(hosts.iter().all(|&host| forest.receives(host)), "{router:?}");
        let clusters: BTreeSet<ClusterId> = hosts.iter().map(|host| forest.hosts[host].cluster).collect();
        assert!(clusters.len() <= 4, "{router:?}: {} clusters", clusters.len());
    }
}

/// Its dispatcher dies with the order that is on its way to the host.
#[test]
fn a_refused_host_that_begins_again_tells_a_new_dispatcher_that_it_is_there() {
    let mut forest = Forest::new(policy(64, Demotion::Never), 1);
    let [only, host] = [900, 910].map(|place| {
        let host = forest.join(place, None, 0);
        forest.settle();
        host
    });
    assert_eq!(forest.hosts[&host].refused, Some(RefusalCode::Full));
    forest.kill(only);
    while forest.carry(0) {}
    assert_eq!(forest.dispatchers.iter().count(), 1, "the cluster that refused the host has ended");
    forest.say(host, FromHost::Alive);
    let is_ordered = |forest: &Forest| forest.dispatchers.iter().any(|d| d.tree.get(host).is_some());
    while !is_ordered(&forest) {
        assert!(forest.carry(0), "the host has no place");
    }
    assert_eq!((forest.hosts[&host].order, forest.dispatchers.iter().count()), (0, 2));
    forest.replace();
    forest.settle();
    assert!(forest.receives(host));
}

/// Of a chain of islands each is below the one before: a link between two of them carries the stream once.
#[test]
fn clusters_are_below_those_that_are_nearest() {
    let mut forest = Forest::new(policy(64, Demotion::Never), 4);
    // The farthest comes first, and is taken over.
    let places = [900, 600, 700, 800];
    let hosts: Vec<HostId> = places
        .map(|place| {
            let h = forest.join(place, None, 4);
            forest.settle();
            h
        })
        .to_vec();
    let parent = |host: HostId| forest.hosts[&host].parent.map(|parent| forest.hosts[&parent].place);
    assert_eq!(
        hosts.iter().map(|&host| parent(host)).collect::<Vec<_>>(),
        [Some(800), Some(500), Some(600), Some(700)]
    );
}

#[test]
fn a_departure_moves_only_hosts_of_its_cluster() {
    let mut forest = Forest::new(policy(64, Demotion::Never), 2);
    for place in (480..520).chain(880..920) {
        forest.join(place, None, 2);
        forest.settle();
    }
    let orders =
        |forest: &Forest| forest.hosts.iter().map(|(&id, h)| (id, (h.cluster, h.order))).collect::<Vec<_>>();
    let root = forest.dispatchers.root;
    let parents: Vec<HostId> =
        forest.hosts.keys().copied().filter(|&h| h != SOURCE && forest.hosts[&h].cluster == root).collect();
    let leaving =
        *parents.iter().find(|&&host| forest.children(host).len() == 2).expect("a host with children");
    let before = orders(&forest);
    let heads_served_by_it: Vec<HostId> =
        forest.children(leaving).into_iter().filter(|host| forest.hosts[host].cluster != root).collect();
    forest.say(leaving, FromHost::Leave);
    forest.kill(leaving);
    forest.settle();
    let served = heads_served_by_it;
    let moved = before.iter().filter(|(id, state)| {
        forest.hosts.get(id).is_some_and(|h| (h.cluster, h.order) != *state) && !served.contains(id)
    });
    let moved: Vec<_> = moved.collect();
    assert!(!moved.is_empty() && moved.iter().all(|(_, (cluster, _))| *cluster == root), "{moved:?}");
}

#[test]
fn the_farthest_or_the_slowest_child_is_moved_down() {
    for (demotion, moved_place) in [(Demotion::LargestLatency, 540), (Demotion::Slowest, 510)] {
        let mut forest = Forest::new(policy(64, demotion), 3);
        let hosts: Vec<HostId> = [510, 520, 540]
            .map(|place| {
                let h = forest.join(place, None, 3);
                forest.settle();
                h
            })
            .to_vec();
        assert_eq!(forest.children(SOURCE).len(), 3);
        forest.say(SOURCE, FromHost::Backlog { child: hosts[0] });
        forest.settle();
        let moved: Vec<u64> = hosts
            .iter()
            .map(|h| &forest.hosts[h])
            .filter(|h| h.parent != Some(SOURCE))
            .map(|h| h.place)
            .collect();
        assert_eq!(moved, [moved_place], "{demotion:?}");
    }
}

/// Neither a joining host nor an orphan is put below a host that was reported as slow, though that is the
/// nearest and has room; in the end the slow host is forgiven.
#[test]
fn no_host_is_put_below_a_slow_one() {
    let slow_for = Nanos::from_millis(60_000);
    for demotion in [Demotion::Never, Demotion::Slowest] {
        let mut forest = Forest::new(Policy { slow_for, ..policy(64, demotion) }, 3);
        let joins = |forest: &mut Forest, place, capacity| {
            let host = forest.join(place, None, capacity);
            forest.settle();
            host
        };
        let [slow, dies, _] = [510, 520, 460].map(|place| joins(&mut forest, place, 3));
        let orphans = [521, 522].map(|place| joins(&mut forest, place, 0));
        assert!(orphans.iter().all(|host| forest.hosts[host].parent == Some(dies)));
        forest.say(SOURCE, FromHost::Backlog { child: slow });
        forest.carry(0);
        let late = joins(&mut forest, 511, 0);
        assert_ne!(forest.hosts[&late].parent, Some(slow), "{demotion:?}");
        // The source has room for one of them, and the third one for all.
        forest.kill(dies);
        forest.settle();
        assert_eq!(forest.children(slow), [], "{demotion:?}");
        assert!(orphans.iter().all(|&host| forest.receives(host)));
        (0..4).for_each(|_| forest.settle());
        for _ in 0..8 {
            joins(&mut forest, 511, 0);
        }
        assert_eq!(forest.children(slow).len(), 3, "{demotion:?}");
    }
}

/// Nor below a child of one, as long as there is room elsewhere.
#[test]
fn no_host_is_put_behind_a_slow_one_while_there_is_room_elsewhere() {
    let slow_for = Nanos::from_millis(60_000);
    let mut forest = Forest::new(Policy { slow_for, ..policy(64, Demotion::Never) }, 2);
    let joins = |forest: &mut Forest, place, capacity| {
        let host = forest.join(place, None, capacity);
        forest.settle();
        host
    };
    let [slow, other] = [510, 460].map(|place| joins(&mut forest, place, 2));
    let [near, far, third] = [515, 512, 465].map(|place| joins(&mut forest, place, 1));
    let parents = [slow, other, near, far, third].map(|host| forest.hosts[&host].parent);
    assert_eq!(parents, [SOURCE, SOURCE, slow, slow, other].map(Some));
    forest.say(SOURCE, FromHost::Backlog { child: slow });
    forest.carry(0);
    // The nearest are those behind the slow one.
    let found: Vec<_> = (0..4).map(|_| joins(&mut forest, 514, 0)).collect();
    let parents: Vec<_> = found.iter().map(|host| forest.hosts[host].parent).collect();
    assert_eq!(parents[..2], [other, third].map(Some));
    assert!(
        parents[2..].iter().all(|parent| [near, far].map(Some).contains(parent)),
        "there is no other room"
    );
}

/// Nor a cluster's head.
#[test]
fn no_cluster_is_put_behind_a_slow_host_while_there_is_room_elsewhere() {
    let slow_for = Nanos::from_millis(60_000);
    let mut forest = Forest::new(Policy { slow_for, ..policy(64, Demotion::Never) }, 2);
    let joins = |forest: &mut Forest, place| {
        let host = forest.join(place, None, 2);
        forest.settle();
        host
    };
    let [slow, other, near] = [501, 460, 502].map(|place| joins(&mut forest, place));
    assert_eq!([slow, other, near].map(|host| forest.hosts[&host].parent), [SOURCE, SOURCE, slow].map(Some));
    forest.say(SOURCE, FromHost::Backlog { child: slow });
    forest.carry(0);
    let far = joins(&mut forest, 900);
    assert_ne!(forest.hosts[&far].cluster, forest.hosts[&other].cluster);
    assert_eq!(forest.hosts[&far].parent, Some(other), "the head is nearer over who is behind the slow one");
}

/// A slow host whose children take all the room there is below stays where it is, instead of making another
/// host slow.
#[test]
fn a_demoted_host_takes_no_place_that_is_taken() {
    let mut forest = Forest::new(policy(64, Demotion::Slowest), 2);
    let mut joins = |place, capacity| {
        let host = forest.join(place, None, capacity);
        forest.settle();
        host
    };
    let [slow, other] = [(510, 2), (520, 1)].map(|(place, capacity)| joins(place, capacity));
    let below = [511, 512].map(|place| joins(place, 0));
    assert_eq!(forest.children(slow), below);
    forest.say(SOURCE, FromHost::Backlog { child: slow });
    forest.settle();
    assert_eq!(forest.children(other), below[..1]);
    assert_eq!(forest.hosts[&slow].parent, Some(SOURCE));
}

/// The backlog is no child's fault.
#[test]
fn an_overloaded_host_gives_up_a_child_when_there_is_room() {
    let mut forest = Forest::new(policy(64, Demotion::Slowest), 2);
    let mut joins = |place, capacity| {
        let host = forest.join(place, None, capacity);
        forest.settle();
        host
    };
    let [left, right, dies] = [(510, 1), (490, 1), (512, 3)].map(|(place, capacity)| joins(place, capacity));
    let _orphans = [512, 513, 514].map(|place| joins(place, 0));
    let goes = joins(491, 0);
    let parents = [left, right, dies, goes].map(|host| forest.hosts[&host].parent);
    assert_eq!(parents, [SOURCE, SOURCE, left, right].map(Some));
    forest.kill(dies);
    forest.settle();
    // The source has one more than it offered, and so has the left one.
    assert_eq!([SOURCE, left].map(|host| forest.children(host).len()), [3, 2]);
    forest.kill(goes);
    forest.settle();
    let child = forest.children(left)[1];
    forest.say(left, FromHost::Backlog { child });
    forest.settle();
    assert_eq!(forest.hosts[&child].parent, Some(right));
}

#[test]
fn a_host_with_another_token_or_without_room_is_refused() {
    let mut forest = Forest::new(policy(64, Demotion::Never), 1);
    let only = forest.join(500, None, 0);
    forest.settle();
    assert_eq!(forest.hosts[&only].parent, Some(SOURCE));
    let second = forest.join(500, None, 0);
    forest.settle();
    assert_eq!(forest.hosts[&second].refused, Some(RefusalCode::Full));
    let serving = forest.join(500, None, 5);
    forest.settle();
    assert_eq!(forest.hosts[&serving].parent, Some(SOURCE), "it takes the place of one that serves nobody");
    assert_eq!(forest.hosts[&only].parent, Some(serving));
}
