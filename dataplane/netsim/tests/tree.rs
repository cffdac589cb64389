//! Clustered trees: the nodes and the dispatchers that `gfagent` and the controller run, over links with
//! rates, and TCP.

use groupflow_base::{BitRate, Nanos};
use groupflow_netsim::spec::{TreeMemberSpec, TreeSourceSpec, TreeSpec};
use groupflow_netsim::{Network, Sample, TreeSample};
use groupflow_tree::machine::{Demotion, Policy, Slow};

use crate::common::{count, MemoryRecorder, NetworkBuilder};

const MS: u64 = 1_000_000;
const SECOND: u64 = 1000 * MS;
/// Hosts join in the first 4 s, then the stream begins; a host becomes slow 5 s later.
const STREAM: u64 = 4 * SECOND;
const SLOW: u64 = STREAM + 5 * SECOND;
const RATE: u64 = 4_000_000;
const HOSTS: usize = 12;
/// Packets that wait before a link, and packets of a connection under way: so few that no thin flow loses
/// packets before a slow link, and no host takes one behind it for dead.
const QUEUE: u32 = 100;
const WINDOW: u32 = 22;

fn host(number: usize) -> String {
    format!("h{number}")
}

/// A star of hosts, of which the first is the source, with the dispatchers at a host of their own.
fn star(mode: Slow, demotion: Demotion, seconds: u64, bytes: Option<u64>) -> NetworkBuilder {
    let mut lab = NetworkBuilder::new(STREAM + seconds * SECOND, 100 * MS);
    lab.fifo("core");
    lab.host("d");
    lab.link("d", "core", Some(100_000_000), MS, 100);
    let member = |number: usize| TreeMemberSpec {
        name: host(number),
        host: host(number),
        children: if number == 0 { 4 } else { 2 + (number % 3) as u16 },
        start_ns: 50 * MS * number as u64,
        source: (number == 0).then_some(TreeSourceSpec { start_ns: STREAM, rate_bps: RATE, bytes }),
    };
    for number in 0..=HOSTS {
        lab.host(&host(number));
        let delay = if number == 0 { MS / 2 } else { (500 + number as u64 * 997 % 2000) * 1000 };
        lab.link(&host(number), "core", Some(20_000_000), delay, QUEUE);
    }
    lab.spec.trees.push(TreeSpec {
        name: "tree".into(),
        dispatchers: "d".into(),
        port: 7400,
        policy: Policy { demotion, review: Nanos::ZERO, ..Policy::default() },
        cache_bytes: 4 << 20,
        slow: mode,
        window_packets: WINDOW,
        one_by_one: false,
        members: (0..=HOSTS).map(member).collect(),
    });
    lab
}

/// The place of a host, and the bytes that its reader has.
fn at(sample: &Sample, number: usize) -> (TreeSample, u64) {
    let flow = &sample.flows[1 + number];
    (flow.tree.expect("a host of the tree"), flow.delivered_bytes.unwrap_or(0))
}

fn parent(sample: &Sample, number: usize) -> Option<usize> {
    at(sample, number).0.parent.map(|parent| parent as usize)
}

fn run_until(network: &mut Network, time: u64) -> Sample {
    let mut recorder = MemoryRecorder::default();
    network.run_until(Nanos(time), &mut recorder).expect("it runs");
    network.sample()
}

/// The hosts of a run in which one becomes slow: those below it, the others, and the slow one.
struct SlowRun {
    before: Sample,
    after: Sample,
    below: Vec<usize>,
    others: Vec<usize>,
    slow: usize,
}

impl SlowRun {
    /// Makes the host slow that serves most, but for the source.
    fn new(lab: &NetworkBuilder) -> SlowRun {
        let mut network = lab.network();
        let before = run_until(&mut network, SLOW);
        let children = |of: usize| (1..=HOSTS).filter(|&n| parent(&before, n) == Some(of)).count();
        let slow = (1..=HOSTS).max_by_key(|&number| children(number)).expect("hosts");
        let is_below = |number: &usize| {
            std::iter::successors(parent(&before, *number), |&at| parent(&before, at)).any(|at| at == slow)
        };
        let (below, others) = (1..=HOSTS).filter(|&number| number != slow).partition(is_below);
        let ends = (network.node(&host(slow)).expect("a host"), network.node("core").expect("a router"));
        network.set_link_rate(ends.0, ends.1, BitRate(RATE / 4)).expect("a link");
        let end = lab.spec.duration_ns;
        let after = run_until(&mut network, end);
        SlowRun { before, after, below, others, slow }
    }

    /// The least and the median mean rate since the host is slow, bit/s.
    fn rates(&self, hosts: &[usize]) -> (f64, f64) {
        let span = (self.after.time - self.before.time).0 as f64 / SECOND as f64;
        let rate =
            |&number: &usize| (at(&self.after, number).1 - at(&self.before, number).1) as f64 * 8.0 / span;
        let mut rates: Vec<f64> = hosts.iter().map(rate).collect();
        rates.sort_by(f64::total_cmp);
        (rates[0], rates[rates.len() / 2])
    }

    fn lost(&self, hosts: &[usize]) -> u64 {
        hosts.iter().map(|&number| at(&self.after, number).0).map(|t| t.skipped + u64::from(t.cut_off)).sum()
    }
}

#[test]
fn every_host_has_every_byte() {
    let bytes = 1_000_003;
    let last = star(Slow::Wait, Demotion::Slowest, 20, Some(bytes)).traced().1;
    for number in 1..=HOSTS {
        let (place, read) = at(&last, number);
        assert!(place.complete && place.joined && read == bytes, "{number}: {place:?}, {read}");
    }
    assert_eq!(count(&last, "malformed"), 0);
    assert!((1..=HOSTS).filter(|&number| parent(&last, number) == Some(0)).count() <= 4);
}

#[test]
fn a_run_repeats_and_seeds_differ() {
    let mut lab = star(Slow::Skip, Demotion::Slowest, 3, None);
    let first = lab.traced();
    let again = lab.traced();
    assert!(first.0.samples == again.0.samples && first.0.trace == again.0.trace);
    lab.spec.seed = 2;
    assert!(first.0.trace != lab.traced().0.trace);
}

/// Hosts below it receive no more than it in the median, and no other host notices.
#[test]
fn a_slow_host_that_is_not_moved_holds_up_those_below_it_alone() {
    let run = SlowRun::new(&star(Slow::Skip, Demotion::Never, 25, None));
    assert!(!run.below.is_empty() && run.rates(&run.below).1 < 1.05e6, "{:?}", run.rates(&run.below));
    assert!(run.rates(&run.others).0 > 3.96e6 && run.lost(&run.others) == 0, "{:?}", run.rates(&run.others));
    assert!(run.rates(&[run.slow]).1 < 1.05e6 && run.lost(&[run.slow]) > 0);
}

#[test]
fn those_below_a_slow_host_that_is_moved_down_lose_nothing() {
    let run = SlowRun::new(&star(Slow::Skip, Demotion::Slowest, 25, None));
    for hosts in [&run.below, &run.others] {
        assert!(run.rates(hosts).0 > 3.9e6 && run.lost(hosts) == 0, "{:?}", run.rates(hosts));
    }
    let (slow, _) = at(&run.after, run.slow);
    assert!(slow.moves > 0 && slow.skipped > 0, "{slow:?}");
    assert!((1..=HOSTS).map(|number| at(&run.after, number).0.backlogs).sum::<u64>() > 0);
}

/// With its own stream, those of the hosts below it are broken off: nobody has their next bytes any more.
#[test]
fn a_slow_host_that_is_isolated_and_not_moved_takes_those_below_it_along() {
    let run = SlowRun::new(&star(Slow::Isolate, Demotion::Never, 35, None));
    let is_cut_off = |&number: &usize| at(&run.after, number).0.cut_off;
    assert!(is_cut_off(&run.slow) && !run.below.is_empty() && run.below.iter().all(is_cut_off));
    assert!(run.rates(&run.others).0 > 3.96e6 && run.lost(&run.others) == 0, "{:?}", run.rates(&run.others));
}

/// A host that others wait for sets the pace, wherever it is.
#[test]
fn a_host_that_is_waited_for_holds_up_all() {
    let run = SlowRun::new(&star(Slow::Wait, Demotion::Slowest, 40, None));
    assert!(run.rates(&run.others).1 < 2.5e6, "{:?}", run.rates(&run.others));
    assert_eq!(run.lost(&(1..=HOSTS).collect::<Vec<_>>()), 0);
}

/// A host whose link is down for five seconds connects again, to the dispatchers and to a parent.
#[test]
fn a_host_that_was_away_comes_back() {
    let mut lab = star(Slow::Skip, Demotion::Slowest, 20, None);
    let away = (STREAM + 2 * SECOND, STREAM + 7 * SECOND);
    lab.spec.links[1 + HOSTS].down_ns.push(away);
    let mut network = lab.network();
    let gone = run_until(&mut network, away.1);
    assert!(parent(&gone, HOSTS).is_none());
    let back = run_until(&mut network, lab.spec.duration_ns);
    let (place, read) = at(&back, HOSTS);
    assert!(place.parent.is_some() && !place.cut_off, "{place:?}");
    assert!(read + place.skipped > RATE / 8 * 19, "{read} and {place:?}");
    for number in 1..HOSTS {
        assert!(at(&back, number).1 > RATE / 8 * 19 && at(&back, number).0.skipped == 0, "{number}");
    }
    assert_eq!(count(&back, "malformed"), 0);
}

#[test]
fn hosts_that_serve_one_child_after_the_other_are_slower() {
    let mut lab = star(Slow::Wait, Demotion::Never, 8, None);
    let tree = &mut lab.spec.trees[0];
    tree.members[0].source.as_mut().expect("the source").rate_bps = 40_000_000;
    let least = |lab: &NetworkBuilder| {
        let last = lab.traced().1;
        (1..=HOSTS).map(|number| at(&last, number).1).min().expect("hosts")
    };
    let together = least(&lab);
    lab.spec.trees[0].one_by_one = true;
    let one_by_one = least(&lab);
    assert!(one_by_one > 0 && one_by_one * 5 < together * 4, "{one_by_one} of {together}");
}

#[test]
fn an_impossible_tree_is_refused() {
    type Change = fn(&mut TreeSpec);
    let refusal = |change: Change| {
        let mut lab = star(Slow::Wait, Demotion::Never, 1, None);
        change(&mut lab.spec.trees[0]);
        Network::new(lab.spec.clone(), &[]).expect_err("refused").to_string()
    };
    let cases: [(Change, &str); 5] = [
        (|tree| tree.dispatchers = "x".into(), "trees.tree.dispatchers: unknown host \"x\""),
        (|tree| tree.members[1].host = "core".into(), "trees.tree.members: unknown host \"core\""),
        (
            |tree| tree.members[1].host = "h2".into(),
            "trees.tree.members: \"h2\" has a port already that is \"h1\"'s",
        ),
        (|tree| tree.window_packets = 0, "trees.tree.window_packets: must be between 1 and 100000"),
        (|tree| tree.members[0].source = None, "trees.tree.members: must have one source"),
    ];
    for (change, expected) in cases {
        assert_eq!(refusal(change), expected);
    }
}
