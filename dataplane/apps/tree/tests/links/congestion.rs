//! The rates of edges over QUIC: alone over a lossy path, and several over one path or one socket.

use std::time::Duration;

use groupflow_tree::machine::ConnId;

use super::world::{data, identity, Path, World, PARENT};

/// Losses that are no congestion do not slow an edge down: of 20 Mbit/s it has most, where CUBIC (RFC 9438)
/// has 3 at 1 %, and 2 at 3 %.
#[test]
fn losses_alone_do_not_slow_an_edge_down() {
    let shared = identity("lossy");
    for lost in [0.0, 0.001, 0.01, 0.03] {
        let mut world = World::new(Path { rate: 2_500_000, lost, ..Path::default() }, &shared, &shared);
        world.connect();
        world.rest[0] = data(20_000_000);
        world.run(Duration::from_secs(2), |_| false);
        let before = world.heard[1].len();
        world.run(Duration::from_secs(5), |_| false);
        let bps = (world.heard[1].len() - before) as f64 * 8.0 / 5.0;
        assert!(bps > 18e6, "{:.1} Mbit/s at {lost}", bps / 1e6);
    }
}

/// Before a queue of a quarter of a round trip, each of eight edges has its share, and little is lost. BBR,
/// without a bound, loses 60 % there.
#[test]
fn eight_edges_share_a_short_queue() {
    let shared = identity("shared");
    let queue = Duration::from_millis(10);
    let mut world = World::new(Path { rate: 2_500_000, queue, ..Path::default() }, &shared, &shared);
    for n in 2..9 {
        let config = shared.connect_quic(PARENT).expect("a client");
        assert!(world.ends[1].connect(world.now, ConnId(n), PARENT.into(), config));
    }
    world.endless = true;
    world.run(Duration::from_secs(5), |_| false);
    let (before, counts) = (world.each.clone(), world.ends[0].counts());
    world.run(Duration::from_secs(10), |_| false);
    let shares: Vec<f64> = world.each.iter().map(|(conn, count)| (count - before[conn]) as f64).collect();
    let (sum, squares) = (shares.iter().sum::<f64>(), shares.iter().map(|share| share * share).sum::<f64>());
    // Jain's index: 1 where all have the same.
    let (fair, now) = (sum * sum / squares / 8.0, world.ends[0].counts());
    let lost = (now.lost - counts.lost) as f64 / (now.sent - counts.sent) as f64;
    assert!(shares.len() == 8 && fair > 0.8 && 8.0 * sum / 10.0 > 18e6, "{shares:?}: {fair:.3}");
    assert!(lost < 0.1, "{lost:.3} were lost");
}

/// A socket that is full after each transmit serves all edges in turn, not the first one alone.
#[test]
fn edges_have_their_turn_at_a_full_socket() {
    let shared = identity("turns");
    let mut world = World::new(Path::default(), &shared, &shared);
    for n in 2..5 {
        let config = shared.connect_quic(PARENT).expect("a client");
        assert!(world.ends[1].connect(world.now, ConnId(n), PARENT.into(), config));
    }
    world.endless = true;
    assert!(world.run(Duration::from_secs(5), |world| world.each.len() == 4));
    world.room[0] = 1;
    let before = world.each.clone();
    world.run(Duration::from_secs(1), |_| false);
    let shares: Vec<usize> = world.each.iter().map(|(conn, count)| count - before[conn]).collect();
    let (least, most) = (shares.iter().min().copied(), shares.iter().max().copied());
    assert!(shares.len() == 4 && least.map(|least| 2 * least) > most, "{shares:?}");
}
