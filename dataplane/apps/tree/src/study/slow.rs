//! The effect of one slow host on the others. The hosts are a cluster around the source, or many clusters
//! behind the routers of a transit-stub network; the link of a host that serves others becomes slower than
//! the stream.

use std::collections::BTreeSet;

use groupflow_base::{BitRate, Nanos};
use rand::seq::SliceRandom;
use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;
use serde::{Deserialize, Serialize};

use super::group::{seconds, GroupGoodput, Kind, END};
use super::routers::Routers;
use super::stream_tree::{StreamTree, SOURCE};
use super::wires::{HostAttachment, Wires};
use crate::machine::{Demotion, HostId, NodeConfig, Policy, Slow};

/// Time between two joins; then the stream waits for as long as all joins took.
const BETWEEN_JOINS: Nanos = Nanos::from_millis(50);
const REST_JOINS: u64 = 100;
/// Latency from a host to the network, one way, µs: all hosts are nearer to the source than
/// `Policy::threshold`.
const ACCESS_US: (u64, u64) = (500, 2500);
/// Children that hosts offer to serve where all have the same link, and that the source offers everywhere.
const CAPACITY: (u16, u16) = (2, 4);
/// Hosts behind routers: the latency to their router, µs; the numbers of children that they offer to serve,
/// each with how many of a hundred hosts offer it. Such a host's upstream rate is a quarter more than these
/// children need.
const TO_ROUTER_US: (u64, u64) = (100, 1000);
const CAPACITIES: [(u16, u32); 5] = [(0, 20), (1, 20), (2, 30), (4, 20), (8, 10)];
/// Time between two writes of the source, and between two looks at the hosts.
const TICK: Nanos = Nanos::from_millis(10);
const LOOK: Nanos = Nanos::from_millis(100);
/// Looks between two that are reported.
const LOOKS_A_REPORT: usize = 5;

/// The treatment of a slow host ([`Slow`]).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Treatment {
    /// All hosts wait for the slow host.
    Wait,
    /// The slow host is cut off.
    Isolate,
    /// The slow host skips bytes.
    Skip,
}

/// The size of a transit-stub network, to whose stub routers hosts are attached.
#[derive(Debug, Clone, Copy, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TransitStub {
    /// Transit routers.
    pub transit: usize,
    /// Stub domains of each transit router.
    pub domains: usize,
    /// Routers of each stub domain.
    pub routers: usize,
}

/// The parameters of a study; times in ns, rates in bit/s.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SlowStudySpec {
    /// Hosts, not counting the source.
    pub hosts: usize,
    /// The network; `None`: all hosts are near the source.
    pub network: Option<TransitStub>,
    /// The stream's rate.
    pub rate_bps: u64,
    /// Rate of each host's link downstream; also upstream, except behind routers.
    pub link_bps: u64,
    /// Rate of the slow host's link, once it is slow; `None`: no host becomes slow.
    pub slow_bps: Option<u64>,
    /// When the host becomes slow, from the stream's start.
    pub slow_at_ns: u64,
    /// The stream's duration.
    pub stream_ns: u64,
    /// Bytes that a node caches.
    pub cache: u64,
    /// The host that is moved down.
    pub demotion: Demotion,
    pub mode: Treatment,
    /// The number of children that each host offers to serve, and the source; `None`: different ones.
    pub children: Option<u16>,
    /// The latency from each host to the network, one way; `None`: different ones.
    pub access_ns: Option<u64>,
    /// Whether hosts send to one child after the other ([`Wires::one_by_one`]).
    pub one_by_one: bool,
    pub seed: u64,
}

/// The lag of the last host of each kind behind the source, s; `None`: all are cut off, or there are none.
#[derive(Debug, Clone, Serialize)]
pub struct StreamLag {
    /// Time in the stream, s.
    pub at: f64,
    /// Lag of the hosts that were below the slow host.
    pub below: Option<f64>,
    /// Lag of all other hosts.
    pub others: Option<f64>,
    /// Lag of the slow host.
    pub slow: Option<f64>,
}

#[derive(Debug, Clone, Serialize)]
pub struct SlowStudyOutcome {
    /// The hosts that were below the slow host when it became slow.
    pub below: GroupGoodput,
    /// All other hosts.
    pub others: GroupGoodput,
    /// The slow host itself.
    pub slow: GroupGoodput,
    /// The number of clusters at that time.
    pub clusters: usize,
    /// Hosts that found no room, and belong to none of these groups.
    pub without: usize,
    /// Children of the slow host at that time.
    pub children: usize,
    /// Orders to another parent since then.
    pub moves: u32,
    /// Orders among them that the slow host got.
    pub slow_moves: u32,
    /// Children of the source when the stream ended; it offers to serve 4.
    pub source_children: usize,
    /// How often hosts reported since then that data accumulate for a child.
    pub reports: usize,
    /// Time from when the host became slow until the first report about it, s.
    pub reported: Option<f64>,
    /// The lags, every half second.
    pub looks: Vec<StreamLag>,
    pub simulated_s: f64,
}

struct Study<'a> {
    spec: &'a SlowStudySpec,
    stream: StreamTree,
    began: Nanos,
    written: u64,
    looks: Vec<StreamLag>,
}

pub fn run(spec: &SlowStudySpec) -> SlowStudyOutcome {
    let mut rng = ChaCha8Rng::seed_from_u64(spec.seed ^ 0x736c_6f77);
    let stream = gather(spec, &mut rng);
    let began = stream.now;
    let mut study = Study { spec, stream, began, written: 0, looks: Vec::new() };
    let slow_at = Nanos(spec.slow_at_ns.min(spec.stream_ns));
    study.go_on(slow_at, &mut []);
    let slow = study.choose(&mut rng);
    let below: BTreeSet<HostId> = study.all().filter(|&host| study.is_below(host, slow)).collect();
    let placed = |host: &HostId| study.stream.parent(*host).is_some();
    let without = study.all().filter(|host| !placed(host)).count();
    let others = study.all().filter(|host| *host != slow && !below.contains(host));
    let others: Vec<HostId> = others.filter(placed).collect();
    let kinds = [below.into_iter().collect(), others, vec![slow]];
    let mut kinds = kinds.map(|hosts| Kind::begin(hosts, &study.stream));
    let children = study.children(slow);
    let moves = |study: &Study<'_>| study.all().map(|host| study.stream.hosts[&host].moves).sum::<u32>();
    let (moves_before, reports) = (moves(&study), study.stream.reports.len());
    let clusters = study.stream.clusters().count();
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
    let [below, others, own] =
        kinds.map(|kind| kind.end(&study.stream, BitRate(spec.rate_bps), (slow_at, end)));
    SlowStudyOutcome {
        clusters,
        without,
        below,
        others,
        slow: own,
        children,
        moves: moves(&study) - moves_before,
        slow_moves: study.stream.hosts[&slow].moves - slow_moves,
        source_children: study.children(SOURCE),
        reports: reports.len(),
        reported: first.map(|when| seconds(when - began - slow_at)),
        looks: study.looks,
        simulated_s: seconds(study.stream.now),
    }
}

/// Lets the hosts join and find their places.
fn gather(spec: &SlowStudySpec, rng: &mut ChaCha8Rng) -> StreamTree {
    let slow = match spec.mode {
        Treatment::Wait => Slow::Wait,
        Treatment::Isolate => Slow::Isolate,
        Treatment::Skip => Slow::Skip { align: 1 },
    };
    let base = NodeConfig::new(SOURCE);
    // The configuration that `gfagent` derives from --cache.
    let config = NodeConfig {
        slow,
        capacity: spec.cache,
        history: spec.cache / 2,
        window: base.window.min(spec.cache / 4),
        slow_after: base.slow_after.min(spec.cache / 4),
        max_children: 64,
        ..base
    };
    let policy = Policy { demotion: spec.demotion, review: Nanos::ZERO, ..Policy::default() };
    let routers = spec
        .network
        .map(|n| Routers::transit_stub(n.transit.max(1), n.domains.max(1), n.routers.max(1), spec.seed));
    let stubs = routers.as_ref().map_or(Vec::new(), |routers| routers.stubs().to_vec());
    let own = spec.children.unwrap_or(CAPACITY.1);
    let source = attachment(spec, ACCESS_US.0, stubs.first().copied(), own);
    let mut wires = routers.map_or_else(Wires::default, Wires::over);
    wires.one_by_one = spec.one_by_one;
    let mut stream = StreamTree::new(wires, policy, config, (source, own), spec.seed);
    for _ in 0..spec.hosts {
        let (at, capacity) = draw(spec, &stubs, rng);
        stream.join(stream.now, at, capacity);
        let next = stream.now + BETWEEN_JOINS;
        stream.run_until(next);
    }
    for _ in 0..REST_JOINS {
        let next = stream.now + BETWEEN_JOINS;
        stream.run_until(next);
    }
    stream
}

/// Draws the attachment of a host, and how many children it offers to serve.
fn draw(spec: &SlowStudySpec, stubs: &[usize], rng: &mut ChaCha8Rng) -> (HostAttachment, u16) {
    let Some(&router) = stubs.choose(rng) else {
        let access = rng.gen_range(ACCESS_US.0..=ACCESS_US.1);
        let drawn = rng.gen_range(CAPACITY.0..=CAPACITY.1);
        let capacity = spec.children.unwrap_or(drawn);
        return (attachment(spec, access, None, capacity), capacity);
    };
    let access = rng.gen_range(TO_ROUTER_US.0..=TO_ROUTER_US.1);
    let capacity = CAPACITIES.choose_weighted(rng, |(_, share)| *share).map_or(0, |&(children, _)| children);
    (attachment(spec, access, Some(router), capacity), capacity)
}

fn attachment(spec: &SlowStudySpec, access_us: u64, router: Option<usize>, capacity: u16) -> HostAttachment {
    let access = spec.access_ns.map_or(Nanos::from_micros(access_us), Nanos);
    let down = BitRate(spec.link_bps);
    let up = router.map_or(down, |_| BitRate(spec.rate_bps * 5 / 4 * u64::from(capacity).max(1)));
    HostAttachment { router, access, up, down }
}

impl Study<'_> {
    /// All hosts except the source.
    fn all(&self) -> impl Iterator<Item = HostId> + '_ {
        self.stream.hosts.keys().copied().filter(|&host| host != SOURCE)
    }

    fn children(&self, host: HostId) -> usize {
        self.all().filter(|&child| self.stream.parent(child) == Some(host)).count()
    }

    /// Chooses a host that serves at least two others and is not its parent's only child; if there is none,
    /// any host that serves one.
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

    /// Runs the stream until a time in it.
    fn go_on(&mut self, until: Nanos, kinds: &mut [Kind]) {
        let mut at = self.stream.now - self.began;
        while at < until {
            let due = BitRate(self.spec.rate_bps).bytes_in(at).saturating_sub(self.written);
            // A source without room takes as many bytes as it can, and the rest later.
            let bytes = vec![0; usize::try_from(due.min(self.spec.cache)).unwrap_or(usize::MAX)];
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
        if let &[below, others, slow] = last.as_slice() {
            if at.0 % (LOOKS_A_REPORT as u64 * LOOK.0) == 0 {
                let in_seconds = |lag: Option<Nanos>| lag.map(seconds);
                let (below, others, slow) = (in_seconds(below), in_seconds(others), in_seconds(slow));
                self.looks.push(StreamLag { at: seconds(at), below, others, slow });
            }
        }
    }
}
