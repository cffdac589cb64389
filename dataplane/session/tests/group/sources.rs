//! Files, byte streams and datagrams; odd sizes; several streams at once.

use groupflow_base::Nanos;
use groupflow_session::control::StartAt;
use groupflow_session::{ReceiveError, SendError};
use groupflow_transport::receiver::ReceiverError;
use groupflow_transport::source::{Source, SourceError};
use groupflow_transport::testing::MemoryFile;
use groupflow_transport::Seq;
use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;

use super::scenario::{file, finish, random_bytes, Scenario, SENDER};
use super::world::World;

#[test]
fn files_of_every_odd_size_arrive() {
    for size in [0, 1, 1447, 1448, 1449, 16 * 1448, 16 * 1448 + 1] {
        for loss in [0, 100] {
            let bytes = random_bytes(40, size);
            let scenario = Scenario { loss, ..Scenario::default() };
            let mut world = scenario.transfer(&bytes, Nanos::from_secs(20));
            let packets = world.sender(SENDER).stats().packets;
            assert_eq!(packets, size.div_ceil(1448).max(1) as u64, "{size} bytes");
        }
    }
}

#[test]
fn reordering_and_duplication_change_nothing() {
    let bytes = random_bytes(41, 4 << 20);
    for seed in 1..4 {
        let scenario = Scenario { seed, loss: 10, reorder: 50, duplicate: 50, ..Scenario::default() };
        scenario.transfer(&bytes, Nanos::from_secs(60));
    }
}

/// Writes `write` gives until it has nothing more, as there is room, and finishes.
fn feed(world: &mut World, mut write: impl FnMut(&mut World) -> bool) {
    for _ in 0..20_000 {
        let more = write(world);
        if !more {
            if let Some(written) = world.sender(SENDER).written() {
                written.finish();
            }
        }
        world.pump(SENDER);
        if !more {
            return;
        }
        world.run_for(Nanos::from_millis(2));
    }
    panic!("the group does not take the stream");
}

#[test]
fn a_byte_stream_is_taken_as_fast_as_the_group_takes_it() {
    let bytes = random_bytes(42, 8 << 20);
    for loss in [0, 20] {
        let scenario = Scenario { loss, ..Scenario::default() };
        let limit = 1 << 20;
        let mut world = scenario.started(Source::stream(limit, Seq::FIRST));
        let mut offset = 0;
        let mut rng = ChaCha8Rng::seed_from_u64(42);
        feed(&mut world, |w| {
            let end = (offset + rng.gen_range(1..100_000)).min(bytes.len());
            let accepted = w.sender(SENDER).written().map_or(0, |s| s.write(&bytes[offset..end]));
            assert!(accepted <= limit);
            offset += accepted;
            offset < bytes.len()
        });
        finish(&mut world, scenario.receiver_hosts(), &bytes, Nanos::from_secs(30));
    }
}

#[test]
fn datagrams_of_any_size_arrive_whole_and_in_order() {
    let mut rng = ChaCha8Rng::seed_from_u64(43);
    let datagrams: Vec<Vec<u8>> = (0..400)
        .map(|i| random_bytes(i, if i % 7 == 0 { rng.gen_range(0..40_000) } else { rng.gen_range(0..2000) }))
        .collect();
    let framed: Vec<u8> = datagrams
        .iter()
        .flat_map(|d| (d.len() as u32).to_be_bytes().into_iter().chain(d.iter().copied()))
        .collect();
    let scenario = Scenario { loss: 20, reorder: 10, ..Scenario::default() };
    let mut world = scenario.world();
    for host in scenario.receiver_hosts() {
        world.start_receiver(host, 1, StartAt::Now, true);
    }
    world.start_sender(SENDER, 1, Source::datagrams(200_000, Seq::FIRST), 3);
    assert!(world.run_until(Nanos::from_secs(5), |w| w.hosts[SENDER].started.is_some()));
    let mut next = 0;
    feed(&mut world, |w| {
        let accepted = w.sender(SENDER).written().is_some_and(|s| s.write_datagram(&datagrams[next]));
        next += usize::from(accepted);
        next < datagrams.len()
    });
    finish(&mut world, scenario.receiver_hosts(), &framed, Nanos::from_secs(30));
    let host = scenario.receiver_hosts().start;
    assert_eq!(world.receiver(host).stats().datagrams, 400);
}

#[test]
fn who_expects_datagrams_does_not_take_a_file() {
    let scenario = Scenario { receivers: 1, ..Scenario::default() };
    let mut world = scenario.world();
    let host = scenario.receiver_hosts().start;
    world.start_receiver(host, 1, StartAt::Now, true);
    world.start_sender(SENDER, 1, file(b"not a datagram"), 1);
    assert!(world.run_until(Nanos::from_secs(5), |w| w.hosts[host].receive_error.is_some()));
    assert!(matches!(
        world.hosts[host].receive_error,
        Some(ReceiveError::Transport(ReceiverError::Format(_)))
    ));
}

#[test]
fn the_last_packet_numbers_are_used_and_then_the_stream_is_too_long() {
    let first = Seq(Seq::LAST.0 - 99);
    let bytes = random_bytes(44, 100 * 1448);
    let start = |source: Source| {
        let scenario = Scenario::default();
        let mut world = scenario.world();
        world.start_sender(SENDER, 1, source, 3);
        world.run_for(Nanos::from_millis(100));
        // The controller does not say where to begin: the sender's SYNC does.
        for host in scenario.receiver_hosts() {
            world.start_receiver(host, 1, StartAt::Resume, false);
        }
        (scenario, world)
    };
    let source = Source::file(Box::new(MemoryFile(bytes.clone())), first).expect("it fits exactly");
    let (scenario, mut world) = start(source);
    finish(&mut world, scenario.receiver_hosts(), &bytes, Nanos::from_secs(10));
    let too_long = Source::file(Box::new(MemoryFile(random_bytes(44, 100 * 1448 + 1))), first);
    assert!(matches!(too_long, Err(SourceError::TooLong)));

    let (_, mut world) = start(Source::stream(1 << 20, first));
    assert!(world.run_until(Nanos::from_secs(5), |w| w.hosts[SENDER].started.is_some()));
    let accepted = world.sender(SENDER).written().map_or(0, |s| s.write(&random_bytes(44, 101 * 1448)));
    assert_eq!(accepted, 101 * 1448);
    world.pump(SENDER);
    assert!(world.run_until(Nanos::from_secs(5), |w| w.hosts[SENDER].send_error.is_some()));
    assert_eq!(world.hosts[SENDER].send_error, Some(SendError::Source(SourceError::TooLong)));
}

#[test]
fn what_a_stream_no_longer_has_is_told() {
    let scenario = Scenario { receivers: 2, agents: false, ..Scenario::default() };
    let mut world = scenario.world();
    let [early, late] = [scenario.receiver_hosts().start, scenario.receiver_hosts().start + 1];
    world.start_receiver(early, 1, StartAt::Now, false);
    world.start_sender(SENDER, 1, Source::stream(1 << 20, Seq::FIRST), 1);
    assert!(world.run_until(Nanos::from_secs(5), |w| w.hosts[SENDER].started.is_some()));
    let accepted = world.sender(SENDER).written().map_or(0, |s| s.write(&random_bytes(45, 100_000)));
    assert_eq!(accepted, 100_000);
    world.pump(SENDER);
    world.run_for(Nanos::from_secs(1));
    world.start_receiver(late, 1, StartAt::Start, false);
    world.run_for(Nanos::from_millis(300));
    let more = world.sender(SENDER).written().map_or(0, |s| s.write(b"more"));
    assert_eq!(more, 4);
    world.pump(SENDER);
    assert!(world.run_until(Nanos::from_secs(5), |w| w.hosts[late].receive_error.is_some()));
    let expected = ReceiveError::Transport(ReceiverError::Gone { missing: Seq(1), available: Seq(71) });
    assert_eq!(world.hosts[late].receive_error, Some(expected));
    assert_eq!(world.hosts[early].receive_error, None);
}

#[test]
fn two_sessions_share_the_links() {
    let scenario = Scenario { loss: 10, hint: 50_000_000, ..Scenario::default() };
    let [first, second] = [random_bytes(46, 4 << 20), random_bytes(47, 4 << 20)];
    let mut world = scenario.world();
    let other_sender = world.add_host(1, scenario.link(), scenario.link());
    // The second session's receivers are at both switches.
    let others = [0, 1].map(|switch| world.add_host(switch, scenario.link(), scenario.link()));
    for host in scenario.receiver_hosts() {
        world.start_receiver(host, 1, StartAt::Now, false);
    }
    for host in others {
        world.start_receiver(host, 2, StartAt::Now, false);
    }
    world.start_sender(SENDER, 1, file(&first), 3);
    world.start_sender(other_sender, 2, file(&second), 2);
    finish(&mut world, scenario.receiver_hosts(), &first, Nanos::from_secs(30));
    let done = |w: &World| others.iter().all(|&h| w.hosts[h].completed.is_some());
    assert!(world.run_until(Nanos::from_secs(30), done));
    for host in others {
        assert!(world.hosts[host].output == second);
    }
    assert_eq!(world.cache_stats(0).streams.len(), 2);
}
