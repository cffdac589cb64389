use groupflow_tree::machine::{Demotion, Slow};
use groupflow_tree::study::slow::{run, SlowStudySpec};

fn spec(demotion: Demotion, mode: Slow, seed: u64) -> SlowStudySpec {
    SlowStudySpec {
        hosts: 16,
        rate_bps: 4_000_000,
        link_bps: 20_000_000,
        slow_bps: Some(1_000_000),
        slow_at_ns: 5_000_000_000,
        stream_ns: 40_000_000_000,
        cache: 4 << 20,
        demotion,
        mode,
        children: None,
        access_ns: None,
        one_by_one: false,
        seed,
    }
}

#[test]
fn a_study_repeats_and_seeds_differ() {
    let json = |spec: &SlowStudySpec| serde_json::to_string(&run(spec)).expect("JSON");
    let short = SlowStudySpec { stream_ns: 15_000_000_000, ..spec(Demotion::Slowest, Slow::Skip, 1) };
    assert_eq!(json(&short), json(&short));
    assert_ne!(json(&short), json(&SlowStudySpec { seed: 2, ..short.clone() }));
}

#[test]
fn without_a_slow_host_all_have_the_streams_rate() {
    for mode in [Slow::Wait, Slow::Isolate, Slow::Skip] {
        let outcome = run(&SlowStudySpec { slow_bps: None, ..spec(Demotion::Slowest, mode, 1) });
        for group in [&outcome.below, &outcome.others, &outcome.slow] {
            assert!(group.hosts > 0 && group.goodput_least > 3.96e6 && group.lag_most < 0.2, "{group:?}");
        }
        assert_eq!((outcome.moves, outcome.reports, outcome.source_children), (0, 0, 4));
    }
}

/// The hosts below it receive less than it, and no other host notices.
#[test]
fn a_slow_host_that_is_not_moved_holds_up_those_below_it_alone() {
    let outcome = run(&spec(Demotion::Never, Slow::Skip, 1));
    assert!(outcome.below.goodput_least > 0.0 && outcome.below.goodput_median < 1e6, "{outcome:?}");
    assert!(outcome.below.lag_most > 10.0 && outcome.below.caught_up.is_none(), "{outcome:?}");
    assert!(outcome.others.goodput_least > 3.96e6 && outcome.others.lag_most < 0.2, "{outcome:?}");
    assert!(outcome.slow.goodput_least < 1e6 && outcome.slow.skipped > 0, "{outcome:?}");
    assert!(outcome.moves == 0 && outcome.reported.is_some());
}

#[test]
fn those_below_a_slow_host_that_is_moved_down_lose_nothing() {
    for seed in 1..=2 {
        let outcome = run(&spec(Demotion::Slowest, Slow::Skip, seed));
        for group in [&outcome.below, &outcome.others] {
            assert!(group.end_least > 3.96e6 && group.skipped == 0 && group.cut_off == 0, "{group:?}");
            assert!(group.caught_up.is_some_and(|after| after < 10.0), "{group:?}");
        }
        assert!(outcome.slow_moves > 0 && outcome.slow.skipped > 0, "{outcome:?}");
    }
}

/// A host that others wait for sets the pace, wherever it is.
#[test]
fn a_host_that_is_waited_for_holds_up_all() {
    let outcome = run(&spec(Demotion::Slowest, Slow::Wait, 1));
    assert!(outcome.others.end_least < 1e6 && outcome.others.lag_end > 10.0, "{outcome:?}");
    let lost =
        [&outcome.below, &outcome.others, &outcome.slow].map(|group| group.skipped + group.cut_off as u64);
    assert_eq!(lost, [0; 3]);
}
