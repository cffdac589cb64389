//! Children and readers that are slow: when they are reported, waited for, and cut off.

use groupflow_base::Nanos;
use groupflow_tree::machine::*;

use super::one_node::*;

/// The child gives signs of life, and takes no byte: its sibling gets the bytes that the cache holds, and
/// goes on when the child is cut off.
#[test]
fn a_child_that_reads_nothing_is_cut_off_after_a_while() {
    let mut node = source(Slow::Wait, 0);
    let (good, bad) =
        [GOOD, BAD].map(|c| connect(&mut node, Nanos::ZERO, &hello(c, 1, StartAt::Offset(0)))).into();
    let (mut taken, mut refused) = (0, None);
    for step in 0..200 {
        let now = Nanos::from_millis(200 * step);
        say(&mut node, now, bad, &TreeFrame::Alive);
        say(&mut node, now, good, &TreeFrame::Alive);
        node.write(now, &[1; 1000]);
        for frame in hear(&mut node, now, good) {
            if let TreeFrame::Data { offset, bytes } = frame {
                taken = offset + bytes.len() as u64;
                say(&mut node, now, good, &TreeFrame::Taken { taken, needed: taken });
            }
        }
        if refused.is_none() && hear(&mut node, now, bad).contains(&TreeFrame::Refused(Reason::Stalled)) {
            // The bytes that the cache holds, and those that came just now.
            assert!((20_000..=21_000).contains(&taken), "{taken}");
            refused = Some(now);
        }
        assert!(node.held() <= 20_000);
        node.on_time(now);
    }
    let stall = config().stall;
    let refused = refused.expect("refused");
    assert!(refused >= stall + stall && refused <= stall + stall + Nanos::from_millis(1000), "{refused:?}");
    assert!(taken > 60_000, "{taken}");
    assert_eq!(node.children().collect::<Vec<_>>(), [GOOD]);
}

#[test]
fn a_reader_that_takes_nothing_is_cut_off_and_those_below_go_on() {
    let (mut node, conn) = served();
    expect(&mut node, GOOD);
    let child = connect(&mut node, Nanos::ZERO, &hello(GOOD, 1, StartAt::Offset(0)));
    let (mut sent, mut got) = (0_u64, 0_u64);
    let mut limit = 8_000;
    for step in 0..200 {
        let now = Nanos::from_millis(100 * step);
        if sent + 1000 <= limit {
            say(&mut node, now, conn, &TreeFrame::Data { offset: sent, bytes: vec![1; 1000] });
            sent += 1000;
        }
        say(&mut node, now, conn, &TreeFrame::Alive);
        say(&mut node, now, child, &TreeFrame::Alive);
        for frame in hear(&mut node, now, child) {
            if let TreeFrame::Data { offset, bytes } = frame {
                got = offset + bytes.len() as u64;
                say(&mut node, now, child, &TreeFrame::Taken { taken: got, needed: got });
            }
        }
        for frame in hear(&mut node, now, conn) {
            if let TreeFrame::Taken { taken, .. } = frame {
                limit = taken + 8_000;
            }
        }
        if now < config().stall {
            assert!(got <= 20_000 && node.failed().is_none());
        }
        assert!(node.held() <= 28_000);
        node.on_time(now);
    }
    assert!(got > 50_000, "{got}");
    assert_eq!((node.failed(), node.read(Nanos::ZERO, 10)), (Some(0), Some(ReadItem::Broken { at: 0 })));
    assert_eq!(node.parent(), Some(HostId(0)));
    let end = Nanos::from_millis(100 * 200);
    say(&mut node, end, conn, &TreeFrame::End { length: sent });
    assert!(!node.is_complete(), "who is below has not all");
    let frames = hear(&mut node, end, child);
    assert_eq!(frames.last(), Some(&TreeFrame::End { length: sent }));
    say(&mut node, end, child, &TreeFrame::Taken { taken: sent, needed: sent });
    say(&mut node, end, child, &TreeFrame::Complete);
    assert!(node.is_complete());
}

#[test]
fn a_child_that_lags_for_a_second_is_reported_until_it_has_caught_up() {
    let mut node = source(Slow::Isolate, 0);
    let mut now = Nanos::ZERO;
    let [good, bad] = [GOOD, BAD].map(|child| connect(&mut node, now, &hello(child, 1, StartAt::Now)));
    let mut reports = Vec::new();
    for step in 1..=60_u64 {
        now = Nanos::from_millis(100 * step);
        node.write(now, &[1; 10]);
        // The sockets of both take it; only one of them says to have it, the other does from the fourth
        // second on.
        hear(&mut node, now, good);
        hear(&mut node, now, bad);
        let all = TreeFrame::Taken { taken: 10 * step, needed: 10 * step };
        say(&mut node, now, good, &all);
        say(&mut node, now, bad, if step < 40 { &TreeFrame::Alive } else { &all });
        let slow = NodeAction::Report(FromHost::Backlog { child: BAD });
        let backlog = |action: &NodeAction| matches!(action, NodeAction::Report(FromHost::Backlog { .. }));
        for report in actions(&mut node).into_iter().filter(backlog) {
            assert_eq!(report, slow);
            reports.push(step);
        }
    }
    assert_eq!(reports, [11, 21, 31]);
}

/// A source that reads a disk writes faster than any child takes: without this rule it would cut off all.
#[test]
fn a_source_that_cuts_off_slow_children_waits_for_the_fastest() {
    let mut now = Nanos::ZERO;
    let mut node = source(Slow::Isolate, 0);
    let [good, bad] = [GOOD, BAD].map(|child| connect(&mut node, now, &hello(child, 1, StartAt::Offset(0))));
    let capacity = config().capacity;
    assert_eq!(node.write(now, &vec![1; 30_000]) as u64, capacity / 2);
    assert_eq!(node.write(now, &[1; 10]), 0, "nobody has taken anything");
    let mut has = 0;
    while has < 10 * capacity {
        now += Nanos::from_millis(10);
        hear(&mut node, now, good);
        has += 1000;
        say(&mut node, now, good, &TreeFrame::Taken { taken: has, needed: has });
        let before = node.children().count();
        let taken = node.write(now, &vec![1; 30_000]) as u64;
        assert!(taken <= capacity);
        assert!(before == 2 || taken > 0, "only the fastest is waited for");
    }
    assert_eq!(node.children().collect::<Vec<_>>(), [GOOD]);
    assert_eq!(hear(&mut node, now, bad).last(), Some(&TreeFrame::Refused(Reason::Overtaken)));
}

/// The new host begins with the bytes that the fastest child gets next: later ones are for both.
#[test]
fn a_host_that_joins_a_waiting_source_makes_no_host_slow() {
    let mut now = Nanos::ZERO;
    let mut node = source(Slow::Isolate, 0);
    let good = connect(&mut node, now, &hello(GOOD, 1, StartAt::Offset(0)));
    for step in 1..=100 {
        now += Nanos::from_millis(10);
        while node.write(now, &[1; 30_000]) > 0 {}
        hear(&mut node, now, good);
        let has = 1000 * step;
        say(&mut node, now, good, &TreeFrame::Taken { taken: has, needed: has });
        if step == 50 {
            let late = connect(&mut node, now, &hello(BAD, 1, StartAt::Now));
            assert_eq!(hear(&mut node, now, late).first(), Some(&TreeFrame::Welcome { begin: has }));
        }
        assert!(node.children().any(|child| child == GOOD), "{step}");
    }
}

/// An equal that pauses for a while is behind, and the source holds half of its cache for it.
#[test]
fn a_child_that_pauses_behind_the_fastest_is_not_cut_off_at_once() {
    for (pause, kept) in [(5_000, true), (8_000, true), (19_500, false)] {
        let mut now = Nanos::ZERO;
        let mut node = source(Slow::Isolate, 0);
        let [good, bad] =
            [GOOD, BAD].map(|child| connect(&mut node, now, &hello(child, 1, StartAt::Offset(0))));
        let mut has = [0, 0];
        for step in 0..200 {
            now += Nanos::from_millis(10);
            while node.write(now, &[1; 30_000]) > 0 {}
            let pauses = (100..100 + pause / 500).contains(&step);
            for (n, conn) in [good, bad].into_iter().enumerate() {
                if node.children().count() == 2 || n == 0 {
                    hear(&mut node, now, conn);
                    has[n] += if n == 1 && pauses { 0 } else { 500 };
                    say(&mut node, now, conn, &TreeFrame::Taken { taken: has[n], needed: has[n] });
                }
            }
        }
        assert_eq!(node.children().count() == 2, kept, "{pause}");
    }
}

/// The child came from a slow parent, which held up the bytes that it lacks.
#[test]
fn a_child_that_catches_up_is_not_reported() {
    // Bytes that the child takes in each 100 ms, and the times at which it is reported.
    for (takes, expected) in [(20, vec![]), (10, vec![110, 120, 130, 140]), (5, vec![110, 120, 130, 140])] {
        let mut node = source(Slow::Wait, 0);
        let good = connect(&mut node, Nanos::ZERO, &hello(GOOD, 1, StartAt::Now));
        let (mut late, mut reports) = (None, Vec::new());
        for step in 1..=140_u64 {
            let now = Nanos::from_millis(100 * step);
            node.write(now, &[1; 10]);
            hear(&mut node, now, good);
            say(&mut node, now, good, &TreeFrame::Taken { taken: 10 * step, needed: 0 });
            if step == 100 {
                late = Some(connect(&mut node, now, &hello(BAD, 1, StartAt::Offset(0))));
            }
            if let Some(late) = late {
                hear(&mut node, now, late);
                let taken = (takes * (step - 99)).min(10 * step);
                say(&mut node, now, late, &TreeFrame::Taken { taken, needed: 0 });
            }
            let slow = NodeAction::Report(FromHost::Backlog { child: BAD });
            reports.extend(actions(&mut node).contains(&slow).then_some(step));
        }
        assert_eq!(reports, expected, "{takes}");
    }
}

/// A stream that may be skipped is read by whole records, however its bytes come; it may end within one.
#[test]
fn a_reader_gets_whole_records() {
    let (mut node, conn) = served_with(NodeConfig { slow: Slow::Skip, align: 100, ..config() });
    let mut read = |offset, count, most| {
        say(&mut node, Nanos::ZERO, conn, &TreeFrame::Data { offset, bytes: vec![1; count] });
        let read = |node: &mut TreeNode| match node.read(Nanos::ZERO, most) {
            Some(ReadItem::Bytes(bytes)) => Some(bytes.len()),
            other => panic!("{other:?}"),
        };
        let counts = |node: &mut TreeNode| {
            let more = |node: &TreeNode| node.position() + 100 <= node.received();
            std::iter::from_fn(|| more(node).then(|| read(node)).flatten()).collect::<Vec<usize>>()
        };
        (counts(&mut node), node.read(Nanos::ZERO, most))
    };
    assert_eq!(read(0, 99, 1000), (vec![], None));
    assert_eq!(read(99, 151, 1000), (vec![200], None));
    assert_eq!(read(250, 350, 150), (vec![100; 4], None));
    assert_eq!(read(600, 130, 10), (vec![100], None));
    // A record that a skip cuts is not handed on: its first 30 bytes came, the others never do.
    say(&mut node, Nanos::ZERO, conn, &TreeFrame::Skip { to: 900 });
    assert_eq!(node.read(Nanos::ZERO, 1000), Some(ReadItem::Skipped { to: 900 }));
    say(&mut node, Nanos::ZERO, conn, &TreeFrame::Data { offset: 900, bytes: vec![2; 130] });
    assert_eq!(node.read(Nanos::ZERO, 1000), Some(ReadItem::Bytes(vec![2; 100])));
    assert_eq!(node.read(Nanos::ZERO, 1000), None);
    say(&mut node, Nanos::ZERO, conn, &TreeFrame::End { length: 1030 });
    assert_eq!(node.read(Nanos::ZERO, 1000), Some(ReadItem::Bytes(vec![2; 30])));
    assert_eq!(node.read(Nanos::ZERO, 1000), Some(ReadItem::End));
}
