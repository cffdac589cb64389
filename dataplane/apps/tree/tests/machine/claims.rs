//! Claims on clusters: a cluster is below one other at a time, however late the messages about that are.

use groupflow_base::Nanos;
use groupflow_tree::machine::{Below, Between, ClusterId, Dispatcher, HostId};

use super::dispatchers::{across, founded, head, moved, outputs, peer, root, FOUNDER, PARENT};
use super::forest::ROOT;

/// The cluster on which there are claims.
const CLAIMED: ClusterId = ClusterId(11);

fn has(dispatcher: &Dispatcher, cluster: ClusterId) -> bool {
    dispatcher.below().any(|(id, _)| id == cluster)
}

/// A cluster that has come to have more clusters than it may keep, and gives this one to its parent.
fn gives_back() -> (Dispatcher, Below) {
    let mut cluster = founded();
    let comes = |id, head, moves| Between::Adopt { cluster: id, below: moved(head, moves) };
    [20, 30].into_iter().for_each(|id| cluster.on_cluster(Nanos::ZERO, PARENT, comes(ClusterId(id), id, 0)));
    outputs(&mut cluster);
    cluster.on_cluster(Nanos::ZERO, PARENT, comes(CLAIMED, CLAIMED.0, 1));
    let below = moved(CLAIMED.0, 2);
    assert_eq!(across(&mut cluster), [(PARENT, Between::GiveBack { cluster: CLAIMED, below })]);
    (cluster, below)
}

/// The cluster was given on at once, and the messages of the two come in the other order.
#[test]
fn the_later_of_two_claims_to_a_cluster_counts() {
    let (mut cluster, first, second) = (founded(), ClusterId(21), ClusterId(22));
    outputs(&mut cluster);
    let adopted = |moves| Between::Adopted { head: peer(FOUNDER), moves };
    cluster.on_cluster(Nanos::ZERO, second, adopted(2));
    assert_eq!((cluster.parent(), across(&mut cluster)), (Some(second), vec![(PARENT, Between::Left(2))]));
    cluster.on_cluster(Nanos::ZERO, first, adopted(1));
    assert_eq!((cluster.parent(), across(&mut cluster)), (Some(second), vec![(first, Between::Left(2))]));
    cluster.on_undelivered(Nanos::ZERO, second, head(FOUNDER, 2));
    assert_eq!(across(&mut cluster), [(ROOT, head(FOUNDER, 2))]);
}

/// The cluster's farewell may come after it was given back.
#[test]
fn a_cluster_that_came_back_is_not_lost_by_an_earlier_farewell() {
    let mut root = root(8);
    let back = Between::Vanished(vec![(ClusterId(11), moved(11, 2))]);
    root.on_cluster(Nanos::ZERO, ClusterId(99), back);
    let has = |root: &Dispatcher| root.below().any(|(id, _)| id == ClusterId(11));
    assert!(has(&root));
    root.on_cluster(Nanos::ZERO, ClusterId(11), Between::Left(1));
    assert!(has(&root));
    root.on_cluster(Nanos::ZERO, ClusterId(11), Between::Left(2));
    assert!(!has(&root));
}

/// Otherwise there would be two claims on it, and either could put it below the other's cluster.
#[test]
fn a_question_of_a_cluster_that_was_given_back_follows_it() {
    let (mut cluster, _) = gives_back();
    let asks = head(HostId(CLAIMED.0), 1);
    cluster.on_cluster(Nanos::ZERO, CLAIMED, asks.clone());
    assert!(!has(&cluster, CLAIMED));
    let forwarded = Between::Forwarded(CLAIMED, Box::new(asks));
    assert_eq!(across(&mut cluster), [(PARENT, forwarded)]);
}

/// The parent has ended, and returns the cluster that was given to it. Meanwhile the cluster may have said
/// that another one has it.
#[test]
fn a_returned_cluster_comes_back_unless_it_has_said_that_it_is_elsewhere() {
    for (elsewhere, returned_by_another) in [(false, false), (true, false), (false, true)] {
        let (mut cluster, below) = gives_back();
        if elsewhere {
            cluster.on_cluster(Nanos::ZERO, CLAIMED, Between::Left(3));
        }
        let by = if returned_by_another { ClusterId(99) } else { PARENT };
        for given in
            [Between::GiveBack { cluster: CLAIMED, below }, Between::Adopt { cluster: CLAIMED, below }]
        {
            let (mut cluster, given) = (cluster.clone(), Box::new(given));
            cluster.on_cluster(Nanos::ZERO, by, Between::Returned(given));
            let kept_or_asked = has(&cluster, CLAIMED)
                || across(&mut cluster).iter().any(|(to, message)| {
                    *to == ROOT && matches!(message, Between::GiveBack { cluster: CLAIMED, .. })
                });
            assert_eq!(kept_or_asked, !elsewhere && !returned_by_another);
        }
    }
}

/// A claim on this cluster is for this cluster's dispatcher to judge, whichever cluster makes it.
#[test]
fn a_claim_by_a_cluster_that_was_given_back_is_not_forwarded() {
    let (mut cluster, _) = gives_back();
    cluster.on_cluster(Nanos::ZERO, CLAIMED, Between::Adopted { head: peer(FOUNDER), moves: 1 });
    assert_eq!((cluster.parent(), across(&mut cluster)), (Some(CLAIMED), vec![(PARENT, Between::Left(1))]));
}

/// Two clusters would be below each other, or one below itself.
#[test]
fn a_late_claim_puts_no_cluster_below_one_that_is_below_it() {
    let mut cluster = founded();
    outputs(&mut cluster);
    for above in [cluster.id(), PARENT] {
        let below = moved(above.0, 7);
        cluster.on_cluster(Nanos::ZERO, PARENT, Between::Adopt { cluster: above, below });
        assert!(!has(&cluster, above) && across(&mut cluster).is_empty());
    }
    let adopt = |moves| Between::Adopt { cluster: CLAIMED, below: moved(CLAIMED.0, moves) };
    cluster.on_cluster(Nanos::ZERO, PARENT, adopt(2));
    outputs(&mut cluster);
    cluster.on_cluster(Nanos::ZERO, CLAIMED, Between::Adopted { head: peer(FOUNDER), moves: 9 });
    assert_eq!((cluster.parent(), across(&mut cluster)), (Some(PARENT), vec![(CLAIMED, Between::Left(9))]));
    cluster.on_cluster(Nanos::ZERO, PARENT, adopt(1));
    assert!(across(&mut cluster).is_empty(), "a later claim is known");
}
