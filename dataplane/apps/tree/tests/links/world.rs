//! Two hosts in virtual time, and a path between them that delays, loses, repeats and alters.

use std::collections::BTreeMap;
use std::net::{IpAddr, Ipv4Addr, SocketAddrV4};
use std::time::{Duration, Instant};

use bytes::BytesMut;
use groupflow_host::tls::Identity;
use groupflow_tree::agent::quic::{Happened, Links, QuicLink};
use groupflow_tree::agent::shared::TreeIdentity;
use groupflow_tree::machine::dialogue::CertifiedKey;
use groupflow_tree::machine::ConnId;
use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;

pub const PARENT: SocketAddrV4 = SocketAddrV4::new(Ipv4Addr::new(10, 0, 0, 1), 4000);
pub const CHILD: SocketAddrV4 = SocketAddrV4::new(Ipv4Addr::new(10, 0, 0, 2), 4000);
pub const CONN: ConnId = ConnId(1);
const BATCH: usize = 64 << 10;
/// UDP payload that the path takes: Ethernet's.
const LONGEST: usize = 1472;
/// One way.
const DELAY: Duration = Duration::from_millis(20);

pub fn identity(name: &str) -> TreeIdentity {
    let folder = std::env::temp_dir().join(format!("tree-links-{}-{name}", std::process::id()));
    std::fs::create_dir_all(&folder).expect("a folder");
    let (certificate, key) = (folder.join("cert"), folder.join("key"));
    Identity::open(&certificate, &key).expect("made");
    let text = |path| std::fs::read_to_string(path).expect("there");
    let shared = TreeIdentity::parse(Some(&CertifiedKey { certificate: text(certificate), key: text(key) }))
        .expect("parsed");
    std::fs::remove_dir_all(&folder).expect("removed");
    shared
}

pub fn data(count: usize) -> Vec<u8> {
    (0..count as u64).map(|at| (at.wrapping_mul(31) ^ (at >> 8).wrapping_mul(17)) as u8).collect()
}

/// The fate of a datagram on its way.
#[derive(Debug, Clone, Copy)]
pub struct Path {
    pub lost: f64,
    pub twice: f64,
    pub altered: f64,
    /// A datagram comes at most this much later than without jitter.
    pub jitter: Duration,
    /// Bytes in a second; 0: no bound.
    pub rate: u64,
    /// A datagram that would wait for longer is lost.
    pub queue: Duration,
    pub blocked: bool,
}

impl Default for Path {
    fn default() -> Path {
        let queue = Duration::from_millis(60);
        Path { lost: 0.0, twice: 0.0, altered: 0.0, jitter: Duration::ZERO, rate: 0, queue, blocked: false }
    }
}

pub struct World {
    pub now: Instant,
    began: Instant,
    pub ends: [Links; 2],
    pub heard: [Vec<u8>; 2],
    pub datagrams: Vec<Vec<u8>>,
    pub connected: bool,
    pub closed: [bool; 2],
    pub path: Path,
    free: [Instant; 2],
    way: BTreeMap<(Instant, u64), (usize, BytesMut)>,
    count: u64,
    longest: usize,
    rng: ChaCha8Rng,
    /// Bytes that the parent and the child are still to write.
    pub rest: [Vec<u8>; 2],
    /// The parent writes to all children without end; the bytes that each of them read.
    pub endless: bool,
    pub each: BTreeMap<ConnId, usize>,
    /// How many transmits each end's socket takes before it is full, until the next event.
    pub room: [usize; 2],
    named: u64,
}

impl World {
    pub fn new(path: Path, parent: &TreeIdentity, child: &TreeIdentity) -> World {
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

    pub fn elapsed(&self) -> Duration {
        self.now - self.began
    }

    pub fn link(&mut self, end: usize, conn: ConnId) -> &mut QuicLink {
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
    pub fn run(&mut self, most: Duration, mut done: impl FnMut(&World) -> bool) -> bool {
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
    pub fn end(&mut self) {
        let now = self.now;
        self.link(0, CONN).end(now);
    }

    pub fn connect(&mut self) {
        self.rest[1] = b"hello".to_vec();
        assert!(self.run(Duration::from_secs(10), |world| world.heard[0] == b"hello"));
    }
}
