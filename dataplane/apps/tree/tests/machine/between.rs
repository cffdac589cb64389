//! Several clusters: bytes that are kept for hosts of another cluster, hosts that need bytes which no host
//! near them has any more, and clusters that are put below others.

use groupflow_tree::machine::{Dispatcher, FromHost, HostId, RefusalCode, ToHost};

use super::dispatchers::{measures, policy, Told, FOUNDER};
use super::forest::SOURCE;

const SECOND: HostId = HostId(11);
const UPPER: HostId = HostId(5);
const LOWER: HostId = HostId(20);

/// A cluster below the root's, whose head is connected to the source and has a child.
fn of_two(capacity: u16) -> Told {
    let mut tree = Told::new(policy(), 4);
    tree.member(FOUNDER, 4, &[(SOURCE, 50)]);
    tree.member(SECOND, capacity, &[(SOURCE, 50), (FOUNDER, 1)]);
    assert_eq!([FOUNDER, SECOND].map(|host| tree.parent(host)), [Some(SOURCE), Some(FOUNDER)]);
    tree
}

/// A cluster of one host below the founder's.
fn with_a_lower_one(mut tree: Told) -> Told {
    tree.member(LOWER, 4, &[(SOURCE, 60), (FOUNDER, 20), (SECOND, 20)]);
    assert_eq!(tree.dispatcher_of(LOWER).parent(), Some(tree.cluster_of(FOUNDER)));
    tree
}

fn gives_up(tree: &mut Told, host: HostId) -> bool {
    tree.outputs().contains(&(host, ToHost::Gone))
}

#[test]
fn a_parent_outside_lets_go_when_those_below_a_dead_head_have_others() {
    let mut tree = of_two(4);
    tree.gone(FOUNDER);
    assert_eq!(tree.parent(SECOND), Some(SOURCE));
    assert_eq!(tree.forgotten(), [], "it may still need what the dead one did not pass on");
    tree.attached(SECOND);
    assert!(tree.forgotten().contains(&(SOURCE, FOUNDER)));
}

#[test]
fn bytes_kept_for_another_cluster_are_kept_above_when_their_keeper_dies() {
    let mut tree = Told::new(policy(), 2);
    tree.member(UPPER, 4, &[(SOURCE, 1)]);
    // The source has no room beside another.
    tree.member(HostId(6), 0, &[(SOURCE, 1)]);
    tree.member(FOUNDER, 4, &[(SOURCE, 50)]);
    tree.member(SECOND, 4, &[(SOURCE, 50), (FOUNDER, 1)]);
    assert_eq!(tree.parent(FOUNDER), Some(UPPER));
    tree.gone(UPPER);
    assert_eq!(tree.parent(FOUNDER), Some(SOURCE));
    tree.say(HostId(6), FromHost::Alive);
    assert_eq!(tree.forgotten(), [], "the head may need it");
    tree.attached(FOUNDER);
    assert_eq!(tree.forgotten(), [(SOURCE, UPPER)]);
    // That head dies, and the next is connected to the same host.
    tree.gone(FOUNDER);
    assert_eq!(tree.parent(SECOND), Some(SOURCE));
    assert_eq!(tree.forgotten(), []);
    tree.attached(SECOND);
    assert!(tree.forgotten().contains(&(SOURCE, FOUNDER)));
}

#[test]
fn a_cluster_without_hosts_is_there_until_nobody_needs_what_is_kept_for_them() {
    let mut tree = Told::new(policy(), 4);
    tree.member(FOUNDER, 4, &[(SOURCE, 50)]);
    let mut tree = with_a_lower_one(tree);
    let cluster = tree.cluster_of(FOUNDER);
    tree.gone(FOUNDER);
    assert_eq!(tree.parent(LOWER), Some(SOURCE));
    assert_eq!(tree.all.get(cluster).map(|found| found.ended), Some(true));
    assert_eq!(tree.forgotten(), []);
    tree.attached(LOWER);
    assert_eq!(tree.forgotten(), [(SOURCE, FOUNDER)]);
    assert!(tree.all.get(cluster).is_none());
}

/// Else the head would be sent there again at once, and for ever, until the silence of that host is noticed.
#[test]
fn a_head_that_is_behind_waits_while_the_host_for_it_cannot_be_reached() {
    let mut tree = Told::new(policy(), 4);
    tree.member(FOUNDER, 4, &[(SOURCE, 50)]);
    let mut tree = with_a_lower_one(tree);
    let behind = HostId(21);
    tree.member(behind, 4, &[(SOURCE, 60), (FOUNDER, 20), (LOWER, 1)]);
    // The head of its cluster lacks its next bytes: it becomes the head.
    tree.lost(behind, true);
    assert!(tree.places().contains(&(behind, FOUNDER)));
    tree.lost(behind, false);
    assert_eq!(tree.places(), []);
    // The host has not failed after all.
    tree.say(FOUNDER, FromHost::Alive);
    assert_eq!(tree.places(), [(behind, FOUNDER)]);
}

#[test]
fn a_head_that_needs_more_than_its_parent_has_comes_to_the_head_above_and_in_the_end_to_the_source() {
    let mut tree = Told::new(policy(), 2);
    for host in [UPPER, HostId(6)] {
        tree.member(host, 4, &[(SOURCE, 1)]);
    }
    tree.member(FOUNDER, 4, &[(SOURCE, 50)]);
    assert_eq!(tree.parent(FOUNDER), Some(UPPER));
    let mut tree = with_a_lower_one(tree);
    tree.lost(LOWER, true);
    assert_eq!(tree.dispatcher_of(LOWER).parent(), Some(tree.all.root), "its cluster goes up");
    assert_eq!(tree.places(), [(LOWER, SOURCE)], "and comes to the source at once");
    assert_eq!(tree.dispatcher_of(FOUNDER).serves(FOUNDER), 0);
    tree.lost(LOWER, true);
    assert!(gives_up(&mut tree, LOWER));

    tree.lost(FOUNDER, true);
    let told = tree.outputs();
    assert!(!told.contains(&(FOUNDER, ToHost::Gone)), "the source may have what another host lacks");
    assert_eq!(tree.parent(FOUNDER), Some(SOURCE));
    tree.lost(FOUNDER, true);
    assert!(gives_up(&mut tree, FOUNDER));
}

#[test]
fn a_host_that_needs_more_than_the_head_of_its_cluster_has_becomes_the_head() {
    let mut tree = of_two(4);
    tree.lost(SECOND, true);
    assert_eq!(tree.parent(SECOND), Some(SOURCE));
    assert!(!gives_up(&mut tree, SECOND));
    tree.attached(SECOND);
    assert_eq!(tree.dispatcher_of(SECOND).tree.head(), Some(SECOND));
    assert_eq!(tree.parent(FOUNDER), Some(SECOND));
}

#[test]
fn a_host_without_children_that_needs_more_than_the_head_has_founds_a_cluster() {
    let mut tree = of_two(0);
    let before = tree.cluster_of(SECOND);
    tree.lost(SECOND, true);
    let cluster = tree.outputs().into_iter().find_map(|(host, message)| match message {
        ToHost::Redirect(cluster) if host == SECOND => Some(cluster),
        _ => None,
    });
    let cluster = cluster.expect("it is sent to a cluster");
    assert_eq!(tree.all.get(cluster).and_then(Dispatcher::parent), Some(tree.all.root));
    assert_eq!(tree.all.get(before).and_then(|each| each.tree.head()), Some(FOUNDER));
    tree.say_to(cluster, SECOND, FromHost::Join(super::dispatchers::join(SECOND, 0)));
    assert_eq!(tree.places(), [(SECOND, SOURCE)], "which has what the others lack");
}

/// The host may be without a parent until it has a place elsewhere: the bytes that it needs are kept.
#[test]
fn bytes_for_a_redirected_host_are_kept_as_long_as_its_way_may_take() {
    let mut tree = of_two(0);
    tree.lost(SECOND, true);
    assert!(!tree.forgotten().contains(&(FOUNDER, SECOND)));
    tree.pass(policy().patience, &[]);
    assert!(tree.forgotten().contains(&(FOUNDER, SECOND)));
}

#[test]
fn a_silent_host_is_told_that_it_is_given_up_before_the_cluster_ends() {
    for is_silent in [true, false] {
        let mut tree = Told::new(policy(), 4);
        tree.member(FOUNDER, 4, &[(SOURCE, 50)]);
        let cluster = tree.cluster_of(FOUNDER);
        match is_silent {
            true => tree.pass(policy().patience, &[FOUNDER]),
            false => tree.say(FOUNDER, FromHost::Leave),
        }
        let told = tree.outputs();
        let is_told = |(host, message): &(HostId, ToHost)| match message {
            ToHost::Refused { code: RefusalCode::Ended, .. } => is_silent && *host == FOUNDER,
            ToHost::Released => !is_silent && *host == FOUNDER,
            _ => false,
        };
        assert!(told.iter().any(is_told), "{told:?}");
        assert!(tree.all.get(cluster).is_none());
    }
}

/// The host that was sent there as the founder does not come.
#[test]
fn bytes_kept_for_an_ended_cluster_are_freed() {
    let mut tree = Told::new(policy(), 4);
    tree.say(FOUNDER, FromHost::Join(super::dispatchers::join(FOUNDER, 4)));
    tree.say(FOUNDER, measures(&[(SOURCE, 50)]));
    assert_eq!(tree.root().below.len(), 1);
    assert_eq!(tree.forgotten(), []);
    tree.pass(policy().patience, &[]);
    assert_eq!(tree.root().below.len(), 0);
    assert_eq!(tree.forgotten(), [(SOURCE, FOUNDER)]);
    assert_eq!(tree.all.iter().count(), 1);
}

/// The place is ordered twice, and freed once.
#[test]
fn a_place_that_is_ordered_again_keeps_no_more() {
    let mut tree = Told::new(policy(), 4);
    tree.joins(FOUNDER, 4, &[(SOURCE, 50)]);
    tree.say(SOURCE, FromHost::Back { order: 0, attached: true });
    tree.outputs();
    tree.attached(FOUNDER);
    assert_eq!(tree.forgotten(), [], "it counts");
    tree.say(FOUNDER, FromHost::Leave);
    assert_eq!(tree.forgotten(), [(SOURCE, FOUNDER)]);
}

/// The head that took the place of a slow one dies before it has a place: the slow one is the head again.
#[test]
fn a_head_that_was_relieved_may_become_the_head_again() {
    let mut tree = of_two(4);
    tree.say(SOURCE, FromHost::Backlog { child: FOUNDER });
    assert_eq!(tree.parent(SECOND), Some(SOURCE));
    tree.gone(SECOND);
    assert_eq!(tree.parent(FOUNDER), Some(SOURCE));
    let forgets = |child| (SOURCE, ToHost::Forget { child });
    let told = tree.outputs();
    assert!(told.contains(&forgets(SECOND)) && !told.contains(&forgets(FOUNDER)), "{told:?}");
}

/// The source serves one child. Until a cluster has settled, its hosts may be connected to hosts of the one
/// that would be put below it, and the source serves both.
#[test]
fn a_cluster_goes_below_a_settled_one_before_a_host_is_overloaded() {
    let (beside, below_it, member) = (HostId(21), HostId(22), HostId(23));
    let mut tree = Told::new(policy(), 1);
    tree.member(FOUNDER, 4, &[(SOURCE, 50)]);
    tree.member(SECOND, 4, &[(SOURCE, 50), (FOUNDER, 1)]);
    let mut tree = with_a_lower_one(tree);
    tree.member(beside, 4, &[(SOURCE, 60), (FOUNDER, 20), (LOWER, 40)]);
    tree.member(below_it, 4, &[(SOURCE, 90), (FOUNDER, 30), (LOWER, 10), (beside, 60)]);
    tree.joins(member, 0, &[(SOURCE, 60), (FOUNDER, 20), (LOWER, 40), (beside, 1)]);
    let above = |tree: &Told, host: HostId| tree.dispatcher_of(host).parent();
    assert_eq!(above(&tree, below_it), Some(tree.cluster_of(LOWER)));
    for host in [FOUNDER, SECOND] {
        tree.gone(host);
    }
    assert_eq!([LOWER, beside].map(|host| tree.parent(host)), [Some(SOURCE), Some(SOURCE)]);
    tree.attached(beside);
    tree.say(SOURCE, FromHost::Backlog { child: LOWER });
    assert_eq!(above(&tree, LOWER), Some(tree.all.root), "a host there has an order to carry out");
    tree.attached(member);
    tree.say(SOURCE, FromHost::Backlog { child: LOWER });
    assert_eq!(above(&tree, LOWER), Some(tree.cluster_of(beside)));
    tree.attached(LOWER);
    tree.gone(LOWER);
    assert_eq!(above(&tree, below_it), Some(tree.cluster_of(beside)));
}
