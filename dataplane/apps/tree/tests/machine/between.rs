//! Messages between dispatchers about bytes that are kept for hosts of another cluster, and about hosts that
//! need bytes which no host near them has any more.

use groupflow_base::Nanos;
use groupflow_tree::machine::{
    Below, Between, ClusterId, Dispatcher, DispatcherAction, FromHost, HostId, Policy, RefusalCode, Ticket,
    ToHost,
};

use super::dispatchers::{
    across, attached, comes, founded, free, head, join, outputs, peer, policy, root, FOUNDED, FOUNDER, PARENT,
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

fn behind(host: HostId, tried: Option<Ticket>) -> Between {
    Between::Head { head: peer(host), behind: true, tried }
}

#[test]
fn a_parent_outside_lets_go_when_those_below_a_dead_head_have_others() {
    let mut cluster = of_two(4);
    cluster.on_gone(Nanos::ZERO, FOUNDER);
    assert_eq!(across(&mut cluster), [(PARENT, head(SECOND))]);
    cluster.on_cluster(Nanos::ZERO, PARENT, attach_to(HostId(6), AGAIN, SECOND));
    assert_eq!(across(&mut cluster), [], "it may still need what the dead one did not pass on");
    let order = cluster.tree().get(SECOND).expect("a member").order;
    attached(&mut cluster, SECOND, order);
    let told = across(&mut cluster);
    assert!(told.contains(&(PARENT, Between::Free(FOUNDED))), "{told:?}");
    assert!(!told.contains(&(PARENT, Between::Free(AGAIN))), "{told:?}");
}

#[test]
fn bytes_kept_for_another_cluster_are_kept_above_when_their_keeper_dies() {
    let (mut root, upper) = (root(2), HostId(5));
    member(&mut root, upper, SOURCE, 4);
    // The source has no room beside another.
    member(&mut root, HostId(6), SOURCE, 0);
    comes(&mut root, PARENT, FOUNDER.0);
    let (parent, first) = attach(&across(&mut root)).expect("an Attach");
    assert_eq!(parent, upper);
    root.on_gone(Nanos::ZERO, upper);
    let (parent, second) = attach(&across(&mut root)).expect("an Attach");
    assert_eq!(parent, SOURCE);
    let forget = |child| DispatcherAction::Host(SOURCE, ToHost::Forget { child });
    root.on_host(Nanos::ZERO, HostId(6), FromHost::Alive);
    assert!(!outputs(&mut root).contains(&forget(upper)), "the head may need it");
    root.on_cluster(Nanos::ZERO, PARENT, Between::Free(first));
    assert_eq!(outputs(&mut root), [forget(upper)]);
    // That head dies, and the next is connected to the same host.
    root.on_cluster(Nanos::ZERO, PARENT, head(SECOND));
    assert!(attach(&across(&mut root)).is_some());
    root.on_cluster(Nanos::ZERO, PARENT, Between::Free(second));
    assert_eq!(outputs(&mut root), [forget(FOUNDER)]);
}

#[test]
fn a_cluster_without_hosts_is_there_until_nobody_needs_what_is_kept_for_them() {
    let (mut cluster, lower) = (founded(), ClusterId(3));
    outputs(&mut cluster);
    comes(&mut cluster, lower, SECOND.0);
    let (_, ticket) = attach(&across(&mut cluster)).expect("an Attach");
    cluster.on_gone(Nanos::ZERO, FOUNDER);
    let told = outputs(&mut cluster);
    assert!(matches!(&told[..], [DispatcherAction::Vanished(_)]), "{told:?}");
    cluster.on_cluster(Nanos::ZERO, lower, Between::Free(ticket));
    assert_eq!(outputs(&mut cluster), [free(PARENT, FOUNDED), DispatcherAction::Ended]);
}

/// Else the head would be sent there again at once, and for ever, until the silence of that host is noticed.
#[test]
fn a_head_that_is_behind_waits_while_the_host_for_it_cannot_be_reached() {
    let (mut cluster, lower) = (founded(), ClusterId(3));
    outputs(&mut cluster);
    comes(&mut cluster, lower, 20);
    cluster.on_cluster(Nanos::ZERO, lower, behind(HostId(20), None));
    assert_eq!(attach(&across(&mut cluster)).map(|(parent, _)| parent), Some(FOUNDER));
    cluster.on_cluster(Nanos::ZERO, lower, behind(HostId(20), None));
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
    let (parent, first) = attach(&across(&mut cluster)).expect("an Attach");
    assert_eq!(parent, FOUNDER);
    cluster.on_cluster(Nanos::ZERO, lower, behind(HostId(20), Some(first)));
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
    let (parent, first) = attach(&across(&mut root)).expect("an Attach");
    assert_eq!(parent, HostId(5));
    root.on_cluster(Nanos::ZERO, PARENT, behind(SECOND, Some(first)));
    let (parent, ticket) = attach(&across(&mut root)).expect("an Attach");
    assert_eq!(parent, SOURCE);
    root.on_cluster(Nanos::ZERO, PARENT, behind(SECOND, Some(first)));
    let (_, again) = attach(&across(&mut root)).expect("it did not come to the source yet");
    assert_ne!(ticket, again);
    root.on_cluster(Nanos::ZERO, PARENT, behind(SECOND, Some(again)));
    assert!(across(&mut root).contains(&(PARENT, Between::Gone(again))));
}

#[test]
fn a_host_that_needs_more_than_the_head_of_its_cluster_has_becomes_the_head() {
    let mut cluster = of_two(4);
    cluster.on_host(Nanos::ZERO, SECOND, FromHost::Lost { order: 1, gone: true });
    assert_eq!(across(&mut cluster), [(PARENT, behind(SECOND, None))]);
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
        DispatcherAction::Found(founding) => Some(founding.clone()),
        _ => None,
    });
    let founding = founding.expect("it is founded");
    assert!(told.contains(&DispatcherAction::Host(SECOND, ToHost::Redirect(founding.cluster))), "{told:?}");
    let to_parent = |output: &DispatcherAction| match output {
        DispatcherAction::Move { cluster, below, to: PARENT, .. } => {
            *cluster == founding.cluster && below.behind
        }
        _ => false,
    };
    assert!(told.iter().any(to_parent), "{told:?}");
    assert_eq!(cluster.tree().head(), Some(FOUNDER));
}

/// The host may be without a parent until it has a place elsewhere: the bytes that it needs are kept.
#[test]
fn bytes_for_a_redirected_host_are_kept_as_long_as_its_way_may_take() {
    let mut cluster = of_two(0);
    outputs(&mut cluster);
    cluster.on_host(Nanos::ZERO, SECOND, FromHost::Lost { order: 1, gone: true });
    let forgets = |told: &[DispatcherAction]| {
        told.contains(&DispatcherAction::Host(FOUNDER, ToHost::Forget { child: SECOND }))
    };
    assert!(!forgets(&outputs(&mut cluster)));
    let until = policy().patience;
    cluster.on_host(until, FOUNDER, FromHost::Alive);
    cluster.on_time(until);
    assert!(forgets(&outputs(&mut cluster)));
}

#[test]
fn a_silent_host_is_told_that_it_is_given_up_before_the_cluster_ends() {
    let ended = |told: &[DispatcherAction]| told.last() == Some(&DispatcherAction::Ended);
    let mut cluster = founded();
    cluster.on_time(policy().patience);
    let told = outputs(&mut cluster);
    let refused = |output: &DispatcherAction| {
        matches!(output, DispatcherAction::Host(FOUNDER, ToHost::Refused { code: RefusalCode::Ended, .. }))
    };
    assert!(ended(&told) && told.iter().any(refused), "{told:?}");
    let mut cluster = founded();
    cluster.on_host(Nanos::ZERO, FOUNDER, FromHost::Leave);
    let told = outputs(&mut cluster);
    assert!(ended(&told) && told.contains(&DispatcherAction::Host(FOUNDER, ToHost::Released)), "{told:?}");
}

/// A head that was relieved, and is the head again, is still connected to what it was: a place that was meant
/// for the other does not stand for its own, which would be let go of.
#[test]
fn a_place_for_a_head_that_is_gone_is_given_back() {
    let mut cluster = of_two(4);
    cluster.on_cluster(Nanos::ZERO, PARENT, Between::HeadSlow);
    assert_eq!(across(&mut cluster), [(PARENT, head(SECOND))]);
    cluster.on_gone(Nanos::ZERO, SECOND);
    assert_eq!(across(&mut cluster), [(PARENT, head(FOUNDER))]);
    cluster.on_cluster(Nanos::ZERO, PARENT, attach_to(HostId(5), AGAIN, SECOND));
    assert_eq!(across(&mut cluster), [(PARENT, Between::Free(AGAIN))]);
}

/// A cluster that has ended when it is told where its head belongs does not say later that it needs nothing
/// of it.
#[test]
fn bytes_kept_for_an_ended_cluster_are_freed() {
    let mut root = root(2);
    comes(&mut root, PARENT, FOUNDER.0);
    let told = across(&mut root);
    let (parent, ticket) = attach(&told).expect("an Attach");
    root.on_undelivered(Nanos::ZERO, PARENT, &attach_to(parent, ticket, FOUNDER));
    let forget = DispatcherAction::Host(parent, ToHost::Forget { child: FOUNDER });
    assert!(outputs(&mut root).contains(&forget));
}

/// So the other knows which of its tickets counts, whether or not another of them was taken.
#[test]
fn an_earlier_ticket_for_the_same_parent_is_given_back() {
    let mut cluster = founded();
    outputs(&mut cluster);
    let again = attach_to(HostId(5), AGAIN, FOUNDER);
    cluster.on_cluster(Nanos::ZERO, PARENT, again.clone());
    assert!(outputs(&mut cluster).contains(&free(PARENT, FOUNDED)));
    cluster.on_cluster(Nanos::ZERO, PARENT, again);
    assert!(!outputs(&mut cluster).contains(&free(PARENT, AGAIN)), "it counts");
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
