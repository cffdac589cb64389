//! Everybody comes to an end: whatever is stopped, cut off or killed, for however long, no member waits for
//! ever, no member holds the session's next stream, and nobody is told "complete" too early.

use groupflow_base::Nanos;
use groupflow_session::control::StartAt;
use groupflow_session::ReceiveError;
use groupflow_transport::terms::{Mode, Policy};
use rand::seq::SliceRandom;
use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;

use super::scenario::{file, random_bytes, Scenario, SENDER};
use super::world::{HostNumber, World};

const MODES: [(Mode, Policy); 4] = [
    (Mode::EndToEnd, Policy::Strict),
    (Mode::EndToEnd, Policy::Isolate),
    (Mode::NodeToNode, Policy::Strict),
    (Mode::NodeToNode, Policy::Isolate),
];
/// A member may hold a stream for a minute; a receiver gives a stream up within another.
const LIMIT: Nanos = Nanos::from_secs(150);
const BYTES: usize = 6 << 20;

#[derive(Debug, Clone, Copy)]
enum Victim {
    Host(HostNumber),
    Trunk,
    Controller,
}

#[derive(Debug, Clone, Copy, PartialEq)]
enum Harm {
    Freeze,
    Cut,
    Kill,
}

#[derive(Debug, Clone, Copy)]
struct Fault {
    victim: Victim,
    harm: Harm,
    from: Nanos,
    until: Nanos,
}

impl Fault {
    fn random(rng: &mut ChaCha8Rng, hosts: std::ops::Range<HostNumber>) -> Fault {
        let victim = match rng.gen_range(0..10) {
            0 => Victim::Trunk,
            1 => Victim::Controller,
            _ => Victim::Host(rng.gen_range(hosts)),
        };
        let harm = *[Harm::Freeze, Harm::Freeze, Harm::Cut, Harm::Cut, Harm::Kill].choose(rng).expect("some");
        let from = Nanos::from_millis(rng.gen_range(0..900));
        let lasts = *[300, 1_500, 2_500, 5_000, 12_000].choose(rng).expect("some");
        Fault { victim, harm, from, until: from + Nanos::from_millis(lasts) }
    }

    fn set(&self, world: &mut World, on: bool) {
        match (self.victim, self.harm) {
            (Victim::Trunk, _) => world.set_trunk(!on),
            (Victim::Controller, _) => world.controller.alive = !on,
            (Victim::Host(host), Harm::Freeze) => world.freeze(host, on),
            (Victim::Host(host), Harm::Cut) => world.set_link(host, !on),
            (Victim::Host(host), Harm::Kill) if on => world.kill(host),
            (Victim::Host(_), Harm::Kill) => {}
        }
    }
}

/// Carries the faults out in order of their times.
fn suffer(world: &mut World, faults: &[Fault]) {
    let began = world.now;
    let mut steps: Vec<(Nanos, bool, &Fault)> =
        faults.iter().flat_map(|fault| [(fault.from, true, fault), (fault.until, false, fault)]).collect();
    steps.sort_by_key(|step| step.0);
    for (at, on, fault) in steps {
        let passed = world.now - began;
        world.run_for(Nanos(at.0.saturating_sub(passed.0)));
        fault.set(world, on);
    }
}

/// A second stream of the session, between two hosts that are new.
fn sends_again(world: &mut World, from: HostNumber, to: HostNumber, what: &str) {
    world.run_for(Nanos::from_secs(5)); // members that died are noticed
    let bytes = random_bytes(99, 1 << 20);
    world.start_receiver(to, 1, StartAt::Now, false);
    world.start_sender(from, 1, file(&bytes), 1);
    let done = |w: &World| w.hosts[from].completed.is_some() && w.hosts[to].completed.is_some();
    assert!(world.run_until(LIMIT, done), "the next stream is held: {what}");
    assert!(world.hosts[to].output == bytes);
}

fn check(seed: u64, (mode, policy): (Mode, Policy)) {
    let mut rng = ChaCha8Rng::seed_from_u64(seed);
    let bytes = random_bytes(seed, BYTES);
    let scenario = Scenario { mode, policy, seed, receivers: 4, decouple: true, ..Scenario::default() };
    let mut world = scenario.started(file(&bytes));
    let (receivers, link) = (scenario.receiver_hosts(), scenario.link());
    let (from, to) = (world.add_host(0, link, link), world.add_host(1, link, link));
    let faults: Vec<Fault> =
        (0..rng.gen_range(1..4)).map(|_| Fault::random(&mut rng, 0..receivers.end)).collect();
    let what = format!("seed {seed}, {mode:?} {policy:?}, {faults:?}");
    suffer(&mut world, &faults);
    // A stopped cache agent of the group's first phase is started again, as its supervisor would.
    for agent in 0..SENDER {
        if world.hosts[agent].machine.is_none() {
            world.start_agent(agent, scenario.cache_bytes);
        }
    }
    let everybody = SENDER..receivers.end;
    let ended = world.run_until(LIMIT, |w| everybody.clone().all(|host| w.is_free(host)));
    let waiting: Vec<HostNumber> = everybody.filter(|&host| !world.is_free(host)).collect();
    assert!(ended, "hosts {waiting:?} wait: {what}");
    let lost = world.hosts[SENDER].summary.as_ref().map(|summary| summary.lost.clone());
    for host in receivers {
        let (output, name) = (&world.hosts[host].output, format!("h{host}"));
        let whole = *output == bytes;
        assert!(whole || world.hosts[host].completed.is_none(), "receiver {host} is not complete: {what}");
        // A sender that was cut off itself may know no more than how many are missing.
        let names =
            |lost: &Vec<String>| lost.iter().any(|each| *each == name || each.contains("was cut off"));
        let named = lost.as_ref().map_or(true, names);
        assert!(whole || named, "the sender does not name {name}: {what}");
    }
    sends_again(&mut world, from, to, &what);
}

#[test]
fn everybody_ends_whatever_stops() {
    for seed in (0..40).chain([195, 387, 400]) {
        check(seed, MODES[seed as usize % MODES.len()]);
    }
}

/// A receiver that is cut off while its stream ends.
fn misses_the_end(harm: Harm, mode: (Mode, Policy)) {
    let scenario = Scenario { mode: mode.0, policy: mode.1, ..Scenario::default() };
    let bytes = random_bytes(7, BYTES);
    let mut world = scenario.started(file(&bytes));
    let (late, link) = (scenario.receiver_hosts().end - 1, scenario.link());
    let (from, to) = (world.add_host(0, link, link), world.add_host(1, link, link));
    let cut =
        Fault { victim: Victim::Host(late), harm, from: Nanos::from_millis(200), until: Nanos::from_secs(8) };
    suffer(&mut world, &[cut]);
    let summary = world.hosts[SENDER].summary.as_ref();
    assert_eq!(summary.map(|s| s.lost.clone()), Some(vec![format!("h{late}")]));
    assert!(world.run_until(Nanos::from_secs(12), |w| w.is_free(late)), "{harm:?} {mode:?}: it waits");
    let error = &world.hosts[late].receive_error;
    assert!(matches!(error, Some(ReceiveError::SenderLost { .. })), "{error:?}");
    sends_again(&mut world, from, to, "one receiver missed the end");
}

#[test]
fn a_receiver_that_misses_the_end_of_its_stream_ends() {
    for mode in MODES {
        misses_the_end(Harm::Cut, mode);
        misses_the_end(Harm::Freeze, mode);
    }
}

/// Receivers that are told nothing: the notice that their sender left is lost with the controller.
#[test]
fn receivers_whose_sender_dies_without_the_controller_end() {
    let scenario = Scenario::default();
    let bytes = random_bytes(8, BYTES);
    let mut world = scenario.started(file(&bytes));
    world.run_for(Nanos::from_millis(200));
    world.controller.alive = false;
    world.run_for(Nanos::from_millis(100));
    world.kill(SENDER);
    for host in scenario.receiver_hosts() {
        world.set_link(host, false);
    }
    world.controller.alive = true;
    world.run_for(Nanos::from_millis(1_650)); // the sender is lost by then, and no receiver
    for host in scenario.receiver_hosts() {
        world.set_link(host, true);
    }
    let mut receivers = scenario.receiver_hosts();
    assert!(world.run_until(Nanos::from_secs(15), |w| receivers.clone().all(|host| w.is_free(host))));
    assert!(receivers.all(|host| world.hosts[host].receive_error.is_some()));
}

/// A receiver whose program reads nothing holds a strict session for a minute, and is then put out.
#[test]
fn a_receiver_that_acknowledges_nothing_is_put_out() {
    let scenario = Scenario { receivers: 3, ..Scenario::default() };
    let bytes = random_bytes(9, 16 << 20);
    let mut world = scenario.started(file(&bytes));
    let deaf = scenario.receiver_hosts().end - 1;
    world.hosts[deaf].paused = true;
    let held = |w: &World| w.hosts[SENDER].completed.is_some();
    assert!(!world.run_until(Nanos::from_secs(55), held), "a strict session waits");
    assert!(world.run_until(Nanos::from_secs(20), held), "but not for ever");
    let lost = world.hosts[SENDER].summary.as_ref().map(|summary| summary.lost.clone());
    assert_eq!(lost, Some(vec![format!("h{deaf}")]));
}

#[test]
fn a_receiver_that_is_lost_before_the_beginning_is_not_missed() {
    let scenario = Scenario { receivers: 3, ..Scenario::default() };
    let bytes = random_bytes(10, 1 << 20);
    let mut world = scenario.world();
    let (mut receivers, gone) = (scenario.receiver_hosts(), scenario.receiver_hosts().start);
    world.start_receiver(gone, 1, StartAt::Now, false);
    world.start_sender(SENDER, 1, file(&bytes), 2);
    world.run_for(Nanos::from_secs(1));
    world.kill(gone);
    world.run_for(Nanos::from_secs(3));
    receivers.by_ref().skip(1).for_each(|host| world.start_receiver(host, 1, StartAt::Now, false));
    assert!(world.run_until(Nanos::from_secs(10), |w| w.hosts[SENDER].completed.is_some()));
    assert_eq!(world.hosts[SENDER].summary.as_ref().map(|s| s.lost.clone()), Some(vec![]));
}
