//! Connections over QUIC in virtual time: two hosts, and a path between them that delays, loses, repeats and
//! alters.

use std::collections::BTreeMap;
use std::net::{IpAddr, Ipv4Addr, SocketAddr, SocketAddrV4};
use std::time::{Duration, Instant};

use bytes::BytesMut;
use groupflow_host::identity::Identity;
use groupflow_tree::agent::quic::{Happened, Links, QuicLink};
use groupflow_tree::agent::shared::TreeIdentity;
use groupflow_tree::machine::ConnId;
use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;
use serde_json::json;

const PARENT: SocketAddrV4 = SocketAddrV4::new(Ipv4Addr::new(10, 0, 0, 1), 4000);
const CHILD: SocketAddrV4 = SocketAddrV4::new(Ipv4Addr::new(10, 0, 0, 2), 4000);
const CONN: ConnId = ConnId(1);
const BATCH: usize = 64 << 10;
/// UDP payload that the path takes: Ethernet's.
const LONGEST: usize = 1472;
/// One way.
const DELAY: Duration = Duration::from_millis(20);

fn identity(name: &str) -> TreeIdentity {
    let folder = std::env::temp_dir().join(format!("tree-links-{}-{name}", std::process::id()));
    std::fs::create_dir_all(&folder).expect("a folder");
    let (certificate, key) = (folder.join("cert"), folder.join("key"));
    Identity::open(&certificate, &key).expect("made");
    let text = |path| std::fs::read_to_string(path).expect("there");
    let shared =
        TreeIdentity::parse(&json!({"certificate": text(certificate), "key": text(key)})).expect("parsed");
    std::fs::remove_dir_all(&folder).expect("removed");
    shared
}

fn data(count: usize) -> Vec<u8> {
    (0..count as u64).map(|at| (at.wrapping_mul(31) ^ (at >> 8).wrapping_mul(17)) as u8).collect()
}

/// The fate of a datagram on its way.
#[derive(Debug, Clone, Copy)]
struct Path {
    lost: f64,
    twice: f64,
    altered: f64,
    /// A datagram comes at most this much later than without jitter.
    jitter: Duration,
    /// Bytes in a second; 0: no bound.
    rate: u64,
    /// A datagram that would wait for longer is lost.
    queue: Duration,
    blocked: bool,
}

impl Default for Path {
    fn default() -> Path {
        let queue = Duration::from_millis(60);
        Path { lost: 0.0, twice: 0.0, altered: 0.0, jitter: Duration::ZERO, rate: 0, queue, blocked: false }
    }
}

struct World {
    now: Instant,
    began: Instant,
    ends: [Links; 2],
    heard: [Vec<u8>; 2],
    datagrams: Vec<Vec<u8>>,
    connected: bool,
    closed: [bool; 2],
    path: Path,
    free: [Instant; 2],
    way: BTreeMap<(Instant, u64), (usize, BytesMut)>,
    count: u64,
    longest: usize,
    rng: ChaCha8Rng,
    /// Bytes that the parent and the child are still to write.
    rest: [Vec<u8>; 2],
    /// The parent writes to all children without end; the bytes that each of them read.
    endless: bool,
    each: BTreeMap<ConnId, usize>,
    /// How many transmits each end's socket takes before it is full, until the next event.
    room: [usize; 2],
    named: u64,
}

impl World {
    fn new(path: Path, parent: &TreeIdentity, child: &TreeIdentity) -> World {
        let now = Instant::now();
        let mut ends = [Links::new(), Links::new()];
        ends[0].serve(parent.accept_quic().expect("a server"));
        assert!(ends[1].connect(now, CONN, PARENT.into(), child.connect_quic(PARENT).expect("a client")));
        World {
            now,
            began: now,
            ends,
            heard: Default::default(),
            datagrams: Vec::new(),
            connected: false,
            closed: [false; 2],
            path,
            free: [now; 2],
            way: BTreeMap::new(),
            count: 0,
            longest: 0,
            rng: ChaCha8Rng::seed_from_u64(7),
            rest: Default::default(),
            endless: false,
            each: BTreeMap::new(),
            room: [usize::MAX; 2],
            named: 0,
        }
    }

    fn elapsed(&self) -> Duration {
        self.now - self.began
    }

    fn link(&mut self, end: usize, conn: ConnId) -> &mut QuicLink {
        self.ends[end].get(conn).expect("a connection")
    }

    fn put(&mut self, from: usize, bytes: &[u8]) {
        self.longest = self.longest.max(bytes.len());
        if self.path.blocked || bytes.len() > LONGEST || self.rng.gen_bool(self.path.lost) {
            return;
        }
        for _ in 0..1 + usize::from(self.rng.gen_bool(self.path.twice)) {
            let mut bytes = BytesMut::from(bytes);
            if self.rng.gen_bool(self.path.altered) {
                let at = self.rng.gen_range(0..bytes.len());
                bytes[at] ^= 1 << self.rng.gen_range(0..8);
            }
            let taken = self.free[from].max(self.now);
            if taken - self.now > self.path.queue {
                continue;
            }
            let long = Duration::from_secs(1) * bytes.len() as u32;
            self.free[from] =
                taken + if self.path.rate > 0 { long / self.path.rate as u32 } else { Duration::ZERO };
            let jitter = self.path.jitter.mul_f64(self.rng.gen());
            self.count += 1;
            let due = self.free[from] + DELAY + jitter;
            self.way.insert((due, self.count), (1 - from, bytes));
        }
    }

    fn work(&mut self) {
        for end in 0..2 {
            self.ends[end].advance(self.now);
            while let Some(happened) = self.ends[end].poll() {
                match happened {
                    Happened::Came(handle) => {
                        self.named += 1;
                        self.ends[end].name(handle, ConnId(self.named));
                    }
                    Happened::Connected(conn) => {
                        self.connected = true;
                        if self.endless {
                            let now = self.now;
                            self.link(end, conn).write(now, vec![1].into());
                        }
                    }
                    Happened::Readable(conn) => {
                        let mut came = Vec::new();
                        self.closed[end] |= self.link(end, conn).read(usize::MAX, &mut came).is_none();
                        if end == 1 {
                            *self.each.entry(conn).or_default() += came.len();
                        }
                        self.heard[end].extend(came);
                        while let Some(datagram) = self.link(end, conn).read_datagram() {
                            self.datagrams.push(datagram.to_vec());
                        }
                    }
                    Happened::Closed(conn) => {
                        self.closed[end] = true;
                        self.ends[end].drop(self.now, conn);
                    }
                }
            }
            let rest = &mut self.rest[end];
            while let Some(link) = self.ends[end].get(CONN).filter(|link| link.takes()) {
                if rest.is_empty() {
                    link.finish(self.now);
                    break;
                }
                let piece: Vec<u8> = rest.drain(..rest.len().min(BATCH)).collect();
                link.write(self.now, piece.into());
            }
            if self.endless && end == 0 {
                for conn in self.ends[0].names() {
                    while let Some(link) = self.ends[0].get(conn).filter(|link| link.takes()) {
                        link.write(self.now, vec![0; BATCH].into());
                    }
                }
            }
            let mut out = Vec::new();
            for _ in 0..self.room[end] {
                let Some(transmit) = self.ends[end].poll_transmit(self.now, 8, &mut out) else { break };
                let size = transmit.segment_size.unwrap_or(transmit.size).max(1);
                out[..transmit.size].chunks(size).for_each(|one| self.put(end, one));
                out.clear();
            }
        }
    }

    /// Runs until `done`, for `most` at most; false: it is not done.
    fn run(&mut self, most: Duration, mut done: impl FnMut(&World) -> bool) -> bool {
        let until = self.now + most;
        loop {
            self.work();
            if done(self) {
                return true;
            }
            let arrives = self.way.first_key_value().map(|(&(due, _), _)| due);
            let [parent, child] = &mut self.ends;
            let due = [arrives, parent.deadline(), child.deadline()].into_iter().flatten().min();
            let Some(due) = due.filter(|&due| due <= until) else {
                self.now = until;
                return done(self);
            };
            self.now = self.now.max(due);
            while let Some(entry) = self.way.first_entry().filter(|entry| entry.key().0 <= self.now) {
                let (to, bytes) = entry.remove();
                let from = if to == 0 { CHILD } else { PARENT };
                let at = if to == 0 { PARENT } else { CHILD };
                self.ends[to].handle(self.now, (from.into(), Some(IpAddr::V4(*at.ip()))), None, bytes);
            }
        }
    }

    /// Ends the parent's connection.
    fn end(&mut self) {
        let now = self.now;
        self.link(0, CONN).end(now);
    }

    fn connect(&mut self) {
        self.rest[1] = b"hello".to_vec();
        assert!(self.run(Duration::from_secs(10), |world| world.heard[0] == b"hello"));
    }
}

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
    // 1 Mbit/s: what is on the way is little.
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
