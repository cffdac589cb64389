//! Dispatchers that are told step by step what hosts tell them.

use std::net::SocketAddr;

use groupflow_base::Nanos;
use groupflow_tree::machine::{
    ClusterId, Demotion, Dispatcher, Dispatchers, FromHost, HostId, HostMessage, Peer, Policy, RefusalCode,
    Ticket, ToHost, TreeJoin,
};
use serde_json::json;

use super::forest::{token, SOURCE};

pub const FOUNDER: HostId = HostId(10);
const SECOND: HostId = HostId(19);

pub fn peer(host: HostId) -> Peer {
    Peer { host, address: SocketAddr::from(([10, 0, 0, 1], 4000)) }
}

pub fn join(host: HostId, capacity: u16) -> TreeJoin {
    TreeJoin { peer: peer(host), router: None, capacity, token: token(), name: String::new() }
}

pub fn policy() -> Policy {
    Policy { demotion: Demotion::Slowest, settling: Nanos::ZERO, ..Policy::default() }
}

pub fn in_ms(latencies: &[(HostId, u64)]) -> Vec<(HostId, Nanos)> {
    latencies.iter().map(|&(host, ms)| (host, Nanos::from_millis(ms))).collect()
}

pub fn measures(latencies: &[(HostId, u64)]) -> FromHost {
    FromHost::Measured(in_ms(latencies))
}

/// Dispatchers, and the messages for hosts that were not looked at yet.
#[derive(Clone)]
pub struct Told {
    pub all: Dispatchers,
    pub now: Nanos,
    messages: Vec<HostMessage>,
}

impl Told {
    /// A source that serves so many children.
    pub fn new(policy: Policy, capacity: u16) -> Told {
        let all = Dispatchers::new(policy, token(), &join(SOURCE, capacity), 1, Nanos::ZERO);
        Told { all, now: Nanos::ZERO, messages: Vec::new() }
    }

    pub fn root(&self) -> &Dispatcher {
        self.all.get(self.all.root).expect("the root")
    }

    /// The cluster in which the host is.
    pub fn cluster_of(&self, host: HostId) -> ClusterId {
        let has = |dispatcher: &&Dispatcher| dispatcher.tree.get(host).is_some();
        self.all.iter().find(has).expect("a member").id
    }

    pub fn dispatcher_of(&self, host: HostId) -> &Dispatcher {
        self.all.get(self.cluster_of(host)).expect("a cluster")
    }

    /// The host's parent, in this or in another cluster.
    pub fn parent(&self, host: HostId) -> Option<HostId> {
        let member = self.dispatcher_of(host).tree.get(host).expect("a member");
        member.parent().or(member.outside)
    }

    pub fn say_to(&mut self, cluster: ClusterId, host: HostId, message: FromHost) {
        self.messages.extend(self.all.on_host(self.now, cluster, host, message));
    }

    /// A member of some cluster, or else a host that comes to the root, says this.
    pub fn say(&mut self, host: HostId, message: FromHost) {
        let has = |dispatcher: &&Dispatcher| dispatcher.tree.get(host).is_some();
        let cluster = self.all.iter().find(has).map_or(self.all.root, |found| found.id);
        self.say_to(cluster, host, message);
    }

    /// A member has carried out its last order.
    pub fn attached(&mut self, host: HostId) {
        let order = self.dispatcher_of(host).tree.get(host).expect("a member").order;
        self.say(host, FromHost::Attached { order, latency: Nanos::from_millis(1) });
    }

    /// A member has no parent any more.
    pub fn lost(&mut self, host: HostId, gone: bool) {
        let order = self.dispatcher_of(host).tree.get(host).expect("a member").order;
        self.say(host, FromHost::Lost { order, gone });
    }

    pub fn gone(&mut self, host: HostId) {
        let cluster = self.cluster_of(host);
        self.messages.extend(self.all.on_gone(self.now, cluster, host));
    }

    /// A host joins with these latencies, and is taken in; it goes where it is sent.
    pub fn joins(&mut self, host: HostId, capacity: u16, latencies: &[(HostId, u64)]) {
        let mut cluster = self.all.root;
        self.say_to(cluster, host, FromHost::Join(join(host, capacity)));
        for _ in 0..12 {
            let is_in = |dispatcher: &Dispatcher| dispatcher.tree.get(host).is_some();
            if self.all.iter().any(is_in) {
                return;
            }
            let sent = self.messages.iter().rev().find_map(|sent| match sent.message {
                ToHost::Redirect(to) if sent.host == host => Some(to),
                _ => None,
            });
            match sent.filter(|&to| to != cluster) {
                Some(to) => {
                    cluster = to;
                    self.say_to(cluster, host, FromHost::Join(join(host, capacity)));
                }
                None => self.say_to(cluster, host, measures(latencies)),
            }
        }
        panic!("{host} is not taken in: {:?}", self.messages);
    }

    /// The same, and the host is connected; what was said is forgotten.
    pub fn member(&mut self, host: HostId, capacity: u16, latencies: &[(HostId, u64)]) {
        self.joins(host, capacity, latencies);
        self.attached(host);
        self.outputs();
    }

    /// Lets time pass until this moment; hosts other than these give signs of life before.
    pub fn pass(&mut self, now: Nanos, silent: &[HostId]) {
        self.now = now;
        let members = self.all.iter().flat_map(|dispatcher| dispatcher.tree.iter().map(|(host, _)| host));
        for host in members.filter(|host| !silent.contains(host)).collect::<Vec<_>>() {
            self.say(host, FromHost::Alive);
        }
        self.messages.extend(self.all.on_time(now));
    }

    /// The dispatchers are made again from their stored states, with this policy.
    pub fn resume(&mut self, policy: Policy) {
        let stored = |dispatcher: &Dispatcher| serde_json::to_string(dispatcher).expect("JSON");
        let restored = |state: String| serde_json::from_str(&state).expect("the same");
        let states = self.all.iter().map(stored).map(restored).collect();
        self.all = Dispatchers::resume(states, policy, token(), 9, self.now).expect("with the root");
    }

    /// The messages since the last look.
    pub fn outputs(&mut self) -> Vec<(HostId, ToHost)> {
        std::mem::take(&mut self.messages).into_iter().map(|sent| (sent.host, sent.message)).collect()
    }

    /// Hosts and the parents that they were told.
    pub fn places(&mut self) -> Vec<(HostId, HostId)> {
        let places = self.outputs().into_iter().filter_map(|(host, message)| match message {
            ToHost::Place { parent, .. } => Some((host, parent.host)),
            _ => None,
        });
        places.collect()
    }

    /// Hosts that need not keep bytes any more, and for which child.
    pub fn forgotten(&mut self) -> Vec<(HostId, HostId)> {
        let forgotten = self.outputs().into_iter().filter_map(|(host, message)| match message {
            ToHost::Forget { child } => Some((host, child)),
            _ => None,
        });
        forgotten.collect()
    }
}

/// Adds four clusters below the founder's. Their heads are to be connected to another host of its cluster.
fn four_below(tree: &mut Told, latencies: &[(HostId, u64)]) -> [ClusterId; 4] {
    let lower = [11, 12, 13, 14].map(HostId);
    for host in lower {
        let beside: Vec<_> = lower.iter().map(|&other| (other, 40)).collect();
        tree.member(host, 4, &[latencies, &beside[..]].concat());
        assert_eq!(tree.parent(host), Some(FOUNDER));
    }
    tree.member(SECOND, 8, &[&[(FOUNDER, 1)], latencies].concat());
    for host in lower {
        tree.lost(host, false);
        assert_eq!(tree.parent(host), Some(SECOND));
    }
    assert_eq!(tree.dispatcher_of(FOUNDER).below.len(), 4);
    lower.map(|host| tree.cluster_of(host))
}

/// The same, and nothing else.
fn of_four() -> (Told, [ClusterId; 4]) {
    let mut tree = Told::new(policy(), 8);
    tree.member(FOUNDER, 8, &[(SOURCE, 50)]);
    let clusters = four_below(&mut tree, &[(SOURCE, 60), (FOUNDER, 20)]);
    (tree, clusters)
}

/// Until those that begin again may have places, the bytes that they need are kept.
#[test]
fn clusters_that_come_back_are_at_most_twice_as_many_as_may_be_founded() {
    let (mut tree, clusters) = of_four();
    tree.resume(Policy { max_clusters: 1, ..policy() });
    [FOUNDER, SECOND].into_iter().for_each(|host| tree.gone(host));
    let mut kept = clusters.to_vec();
    kept.retain(|&cluster| tree.root().below.contains_key(&cluster));
    assert_eq!(kept.len(), 2);
    let dissolved: Vec<ClusterId> = clusters.into_iter().filter(|cluster| !kept.contains(cluster)).collect();
    let ended = |tree: &Told, cluster: &ClusterId| tree.all.get(*cluster).map(|found| found.ended);
    assert!(dissolved.iter().all(|cluster| ended(&tree, cluster) == Some(true)));
    let to_root = ToHost::Redirect(tree.all.root);
    let redirected = tree.outputs().into_iter().filter(|(_, message)| *message == to_root);
    assert_eq!(redirected.count(), 2);
    tree.pass(policy().patience, &[]);
    assert!(dissolved.iter().all(|cluster| ended(&tree, cluster).is_none()));
}

/// Those that cannot be kept come to the next cluster above.
#[test]
fn a_cluster_that_is_no_root_passes_up_what_it_cannot_keep() {
    let (mut tree, upper) = (Told::new(policy(), 8), HostId(9));
    tree.member(upper, 8, &[(SOURCE, 50)]);
    tree.member(FOUNDER, 8, &[(SOURCE, 90), (upper, 40)]);
    four_below(&mut tree, &[(SOURCE, 95), (upper, 45), (FOUNDER, 10)]);
    tree.resume(Policy { max_clusters: 1, ..policy() });
    [FOUNDER, SECOND].into_iter().for_each(|host| tree.gone(host));
    assert_eq!(tree.dispatcher_of(upper).below.len(), 2);
    // The root has one already, and may have two.
    assert_eq!(tree.root().below.len(), 2);
}

/// Nobody asked it for that, and the founder may take a while.
#[test]
fn what_a_host_measures_while_it_waits_for_a_founder_is_not_kept() {
    let (mut tree, host) = (Told::new(policy(), 4), HostId(11));
    tree.say(FOUNDER, FromHost::Join(join(FOUNDER, 4)));
    tree.say(FOUNDER, measures(&[(SOURCE, 50)]));
    let cluster = *tree.root().below.keys().next().expect("it is founded");
    tree.say_to(cluster, host, FromHost::Join(join(host, 4)));
    let stored =
        |tree: &Told| serde_json::to_string(tree.all.get(cluster).expect("a cluster")).expect("JSON");
    let before = stored(&tree);
    for _ in 0..10 {
        tree.say_to(cluster, host, measures(&[(SOURCE, 1); 100]));
    }
    assert_eq!(stored(&tree), before);
}

/// The rules are those of the command that started the dispatchers last.
#[test]
fn dispatchers_that_are_made_again_follow_the_present_policy() {
    let (mut tree, _) = of_four();
    tree.resume(Policy { max_children: 1, demotion: Demotion::Never, ..policy() });
    let host = HostId(20);
    tree.joins(host, 4, &[(SOURCE, 60), (FOUNDER, 1), (SECOND, 1)]);
    assert_eq!(tree.dispatcher_of(host).tree.get(host).map(|member| member.capacity), Some(1));
    assert_eq!(tree.parent(host), Some(SECOND));
    tree.outputs();
    tree.say(SECOND, FromHost::Backlog { child: host });
    assert_eq!(tree.places(), [], "no host is moved down");
}

/// A host that has lost an earlier parent says so while its last order is under way.
#[test]
fn a_host_without_a_parent_may_still_carry_out_its_order() {
    let (mut tree, slow, other, lower) = (Told::new(policy(), 2), HostId(1), HostId(2), HostId(3));
    for (host, capacity, parents) in
        [(slow, 2, vec![SOURCE]), (other, 1, vec![SOURCE, SOURCE]), (lower, 2, vec![SOURCE, slow])]
    {
        tree.say(host, FromHost::Join(join(host, capacity)));
        for parent in parents {
            tree.say(host, measures(&[(parent, 1)]));
        }
        if host != lower {
            tree.attached(host);
        }
    }
    assert_eq!(tree.places(), [(slow, SOURCE), (other, SOURCE), (lower, slow)]);
    tree.say(lower, FromHost::Lost { order: 1, gone: false });
    assert_eq!(tree.places(), [(lower, other)]);
    tree.say(SOURCE, FromHost::Backlog { child: slow });
    assert_eq!(tree.places(), [], "the lower may be connected to the slow one yet");
    tree.attached(lower);
    assert_eq!(tree.places(), [(slow, lower)]);
}

#[test]
fn a_dispatcher_that_is_made_again_goes_on_with_its_hosts() {
    let (mut tree, upper, lower) = (Told::new(policy(), 1), HostId(1), HostId(0xfedc_ba98_7654_3210));
    for (host, parents) in [(upper, vec![SOURCE]), (lower, vec![SOURCE, upper])] {
        tree.say(host, FromHost::Join(join(host, 2)));
        for parent in parents {
            tree.say(host, measures(&[(parent, 1)]));
        }
    }
    tree.attached(upper);
    tree.outputs();
    let stored = serde_json::to_string(tree.root()).expect("JSON");
    assert!(stored.contains("fedcba9876543210"), "a name of 64 bits");
    tree.now = policy().patience + policy().patience;
    tree.resume(policy());
    tree.pass(tree.now, &[SOURCE, upper, lower]);
    assert_eq!(tree.outputs(), [], "nobody was silent for it");
    let back = |order, attached| FromHost::Back { order, attached };
    tree.say(upper, back(1, true));
    assert_eq!(tree.places(), [(lower, upper)], "who may not be expected any more");
    tree.say(lower, back(0, false));
    assert_eq!(tree.places(), [(lower, upper)], "it never got its order");
    tree.say(HostId(77), back(3, true));
    let told = tree.outputs();
    assert!(matches!(&told[..], [(HostId(77), ToHost::Refused { .. })]), "{told:?}");
}

/// The host may not know which children to expect, and would refuse them.
#[test]
fn a_head_on_its_way_to_a_host_that_comes_back_is_sent_again() {
    let (mut tree, upper, lower) = (Told::new(policy(), 1), HostId(1), HostId(2));
    for (host, parents) in [(upper, vec![SOURCE]), (lower, vec![SOURCE, upper])] {
        tree.say(host, FromHost::Join(join(host, 2)));
        for parent in parents {
            tree.say(host, measures(&[(parent, 1)]));
        }
    }
    tree.outputs();
    let back = |order| FromHost::Back { order, attached: true };
    tree.say(SOURCE, back(0));
    assert_eq!(tree.places(), [(upper, SOURCE)], "and the source expects it");
    tree.attached(upper);
    tree.outputs();
    tree.say(upper, back(2));
    let told = tree.outputs();
    let expects = |(host, message): &(HostId, ToHost)| match message {
        ToHost::Expect { child, .. } => (*host, *child) == (upper, lower),
        _ => false,
    };
    assert!(told.iter().any(expects), "{told:?}");
    tree.attached(lower);
    tree.say(upper, back(2));
    assert_eq!(tree.outputs(), [], "all are there");
}

#[test]
fn messages_are_readable_json_and_come_back_as_they_were() {
    let ticket = Ticket(u128::from_be_bytes([0xab; 16]));
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
    let (mut tree, gone, other) = (Told::new(policy(), 1), HostId(1), HostId(2));
    for (host, parents) in [(gone, vec![SOURCE]), (other, vec![SOURCE, gone])] {
        tree.say(host, FromHost::Join(join(host, 2)));
        for parent in parents {
            tree.say(host, measures(&[(parent, 1)]));
        }
    }
    assert_eq!(tree.places(), [(gone, SOURCE), (other, gone)]);
    tree.say(other, FromHost::Lost { order: 1, gone: false });
    assert_eq!(tree.places(), [(other, SOURCE)], "who has no room, but is there");
    tree.say(other, FromHost::Lost { order: 2, gone: false });
    assert_eq!(tree.places(), [], "both are suspect");
    for is_made_again in [false, true] {
        let mut tree = tree.clone();
        if is_made_again {
            tree.resume(policy());
        }
        tree.say(gone, FromHost::Alive);
        assert_eq!(tree.places(), [(other, gone)]);
    }
}

/// Both hosts measure the one that has room for one of them.
#[test]
fn one_of_two_hosts_that_come_at_once_for_one_place_is_refused() {
    let (mut tree, only, first, second) = (Told::new(policy(), 1), HostId(1), HostId(2), HostId(3));
    let near = |host| measures(&[(host, 1)]);
    tree.say(only, FromHost::Join(join(only, 1)));
    tree.say(only, near(SOURCE));
    tree.attached(only);
    for host in [first, second] {
        tree.say(host, FromHost::Join(join(host, 0)));
        tree.say(host, near(SOURCE));
    }
    tree.outputs();
    for host in [first, second] {
        tree.say(host, near(only));
    }
    let told = tree.outputs();
    let is_busy = |message: &ToHost| matches!(message, ToHost::Refused { code: RefusalCode::Busy, .. });
    let places = told.iter().filter(|(_, message)| matches!(message, ToHost::Place { .. }));
    assert_eq!(places.count(), 1, "{told:?}");
    assert!(told.iter().any(|(host, message)| *host == second && is_busy(message)), "{told:?}");
}

/// The source serves one host; of two in a chain the upper is slow, and they change places.
#[test]
fn a_host_goes_below_another_only_when_that_has_left_it() {
    let (mut tree, upper, lower) = (Told::new(policy(), 1), HostId(1), HostId(2));
    for (host, parents) in [(upper, vec![SOURCE]), (lower, vec![SOURCE, upper])] {
        tree.say(host, FromHost::Join(join(host, 2)));
        for parent in parents {
            tree.say(host, measures(&[(parent, 1)]));
        }
        tree.attached(host);
    }
    assert_eq!(tree.places(), [(upper, SOURCE), (lower, upper)]);
    tree.say(SOURCE, FromHost::Backlog { child: upper });
    assert_eq!(tree.places(), [(lower, SOURCE)], "it may still be connected to the other");
    tree.attached(lower);
    assert_eq!(tree.places(), [(upper, lower)]);
}
