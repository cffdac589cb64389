//! Connections over QUIC in virtual time.

mod congestion;
mod world;

use std::net::{SocketAddr, SocketAddrV4};
use std::time::{Duration, Instant};

use bytes::BytesMut;
use groupflow_tree::agent::quic::Links;
use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;

use world::{data, identity, Path, World, CHILD, CONN, PARENT};

/// Whatever the path does to datagrams, all bytes come as they were written, both ways, and the end after
/// them.
#[test]
fn a_stream_comes_as_it_was_written_over_any_path() {
    let shared = identity("stream");
    let jitter = Duration::from_millis(15);
    let paths = [
        ("clean", Path::default()),
        ("loses", Path { lost: 0.05, ..Path::default() }),
        ("reorders", Path { jitter, ..Path::default() }),
        ("repeats", Path { twice: 0.3, ..Path::default() }),
        ("alters", Path { altered: 0.05, ..Path::default() }),
        ("all", Path { lost: 0.03, twice: 0.1, altered: 0.03, jitter, rate: 4_000_000, ..Path::default() }),
    ];
    for (name, path) in paths {
        let mut world = World::new(path, &shared, &shared);
        world.connect();
        let (down, up) = (data(3_000_000), data(200_000));
        (world.rest[0], world.rest[1]) = (down.clone(), up.clone());
        let came = world.run(Duration::from_secs(60), |world| world.heard[1].len() >= down.len());
        assert!(came && world.heard[1] == down, "{name}: {} bytes", world.heard[1].len());
        assert!(world.run(Duration::from_secs(10), |world| world.heard[0].len() >= up.len() + 5), "{name}");
        assert!(world.heard[0][5..] == up, "{name}");
        // The parent says a last word and ends.
        world.rest[0] = b"bye".to_vec();
        world.end();
        assert!(world.run(Duration::from_secs(5), |world| world.closed[1]), "{name}");
        assert!(world.heard[1].ends_with(b"bye"), "{name}");
        assert_eq!(
            world.ends[0].counts().lost > 0,
            path.lost + path.altered > 0.0 || path.jitter > jitter / 2,
            "{name}"
        );
    }
}

/// Last bytes that take seconds over a slow path all come; last bytes over a blocked path are given up
/// after a second.
#[test]
fn last_bytes_are_waited_for_while_they_are_acknowledged() {
    let shared = identity("last");
    let queue = Duration::from_millis(500);
    let mut world = World::new(Path { rate: 125_000, queue, ..Path::default() }, &shared, &shared);
    world.connect();
    world.rest[0] = data(300_000);
    world.end();
    let began = world.now;
    assert!(world.run(Duration::from_secs(9), |world| world.closed[1]));
    assert_eq!(world.heard[1].len(), 300_000);
    assert!(world.now - began > Duration::from_secs(2), "{:?}", world.now - began);

    let mut world = World::new(Path::default(), &shared, &shared);
    world.connect();
    world.path.blocked = true;
    world.rest[0] = b"bye".to_vec();
    world.end();
    assert!(world.run(Duration::from_millis(1100), |world| world.closed[0]));
}

/// A child knows its parent by the tree's certificate.
#[test]
fn a_host_with_another_certificate_is_no_parent() {
    let (one, other) = (identity("one"), identity("other"));
    let mut world = World::new(Path::default(), &one, &other);
    world.rest[1] = b"hello".to_vec();
    assert!(world.run(Duration::from_secs(5), |world| world.closed[1]));
    assert!(!world.connected && world.heard[0].is_empty());
}

/// A blocked path is noticed soon, so that the child can come another way.
#[test]
fn a_blocked_path_connects_nothing() {
    let shared = identity("blocked");
    let mut world = World::new(Path { blocked: true, ..Path::default() }, &shared, &shared);
    assert!(world.run(Duration::from_secs(5), |world| world.closed[1]));
    assert!(!world.connected && world.elapsed() < Duration::from_secs(4), "{:?}", world.elapsed());
}

/// A link that is blocked while it is used: both ends notice.
#[test]
fn a_path_that_breaks_is_noticed_at_both_ends() {
    let shared = identity("breaks");
    let mut world = World::new(Path::default(), &shared, &shared);
    world.connect();
    world.path.blocked = true;
    world.rest[0] = data(1000);
    assert!(world.run(Duration::from_secs(10), |world| world.closed == [true; 2]));
    assert!(world.elapsed() < Duration::from_secs(5), "{:?}", world.elapsed());
}

/// Bytes that wait besides those on the way are bounded: they could not go over another connection.
#[test]
fn waiting_bytes_are_bounded() {
    let shared = identity("waits");
    // 1 Mbit/s: few bytes are on the way.
    let mut world = World::new(Path { rate: 125_000, ..Path::default() }, &shared, &shared);
    world.connect();
    world.rest[0] = data(4_000_000);
    world.run(Duration::from_secs(4), |_| false);
    let taken = 4_000_000 - world.rest[0].len();
    let waits = taken - world.heard[1].len();
    assert!(world.heard[1].len() > 200_000, "{} came", world.heard[1].len());
    assert!(waits < 512 << 10, "{waits} wait");
}

/// Datagrams that come are whole and as they were sent, the rest are lost; none is sent again, and late ones
/// are not sent at all.
#[test]
fn datagrams_are_not_sent_again_nor_late() {
    let shared = identity("datagrams");
    for (path, patience) in
        [(Path { lost: 0.03, ..Path::default() }, 1000), (Path { rate: 500_000, ..Path::default() }, 50)]
    {
        let mut world = World::new(path, &shared, &shared);
        world.connect();
        world.link(0, CONN).patience = Duration::from_millis(patience);
        // 1 MB in a second.
        for n in 0..1000_u32 {
            let bytes = [&n.to_be_bytes()[..], &data(996)].concat();
            let now = world.now;
            world.link(0, CONN).write_datagram(now, bytes.into());
            world.run(Duration::from_millis(1), |_| false);
        }
        world.run(Duration::from_millis(patience + 500), |_| false);
        let numbers: Vec<u32> = world
            .datagrams
            .iter()
            .map(|datagram| {
                assert!(datagram.len() == 1000 && datagram[4..] == data(996));
                u32::from_be_bytes(datagram[..4].try_into().expect("four bytes"))
            })
            .collect();
        assert!(numbers.windows(2).all(|two| two[0] < two[1]), "each once, in order");
        let late = world.ends[0].counts().late;
        let (least, most) = if path.rate == 0 { (930, 990) } else { (350, 700) };
        assert!((least..most).contains(&numbers.len()), "{} came, {late} late", numbers.len());
        assert_eq!(late > 0, path.rate > 0, "{} came, {late} late", numbers.len());
    }
}

/// Bytes of the stream come after the datagrams that were sent before them.
#[test]
fn the_end_does_not_overtake_datagrams() {
    let shared = identity("end");
    let mut world = World::new(Path::default(), &shared, &shared);
    world.connect();
    world.link(0, CONN).patience = Duration::from_secs(10);
    // More than may be on the way at first: most wait.
    for _ in 0..300 {
        let now = world.now;
        world.link(0, CONN).write_datagram(now, data(1000).into());
    }
    world.rest[0] = b"end".to_vec();
    assert!(world.run(Duration::from_secs(10), |world| world.heard[1] == b"end"));
    assert_eq!(world.datagrams.len(), 300);
}

/// A peer that makes up packets gets no answer, unless a packet is a client's first; those answers are
/// bounded.
#[test]
fn strangers_are_bounded_and_noise_is_not_answered() {
    let shared = identity("strangers");
    let mut parent = Links::new();
    parent.serve(shared.accept_quic().expect("a server"));
    let now = Instant::now();
    let mut rng = ChaCha8Rng::seed_from_u64(3);
    let mut out = Vec::new();
    for length in (0..1500).step_by(7) {
        let mut noise = vec![0; length];
        rng.fill(&mut noise[..]);
        parent.handle(now, (SocketAddr::from(CHILD), None), None, BytesMut::from(&noise[..]));
        parent.advance(now);
        while parent.poll_transmit(now, 1, &mut out).is_some() {
            assert!(out.len() < length.max(1), "{} bytes for {length}", out.len());
            out.clear();
        }
    }
    // Clients that begin, and send no second packet: each has another address.
    let mut answered = 0;
    for n in 0..200_u16 {
        let at = SocketAddrV4::new(*CHILD.ip(), 5000 + n);
        let mut client = Links::new();
        let config = shared.connect_quic(PARENT).expect("a client");
        assert!(client.connect(now, CONN, PARENT.into(), config));
        let mut first = Vec::new();
        while client.poll_transmit(now, 1, &mut first).is_some() {
            parent.handle(now, (at.into(), None), None, BytesMut::from(&first[..]));
            first.clear();
        }
        parent.advance(now);
        let mut bytes = 0;
        while parent.poll_transmit(now, 1, &mut out).is_some() {
            bytes += out.len();
            out.clear();
        }
        assert!(bytes <= 3 * 1200, "{bytes} bytes for a client that has not shown where it is");
        answered += usize::from(bytes > 1000);
        assert_eq!(parent.poll(), None);
    }
    assert_eq!(answered, 16, "the others are asked to prove their addresses");

    // A client that proves its address is answered.
    let mut client = Links::new();
    assert!(client.connect(now, CONN, PARENT.into(), shared.connect_quic(PARENT).expect("a client")));
    let (mut sizes, mut bytes) = (Vec::new(), Vec::new());
    for _ in 0..2 {
        while client.poll_transmit(now, 1, &mut bytes).is_some() {
            parent.handle(now, (CHILD.into(), None), None, BytesMut::from(&bytes[..]));
            bytes.clear();
        }
        parent.advance(now);
        let mut size = 0;
        while parent.poll_transmit(now, 1, &mut bytes).is_some() {
            size += bytes.len();
            client.handle(now, (PARENT.into(), None), None, BytesMut::from(&bytes[..]));
            bytes.clear();
        }
        client.advance(now);
        sizes.push(size);
    }
    assert!(sizes[0] < 1000 && sizes[1] > 1000, "{sizes:?}");
}
