//! A byte stream over the group transport: packets that are lost, doubled and overtake each other, at some
//! rate.

use std::collections::BTreeMap;

use groupflow_base::{BitRate, Nanos};
use groupflow_transport::pipe::{Inlet, Outlet};
use proptest::prelude::*;
use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;

/// Bytes of a packet.
const MOST: usize = 1192;
/// After that nothing is waited for.
const LATE: Nanos = Nanos::from_secs(600);

/// What happens to packets.
#[derive(Debug, Clone, Copy)]
struct Way {
    /// Of a hundred, lost each way.
    loss: u32,
    /// Of a hundred, doubled.
    twice: u32,
    /// Of one way, and as much again at random.
    delay: Nanos,
    jitter: Nanos,
    /// Of the way down; what does not fit into its queue is lost.
    rate: BitRate,
    queue: Nanos,
}

const CLEAN: Way = Way {
    loss: 0,
    twice: 0,
    delay: Nanos::from_millis(10),
    jitter: Nanos::ZERO,
    rate: BitRate(100_000_000),
    queue: Nanos::from_millis(100),
};

struct World {
    now: Nanos,
    rng: ChaCha8Rng,
    way: Way,
    outlet: Outlet,
    inlet: Inlet,
    /// When, in which order; whether it goes up.
    flying: BTreeMap<(Nanos, u64), (bool, Vec<u8>)>,
    sent: u64,
    /// Of those that go down.
    lost: u64,
    /// The link down is busy until then.
    busy: Nanos,
    came: Vec<u8>,
}

impl World {
    fn new(way: Way, seed: u64) -> World {
        let now = Nanos::from_secs(1);
        World {
            now,
            rng: ChaCha8Rng::seed_from_u64(seed),
            way,
            outlet: Outlet::new(now, MOST),
            inlet: Inlet::new(now, seed),
            flying: BTreeMap::new(),
            sent: 0,
            lost: 0,
            busy: now,
            came: Vec::new(),
        }
    }

    fn send(&mut self, up: bool, packet: &[u8]) {
        assert!(packet.len() <= MOST);
        if self.rng.gen_range(0..100) < self.way.loss {
            self.lost += u64::from(!up);
            return;
        }
        let mut leaves = self.now;
        if !up {
            if self.busy > self.now + self.way.queue {
                return;
            }
            self.busy = self.busy.max(self.now) + self.way.rate.time_for(packet.len() as u64 + 66);
            leaves = self.busy;
        }
        let copies = if self.rng.gen_range(0..100) < self.way.twice { 2 } else { 1 };
        for _ in 0..copies {
            let jitter = Nanos(self.rng.gen_range(0..=self.way.jitter.0));
            self.sent += 1;
            self.flying.insert((leaves + self.way.delay + jitter, self.sent), (up, packet.to_vec()));
        }
    }

    /// Sends what is to be sent, and goes on to what happens next.
    fn step(&mut self) {
        while let Some(packet) = self.outlet.poll_transmit(self.now) {
            self.send(false, &packet);
        }
        while let Some(packet) = self.inlet.poll_transmit(self.now) {
            self.send(true, &packet);
        }
        let flying = self.flying.keys().next().map(|&(when, _)| when);
        let own = [self.outlet.next_deadline(), self.inlet.next_deadline()];
        let next = own.into_iter().flatten().chain(flying).min().expect("something happens");
        self.now = self.now.max(next);
        while let Some(entry) = self.flying.first_entry().filter(|entry| entry.key().0 <= self.now) {
            let (up, packet) = entry.remove();
            if up {
                self.outlet.handle(self.now, &packet).expect("a packet");
            } else {
                self.inlet.handle(self.now, &packet).expect("a packet");
                self.inlet.take(self.now, &mut self.came);
            }
        }
    }

    /// Until all came, and that is known; how long it took.
    fn carry(&mut self, bytes: &[u8], chunk: usize) -> Nanos {
        let (began, mut rest) = (self.now, bytes);
        while self.came.len() < bytes.len() || !self.outlet.is_empty() {
            while !rest.is_empty() && self.outlet.takes() {
                let (now, later) = rest.split_at(rest.len().min(chunk));
                self.outlet.write(now);
                rest = later;
            }
            self.step();
            assert_eq!(self.outlet.failed(), None);
            assert!(!self.inlet.failed());
            assert!(self.now < began + LATE, "{} of {} bytes", self.came.len(), bytes.len());
        }
        assert!(self.came == bytes, "not what was sent");
        self.now - began
    }
}

fn data(length: usize) -> Vec<u8> {
    (0..length).map(|n| (n * 7 + n / 251) as u8).collect()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 40, ..ProptestConfig::default() })]
    #[test]
    fn all_comes_once_and_in_order(
        loss in 0..20_u32, twice in 0..10_u32, delay in 0..60_u64, jitter in 0..30_u64, mbits in 1..200_u64,
        length in 0..400_000_usize, chunk in 1..70_000_usize, seed in any::<u64>(),
    ) {
        let way = Way {
            loss, twice, delay: Nanos::from_millis(delay), jitter: Nanos::from_millis(jitter),
            rate: BitRate(mbits * 1_000_000), ..CLEAN
        };
        World::new(way, seed).carry(&data(length), chunk);
    }

    #[test]
    fn what_makes_no_sense_is_refused_and_changes_nothing(packets in proptest::collection::vec(
        proptest::collection::vec(any::<u8>(), 0..100), 0..20,
    )) {
        let mut world = World::new(CLEAN, 1);
        for packet in packets {
            prop_assert!(world.outlet.handle(world.now, &packet).is_err());
            prop_assert!(world.inlet.handle(world.now, &packet).is_err());
        }
        world.carry(&data(10_000), 1_000);
    }
}

/// What is written little by little goes at once, and does not wait for a packet to be full.
#[test]
fn a_few_bytes_do_not_wait_for_more() {
    let mut world = World::new(CLEAN, 1);
    for n in 1..=20 {
        let before = world.came.len();
        let began = world.now;
        world.outlet.write(&[n; 10]);
        while world.came.len() < before + 10 {
            world.step();
        }
        assert!(world.now - began < Nanos::from_millis(12), "{n}: {}", world.now - began);
        while !world.outlet.is_empty() {
            world.step();
        }
    }
}

/// Random losses are repaired and are no congestion: the rate is the link's, and not a part of it.
#[test]
fn losses_do_not_slow_it_down() {
    let bytes = data(20 << 20);
    let clean = World::new(CLEAN, 1).carry(&bytes, 16 << 10);
    for (loss, most) in [(0, 1.0), (1, 1.1), (5, 1.7)] {
        let took = World::new(Way { loss, ..CLEAN }, 1).carry(&bytes, 16 << 10);
        let times = took.0 as f64 / clean.0 as f64;
        assert!(times <= most, "{loss} % of losses: {times:.2} times as long");
    }
    let least = CLEAN.rate.time_for(bytes.len() as u64);
    let share = least.0 as f64 / clean.0 as f64;
    assert!(share > 0.75, "{share:.2} of the link");
}

/// Holes that are filled make the acknowledgement jump, and the rate is not taken for a higher one: a short
/// queue would overflow.
#[test]
fn holes_do_not_make_it_send_too_fast() {
    let way = Way { loss: 1, rate: BitRate(20_000_000), queue: Nanos::from_millis(20), ..CLEAN };
    let mut world = World::new(way, 1);
    world.carry(&data(20 << 20), 16 << 10);
    let (lost, stats) = (world.lost, world.outlet.stats());
    let share = stats.retransmitted as f64 / stats.packets as f64;
    assert!(lost > 100 && share < 0.06, "{share:.3} were sent again");
}

/// Who takes nothing is not sent more than the window, and what was written is bounded by whoever writes.
#[test]
fn a_way_that_is_cut_holds_a_window_and_is_given_up() {
    let mut world = World::new(Way { loss: 100, ..CLEAN }, 1);
    let mut written = 0;
    let began = world.now;
    while world.outlet.failed().is_none() {
        while world.outlet.takes() {
            world.outlet.write(&[0; 1 << 14]);
            written += 1 << 14;
        }
        world.step();
        assert!(world.now < began + LATE, "it is waited for for ever");
    }
    assert!(written < 3 << 20, "{written} bytes");
}

/// What came behind a hole is not sent again.
#[test]
fn only_what_is_lost_goes_again() {
    let mut world = World::new(CLEAN, 1);
    let bytes = data(2 << 20);
    world.carry(&bytes[..1 << 20], 1 << 14);
    world.outlet.write(&bytes[1 << 20..]);
    world.came.clear();
    world.way.loss = 100;
    for _ in 0..3 {
        world.step();
    }
    world.way.loss = 0;
    while world.came.len() < 1 << 20 {
        world.step();
    }
    assert!(world.came == bytes[1 << 20..]);
    let (lost, repeated) = (world.lost, world.outlet.stats().retransmitted);
    assert!(lost > 0 && (lost..=2 * lost).contains(&repeated), "{lost} lost, {repeated} sent again");
}
