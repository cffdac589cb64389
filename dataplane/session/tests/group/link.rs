//! One direction of a link: rate, delay, a drop-tail queue, and faults.

use std::collections::VecDeque;

use groupflow_base::{BitRate, Nanos};
use rand::Rng;
use rand_chacha::ChaCha8Rng;

/// Ethernet, IPv4 and UDP.
const HEADERS: u64 = 42;

#[derive(Debug, Clone, Copy)]
pub struct LinkConfig {
    /// 0: unlimited.
    pub rate: BitRate,
    pub delay: Nanos,
    /// Packets that wait at most.
    pub queue: usize,
    /// Per mille of the packets.
    pub loss: u32,
    pub reorder: u32,
    pub duplicate: u32,
}

impl LinkConfig {
    pub fn new(mbit: u64, delay_ms: u64) -> LinkConfig {
        LinkConfig {
            rate: BitRate(mbit * 1_000_000),
            delay: Nanos::from_millis(delay_ms),
            queue: 200,
            loss: 0,
            reorder: 0,
            duplicate: 0,
        }
    }

    /// Between a switch and its agent.
    pub fn local() -> LinkConfig {
        LinkConfig { queue: 4000, ..LinkConfig::new(0, 0) }
    }
}

#[derive(Debug)]
pub struct WorldLink {
    pub config: LinkConfig,
    pub up: bool,
    pub bytes: u64,
    pub overflows: u64,
    departures: VecDeque<Nanos>,
}

impl WorldLink {
    pub fn new(config: LinkConfig) -> WorldLink {
        WorldLink { config, up: true, bytes: 0, overflows: 0, departures: VecDeque::new() }
    }

    /// When the copies of a packet that is sent now arrive; none when it is lost.
    pub fn send(&mut self, now: Nanos, length: usize, rng: &mut ChaCha8Rng) -> Vec<Nanos> {
        let mut hit = |per_mille: u32| per_mille > 0 && rng.gen_range(0..1000) < per_mille;
        let (lost, late, twice) =
            (hit(self.config.loss), hit(self.config.reorder), hit(self.config.duplicate));
        while self.departures.front().is_some_and(|&at| at <= now) {
            self.departures.pop_front();
        }
        if self.departures.len() >= self.config.queue {
            self.overflows += 1;
            return Vec::new();
        }
        if lost || !self.up {
            return Vec::new();
        }
        let wire = length as u64 + HEADERS;
        self.bytes += wire;
        let start = self.departures.back().map_or(now, |&last| last.max(now));
        let depart = match self.config.rate.0 {
            0 => start,
            _ => start + self.config.rate.time_for(wire),
        };
        self.departures.push_back(depart);
        let extra = if late { Nanos(rng.gen_range(0..4_000_000)) } else { Nanos::ZERO };
        let arrival = depart + self.config.delay + extra;
        if twice {
            vec![arrival, arrival + Nanos(50_000)]
        } else {
            vec![arrival]
        }
    }
}
