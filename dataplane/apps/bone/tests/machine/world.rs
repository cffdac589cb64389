//! A hub and its rims in virtual time, over a medium that loses, repeats and reorders.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap};
use std::net::{Ipv4Addr, SocketAddrV4};

use groupflow_base::{Datagram, Dest, Machine, Nanos};
use groupflow_bone::machine::{
    FileName, Hub, HubConfig, HubEvent, Method, Offer, Repair, Rim, RimConfig, RimEvent, RimId, TransferId,
    TransferReport,
};
use groupflow_transport::testing::MemoryFile;
use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;

pub const HUB: SocketAddrV4 = SocketAddrV4::new(Ipv4Addr::new(10, 0, 0, 1), 7000);
pub const GROUP: SocketAddrV4 = SocketAddrV4::new(Ipv4Addr::new(239, 1, 1, 1), 7000);

pub fn rim_address(rim: usize) -> SocketAddrV4 {
    SocketAddrV4::new(Ipv4Addr::new(10, 0, 1 + (rim / 200) as u8, (rim % 200) as u8), 7000)
}

/// A rim, the bytes that it stored, and its events.
#[derive(Debug)]
pub struct RimHost {
    pub rim: Rim,
    pub stored: Vec<u8>,
    pub completed: usize,
    pub abandoned: usize,
    pub pieces: usize,
}

/// The faults of the medium: of a thousand copies of a datagram, so many are lost or doubled.
#[derive(Debug, Clone, Copy, Default)]
pub struct Medium {
    pub lost_down: u32,
    pub lost_up: u32,
    pub doubled: u32,
    pub jitter_ms: u64,
}

fn rim(n: usize, seed: u64, forgets: bool) -> RimConfig {
    RimConfig { id: RimId(n as u32 + 100), max_size: 1 << 20, seed: seed ^ n as u64, forgets }
}

pub fn config(method: Method, repair: Repair, rims: usize) -> HubConfig {
    HubConfig {
        group: GROUP,
        method,
        repair,
        packet: 640,
        sizes: (64, 1280),
        per_round: 16,
        interval: Nanos::from_millis(10),
        join_wait: Nanos::from_millis(1000),
        result_wait: Nanos::from_millis(1500),
        grace: Nanos::from_millis(200),
        crowd: 16,
        per_answer: Nanos::from_millis(10),
        patience: 30,
        max_rims: 1000,
        targets: (0..rims).map(rim_address).collect(),
        announce: None,
        transfer: TransferId(6),
    }
}

pub fn file(size: usize) -> Vec<u8> {
    (0..size).map(|at| (at ^ at >> 8 ^ at >> 16) as u8).collect()
}

type DatagramArrival = Reverse<(Nanos, u64, usize, SocketAddrV4, Vec<u8>)>;

pub struct World {
    pub now: Nanos,
    pub hub: Hub,
    pub rims: Vec<RimHost>,
    pub medium: Medium,
    /// One way.
    pub delay: Nanos,
    pub reports: Vec<TransferReport>,
    pub lost: Vec<RimId>,
    pub asked: Vec<(RimId, SocketAddrV4, FileName)>,
    /// Messages of each kind that were sent, before losses.
    pub kinds: BTreeMap<u8, u64>,
    /// DATA as it was sent.
    pub data: Vec<groupflow_bone::machine::message::DataPacket>,
    /// Rims that hear and say nothing.
    pub deaf: Vec<bool>,
    /// Further losses of messages up from (true) or down to a rim, by the kind of message.
    pub loses: Box<dyn FnMut(bool, usize, u8) -> bool>,
    flying: BinaryHeap<DatagramArrival>,
    number: u64,
    random: ChaCha8Rng,
}

impl World {
    pub fn new(config: HubConfig, rims: usize, medium: Medium, seed: u64) -> World {
        let host = |n: usize| RimHost {
            rim: Rim::new(rim(n, seed, false)),
            stored: Vec::new(),
            completed: 0,
            abandoned: 0,
            pieces: 0,
        };
        World {
            now: Nanos::ZERO,
            hub: Hub::new(config),
            rims: (0..rims).map(host).collect(),
            medium,
            delay: Nanos::from_millis(100),
            reports: Vec::new(),
            lost: Vec::new(),
            asked: Vec::new(),
            kinds: BTreeMap::new(),
            data: Vec::new(),
            deaf: vec![false; rims],
            loses: Box::new(|_, _, _| false),
            flying: BinaryHeap::new(),
            number: 0,
            random: ChaCha8Rng::seed_from_u64(seed),
        }
    }

    /// Whether rims forget what they had when the hub goes back; before anything is sent.
    pub fn forget(&mut self, forgets: bool) {
        for (n, host) in self.rims.iter_mut().enumerate() {
            host.rim = Rim::new(rim(n, n as u64, forgets));
        }
    }

    pub fn offer(&mut self, name: &str, bytes: Vec<u8>) {
        let name = FileName::parse(name).expect("a name");
        let offer = Offer { name, mode: 0o644, digest: [7; 32], source: Box::new(MemoryFile(bytes)) };
        assert!(self.hub.push(offer).is_ok(), "there is room");
    }

    /// Until so many files have ended, or this much time has passed.
    pub fn run(&mut self, files: usize, limit: Nanos) {
        while self.reports.len() < files && self.now < limit {
            self.step();
        }
    }

    fn step(&mut self) {
        self.flush();
        let flying = self.flying.peek().map(|Reverse((at, ..))| *at);
        let hub = self.hub.next_deadline();
        let rims = self.rims.iter().filter_map(|host| host.rim.next_deadline()).min();
        let next = [flying, hub, rims].into_iter().flatten().min().unwrap_or(Nanos::MAX);
        self.now = next.max(self.now + Nanos(1));
        while self.flying.peek().is_some_and(|Reverse((at, ..))| *at <= self.now) {
            let Some(Reverse((_, _, to, from, bytes))) = self.flying.pop() else { break };
            let datagram = Datagram { from, bytes: &bytes };
            if to == usize::MAX {
                self.hub.handle(self.now, datagram).expect("what rims say makes sense");
            } else {
                self.rims[to].rim.handle(self.now, datagram).expect("what the hub says makes sense");
                self.drain(to);
            }
        }
    }

    /// Lets everyone say what they have to say.
    fn flush(&mut self) {
        while let Some(transmit) = self.hub.poll_transmit(self.now) {
            *self.kinds.entry(transmit.bytes[1]).or_default() += 1;
            if let Ok(message) = groupflow_bone::machine::message::Message::parse(&transmit.bytes) {
                if let groupflow_bone::machine::message::Body::Data(data) = message.body {
                    self.data.push(data);
                }
            }
            for rim in 0..self.rims.len() {
                let to_it = [GROUP, rim_address(rim)].map(Dest::Host).contains(&transmit.dest);
                if to_it && !(self.loses)(false, rim, transmit.bytes[1]) {
                    self.carry(rim, HUB, &transmit.bytes, self.medium.lost_down);
                }
            }
        }
        for rim in 0..self.rims.len() {
            while let Some(transmit) = self.rims[rim].rim.poll_transmit(self.now) {
                *self.kinds.entry(transmit.bytes[1]).or_default() += 1;
                if !self.deaf[rim] && !(self.loses)(true, rim, transmit.bytes[1]) {
                    self.carry(usize::MAX, rim_address(rim), &transmit.bytes, self.medium.lost_up);
                }
            }
        }
        for event in self.hub.events() {
            match event {
                HubEvent::Ended(report) => self.reports.push(report),
                HubEvent::Lost(rim) => self.lost.push(rim),
                HubEvent::Asked { rim, from, name } => self.asked.push((rim, from, name)),
            }
        }
    }

    fn carry(&mut self, to: usize, from: SocketAddrV4, bytes: &[u8], lost: u32) {
        if to != usize::MAX && self.deaf[to] {
            return;
        }
        let copies = 1 + u32::from(self.random.gen_range(0..1000) < self.medium.doubled);
        for _ in 0..copies {
            if self.random.gen_range(0..1000) < lost {
                continue;
            }
            let jitter = self.random.gen_range(0..=self.medium.jitter_ms);
            self.number += 1;
            let at = self.now + self.delay + Nanos::from_millis(jitter);
            self.flying.push(Reverse((at, self.number, to, from, bytes.to_vec())));
        }
    }

    fn drain(&mut self, to: usize) {
        let host = &mut self.rims[to];
        host.pieces = host.pieces.max(host.rim.pieces());
        for event in host.rim.events() {
            match event {
                RimEvent::Began(file) => host.stored = vec![0xEE; file.size as usize],
                RimEvent::Complete => host.completed += 1,
                RimEvent::Abandoned | RimEvent::Silent => host.abandoned += 1,
                RimEvent::TooLong { .. } => {}
            }
        }
        while let Some(write) = host.rim.next_write() {
            let from = write.offset as usize;
            host.stored[from..from + write.bytes.len()].copy_from_slice(&write.bytes);
        }
    }
}
