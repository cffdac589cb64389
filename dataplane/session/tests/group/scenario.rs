//! The group most tests begin with.

use crate::model::controller::Rules;
use groupflow_base::{BitRate, Nanos};
use groupflow_session::control::StartAt;
use groupflow_transport::source::Source;
use groupflow_transport::terms::{Mode, Policy};
use groupflow_transport::testing::MemoryFile;
use groupflow_transport::Seq;
use rand::{RngCore, SeedableRng};
use rand_chacha::ChaCha8Rng;

use super::link::LinkConfig;
use super::world::{HostNumber, World};

pub const MBIT: u64 = 1_000_000;
/// The hosts of a group: agents 0 and 1, the sender, then the receivers.
pub const SENDER: HostNumber = 2;

/// Bytes that differ everywhere.
pub fn random_bytes(seed: u64, length: usize) -> Vec<u8> {
    let mut bytes = vec![0; length];
    ChaCha8Rng::seed_from_u64(seed).fill_bytes(&mut bytes);
    bytes
}

pub fn file(bytes: &[u8]) -> Source {
    match Source::file(Box::new(MemoryFile(bytes.to_vec())), Seq::FIRST) {
        Ok(source) => source,
        Err(error) => panic!("{error}"),
    }
}

#[derive(Debug, Clone)]
pub struct Scenario {
    pub began: Nanos,
    pub seed: u64,
    pub receivers: usize,
    pub mode: Mode,
    pub policy: Policy,
    pub window: u32,
    pub cache_bytes: u64,
    pub agents: bool,
    pub decouple: bool,
    pub keeps_streams: bool,
    /// 0: the sender is not told the links' rate.
    pub hint: u64,
    pub loss: u32,
    pub reorder: u32,
    pub duplicate: u32,
}

impl Default for Scenario {
    fn default() -> Scenario {
        Scenario {
            began: Nanos::ZERO,
            seed: 1,
            receivers: 3,
            mode: Mode::EndToEnd,
            policy: Policy::Strict,
            window: 2048,
            cache_bytes: 256 << 20,
            agents: true,
            decouple: false,
            keeps_streams: false,
            hint: 100 * MBIT,
            loss: 0,
            reorder: 0,
            duplicate: 0,
        }
    }
}

impl Scenario {
    pub fn link(&self) -> LinkConfig {
        LinkConfig {
            loss: self.loss,
            reorder: self.reorder,
            duplicate: self.duplicate,
            ..LinkConfig::new(100, 10)
        }
    }

    /// The first third of the receivers is at the sender's switch, the others at the far one.
    pub fn world(&self) -> World {
        let rules = Rules {
            mode: self.mode,
            policy: self.policy,
            window: self.window,
            rate: BitRate(self.hint),
            token: "c0ffee".to_owned(),
            agents: self.agents,
            decouple: self.decouple,
            keeps_streams: self.keeps_streams,
        };
        let mut world = World::new(self.began, self.seed, rules, self.link(), self.cache_bytes);
        world.add_host(0, self.link(), self.link());
        for i in 0..self.receivers {
            let switch = usize::from(i >= self.receivers.div_ceil(3));
            world.add_host(switch, self.link(), self.link());
        }
        world
    }

    pub fn receiver_hosts(&self) -> std::ops::Range<HostNumber> {
        SENDER + 1..SENDER + 1 + self.receivers
    }

    /// A world in which everyone has joined session 1 and the sender has begun.
    pub fn started(&self, source: Source) -> World {
        let mut world = self.world();
        for host in self.receiver_hosts() {
            world.start_receiver(host, 1, StartAt::Now, false);
        }
        world.start_sender(SENDER, 1, source, self.receivers as u16);
        assert!(world.run_until(Nanos::from_secs(5), |w| w.hosts[SENDER].started.is_some()));
        world
    }

    /// Sends `bytes` and checks that everyone has them.
    pub fn transfer(&self, bytes: &[u8], limit: Nanos) -> World {
        let mut world = self.started(file(bytes));
        finish(&mut world, self.receiver_hosts(), bytes, limit);
        world
    }
}

/// Runs until the sender and all `receivers` are done, and compares what they have.
pub fn finish(
    world: &mut World, receivers: impl IntoIterator<Item = HostNumber>, bytes: &[u8], limit: Nanos,
) {
    let receivers: Vec<HostNumber> = receivers.into_iter().collect();
    let done = |w: &World| {
        w.hosts[SENDER].completed.is_some() && receivers.iter().all(|&h| w.hosts[h].completed.is_some())
    };
    let ok = world.run_until(limit, done);
    for &host in &receivers {
        assert_eq!(world.hosts[host].receive_error, None, "receiver {host}");
    }
    assert_eq!(world.hosts[SENDER].send_error, None);
    let state: Vec<usize> = receivers.iter().map(|&h| world.hosts[h].output.len()).collect();
    assert!(ok, "not complete after {limit}: {state:?} of {} bytes", bytes.len());
    for &host in &receivers {
        let output = &world.hosts[host].output;
        assert!(
            output == bytes,
            "receiver {host}: {} of {} bytes, or they differ",
            output.len(),
            bytes.len()
        );
    }
}

/// From the first packet to the completion of the last receiver.
pub fn duration(world: &World, receivers: impl IntoIterator<Item = HostNumber>) -> Nanos {
    let began = world.hosts[SENDER].started.unwrap_or(Nanos::ZERO);
    let last = receivers.into_iter().filter_map(|h| world.hosts[h].completed).max();
    last.unwrap_or(Nanos::MAX) - began
}
