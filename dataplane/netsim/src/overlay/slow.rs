//! What one slow host does to the others: a cluster around the source, a stream, and a host that serves others and whose link
//! becomes slower than the stream.

use std::collections::BTreeSet;

use groupflow_protocol::ids::BitRate;
use groupflow_protocol::tree::{Demotion, HostId, NodeConfig, Policy, Slow};
use groupflow_protocol::Nanos;
use rand::seq::SliceRandom;
use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;
use serde::{Deserialize, Serialize};

use super::group::{seconds, Group, Kind, END};
use super::stream::Stream;
use super::world::SOURCE;

/// Hosts come so far apart; then there is as much time as this many need before the stream begins.
const BETWEEN_JOINS: Nanos = Nanos::from_millis(50);
const REST_JOINS: u64 = 100;
/// From a host to the network, one way, µs: all are nearer to the source than `Policy::threshold`.
const ACCESS_US: (u64, u64) = (500, 2500);
/// Children that hosts offer to serve.
const CAPACITY: (u16, u16) = (2, 4);
/// The source writes, and hosts are looked at.
const TICK: Nanos = Nanos::from_millis(10);
const LOOK: Nanos = Nanos::from_millis(100);
/// Looks between two that are told.
const TOLD: usize = 5;

/// What becomes of who is slow ([`Slow`]).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Mode {
    /// All wait for it.
    Wait,
    /// It is cut off.
    Isolate,
    /// It goes on later.
    Skip,
}

/// A study. Times in ns, rates in bit/s.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Spec {
    /// Hosts, without the source.
    pub hosts: usize,
    /// The stream's.
    pub rate_bps: u64,
    /// Of each host's link, up and down.
    pub link_bps: u64,
    /// Of the slow host's, once it is slow; `None`: it never is.
    pub slow_bps: Option<u64>,
    /// From when on, in the stream.
    pub slow_at_ns: u64,
    /// How long the stream is.
    pub stream_ns: u64,
    /// Bytes that a node holds.
    pub cache: u64,
    /// Who is moved down.
    pub demotion: Demotion,
    /// What becomes of who is slow.
    pub mode: Mode,
    /// Of everything random.
    pub seed: u64,
}

/// How far behind the source the last of each kind is, s; `None`: all are cut off, or there are none.
#[derive(Debug, Clone, Serialize)]
pub struct Look {
    /// In the stream, s.
    pub at: f64,
    /// Those that were below the slow host.
    pub below: Option<f64>,
    /// All others.
    pub others: Option<f64>,
    /// The slow host.
    pub slow: Option<f64>,
}

/// What came of it.
#[derive(Debug, Clone, Serialize)]
pub struct Outcome {
    /// Those that were below the slow host when it became slow.
    pub below: Group,
    /// The other children of its parent then.
    pub siblings: Group,
    /// All others but those below it: its siblings are among them.
    pub others: Group,
    /// The slow host itself.
    pub slow: Group,
    /// Edges from the source to it then.
    pub depth: usize,
    /// Its children then.
    pub children: usize,
    /// Orders to another parent since.
    pub moves: u32,
    /// Of them, to the slow host.
    pub slow_moves: u32,
    /// Children that the source had when the stream ended; it offers to serve 4.
    pub source_children: usize,
    /// Hosts that had more children then than they offered to serve, with the source.
    pub overloaded: usize,
    /// How often a host told that its new parent does not have what comes next any more, since.
    pub behind: usize,
    /// How often hosts told that data accumulate for a child, since.
    pub reports: usize,
    /// From when it was slow until the first that was about it, s.
    pub reported: Option<f64>,
    /// Bytes that the source could write.
    pub written: u64,
    /// Every half second.
    pub looks: Vec<Look>,
    /// Seconds that passed.
    pub simulated_s: f64,
}

struct Study<'a> {
    spec: &'a Spec,
    stream: Stream,
    began: Nanos,
    written: u64,
    looks: Vec<Look>,
}

/// Runs a study.
pub fn run(spec: &Spec) -> Outcome {
    let mut rng = ChaCha8Rng::seed_from_u64(spec.seed ^ 0x736c_6f77);
    let stream = gather(spec, &mut rng);
    let began = stream.now;
    let mut study = Study { spec, stream, began, written: 0, looks: Vec::new() };
    let slow_at = Nanos(spec.slow_at_ns.min(spec.stream_ns));
    study.go_on(slow_at, &mut []);
    let slow = study.choose(&mut rng);
    let below: BTreeSet<HostId> = study.all().filter(|&host| study.is_below(host, slow)).collect();
    let parent = study.stream.parent(slow);
    let others: Vec<HostId> = study.all().filter(|host| *host != slow && !below.contains(host)).collect();
    let siblings = others.iter().copied().filter(|&host| study.stream.parent(host) == parent);
    let kinds = [below.into_iter().collect(), siblings.collect(), others, vec![slow]];
    let mut kinds = kinds.map(|hosts| Kind::begin(hosts, &study.stream));
    let children = study.children(slow);
    let depth = std::iter::successors(Some(slow), |&at| study.stream.parent(at)).count() - 1;
    let moves = |study: &Study<'_>| study.all().map(|host| study.stream.hosts[&host].moves).sum::<u32>();
    let (moves_before, reports, behind) = (moves(&study), study.stream.reports.len(), study.stream.behind);
    let slow_moves = study.stream.hosts[&slow].moves;
    if let Some(rate) = spec.slow_bps {
        study.stream.wires.set_rate(slow, BitRate(rate));
    }
    let end = Nanos(spec.stream_ns);
    study.go_on(end.saturating_sub(END).max(slow_at), &mut kinds);
    kinds.iter_mut().for_each(|kind| kind.settle(&study.stream));
    study.go_on(end, &mut kinds);
    let reports = &study.stream.reports[reports..];
    let first = reports.iter().find(|(_, _, child)| *child == slow).map(|&(when, ..)| when);
    let [below, siblings, others, own] =
        kinds.map(|kind| kind.end(&study.stream, BitRate(spec.rate_bps), (slow_at, end)));
    Outcome {
        below,
        siblings,
        others,
        slow: own,
        depth,
        children,
        moves: moves(&study) - moves_before,
        slow_moves: study.stream.hosts[&slow].moves - slow_moves,
        source_children: study.children(SOURCE),
        overloaded: study.overloaded(),
        behind: study.stream.behind - behind,
        reports: reports.len(),
        reported: first.map(|when| seconds(when - began - slow_at)),
        written: study.written,
        looks: study.looks,
        simulated_s: seconds(study.stream.now),
    }
}

/// The hosts come, and have their places.
fn gather(spec: &Spec, rng: &mut ChaCha8Rng) -> Stream {
    let slow = match spec.mode {
        Mode::Wait => Slow::Wait,
        Mode::Isolate => Slow::Isolate,
        Mode::Skip => Slow::Skip { align: 1 },
    };
    let base = NodeConfig::new(SOURCE);
    // As `gfagent` makes it of its --cache.
    let config = NodeConfig {
        slow,
        capacity: spec.cache,
        history: spec.cache / 2,
        window: base.window.min(spec.cache / 4),
        slow_after: base.slow_after.min(spec.cache / 4),
        max_children: 64,
        ..base
    };
    let policy = Policy { demotion: spec.demotion, ..Policy::default() };
    let link = |access| (Nanos::from_micros(access), BitRate(spec.link_bps));
    let mut stream = Stream::new(policy, config, link(ACCESS_US.0), CAPACITY.1, spec.seed);
    for _ in 0..spec.hosts {
        let access = rng.gen_range(ACCESS_US.0..=ACCESS_US.1);
        stream.join(link(access), rng.gen_range(CAPACITY.0..=CAPACITY.1));
        let next = stream.now + BETWEEN_JOINS;
        stream.run_until(next);
    }
    for _ in 0..REST_JOINS {
        let next = stream.now + BETWEEN_JOINS;
        stream.run_until(next);
    }
    stream
}

impl Study<'_> {
    /// All but the source.
    fn all(&self) -> impl Iterator<Item = HostId> + '_ {
        self.stream.hosts.keys().copied().filter(|&host| host != SOURCE)
    }

    fn children(&self, host: HostId) -> usize {
        self.all().filter(|&child| self.stream.parent(child) == Some(host)).count()
    }

    fn overloaded(&self) -> usize {
        let offers = self.stream.hosts.iter().map(|(&host, found)| (host, usize::from(found.capacity)));
        offers.filter(|&(host, offer)| self.children(host) > offer).count()
    }

    /// One that serves at least two others, and that is not its parent's only child; or any that serves one.
    fn choose(&self, rng: &mut ChaCha8Rng) -> HostId {
        let shares =
            |&host: &HostId| self.stream.parent(host).is_some_and(|parent| self.children(parent) > 1);
        let fit: Vec<HostId> = self.all().filter(|&host| self.children(host) > 1).filter(shares).collect();
        let any = || self.all().find(|&host| self.children(host) > 0).unwrap_or(SOURCE);
        fit.choose(rng).copied().unwrap_or_else(any)
    }

    fn is_below(&self, host: HostId, top: HostId) -> bool {
        let mut above = std::iter::successors(self.stream.parent(host), |&at| self.stream.parent(at));
        above.any(|at| at == top)
    }

    /// Until then, in the stream.
    fn go_on(&mut self, until: Nanos, kinds: &mut [Kind]) {
        let mut at = self.stream.now - self.began;
        while at < until {
            let due = BitRate(self.spec.rate_bps).bytes_in(at).saturating_sub(self.written);
            // A source that has no room takes what it can, and the rest later.
            let bytes = vec![0; usize::try_from(due).unwrap_or(usize::MAX)];
            self.written += self.stream.write(&bytes) as u64;
            at = (at + TICK).min(until);
            self.stream.run_until(self.began + at);
            if at.0 % LOOK.0 == 0 {
                self.look(at, kinds);
            }
        }
    }

    fn look(&mut self, at: Nanos, kinds: &mut [Kind]) {
        let rate = BitRate(self.spec.rate_bps);
        let last: Vec<Option<Nanos>> =
            kinds.iter_mut().map(|kind| kind.look(&self.stream, rate, at)).collect();
        if let &[below, _, others, slow] = last.as_slice() {
            if at.0 % (TOLD as u64 * LOOK.0) == 0 {
                let told = |lag: Option<Nanos>| lag.map(seconds);
                let (below, others, slow) = (told(below), told(others), told(slow));
                self.looks.push(Look { at: seconds(at), below, others, slow });
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn spec(demotion: Demotion, mode: Mode, seed: u64) -> Spec {
        Spec {
            hosts: 16,
            rate_bps: 4_000_000,
            link_bps: 20_000_000,
            slow_bps: Some(1_000_000),
            slow_at_ns: 5_000_000_000,
            stream_ns: 40_000_000_000,
            cache: 4 << 20,
            demotion,
            mode,
            seed,
        }
    }

    #[test]
    fn a_study_repeats_and_seeds_differ() {
        let json = |spec: &Spec| serde_json::to_string(&run(spec)).expect("JSON");
        let short = Spec { stream_ns: 15_000_000_000, ..spec(Demotion::Slowest, Mode::Skip, 1) };
        assert_eq!(json(&short), json(&short));
        assert_ne!(json(&short), json(&Spec { seed: 2, ..short.clone() }));
    }

    #[test]
    fn where_nobody_is_slow_all_have_the_streams_rate() {
        for mode in [Mode::Wait, Mode::Isolate, Mode::Skip] {
            let outcome = run(&Spec { slow_bps: None, ..spec(Demotion::Slowest, mode, 1) });
            for group in [&outcome.below, &outcome.others, &outcome.slow] {
                assert!(group.hosts > 0 && group.goodput_least > 3.96e6 && group.lag_most < 0.2, "{group:?}");
            }
            assert_eq!((outcome.moves, outcome.reports, outcome.source_children), (0, 0, 4));
        }
    }

    /// Those below it have less than it, and nobody else notices.
    #[test]
    fn a_slow_host_that_is_not_moved_holds_up_those_below_it_alone() {
        let outcome = run(&spec(Demotion::Never, Mode::Skip, 1));
        assert!(outcome.below.goodput_least > 0.0 && outcome.below.goodput_median < 1e6, "{outcome:?}");
        assert!(outcome.below.lag_most > 10.0 && outcome.below.caught_up.is_none(), "{outcome:?}");
        assert!(outcome.others.goodput_least > 3.96e6 && outcome.others.lag_most < 0.2, "{outcome:?}");
        assert!(outcome.slow.goodput_least < 1e6 && outcome.slow.skipped > 0, "{outcome:?}");
        assert!(outcome.moves == 0 && outcome.reported.is_some());
    }

    #[test]
    fn those_below_a_slow_host_that_is_moved_down_lose_nothing() {
        for seed in 1..=2 {
            let outcome = run(&spec(Demotion::Slowest, Mode::Skip, seed));
            for group in [&outcome.below, &outcome.others] {
                assert!(group.end_least > 3.96e6 && group.skipped == 0 && group.cut_off == 0, "{group:?}");
                assert!(group.caught_up.is_some_and(|after| after < 10.0), "{group:?}");
            }
            assert!(outcome.slow_moves > 0 && outcome.slow.skipped > 0, "{outcome:?}");
        }
    }

    /// What is waited for sets the pace, wherever it is.
    #[test]
    fn a_host_that_is_waited_for_holds_up_all() {
        let outcome = run(&spec(Demotion::Slowest, Mode::Wait, 1));
        assert!(outcome.others.end_least < 1e6 && outcome.others.lag_end > 10.0, "{outcome:?}");
        let lost = [&outcome.below, &outcome.others, &outcome.slow]
            .map(|group| group.skipped + group.cut_off as u64);
        assert_eq!(lost, [0; 3]);
    }
}
