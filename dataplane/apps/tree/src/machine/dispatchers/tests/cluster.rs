use super::*;

/// A state from the store may be damaged: the walk up ends although two hosts are below each other.
#[test]
fn a_cycle_in_a_stored_state_ends_the_walk_up() {
    let token: groupflow_base::Token = "c0ffee".parse().expect("a token");
    let mut cluster = Cluster::default();
    for (host, parent) in [(1, 2), (2, 1)] {
        let peer = Peer { host: HostId(host), address: ([127, 0, 0, 1], 1).into() };
        let join = TreeJoin { peer, router: None, capacity: 1, token: token.clone(), name: String::new() };
        let mut member = ClusterHost::new(&join, Nanos::ZERO);
        member.place = ParentOrder::Host(HostId(parent));
        cluster.members.insert(peer.host, member);
    }
    assert_eq!(cluster.depth(HostId(1)), None);
    assert!(!cluster.is_behind_slow(HostId(1), Nanos::ZERO) && !cluster.is_below(HostId(1), HostId(3)));
}
