//! Members, agents, links and the controller that fail.

use groupflow_base::Nanos;
use groupflow_session::control::{LeaveReason, StartAt};
use groupflow_session::{MemberError, ReceiveError, SendError};
use groupflow_transport::terms::{Mode, Policy};

use super::scenario::{duration, file, finish, random_bytes, Scenario, SENDER};

const MODES: [(Mode, Policy); 3] = [
    (Mode::EndToEnd, Policy::Strict),
    (Mode::EndToEnd, Policy::Isolate),
    (Mode::NodeToNode, Policy::Isolate),
];

fn ms(n: u64) -> Nanos {
    Nanos::from_millis(n)
}

#[test]
fn a_receiver_that_dies_is_named_and_the_others_get_everything() {
    let bytes = random_bytes(20, 16 << 20);
    for (mode, policy) in MODES {
        let scenario = Scenario { mode, policy, loss: 10, ..Scenario::default() };
        let mut world = scenario.started(file(&bytes));
        world.run_for(ms(300));
        let dead = scenario.receiver_hosts().end - 1;
        world.kill(dead);
        let others = scenario.receiver_hosts().start..dead;
        finish(&mut world, others.clone(), &bytes, Nanos::from_secs(30));
        let lost = world.hosts[SENDER].summary.as_ref().map(|s| s.lost.clone());
        assert_eq!(lost, Some(vec![format!("h{dead}")]), "{mode:?} {policy:?}");
        assert!(duration(&world, others) < Nanos::from_secs(10));
    }
}

#[test]
fn a_receiver_that_leaves_is_not_waited_for() {
    let bytes = random_bytes(21, 8 << 20);
    let scenario = Scenario::default();
    let mut world = scenario.started(file(&bytes));
    world.run_for(ms(200));
    let leaver = scenario.receiver_hosts().start;
    let now = world.now;
    world.receiver(leaver).leave(now, LeaveReason::Aborted);
    world.pump(leaver);
    finish(&mut world, leaver + 1..scenario.receiver_hosts().end, &bytes, Nanos::from_secs(10));
    assert_eq!(world.hosts[SENDER].summary.as_ref().map(|s| s.lost.len()), Some(0));
    assert!(world.hosts[leaver].output.len() < bytes.len());
}

#[test]
fn a_sender_whose_receivers_are_all_gone_says_so() {
    let bytes = random_bytes(22, 16 << 20);
    let scenario = Scenario { receivers: 2, ..Scenario::default() };
    let mut world = scenario.started(file(&bytes));
    world.run_for(ms(200));
    scenario.receiver_hosts().for_each(|host| world.kill(host));
    assert!(world.run_until(Nanos::from_secs(10), |w| w.hosts[SENDER].send_error.is_some()));
    let Some(SendError::NoReceivers { lost }) = world.hosts[SENDER].send_error.clone() else {
        panic!("{:?}", world.hosts[SENDER].send_error);
    };
    assert_eq!(lost, ["h3", "h4"]);
}

#[test]
fn receivers_name_a_sender_that_dies() {
    let bytes = random_bytes(23, 16 << 20);
    let scenario = Scenario::default();
    let mut world = scenario.started(file(&bytes));
    world.run_for(ms(300));
    world.kill(SENDER);
    let receivers = scenario.receiver_hosts();
    let failed = |w: &super::world::World| receivers.clone().all(|h| w.hosts[h].receive_error.is_some());
    assert!(world.run_until(Nanos::from_secs(10), failed));
    let expected = ReceiveError::SenderLost { name: "h2".to_owned() };
    for host in receivers {
        assert_eq!(world.hosts[host].receive_error.as_ref(), Some(&expected));
    }
}

#[test]
fn an_agent_that_restarts_empty_costs_nothing_but_time() {
    let bytes = random_bytes(24, 16 << 20);
    for (mode, policy) in MODES {
        for agent in [0, 1] {
            let scenario = Scenario { mode, policy, loss: 10, ..Scenario::default() };
            let mut world = scenario.started(file(&bytes));
            world.run_for(ms(400));
            world.kill(agent);
            world.run_for(ms(700));
            world.start_agent(agent, 256 << 20);
            finish(&mut world, scenario.receiver_hosts(), &bytes, Nanos::from_secs(60));
            println!("{mode:?} {policy:?} agent {agent}: {}", duration(&world, scenario.receiver_hosts()));
        }
    }
}

#[test]
fn without_agents_the_sender_repairs() {
    let bytes = random_bytes(25, 4 << 20);
    let scenario = Scenario { agents: false, loss: 10, ..Scenario::default() };
    let mut world = scenario.transfer(&bytes, Nanos::from_secs(60));
    assert!(world.sender(SENDER).stats().retransmitted > 50);
}

#[test]
fn caches_repair_near_the_loss() {
    let bytes = random_bytes(26, 16 << 20);
    let scenario = Scenario { receivers: 15, loss: 10, ..Scenario::default() };
    let mut world = scenario.transfer(&bytes, Nanos::from_secs(60));
    let repairs = |host| {
        let counters = world.cache_stats(host).counters;
        counters.repairs_unicast + counters.repairs_multicast
    };
    assert!(repairs(0) > 100 && repairs(1) > 100, "{} and {}", repairs(0), repairs(1));
    let trunk = world.port_bytes(0, 0).0;
    assert!(trunk < bytes.len() as u64 * 110 / 100, "trunk: {trunk}");
    let sent = world.uplink_bytes(SENDER);
    assert!(sent < bytes.len() as u64 * 110 / 100, "sender's link: {sent}");
    let took = duration(&world, scenario.receiver_hosts());
    println!("1 % loss, 15 receivers: {took}, sender {sent}, trunk {trunk}");
    assert!(took.0 < bytes.len() as u64 * 80 * 130 / 100, "loss must not reduce the rate: {took}");
    let again = world.sender(SENDER).stats().retransmitted;
    assert!(again < 400, "{again}");
}

#[test]
fn a_trunk_that_is_down_for_a_while_is_survived() {
    let bytes = random_bytes(27, 8 << 20);
    for (mode, policy) in MODES {
        let scenario = Scenario { mode, policy, ..Scenario::default() };
        let mut world = scenario.started(file(&bytes));
        world.run_for(ms(300));
        world.set_trunk(false);
        world.run_for(ms(1_000));
        world.set_trunk(true);
        finish(&mut world, scenario.receiver_hosts(), &bytes, Nanos::from_secs(30));
    }
}

#[test]
fn a_controller_that_forgets_everyone_is_told_again() {
    let bytes = random_bytes(28, 32 << 20);
    let scenario = Scenario::default();
    let mut world = scenario.started(file(&bytes));
    world.run_for(ms(300));
    world.controller.alive = false;
    world.run_for(ms(1_000));
    world.controller.forget_members();
    world.controller.alive = true;
    finish(&mut world, scenario.receiver_hosts(), &bytes, Nanos::from_secs(30));
}

#[test]
fn a_late_receiver_gets_the_rest_or_everything() {
    let bytes = random_bytes(29, 8 << 20);
    for (mode, policy) in MODES {
        for start in [StartAt::Now, StartAt::Start] {
            let scenario = Scenario { mode, policy, loss: 10, ..Scenario::default() };
            let mut world = scenario.world();
            let late = scenario.receiver_hosts().end - 1;
            for host in scenario.receiver_hosts().start..late {
                world.start_receiver(host, 1, StartAt::Now, false);
            }
            world.start_sender(SENDER, 1, file(&bytes), 2);
            assert!(world.run_until(Nanos::from_secs(5), |w| w.hosts[SENDER].started.is_some()));
            world.run_for(ms(300));
            world.start_receiver(late, 1, start, false);
            finish(&mut world, scenario.receiver_hosts().start..late, &bytes, Nanos::from_secs(60));
            assert!(world.run_until(Nanos::from_secs(30), |w| w.hosts[late].completed.is_some()));
            let output = &world.hosts[late].output;
            println!("{mode:?} {policy:?} {start:?}: {}", duration(&world, [late]));
            match start {
                StartAt::Now => assert!(bytes.ends_with(output) && output.len() < bytes.len()),
                _ => assert!(*output == bytes, "{} of {} bytes", output.len(), bytes.len()),
            }
            assert!(output.len() > bytes.len() / 4, "{}", output.len());
        }
    }
}

#[test]
fn who_comes_after_the_end_gets_everything_from_the_caches() {
    let bytes = random_bytes(31, 2 << 20);
    for (mode, policy) in MODES {
        let scenario = Scenario { mode, policy, loss: 10, keeps_streams: true, ..Scenario::default() };
        let mut world = scenario.world();
        let late = scenario.receiver_hosts().end - 1;
        for host in scenario.receiver_hosts().start..late {
            world.start_receiver(host, 1, StartAt::Now, false);
        }
        world.start_sender(SENDER, 1, file(&bytes), 2);
        finish(&mut world, scenario.receiver_hosts().start..late, &bytes, Nanos::from_secs(10));
        world.run_for(Nanos::from_secs(5));
        let sent = world.uplink_bytes(SENDER);
        world.start_receiver(late, 1, StartAt::Start, false);
        assert!(world.run_until(Nanos::from_secs(10), |w| w.hosts[late].completed.is_some()), "{mode:?}");
        assert!(world.hosts[late].output == bytes);
        assert_eq!(world.uplink_bytes(SENDER), sent, "the sender has nothing to do with it");
    }
}

#[test]
fn a_wrong_token_is_refused() {
    let scenario = Scenario::default();
    let mut world = scenario.world();
    let host = scenario.receiver_hosts().start;
    world.start_receiver_with(host, 1, StartAt::Now, false, "bad".to_owned());
    assert!(world.run_until(Nanos::from_secs(2), |w| w.hosts[host].member_error.is_some()));
    assert!(matches!(world.hosts[host].member_error, Some(MemberError::Refused { .. })));
    assert!(world.receiver(host).has_ended());
}

#[test]
fn a_dead_controller_ends_a_join_in_time() {
    let scenario = Scenario::default();
    let mut world = scenario.world();
    world.controller.alive = false;
    let host = scenario.receiver_hosts().start;
    world.start_receiver(host, 1, StartAt::Now, false);
    world.start_sender(SENDER, 1, file(b"x"), 1);
    let failed = |w: &super::world::World| {
        w.hosts[host].member_error.is_some() && w.hosts[SENDER].member_error.is_some()
    };
    assert!(world.run_until(ms(10_001), failed));
    assert_eq!(world.hosts[host].member_error, Some(MemberError::JoinTimeout));
    assert_eq!(world.hosts[SENDER].member_error, Some(MemberError::JoinTimeout));
}

#[test]
fn two_runs_with_one_seed_are_equal() {
    let bytes = random_bytes(30, 2 << 20);
    let scenario = Scenario { loss: 50, reorder: 20, duplicate: 20, ..Scenario::default() };
    let run = || {
        let mut world = scenario.transfer(&bytes, Nanos::from_secs(60));
        let took = duration(&world, scenario.receiver_hosts());
        (took, world.now, world.uplink_bytes(SENDER), world.cache_stats(1), world.sender(SENDER).stats())
    };
    assert_eq!(run(), run());
}
