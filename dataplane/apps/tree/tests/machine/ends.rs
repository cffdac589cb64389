//! Everybody comes to an end: whatever is stopped, cut off or killed, for however long, no host waits for
//! ever, and the source's end names the hosts that lack bytes, and no others.

use std::collections::{BTreeMap, BTreeSet};

use groupflow_base::Nanos;
use groupflow_tree::machine::{HostId, Members, NodeConfig, Policy, Slow};
use rand::seq::SliceRandom;
use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;

use super::forest::SOURCE;
use super::grove::Grove;

const TICK: Nanos = Nanos::from_millis(25);
/// A child may be stuck for half a minute, below a host that is stuck itself.
const LIMIT: Nanos = Nanos::from_secs(150);
/// How long the source may be away before its tree ends.
const SOURCE_AWAY: Nanos = Nanos::from_secs(3);
/// As in the agent: how long a source whose cache nobody needs waits for the dispatchers, and for hosts.
const FAREWELL: Nanos = Nanos::from_secs(3);
const PUT_AWAY: Nanos = Nanos::from_secs(30);
const BYTES: u64 = 150_000;
/// Bytes that each reader reads in a tick.
const READS: usize = 2000;
/// Bytes that the source writes in a tick, so that the stream lasts some four seconds.
const WRITES: u64 = 1000;

#[derive(Debug, Clone, Copy, PartialEq)]
enum Victim {
    Source,
    /// A host that has children, if there is one.
    Inner(usize),
    Leaf(usize),
    Dispatchers,
}

#[derive(Debug, Clone, Copy, PartialEq)]
enum Harm {
    Freeze,
    Cut,
    Kill,
    /// The host ends in order, as by a signal.
    Leave,
}

#[derive(Debug, Clone, Copy)]
struct Fault {
    victim: Victim,
    harm: Harm,
    from: Nanos,
    until: Nanos,
}

impl Fault {
    fn random(rng: &mut ChaCha8Rng) -> Fault {
        let victim = match rng.gen_range(0..10) {
            0 => Victim::Source,
            1 => Victim::Dispatchers,
            2..=5 => Victim::Inner(rng.gen_range(0..8)),
            _ => Victim::Leaf(rng.gen_range(0..8)),
        };
        let harms = [Harm::Freeze, Harm::Freeze, Harm::Cut, Harm::Cut, Harm::Kill, Harm::Leave];
        let harm = *harms.choose(rng).expect("some");
        let from = Nanos::from_millis(rng.gen_range(0..4500));
        let lasts = *[300, 1_000, 2_500, 5_000, 10_000, 25_000].choose(rng).expect("some");
        Fault { victim, harm, from, until: from + Nanos::from_millis(lasts) }
    }
}

/// The end of the source.
#[derive(Debug, Clone, PartialEq)]
enum End {
    Complete(Vec<String>),
    Failed,
}

struct Run {
    grove: Grove,
    members: BTreeSet<HostId>,
    /// The hosts that have every byte, if only in the cache where nobody waits for a reader.
    whole: BTreeSet<HostId>,
    /// Those that could tell the dispatchers so.
    told: BTreeSet<HostId>,
    /// The hosts as the source was told last.
    heard: Members,
    end: Option<End>,
    /// Since when the source's cache is needed by nobody.
    idle: Option<Nanos>,
    /// When the dispatchers were reached last since then.
    reached: Option<Nanos>,
}

fn policy(slow: Slow) -> Policy {
    let absence = if slow == Slow::Wait { Nanos::from_secs(15) } else { Nanos::ZERO };
    Policy {
        threshold: Nanos::from_millis(60),
        max_members: 6,
        max_clusters: 3,
        absence,
        ..Policy::default()
    }
}

fn config(slow: Slow) -> NodeConfig {
    let keep = Nanos::from_secs(if slow == Slow::Wait { 20 } else { 10 });
    let (capacity, history, window, slow_after) = (20_000, 10_000, 8_000, 4_000);
    NodeConfig { slow, align: 100, capacity, history, window, slow_after, keep, ..NodeConfig::new(SOURCE) }
}

impl Run {
    fn new(slow: Slow, places: &[u64], capacity: u16) -> Run {
        let mut grove = Grove::new(config(slow), policy(slow), capacity);
        for &place in places {
            grove.join_from(place, capacity, 1);
            grove.deliver_all();
        }
        let members: BTreeSet<HostId> = grove.nodes.keys().copied().filter(|&host| host != SOURCE).collect();
        while grove.dispatchers.members().receiving < members.len() {
            assert!(grove.now < LIMIT, "a host finds no place: {}", grove.show());
            grove.deliver_all();
            let wires = grove.wires();
            grove.carry_all(wires);
            grove.pass(TICK);
        }
        Run {
            grove,
            members,
            whole: BTreeSet::new(),
            told: BTreeSet::new(),
            heard: Members::default(),
            end: None,
            idle: None,
            reached: None,
        }
    }

    fn find(&self, victim: Victim) -> Option<HostId> {
        let (number, serves) = match victim {
            Victim::Source => return self.grove.nodes.contains_key(&SOURCE).then_some(SOURCE),
            Victim::Dispatchers => return None,
            Victim::Inner(number) => (number, true),
            Victim::Leaf(number) => (number, false),
        };
        let nodes = self.grove.nodes.iter().filter(|(&host, _)| host != SOURCE);
        let found = nodes.filter(|(_, found)| (found.node.children().next().is_some()) == serves);
        let found: Vec<HostId> = found.map(|(&host, _)| host).collect();
        (!found.is_empty()).then(|| found[number % found.len()])
    }

    /// Begins a fault; returns the host that it concerns.
    fn harm(&mut self, fault: &Fault) -> Option<HostId> {
        if fault.victim == Victim::Dispatchers {
            self.grove.are_present = false;
            return None;
        }
        let host = self.find(fault.victim)?;
        match fault.harm {
            Harm::Freeze => self.grove.send_away(host, true),
            Harm::Cut => self.grove.send_away(host, false),
            Harm::Kill => self.grove.kill(host),
            Harm::Leave if host == SOURCE => self.grove.kill(host),
            Harm::Leave => self.grove.leave(host),
        }
        Some(host)
    }

    fn mend(&mut self, fault: &Fault, host: Option<HostId>) {
        match host {
            Some(host) => self.grove.bring_back(host),
            // A service that stood still, or was killed, begins again from its store.
            None if fault.victim == Victim::Dispatchers => {
                self.grove.are_present = true;
                if !self.grove.dispatchers.ended {
                    self.grove.replace();
                }
            }
            None => {}
        }
    }

    /// Lets everything happen that may within a tick.
    fn tick(&mut self) {
        let grove = &mut self.grove;
        let left = (BYTES - grove.written).min(WRITES) as usize;
        if grove.nodes.get(&SOURCE).is_some_and(|source| !source.is_frozen()) && self.end.is_none() {
            if left > 0 {
                grove.write(left);
            }
            if grove.written == BYTES {
                grove.finish();
            }
        }
        grove.deliver(usize::MAX);
        for _ in 0..2 {
            let wires = grove.wires();
            grove.carry_all(wires);
        }
        for &host in &self.members {
            if grove.nodes.get(&host).is_some_and(|found| !found.is_frozen()) {
                grove.read(host, READS);
            }
        }
        grove.pass(TICK);
        self.end_receivers();
        self.end_source();
    }

    /// Receivers that are done, or cannot be, end as the agent's process does.
    fn end_receivers(&mut self) {
        let has_ended = self.grove.dispatchers.ended;
        for host in self.members.iter().copied().collect::<Vec<_>>() {
            let Some(found) = self.grove.nodes.get(&host).filter(|found| !found.is_frozen()) else {
                continue;
            };
            let (node, is_whole) = (&found.node, found.ended);
            let is_failed = found.broken || node.failed().is_some() && node.is_complete();
            let is_orphan = has_ended && !node.has_all() && node.parent().is_none();
            let is_done = is_whole && node.is_complete() && !node.is_leaving();
            if node.has_all_read() {
                let is_heard = self.grove.are_present && found.away.is_none();
                if is_heard && self.whole.contains(&host) {
                    self.told.insert(host);
                }
                self.whole.insert(host);
            }
            if is_failed || is_orphan || is_whole && has_ended && node.is_complete() {
                self.grove.kill(host);
            } else if is_done {
                self.grove.leave(host);
            }
        }
    }

    fn end_source(&mut self) {
        let (now, root) = (self.grove.now, self.grove.dispatchers.root);
        let away = self.grove.nodes.get(&SOURCE).map(|source| (source.away_for(now), source.is_frozen()));
        let is_gone = away.map_or(true, |(away, _)| away > SOURCE_AWAY);
        if is_gone && self.grove.are_present && !self.grove.dispatchers.ended {
            self.grove.dispatchers.on_gone(now, root, SOURCE);
        }
        let Some((away, false)) = away.filter(|_| self.end.is_none()) else { return };
        let is_connected = self.grove.are_present && away == Nanos::ZERO;
        let has_ended = self.grove.dispatchers.ended;
        if is_connected && !has_ended {
            self.heard = self.grove.dispatchers.members();
        }
        if is_connected && has_ended && self.idle.is_none() {
            return self.end_with(End::Failed);
        }
        let node = &self.grove.nodes[&SOURCE].node;
        if !node.is_complete() || node.is_unsure() {
            return;
        }
        let idle = *self.idle.get_or_insert(now);
        self.reached = if is_connected { Some(now) } else { self.reached };
        let is_away = now >= self.reached.unwrap_or(idle) + FAREWELL;
        let Members { receiving, names, lost, .. } = self.heard.clone();
        let lost: Vec<String> = lost.into_values().collect();
        if is_connected && !has_ended && receiving == 0 || is_away && self.reached.is_none() {
            self.end_with(End::Complete(lost));
        } else if is_away || is_connected && has_ended || now >= idle + PUT_AWAY {
            self.end_with(End::Complete([lost, names].concat()));
        }
    }

    fn end_with(&mut self, end: End) {
        self.check(&end);
        self.end = Some(end);
        self.grove.kill(SOURCE);
    }

    /// The end of the source is right at this moment.
    fn check(&self, end: &End) {
        let End::Complete(lost) = end else { return };
        for host in &self.members {
            let (name, is_whole) = (host.to_string(), self.whole.contains(host));
            assert!(is_whole || lost.contains(&name), "{end:?} without {name}\n{}", self.grove.show());
            let is_told = self.told.contains(host);
            assert!(!is_told || !lost.contains(&name), "{end:?}, but {name} has all\n{}", self.grove.show());
        }
    }

    fn is_over(&self) -> bool {
        self.grove.nodes.is_empty()
    }
}

/// Runs a stream to its end, with faults.
fn run(slow: Slow, places: &[u64], capacity: u16, faults: &[Fault]) -> Run {
    let mut run = Run::new(slow, places, capacity);
    let began = run.grove.now;
    let mut concerned: BTreeMap<usize, Option<HostId>> = BTreeMap::new();
    while !run.is_over() {
        let passed = run.grove.now - began;
        for (number, fault) in faults.iter().enumerate() {
            if fault.from <= passed && !concerned.contains_key(&number) {
                concerned.insert(number, run.harm(fault));
            }
            if fault.until <= passed && fault.until + TICK > passed {
                let host = concerned.get(&number).copied().flatten();
                run.mend(fault, host);
            }
        }
        assert!(passed < LIMIT, "somebody waits: {faults:?} {:?}\n{}", run.end, run.grove.show());
        run.tick();
    }
    run
}

#[test]
fn everybody_comes_to_an_end_that_names_who_lacks_bytes() {
    // More seeds: FIRST=300 LAST=9000.
    let given =
        |name, default| std::env::var(name).ok().and_then(|text| text.parse().ok()).unwrap_or(default);
    for seed in given("FIRST", 0)..given("LAST", 300) {
        let mut rng = ChaCha8Rng::seed_from_u64(seed);
        let slow = [Slow::Wait, Slow::Wait, Slow::Isolate, Slow::Skip][rng.gen_range(0..4)];
        let places: Vec<u64> = (0..rng.gen_range(2..9)).map(|_| rng.gen_range(350..650)).collect();
        let faults: Vec<Fault> = (0..rng.gen_range(1..4)).map(|_| Fault::random(&mut rng)).collect();
        let capacity = rng.gen_range(1..4);
        println!("seed {seed}: {slow:?} {places:?} {capacity} {faults:?}");
        let run = run(slow, &places, capacity, &faults);
        println!("    {:?} after {:?}", run.end, run.grove.now);
    }
}

/// With `Slow::Wait`, a host that was away for ten seconds gets its bytes.
#[test]
fn a_host_that_comes_back_gets_its_bytes() {
    for (victim, harm) in [
        (Victim::Leaf(0), Harm::Freeze),
        (Victim::Inner(0), Harm::Freeze),
        (Victim::Leaf(0), Harm::Cut),
        (Victim::Inner(0), Harm::Cut),
    ] {
        for lasts in [500, 2_900, 5_000, 10_000] {
            let from = Nanos::from_millis(1000);
            let fault = Fault { victim, harm, from, until: from + Nanos::from_millis(lasts) };
            let run = run(Slow::Wait, &[500; 4], 1, &[fault]);
            assert_eq!(run.end, Some(End::Complete(vec![])), "{fault:?}");
            assert_eq!(run.whole, run.members, "{fault:?}");
        }
    }
}
