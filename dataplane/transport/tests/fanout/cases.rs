//! Cases, each a few calls long.

use groupflow_transport::fanout::{BranchStart, Fanout, FanoutError, Mode};

const MODES: [Mode; 2] = [Mode::NodeToNode, Mode::EndToEnd];

#[test]
fn node_to_node_takes_what_the_cache_holds_and_acknowledges_it() {
    let mut stream = Fanout::new(Mode::NodeToNode, 100).with_allowance(10);
    let branch = stream.add_branch(BranchStart::Start).expect("nothing is discarded");
    assert_eq!(stream.intake(), 100, "the allowance is for end-to-end");
    stream.on_received(100).expect("room");
    assert_eq!((stream.intake(), stream.acknowledged(), stream.floor), (0, 100, 0));
    stream.on_sent(branch, 60).expect("cached");
    assert_eq!(stream.intake(), 0, "sent is not acknowledged");
    stream.on_acked(branch, 40).expect("sent");
    assert_eq!((stream.intake(), stream.base, stream.lag(branch)), (40, 40, Some(60)));
    assert_eq!(stream.sendable(branch), 60..100);
}

#[test]
fn end_to_end_acknowledges_the_least_branch_and_takes_its_allowance() {
    let mut stream = Fanout::new(Mode::EndToEnd, 100).with_allowance(10);
    let fast = stream.add_branch(BranchStart::Now).expect("nothing is discarded");
    let slow = stream.add_branch(BranchStart::Now).expect("nothing is discarded");
    stream.on_received(10).expect("room");
    assert_eq!((stream.intake(), stream.acknowledged()), (0, 0));
    for (branch, acked, expected) in [(fast, 10, 0), (slow, 4, 4), (slow, 3, 4), (slow, 10, 10)] {
        if stream.sendable(branch).end > stream.sent(branch).unwrap_or(0) {
            stream.on_sent(branch, 10).expect("cached");
        }
        stream.on_acked(branch, acked).expect("sent");
        assert_eq!((stream.acknowledged(), stream.intake()), (expected, expected), "{acked}");
    }
}

#[test]
fn the_end_reaches_every_branch_after_the_bytes() {
    for mode in MODES {
        let mut stream = Fanout::new(mode, 100);
        let branches = [BranchStart::Start, BranchStart::Start]
            .map(|f| stream.add_branch(f).expect("nothing is discarded"));
        stream.on_received(5).expect("room");
        stream.on_upstream_end();
        assert_eq!(stream.intake(), 0);
        assert_eq!(stream.on_received(1), Err(FanoutError::AfterEnd { end: 5 }));
        for branch in branches {
            assert!(!stream.end_due(branch) && stream.on_end_sent(branch).is_err(), "bytes come first");
            stream.on_sent(branch, 5).expect("cached");
            assert!(stream.end_due(branch) && stream.on_end_acked(branch).is_err());
            stream.on_end_sent(branch).expect("due");
            assert!(!stream.end_due(branch) && !stream.complete(branch) && !stream.finished());
            stream.on_end_acked(branch).expect("sent");
            assert!(stream.complete(branch));
        }
        assert!(stream.finished());
        assert_eq!((stream.acknowledged(), stream.cached(), stream.peak), (5, 0, 5));
    }
}

#[test]
fn a_late_branch_begins_now_or_with_what_is_cached() {
    let mut stream = Fanout::new(Mode::NodeToNode, 100).with_history(30);
    let first = stream.add_branch(BranchStart::Start).expect("nothing is discarded");
    stream.on_received(20).expect("room");
    stream.on_sent(first, 20).expect("cached");
    stream.on_acked(first, 20).expect("sent");
    assert_eq!((stream.cached(), stream.held()), (0, 20), "history");
    let late = stream.add_branch(BranchStart::Start).expect("the history goes back to the start");
    assert_eq!((stream.sendable(late), stream.cached()), (0..20, 20));
    stream.remove_branch(late);
    stream.on_received(40).expect("room");
    stream.on_sent(first, 40).expect("cached");
    stream.on_acked(first, 60).expect("sent");
    assert_eq!(stream.add_branch(BranchStart::Start), Err(FanoutError::Discarded { wanted: 0, base: 30 }));
    let now = stream.add_branch(BranchStart::Now).expect("always");
    assert_eq!(stream.sendable(now), 60..60);
    let resumed = stream.add_branch(BranchStart::Offset(45)).expect("in the history");
    assert_eq!((stream.sendable(resumed), stream.floor), (45..60, 45));
    assert_eq!(
        stream.add_branch(BranchStart::Offset(61)),
        Err(FanoutError::Ahead { wanted: 61, received: 60 })
    );
}

#[test]
fn history_gives_way_to_what_is_needed() {
    let mut stream = Fanout::new(Mode::NodeToNode, 100).with_history(100);
    let branch = stream.add_branch(BranchStart::Start).expect("nothing is discarded");
    for offset in [60, 120, 180] {
        stream.on_received(60).expect("history is no bound");
        stream.on_sent(branch, 60).expect("cached");
        assert_eq!(stream.base, offset.max(100) - 100);
        stream.on_acked(branch, offset).expect("sent");
        assert!(stream.held() <= 100);
    }
}

#[test]
fn what_no_branch_got_stays_when_the_last_one_leaves() {
    for mode in MODES {
        let mut stream = Fanout::new(mode, 100);
        let branch = stream.add_branch(BranchStart::Start).expect("nothing is discarded");
        stream.on_received(50).expect("room");
        stream.on_sent(branch, 50).expect("cached");
        stream.on_acked(branch, 20).expect("sent");
        stream.remove_branch(branch);
        assert_eq!((stream.base, stream.cached(), stream.finished()), (20, 30, false));
        assert_eq!(stream.on_acked(branch, 30), Err(FanoutError::NoBranch(branch)));
        let again = stream.add_branch(BranchStart::Offset(20)).expect("it was kept");
        assert!(again != branch && stream.sendable(again) == (20..50));
    }
}

#[test]
fn a_resumed_stream_begins_at_its_offset() {
    let mut stream = Fanout::resumed(Mode::EndToEnd, 100, 1000);
    assert_eq!((stream.received, stream.acknowledged(), stream.cached()), (1000, 1000, 0));
    assert_eq!(stream.add_branch(BranchStart::Start), Err(FanoutError::Discarded { wanted: 0, base: 1000 }));
    let branch = stream.add_branch(BranchStart::Offset(1000)).expect("the cache begins there");
    stream.on_received(10).expect("room");
    assert_eq!(stream.sendable(branch), 1000..1010);
}

#[test]
fn a_branch_that_is_lost_and_comes_back_gets_what_it_had_not_acknowledged() {
    for mode in MODES {
        let mut stream = Fanout::new(mode, 100);
        let branch = stream.add_branch(BranchStart::Start).expect("nothing is discarded");
        stream.on_received(50).expect("room");
        stream.on_upstream_end();
        stream.on_sent(branch, 50).expect("cached");
        stream.on_end_sent(branch).expect("due");
        stream.on_acked(branch, 20).expect("sent");
        stream.on_lost(branch).expect("there");
        assert_eq!((stream.sendable(branch), stream.base), (20..50, 20));
        stream.on_sent(branch, 30).expect("cached");
        assert!(stream.end_due(branch), "the end, too, is told again");
    }
}

#[test]
fn history_is_given_up_and_what_is_needed_is_not() {
    let mut stream = Fanout::new(Mode::NodeToNode, 100).with_history(100);
    let branch = stream.add_branch(BranchStart::Start).expect("nothing is discarded");
    stream.on_received(50).expect("room");
    stream.on_sent(branch, 50).expect("cached");
    stream.on_acked(branch, 20).expect("sent");
    assert_eq!(stream.base, 0);
    stream.forget_history();
    assert_eq!((stream.base, stream.cached(), stream.held()), (20, 30, 30));
}

#[test]
fn only_who_stops_the_others_is_a_laggard() {
    let mut stream = Fanout::new(Mode::NodeToNode, 100);
    let [a, b, c] = [(); 3].map(|()| stream.add_branch(BranchStart::Start).expect("nothing is discarded"));
    stream.on_received(100).expect("room");
    for branch in [a, b, c] {
        stream.on_sent(branch, 100).expect("cached");
    }
    assert_eq!(stream.laggards(), [], "all are slow");
    stream.on_acked(a, 90).expect("sent");
    stream.on_acked(b, 40).expect("sent");
    assert_eq!(stream.laggards(), [c], "50 behind is half");
    stream.on_acked(c, 10).expect("sent");
    assert_eq!(stream.laggards(), [], "there is room again");
}

#[test]
fn an_isolated_branch_goes_on_where_it_had_come_while_the_cache_has_that() {
    let mut stream = Fanout::new(Mode::NodeToNode, 100).with_patience(50);
    let [fast, slow] = [(); 2].map(|()| stream.add_branch(BranchStart::Start).expect("nothing is discarded"));
    stream.on_received(60).expect("room");
    stream.on_sent(fast, 60).expect("cached");
    stream.on_acked(fast, 60).expect("sent");
    stream.on_sent(slow, 10).expect("cached");
    assert_eq!(stream.laggards(), [slow]);
    stream.isolate(slow).expect("there");
    assert_eq!((stream.floor, stream.base, stream.intake()), (60, 0, 100), "nobody waits, and all is there");
    assert_eq!((stream.laggards(), stream.take_back()), (vec![], vec![]));
    stream.on_received(40).expect("room");
    stream.on_sent(slow, 80).expect("cached");
    stream.on_acked(slow, 80).expect("sent");
    assert_eq!((stream.take_back(), stream.floor), (vec![slow], 60));
    assert!(!stream.is_isolated(slow));
}

#[test]
fn an_isolated_branch_is_overtaken_when_the_cache_has_no_room_for_it() {
    let mut stream = Fanout::new(Mode::NodeToNode, 100).with_patience(50);
    let [fast, slow] = [(); 2].map(|()| stream.add_branch(BranchStart::Start).expect("nothing is discarded"));
    stream.on_received(50).expect("room");
    stream.on_sent(slow, 10).expect("cached");
    stream.isolate(slow).expect("there");
    for (received, overtaken, base) in [(100, vec![], 0), (110, vec![], 10), (111, vec![slow], 111)] {
        stream.on_received(received - stream.received).expect("room");
        let sendable = stream.sendable(fast);
        stream.on_sent(fast, sendable.end - sendable.start).expect("cached");
        stream.on_acked(fast, received).expect("sent");
        assert_eq!((stream.overtaken(), stream.base), (overtaken, base), "{received}");
    }
    assert!(stream.sendable(slow).is_empty() && stream.on_sent(slow, 1).is_err(), "no hole is sent");
}

#[test]
fn what_is_too_much_is_refused_and_changes_nothing() {
    let mut stream = Fanout::new(Mode::NodeToNode, 10);
    let branch = stream.add_branch(BranchStart::Start).expect("nothing is discarded");
    assert_eq!(stream.on_received(11), Err(FanoutError::Overrun { bytes: 11, intake: 10 }));
    stream.on_received(10).expect("room");
    assert_eq!(stream.on_sent(branch, 11), Err(FanoutError::Oversent { bytes: 11, sendable: 10 }));
    stream.on_sent(branch, 4).expect("cached");
    assert_eq!(stream.on_acked(branch, 5), Err(FanoutError::NotSent { offset: 5, sent: 4 }));
    assert_eq!((stream.received, stream.sent(branch), stream.acked(branch)), (10, Some(4), Some(0)));
}
