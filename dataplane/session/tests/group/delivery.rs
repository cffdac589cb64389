//! Everything arrives at everyone, bit by bit, and as fast as it should.

use groupflow_base::Nanos;
use groupflow_transport::terms::{Mode, Policy};

use super::scenario::{duration, random_bytes, Scenario, SENDER};

const MODES: [(Mode, Policy); 4] = [
    (Mode::EndToEnd, Policy::Strict),
    (Mode::EndToEnd, Policy::Isolate),
    (Mode::NodeToNode, Policy::Strict),
    (Mode::NodeToNode, Policy::Isolate),
];

#[test]
fn without_loss_each_packet_is_sent_once_at_the_link_rate() {
    let bytes = random_bytes(7, 32 << 20);
    let scenario = Scenario { receivers: 15, ..Scenario::default() };
    let mut world = scenario.transfer(&bytes, Nanos::from_secs(20));
    let stats = world.sender(SENDER).stats();
    assert_eq!(stats.packets, (bytes.len() as u64).div_ceil(1448));
    assert_eq!((stats.retransmitted, stats.sent_bytes), (0, bytes.len() as u64));
    let took = duration(&world, scenario.receiver_hosts());
    let ideal = Nanos(bytes.len() as u64 * 80); // 100 Mb/s
    let bound = Nanos(ideal.0 / 100 * 108) + Nanos::from_millis(30);
    assert!(took <= bound, "{took}, at most {bound}");
}

#[test]
fn under_loss_everyone_gets_everything() {
    let bytes = random_bytes(8, 4 << 20);
    for (mode, policy) in MODES {
        for loss in [0, 10, 50, 200] {
            let scenario = Scenario { mode, policy, loss, ..Scenario::default() };
            let world = scenario.transfer(&bytes, Nanos::from_secs(60));
            let took = duration(&world, scenario.receiver_hosts());
            println!("{mode:?} {policy:?} loss {loss}: {took}");
        }
    }
}

/// No time means "never": a group that begins at zero does what it does at any other time.
#[test]
fn the_time_at_which_a_group_begins_changes_nothing() {
    let bytes = random_bytes(9, 1 << 20);
    let run = |began| {
        let scenario = Scenario { began, loss: 50, ..Scenario::default() };
        let mut world = scenario.transfer(&bytes, Nanos::from_secs(60));
        let ended = scenario.receiver_hosts().map(|host| world.hosts[host].completed.map(|at| at - began));
        (ended.collect::<Vec<_>>(), world.sender(SENDER).stats().retransmitted)
    };
    assert_eq!(run(Nanos::ZERO), run(Nanos::from_secs(1)));
}
