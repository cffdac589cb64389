use groupflow_tree::study::large::{run, LargeStudySpec};

fn spec() -> LargeStudySpec {
    LargeStudySpec {
        hosts: 400,
        joins_per_s: 100,
        transit: 4,
        domains: 3,
        routers: 4,
        threshold_ns: 5_000_000,
        churn_permille: 100,
        churn_ns: 30_000_000_000,
        silence_ns: 500_000_000,
        seed: 1,
    }
}

/// The stream reaches all hosts, with fewer copies than chains and unicast have, and with less delay than
/// a chain.
#[test]
fn a_tree_reaches_all_and_loads_links_less_than_chains_and_unicast() {
    let outcome = run(&spec());
    assert_eq!(outcome.tree.reached, 400);
    assert_eq!((outcome.multicast.stress_max, outcome.multicast.stretch_mean), (1, 1.0));
    assert!(outcome.tree.copies * 2 < outcome.chain.copies.min(outcome.unicast.copies), "{outcome:?}");
    assert!(outcome.tree.stretch_mean < outcome.chain.stretch_mean / 10.0);
    assert!(outcome.largest <= 64);
    let churn = outcome.churn.expect("churn");
    assert!(churn.gone >= 15 && churn.cut_off == 0, "{churn:?}");
}

#[test]
fn a_study_repeats_and_seeds_differ() {
    let json = |spec: &LargeStudySpec| serde_json::to_string(&run(spec)).expect("JSON");
    let small = LargeStudySpec { hosts: 60, churn_ns: 5_000_000_000, ..spec() };
    assert_eq!(json(&small), json(&small));
    assert_ne!(json(&small), json(&LargeStudySpec { seed: 2, ..small.clone() }));
}
