//! Single dispatchers, told step by step what others tell them.

use std::net::SocketAddr;

use groupflow_base::Nanos;
use groupflow_tree::machine::{
    Below, Between, ClusterId, Demotion, Dispatcher, DispatcherAction, Founding, FromHost, HostId, Peer,
    Policy, RefusalCode, Ticket, ToHost, TreeJoin,
};
use serde_json::json;

use super::forest::{token, ROOT, SOURCE};

pub const PARENT: ClusterId = ClusterId(1);
pub const FOUNDER: HostId = HostId(10);
pub const FOUNDED: Ticket = Ticket([1; Ticket::BYTES]);

pub fn peer(host: HostId) -> Peer {
    Peer { host, address: SocketAddr::from(([10, 0, 0, 1], 4000)) }
}

pub fn join(host: HostId, capacity: u16) -> TreeJoin {
    TreeJoin { peer: peer(host), router: None, capacity, token: token() }
}

pub fn policy() -> Policy {
    Policy { max_clusters: 1, demotion: Demotion::Slowest, settling: Nanos::ZERO, ..Policy::default() }
}

pub fn root(capacity: u16) -> Dispatcher {
    Dispatcher::root(ROOT, policy(), token(), &join(SOURCE, capacity), 1, Nanos::ZERO)
}

/// A cluster of one host below `PARENT`; it is connected to what the parent named.
pub fn founded() -> Dispatcher {
    let attach = Some((peer(HostId(5)), FOUNDED));
    let (cluster, delay) = (ClusterId(2), Nanos::from_millis(2));
    let founding = Founding { cluster, parent: PARENT, root: ROOT, founder: FOUNDER, attach, delay };
    let mut dispatcher = Dispatcher::found(&founding, policy(), token(), 1, Nanos::ZERO);
    dispatcher.on_host(Nanos::ZERO, FOUNDER, FromHost::Join(join(FOUNDER, 4)));
    attached(&mut dispatcher, FOUNDER, 1);
    dispatcher
}

pub fn attached(dispatcher: &mut Dispatcher, host: HostId, order: u32) {
    let latency = Nanos::from_millis(1);
    dispatcher.on_host(Nanos::ZERO, host, FromHost::Attached { order, latency });
}

pub fn outputs(dispatcher: &mut Dispatcher) -> Vec<DispatcherAction> {
    std::iter::from_fn(|| dispatcher.poll()).collect()
}

/// Messages to other dispatchers.
pub fn across(dispatcher: &mut Dispatcher) -> Vec<(ClusterId, Between)> {
    let told = outputs(dispatcher).into_iter().filter_map(|output| match output {
        DispatcherAction::Cluster(to, message) => Some((to, message)),
        _ => None,
    });
    told.collect()
}

/// Hosts and the parents that they were told.
fn places(dispatcher: &mut Dispatcher) -> Vec<(HostId, HostId)> {
    let told = outputs(dispatcher).into_iter().filter_map(|output| match output {
        DispatcherAction::Host(host, ToHost::Place { parent, .. }) => Some((host, parent.host)),
        _ => None,
    });
    told.collect()
}

/// A cluster that is known by its head only.
fn below(head: u64) -> Below {
    Below::found_again(peer(HostId(head)), Nanos::ZERO, false)
}

/// A cluster comes to this one, which has no say in it.
pub fn comes(dispatcher: &mut Dispatcher, cluster: ClusterId, head: u64) {
    dispatcher.on_adopt(Nanos::ZERO, cluster, below(head), false);
}

/// Asks for a parent.
pub fn head(head: HostId) -> Between {
    Between::Head { head: peer(head), behind: false, tried: None }
}

/// The message that no host needs the bytes kept under a ticket.
pub fn free(by: ClusterId, ticket: Ticket) -> DispatcherAction {
    DispatcherAction::Cluster(by, Between::Free(ticket))
}

#[test]
fn clusters_that_come_back_are_at_most_twice_as_many_as_may_be_founded() {
    let mut root = root(8);
    comes(&mut root, PARENT, 1);
    (11..=14).for_each(|id| comes(&mut root, ClusterId(id), id));
    assert_eq!(root.below().map(|(id, _)| id).collect::<Vec<_>>(), [PARENT, ClusterId(11)]);
    let told = across(&mut root).into_iter().filter(|(_, message)| *message == Between::Dissolve);
    assert_eq!(told.map(|(id, _)| id.0).collect::<Vec<_>>(), [12, 13, 14]);

    let mut cluster = founded();
    outputs(&mut cluster);
    (11..=14).for_each(|id| comes(&mut cluster, ClusterId(id), id));
    assert_eq!(cluster.below().count(), 2);
    let passed_up = outputs(&mut cluster).into_iter().filter_map(|output| match output {
        DispatcherAction::Move { cluster, to: PARENT, may_pass_on: false, .. } => Some(cluster.0),
        _ => None,
    });
    assert_eq!(passed_up.collect::<Vec<_>>(), [13, 14]);
}

#[test]
fn the_hosts_of_a_cluster_for_which_there_is_no_place_begin_again() {
    let mut cluster = founded();
    outputs(&mut cluster);
    cluster.on_cluster(Nanos::ZERO, ROOT, Between::Dissolve);
    let told = outputs(&mut cluster);
    assert!(told.contains(&DispatcherAction::Host(FOUNDER, ToHost::Redirect(ROOT))), "{told:?}");
    assert!(
        !told.contains(&DispatcherAction::Ended),
        "what its hosts need is kept until they may have places"
    );
    cluster.on_time(cluster.deadline());
    assert_eq!(outputs(&mut cluster), [free(PARENT, FOUNDED), DispatcherAction::Ended]);
    cluster.on_gone(Nanos::ZERO, FOUNDER);
    cluster.on_time(policy().patience);
    assert_eq!(outputs(&mut cluster), [], "nothing follows");
}

/// Until then the other's hosts may be connected to hosts of the one that would be put below it.
#[test]
fn a_cluster_is_put_below_another_only_when_that_has_settled() {
    let (mut root, beside) = (root(8), PARENT);
    comes(&mut root, beside, 1);
    let told = across(&mut root);
    let ticket = told.iter().find_map(|(_, message)| match message {
        Between::Attach { ticket, .. } => Some(*ticket),
        _ => None,
    });
    let ticket = ticket.expect("an Attach");
    let comes = |root: &mut Dispatcher, id: u64| {
        root.on_vanished(Nanos::ZERO, ClusterId(99), vec![(ClusterId(id), below(id))]);
        let told = outputs(root);
        told.iter().any(|output| matches!(output, DispatcherAction::Move { to, .. } if *to == beside))
    };
    assert!(!comes(&mut root, 11));
    root.on_cluster(Nanos::ZERO, beside, Between::Settled(FOUNDED));
    assert!(!comes(&mut root, 11), "settled where it was before");
    root.on_cluster(Nanos::ZERO, beside, Between::Settled(ticket));
    assert!(comes(&mut root, 12));
}

#[test]
fn a_cluster_has_settled_when_all_its_hosts_have_carried_out_their_orders() {
    let mut cluster = founded();
    let settled = |ticket| (PARENT, Between::Settled(ticket));
    assert!(across(&mut cluster).contains(&settled(FOUNDED)));
    let second = HostId(11);
    cluster.on_host(Nanos::ZERO, second, FromHost::Join(join(second, 4)));
    cluster.on_host(Nanos::ZERO, second, FromHost::Measured(vec![(FOUNDER, Nanos::from_millis(1))]));
    let ticket = Ticket([2; Ticket::BYTES]);
    let (to, delay) = (peer(HostId(6)), Nanos::ZERO);
    cluster.on_cluster(Nanos::ZERO, PARENT, Between::Attach { to, ticket, head: FOUNDER, delay });
    attached(&mut cluster, FOUNDER, 2);
    assert_eq!(across(&mut cluster), [(PARENT, Between::Free(FOUNDED))], "the second is on its way");
    attached(&mut cluster, second, 1);
    assert_eq!(across(&mut cluster), [settled(ticket)]);
}

/// A host that has lost an earlier parent says so while its last order is under way.
#[test]
fn a_host_without_a_parent_may_still_carry_out_its_order() {
    let (mut root, slow, other, lower) = (root(2), HostId(1), HostId(2), HostId(3));
    for (host, capacity, parents) in
        [(slow, 2, vec![SOURCE]), (other, 1, vec![SOURCE, SOURCE]), (lower, 2, vec![SOURCE, slow])]
    {
        root.on_host(Nanos::ZERO, host, FromHost::Join(join(host, capacity)));
        for parent in parents {
            root.on_host(Nanos::ZERO, host, FromHost::Measured(vec![(parent, Nanos::from_millis(1))]));
        }
        if host != lower {
            attached(&mut root, host, 1);
        }
    }
    assert_eq!(places(&mut root), [(slow, SOURCE), (other, SOURCE), (lower, slow)]);
    root.on_host(Nanos::ZERO, lower, FromHost::Lost { order: 1, gone: false });
    assert_eq!(places(&mut root), [(lower, other)]);
    root.on_host(Nanos::ZERO, SOURCE, FromHost::Backlog { child: slow });
    assert_eq!(places(&mut root), [], "the lower may be connected to the slow one yet");
    attached(&mut root, lower, 2);
    assert_eq!(places(&mut root), [(slow, lower)]);
}

#[test]
fn a_dispatcher_that_is_made_again_goes_on_with_its_hosts() {
    let (mut root, upper, lower) = (root(1), HostId(1), HostId(0xfedc_ba98_7654_3210));
    for (host, parents) in [(upper, vec![SOURCE]), (lower, vec![SOURCE, upper])] {
        root.on_host(Nanos::ZERO, host, FromHost::Join(join(host, 2)));
        for parent in parents {
            root.on_host(Nanos::ZERO, host, FromHost::Measured(vec![(parent, Nanos::from_millis(1))]));
        }
    }
    attached(&mut root, upper, 1);
    outputs(&mut root);
    let stored = serde_json::to_string(&root).expect("JSON");
    assert!(stored.contains("fedcba9876543210"), "a name of 64 bits");
    let mut again: Dispatcher = serde_json::from_str(&stored).expect("the same");
    let later = policy().patience + policy().patience;
    again.resume(later);
    again.on_time(later);
    assert_eq!(outputs(&mut again), [], "nobody was silent for it");
    let back = |order, attached| FromHost::Back { order, attached };
    again.on_host(later, upper, back(1, true));
    assert_eq!(places(&mut again), [(lower, upper)], "who may not be expected any more");
    again.on_host(later, lower, back(0, false));
    assert_eq!(places(&mut again), [(lower, upper)], "it never got its order");
    again.on_host(later, HostId(77), back(3, true));
    let told = outputs(&mut again);
    assert!(matches!(&told[..], [DispatcherAction::Host(HostId(77), ToHost::Refused { .. })]), "{told:?}");
}

/// The host may not know which children to expect, and would refuse them.
#[test]
fn a_head_on_its_way_to_a_host_that_comes_back_is_sent_again() {
    let (mut root, upper, lower) = (root(1), HostId(1), HostId(2));
    for (host, parents) in [(upper, vec![SOURCE]), (lower, vec![SOURCE, upper])] {
        root.on_host(Nanos::ZERO, host, FromHost::Join(join(host, 2)));
        for parent in parents {
            root.on_host(Nanos::ZERO, host, FromHost::Measured(vec![(parent, Nanos::from_millis(1))]));
        }
    }
    outputs(&mut root);
    let back = |order| FromHost::Back { order, attached: true };
    root.on_host(Nanos::ZERO, SOURCE, back(0));
    assert_eq!(places(&mut root), [(upper, SOURCE)], "and the source expects it");
    attached(&mut root, upper, 2);
    outputs(&mut root);
    root.on_host(Nanos::ZERO, upper, back(2));
    let told = outputs(&mut root);
    let expect = |output: &DispatcherAction| match output {
        DispatcherAction::Host(host, ToHost::Expect { child, .. }) => (*host, *child) == (upper, lower),
        _ => false,
    };
    assert!(told.iter().any(expect), "{told:?}");
    attached(&mut root, lower, 2);
    root.on_host(Nanos::ZERO, upper, back(2));
    assert_eq!(outputs(&mut root), [], "all are there");
}

#[test]
fn messages_are_readable_json_and_come_back_as_they_were() {
    let ticket = Ticket([0xab; Ticket::BYTES]);
    let place = ToHost::Place { order: 3, parent: peer(HostId(0x1f)), ticket };
    let text = serde_json::to_string(&place).expect("JSON");
    let parent = r#"{"host":"1f","address":"10.0.0.1:4000"}"#;
    let shown =
        format!(r#"{{"say":"place","what":{{"order":3,"parent":{parent},"ticket":"{}"}}}}"#, "ab".repeat(16));
    assert_eq!(text, shown);
    assert_eq!(serde_json::from_str::<ToHost>(&text).expect("the same"), place);
    let said = [
        FromHost::Join(join(FOUNDER, 3)),
        FromHost::Measured(vec![(SOURCE, Nanos::from_millis(2))]),
        FromHost::Alive,
        FromHost::Back { order: 7, attached: true },
    ];
    for message in said {
        let text = serde_json::to_string(&message).expect("JSON");
        assert_eq!(serde_json::from_str::<FromHost>(&text).expect("the same"), message, "{text}");
    }
    let join = |address, token| {
        let peer = json!({"host": "1", "address": address});
        json!({"say": "join", "what": {"peer": peer, "router": null, "capacity": 1, "token": token}})
    };
    assert!(serde_json::from_value::<FromHost>(join("1.1.1.1:1", "ab")).is_ok());
    for wrong in [
        json!({"say": "place"}),
        json!({"say": "measured", "what": [["xyz", 1]]}),
        json!({"say": "measured", "what": [["12345678901234567", 1]]}),
        join("nowhere", "ab"),
        join("1.1.1.1:1", "x"),
    ] {
        assert!(serde_json::from_value::<FromHost>(wrong.clone()).is_err(), "{wrong}");
    }
}

/// Otherwise it would be sent there again and again until the news come that it is gone.
#[test]
fn no_host_is_sent_to_an_unreachable_one_before_it_is_heard_of() {
    let (mut root, gone, other) = (root(1), HostId(1), HostId(2));
    for (host, parents) in [(gone, vec![SOURCE]), (other, vec![SOURCE, gone])] {
        root.on_host(Nanos::ZERO, host, FromHost::Join(join(host, 2)));
        for parent in parents {
            root.on_host(Nanos::ZERO, host, FromHost::Measured(vec![(parent, Nanos::from_millis(1))]));
        }
    }
    assert_eq!(places(&mut root), [(gone, SOURCE), (other, gone)]);
    root.on_host(Nanos::ZERO, other, FromHost::Lost { order: 1, gone: false });
    assert_eq!(places(&mut root), [(other, SOURCE)], "who has no room, but is there");
    root.on_host(Nanos::ZERO, other, FromHost::Lost { order: 2, gone: false });
    assert_eq!(places(&mut root), [], "both are suspect");
    let stored = serde_json::to_string(&root).expect("JSON");
    let mut again: Dispatcher = serde_json::from_str(&stored).expect("the same");
    again.resume(Nanos::ZERO);
    for mut dispatcher in [root, again] {
        dispatcher.on_host(Nanos::ZERO, gone, FromHost::Alive);
        assert_eq!(places(&mut dispatcher), [(other, gone)]);
    }
}

/// Both hosts measure the one that has room for one of them.
#[test]
fn one_of_two_hosts_that_come_at_once_for_one_place_is_refused() {
    let (mut root, only, first, second) = (root(1), HostId(1), HostId(2), HostId(3));
    let near = |host| FromHost::Measured(vec![(host, Nanos::from_millis(1))]);
    root.on_host(Nanos::ZERO, only, FromHost::Join(join(only, 1)));
    root.on_host(Nanos::ZERO, only, near(SOURCE));
    attached(&mut root, only, 1);
    for host in [first, second] {
        root.on_host(Nanos::ZERO, host, FromHost::Join(join(host, 0)));
        root.on_host(Nanos::ZERO, host, near(SOURCE));
    }
    outputs(&mut root);
    for host in [first, second] {
        root.on_host(Nanos::ZERO, host, near(only));
    }
    let told = outputs(&mut root);
    let place = |output: &DispatcherAction| matches!(output, DispatcherAction::Host(_, ToHost::Place { .. }));
    let busy = |output: &DispatcherAction| {
        let refused = |message: &ToHost| matches!(message, ToHost::Refused { code: RefusalCode::Busy, .. });
        matches!(output, DispatcherAction::Host(host, message) if *host == second && refused(message))
    };
    assert_eq!(told.iter().filter(|output| place(output)).count(), 1, "{told:?}");
    assert!(told.iter().any(busy), "{told:?}");
}

/// The source serves one host; of two in a chain the upper is slow, and they change places.
#[test]
fn a_host_goes_below_another_only_when_that_has_left_it() {
    let (mut root, upper, lower) = (root(1), HostId(1), HostId(2));
    for (host, parents) in [(upper, vec![SOURCE]), (lower, vec![SOURCE, upper])] {
        root.on_host(Nanos::ZERO, host, FromHost::Join(join(host, 2)));
        for parent in parents {
            root.on_host(Nanos::ZERO, host, FromHost::Measured(vec![(parent, Nanos::from_millis(1))]));
        }
        attached(&mut root, host, 1);
    }
    assert_eq!(places(&mut root), [(upper, SOURCE), (lower, upper)]);
    root.on_host(Nanos::ZERO, SOURCE, FromHost::Backlog { child: upper });
    assert_eq!(places(&mut root), [(lower, SOURCE)], "it may still be connected to the other");
    attached(&mut root, lower, 2);
    assert_eq!(places(&mut root), [(upper, lower)]);
}
