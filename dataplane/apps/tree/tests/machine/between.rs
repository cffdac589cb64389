//! Messages between dispatchers, and what hosts hear, about bytes that are kept for hosts of another cluster,
//! and about hosts that need bytes which no host near them has any more.

use groupflow_base::Nanos;
use groupflow_tree::machine::{
    Below, Between, ClusterId, Dispatcher, DispatcherAction, FromHost, HostId, Policy, RefusalCode, Ticket,
    ToHost,
};

use super::dispatchers::{
    across, attached, comes, founded, head, join, outputs, peer, policy, root, FOUNDER, PARENT,
};
use super::forest::{token, ROOT, SOURCE};

const SECOND: HostId = HostId(11);
const AGAIN: Ticket = Ticket([2; Ticket::BYTES]);

/// A host is taken in below another, and is connected to it.
fn member(dispatcher: &mut Dispatcher, host: HostId, parent: HostId, capacity: u16) {
    dispatcher.on_host(Nanos::ZERO, host, FromHost::Join(join(host, capacity)));
    let head = dispatcher.tree().head().expect("a head");
    for near in [head, parent] {
        if dispatcher.tree().get(host).is_none() {
            dispatcher.on_host(Nanos::ZERO, host, FromHost::Measured(vec![(near, Nanos::from_millis(1))]));
        }
    }
    attached(dispatcher, host, 1);
    outputs(dispatcher);
}

/// A cluster whose head, which is to be connected to a host above, has a child.
fn of_two(capacity: u16) -> Dispatcher {
    let mut cluster = founded();
    member(&mut cluster, SECOND, FOUNDER, capacity);
    assert_eq!(cluster.tree().get(SECOND).and_then(|second| second.parent()), Some(FOUNDER));
    cluster
}

/// The host to which the cluster is told to connect, and the ticket for it.
fn attach(told: &[(ClusterId, Between)]) -> Option<(HostId, Ticket)> {
    told.iter().find_map(|(_, message)| match message {
        Between::Attach { to, ticket, .. } => Some((to.host, *ticket)),
        _ => None,
    })
}

fn attach_to(parent: HostId, ticket: Ticket, head: HostId) -> Between {
    Between::Attach { to: peer(parent), ticket, head, delay: Nanos::ZERO }
}

fn behind(host: HostId, gone: bool) -> Between {
    Between::Head { head: peer(host), behind: true, gone }
}

fn forgets(told: &[DispatcherAction], parent: HostId, child: HostId) -> bool {
    told.contains(&DispatcherAction::Host(parent, ToHost::Forget { child }))
}

#[test]
fn a_parent_keeps_bytes_for_a_dead_host_until_those_below_it_have_other_parents() {
    let mut root = root(2);
    let (upper, lower) = (HostId(5), HostId(6));
    member(&mut root, upper, SOURCE, 4);
    member(&mut root, HostId(7), SOURCE, 4);
    member(&mut root, lower, upper, 4);
    root.on_gone(Nanos::ZERO, upper);
    assert!(!forgets(&outputs(&mut root), SOURCE, upper), "the lower one may need them");
    let order = root.tree().get(lower).expect("a member").order;
    root.on_host(Nanos::ZERO, lower, FromHost::Lost { order, gone: false });
    assert!(!forgets(&outputs(&mut root), SOURCE, upper), "it has none yet");
    let order = root.tree().get(lower).expect("a member").order;
    attached(&mut root, lower, order);
    assert!(forgets(&outputs(&mut root), SOURCE, upper));
}

#[test]
fn a_parent_keeps_bytes_for_a_dead_head_until_its_cluster_has_settled() {
    let mut root = root(2);
    comes(&mut root, PARENT, FOUNDER.0);
    let (parent, _) = attach(&across(&mut root)).expect("an Attach");
    root.on_cluster(Nanos::ZERO, PARENT, head(SECOND));
    let told = outputs(&mut root);
    assert!(!forgets(&told, parent, FOUNDER), "{told:?}");
    let to = |output| match output {
        DispatcherAction::Cluster(to, message) => Some((to, message)),
        _ => None,
    };
    let (_, ticket) = attach(&told.into_iter().filter_map(to).collect::<Vec<_>>()).expect("an Attach");
    root.on_cluster(Nanos::ZERO, PARENT, Between::Settled(ticket));
    let told = outputs(&mut root);
    assert!(forgets(&told, parent, FOUNDER) && !forgets(&told, parent, SECOND), "{told:?}");
    // The cluster ends, and nobody needs anything.
    root.on_vanished(Nanos::ZERO, PARENT, Vec::new());
    assert!(forgets(&outputs(&mut root), parent, SECOND));
}

/// Else the head would be sent there again at once, and for ever, until the silence of that host is noticed.
#[test]
fn a_head_that_is_behind_waits_while_the_host_for_it_cannot_be_reached() {
    let (mut cluster, lower) = (founded(), ClusterId(3));
    outputs(&mut cluster);
    comes(&mut cluster, lower, 20);
    cluster.on_cluster(Nanos::ZERO, lower, behind(HostId(20), false));
    assert_eq!(attach(&across(&mut cluster)).map(|(parent, _)| parent), Some(FOUNDER));
    cluster.on_cluster(Nanos::ZERO, lower, behind(HostId(20), false));
    assert_eq!(across(&mut cluster), []);
    // The host has not failed after all.
    cluster.on_host(Nanos::ZERO, FOUNDER, FromHost::Alive);
    assert_eq!(attach(&across(&mut cluster)).map(|(parent, _)| parent), Some(FOUNDER));
}

#[test]
fn a_head_that_needs_more_than_its_parent_has_comes_to_the_head_above_and_in_the_end_to_the_source() {
    let mut cluster = of_two(4);
    let lower = ClusterId(3);
    comes(&mut cluster, lower, 20);
    assert_eq!(attach(&across(&mut cluster)).map(|(parent, _)| parent), Some(FOUNDER));
    cluster.on_cluster(Nanos::ZERO, lower, behind(HostId(20), true));
    let given = outputs(&mut cluster).into_iter().find_map(|output| match output {
        DispatcherAction::Move { cluster, below, to: PARENT, .. } => Some((cluster, below)),
        _ => None,
    });
    let (given, below) = given.expect("it is given to the cluster above");
    assert!(given == lower && below.behind, "{below:?}");
    assert_eq!(cluster.tree().get(FOUNDER).map(|host| host.foreign), Some(0), "it has room again");

    // Given with that, it comes to the source at once; asked for by one that tried another host, after that.
    let mut root = root(2);
    member(&mut root, HostId(5), SOURCE, 4);
    root.on_adopt(Nanos::ZERO, lower, below, false);
    assert_eq!(attach(&across(&mut root)).map(|(parent, _)| parent), Some(SOURCE));
    comes(&mut root, PARENT, SECOND.0);
    assert_eq!(attach(&across(&mut root)).map(|(parent, _)| parent), Some(HostId(5)));
    root.on_cluster(Nanos::ZERO, PARENT, behind(SECOND, true));
    assert_eq!(attach(&across(&mut root)).map(|(parent, _)| parent), Some(SOURCE));
    root.on_cluster(Nanos::ZERO, PARENT, behind(SECOND, true));
    assert!(across(&mut root).contains(&(PARENT, Between::Gone)));
}

#[test]
fn a_host_that_needs_more_than_the_head_of_its_cluster_has_becomes_the_head() {
    let mut cluster = of_two(4);
    cluster.on_host(Nanos::ZERO, SECOND, FromHost::Lost { order: 1, gone: true });
    assert_eq!(across(&mut cluster), [(PARENT, behind(SECOND, false))]);
    cluster.on_cluster(Nanos::ZERO, PARENT, attach_to(HostId(6), AGAIN, SECOND));
    let order = cluster.tree().get(SECOND).expect("a member").order;
    attached(&mut cluster, SECOND, order);
    assert_eq!(cluster.tree().head(), Some(SECOND));
    assert_eq!(cluster.tree().get(FOUNDER).and_then(|before| before.parent()), Some(SECOND));
    let told = outputs(&mut cluster);
    let gives_up = |output: &DispatcherAction| matches!(output, DispatcherAction::Host(_, ToHost::Gone));
    assert!(!told.iter().any(gives_up), "{told:?}");
}

#[test]
fn a_host_without_children_that_needs_more_than_the_head_has_founds_a_cluster() {
    let mut cluster = of_two(0);
    cluster.on_host(Nanos::ZERO, SECOND, FromHost::Lost { order: 1, gone: true });
    let told = outputs(&mut cluster);
    let founding = told.iter().find_map(|output| match output {
        DispatcherAction::Found(founded) => Some(founded.id()),
        _ => None,
    });
    let founded = founding.expect("it is founded");
    assert!(told.contains(&DispatcherAction::Host(SECOND, ToHost::Redirect(founded))), "{told:?}");
    let to_parent = |output: &DispatcherAction| match output {
        DispatcherAction::Move { cluster, below, to: PARENT, .. } => *cluster == founded && below.behind,
        _ => false,
    };
    assert!(told.iter().any(to_parent), "{told:?}");
    assert_eq!(cluster.tree().head(), Some(FOUNDER));
}

/// The host may be without a parent until it has a place elsewhere: its parent keeps the bytes that it needs for
/// a limited time.
#[test]
fn bytes_for_a_redirected_host_are_kept() {
    let mut cluster = of_two(0);
    outputs(&mut cluster);
    cluster.on_host(Nanos::ZERO, SECOND, FromHost::Lost { order: 1, gone: true });
    cluster.on_host(policy().patience, FOUNDER, FromHost::Alive);
    cluster.on_time(policy().patience);
    assert!(!forgets(&outputs(&mut cluster), FOUNDER, SECOND));
}

#[test]
fn a_silent_host_is_told_that_it_is_given_up_before_the_cluster_ends() {
    let mut cluster = founded();
    cluster.on_time(policy().patience);
    let told = outputs(&mut cluster);
    let refused = |output: &DispatcherAction| {
        matches!(output, DispatcherAction::Host(FOUNDER, ToHost::Refused { code: RefusalCode::Ended, .. }))
    };
    assert!(cluster.has_ended() && told.iter().any(refused), "{told:?}");
    let mut cluster = founded();
    cluster.on_host(Nanos::ZERO, FOUNDER, FromHost::Leave);
    let told = outputs(&mut cluster);
    let released = DispatcherAction::Host(FOUNDER, ToHost::Released);
    assert!(cluster.has_ended() && told.contains(&released), "{told:?}");
}

/// A head that was relieved, and is the head again, is still connected to what it was: a place that was meant
/// for the other does not stand for its own, which would be let go of.
#[test]
fn a_place_for_a_head_that_is_gone_does_not_count() {
    let mut cluster = of_two(4);
    cluster.on_cluster(Nanos::ZERO, PARENT, Between::HeadSlow);
    assert_eq!(across(&mut cluster), [(PARENT, head(SECOND))]);
    cluster.on_gone(Nanos::ZERO, SECOND);
    assert_eq!(across(&mut cluster), [(PARENT, head(FOUNDER))]);
    cluster.on_cluster(Nanos::ZERO, PARENT, attach_to(HostId(5), AGAIN, SECOND));
    assert_eq!(outputs(&mut cluster), []);
}

/// No host has room for the cluster. Until the other one has settled, the source serves both.
#[test]
fn a_cluster_goes_below_another_before_a_host_is_overloaded() {
    let policy = Policy { max_clusters: 16, ..policy() };
    let [first, second] = [ClusterId(5), ClusterId(6)];
    for settles_first in [true, false] {
        let mut root = Dispatcher::root(ROOT, policy, token(), &join(SOURCE, 1), 1, Nanos::ZERO);
        let comes = |root: &mut Dispatcher, cluster: ClusterId| {
            let below = Below::found_again(peer(HostId(cluster.0)), Nanos::ZERO, false);
            root.on_adopt(Nanos::ZERO, cluster, below, true);
        };
        comes(&mut root, first);
        let (host, ticket) = attach(&across(&mut root)).expect("it has a place");
        assert_eq!(host, SOURCE);
        if settles_first {
            root.on_cluster(Nanos::ZERO, first, Between::Settled(ticket));
            comes(&mut root, second);
        } else {
            comes(&mut root, second);
            assert_eq!(attach(&across(&mut root)).map(|(host, _)| host), Some(SOURCE));
            root.on_cluster(Nanos::ZERO, first, Between::Settled(ticket));
            root.on_host(Nanos::ZERO, SOURCE, FromHost::Backlog { child: HostId(second.0) });
        }
        let told = outputs(&mut root);
        let goes = |output: &DispatcherAction| match output {
            DispatcherAction::Move { cluster, to, .. } => (*cluster, *to) == (second, first),
            _ => false,
        };
        assert!(told.iter().any(goes), "{told:?}");
    }
}
