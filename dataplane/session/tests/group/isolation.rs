//! Slow receivers, and caches that are full.

use groupflow_base::{BitRate, Nanos};
use groupflow_session::control::ReportKind;
use groupflow_transport::terms::{Mode, Policy};

use super::link::LinkConfig;
use super::scenario::{duration, file, finish, random_bytes, Scenario, MBIT, SENDER};
use super::world::World;

const SIZE: usize = 8 << 20;
/// Time at the full rate, as a loss-free run takes it.
const USUAL: Nanos = Nanos::from_millis(760);

/// Three receivers; the last one's link has a tenth of the rate.
fn with_a_slow_receiver(mode: Mode, policy: Policy, cache_bytes: u64) -> (Scenario, World, Vec<u8>) {
    let bytes = random_bytes(9, SIZE);
    let scenario = Scenario { mode, policy, cache_bytes, ..Scenario::default() };
    let mut world = scenario.started(file(&bytes));
    let slow = LinkConfig { rate: BitRate(10 * MBIT), ..scenario.link() };
    world.set_downlink(scenario.receiver_hosts().end - 1, slow);
    (scenario, world, bytes)
}

#[test]
fn isolate_lets_the_others_finish_in_their_usual_time() {
    for mode in [Mode::EndToEnd, Mode::NodeToNode] {
        let (scenario, mut world, bytes) = with_a_slow_receiver(mode, Policy::Isolate, 256 << 20);
        finish(&mut world, scenario.receiver_hosts(), &bytes, Nanos::from_secs(120));
        let others = scenario.receiver_hosts().start..scenario.receiver_hosts().end - 1;
        let took = duration(&world, others);
        assert!(took.0 <= USUAL.0 / 10 * 12, "{mode:?}: {took}");
        let all = duration(&world, scenario.receiver_hosts());
        println!("{mode:?} isolate: others {took}, all {all}");
        assert!(all > Nanos::from_secs(6), "{mode:?}: the slow link cannot be that fast: {all}");
        let slow = world.controller.reports.iter().any(|(kind, _)| *kind == ReportKind::SlowBranch);
        assert!(slow, "{mode:?}: the cache reports who lags");
        let peak = world.cache_stats(1).cache_peak_bytes;
        assert!(peak > SIZE as u64 / 2, "{mode:?}: the cache holds what the slow one lacks: {peak}");
    }
}

/// Nothing new is acknowledged for 20 s and more; the group answers polls all the while.
#[test]
fn a_controller_that_is_away_ends_no_stream_whose_group_answers() {
    for mode in [Mode::EndToEnd, Mode::NodeToNode] {
        let (scenario, mut world, bytes) = with_a_slow_receiver(mode, Policy::Isolate, 256 << 20);
        let slower = LinkConfig { rate: BitRate(2 * MBIT), ..scenario.link() };
        world.set_downlink(scenario.receiver_hosts().end - 1, slower);
        world.run_for(Nanos::from_secs(2));
        world.controller.alive = false;
        world.run_for(Nanos::from_secs(20));
        world.controller.alive = true;
        finish(&mut world, scenario.receiver_hosts(), &bytes, Nanos::from_secs(120));
    }
}

#[test]
fn strict_makes_all_follow_the_slow_one() {
    for mode in [Mode::EndToEnd, Mode::NodeToNode] {
        let (scenario, mut world, bytes) = with_a_slow_receiver(mode, Policy::Strict, 256 << 20);
        finish(&mut world, scenario.receiver_hosts(), &bytes, Nanos::from_secs(120));
        let took: Vec<Nanos> = scenario.receiver_hosts().map(|h| duration(&world, [h])).collect();
        println!("{mode:?} strict: {took:?}");
        assert!(took.iter().all(|t| t.0 > 5_000_000_000), "{mode:?}: {took:?}");
        // A window is outstanding, a half more is cached, at most.
        let peak = world.cache_stats(1).cache_peak_bytes;
        let bound = u64::from(scenario.window) * 1512 * 2;
        assert!(peak <= bound, "{mode:?}: {peak}, at most {bound}");
    }
}

#[test]
fn a_decoupled_receiver_lives_on_repairs_alone() {
    let bytes = random_bytes(12, SIZE);
    for loss in [0, 10] {
        let (mode, policy) = (Mode::NodeToNode, Policy::Isolate);
        let window = 1024;
        let scenario = Scenario { mode, policy, loss, window, decouple: true, ..Scenario::default() };
        let mut world = scenario.started(file(&bytes));
        let last = scenario.receiver_hosts().end - 1;
        let slow = LinkConfig { rate: BitRate(10 * MBIT), ..scenario.link() };
        world.set_downlink(last, slow);
        finish(&mut world, scenario.receiver_hosts(), &bytes, Nanos::from_secs(120));
        let all = duration(&world, [last]);
        println!("decoupled, loss {loss}: {all} {:?}", world.controller.reports);
        // 7.0 s at 10 Mb/s, less the time that its link no longer wastes on packets without room.
        assert!(all < Nanos::from_secs(9), "loss {loss}: {all}");
        let (received, _) = world.port_bytes(1, world.hosts[last].port);
        assert!(received < bytes.len() as u64 * 3 / 2, "loss {loss}: {received}");
    }
}

#[test]
fn a_full_cache_slows_the_sender_and_drops_nothing_it_promised() {
    let cache_bytes = 4 << 20;
    for mode in [Mode::EndToEnd, Mode::NodeToNode] {
        let (scenario, mut world, bytes) = with_a_slow_receiver(mode, Policy::Isolate, cache_bytes);
        finish(&mut world, scenario.receiver_hosts(), &bytes, Nanos::from_secs(120));
        let stats = world.cache_stats(1);
        assert!(stats.stored_peak_bytes <= cache_bytes, "{mode:?}: {}", stats.stored_peak_bytes);
        assert!(world.controller.reports.iter().any(|(kind, _)| *kind == ReportKind::CacheFull));
        let others = duration(&world, [scenario.receiver_hosts().start]);
        println!("{mode:?} full cache: others {others}");
        assert!(others.0 > 2 * USUAL.0, "{mode:?}: the sender is slowed: {others}");
        let again = world.sender(SENDER).stats().retransmitted;
        let packets = (SIZE as u64).div_ceil(1448);
        assert!(again * 2 < packets, "{mode:?}: the cache still repairs: {again} of {packets}");
    }
}

#[test]
fn a_receiver_that_does_not_read_holds_the_group_and_loses_nothing() {
    let bytes = random_bytes(10, 16 << 20);
    let scenario = Scenario { window: 512, ..Scenario::default() };
    let mut world = scenario.started(file(&bytes));
    let idle = scenario.receiver_hosts().start;
    world.hosts[idle].paused = true;
    world.run_for(Nanos::from_secs(3));
    let sent = world.sender(SENDER).stats().packets;
    assert!(sent < 6000, "{sent} packets for a buffer of 4096 and a window of 512");
    assert_eq!(world.hosts[SENDER].completed, None);
    world.hosts[idle].paused = false;
    world.pump(idle);
    finish(&mut world, scenario.receiver_hosts(), &bytes, Nanos::from_secs(30));
}

#[test]
fn unknown_link_rates_are_found() {
    let bytes = random_bytes(11, 16 << 20);
    for loss in [0, 10] {
        let scenario = Scenario { hint: 0, loss, ..Scenario::default() };
        let world = scenario.transfer(&bytes, Nanos::from_secs(60));
        let took = duration(&world, scenario.receiver_hosts());
        println!("no hint, loss {loss}: {took}");
        assert!(took < Nanos::from_millis(3_500), "loss {loss}: {took}");
    }
}
