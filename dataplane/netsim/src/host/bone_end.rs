//! A hub or a rim of round multicast: the machines of `groupflow_bone::machine`.
//!
//! Files are real bytes, and a rim compares each that it would store.

use std::net::SocketAddrV4;

use groupflow_base::{Datagram, Dest, Nanos, Transmit};
use groupflow_bone::machine::{
    FileName, Hub, HubConfig, HubEvent, Offer, Rim, RimConfig, RimEvent, RimId, TransferId, TransferOutcome,
};

use super::group_end::{pattern, write_datagram, PatternBytes};
use crate::sample::{BoneSample, FlowSample};
use crate::spec::{BoneRole, BoneSpec, HubSpec};
use crate::wire::{Addresses, UDP};

/// The side of a round multicast that a host is on.
#[derive(Debug)]
enum BoneSide {
    Hub(Box<Hub>),
    Rim(Box<Rim>),
}

#[derive(Debug)]
pub struct BoneEnd {
    addresses: Addresses,
    side: BoneSide,
    start: Nanos,
    /// When a rim leaves.
    stop: Nanos,
    /// Since when the machine may have something to send; [`Nanos::MAX`] where it said that it has nothing.
    pending: Nanos,
    /// Time must pass between two timer calls.
    not_before: Nanos,
    sent: u64,
    received: u64,
    corrupt: u64,
    malformed: u64,
    delivered: u64,
    sample: BoneSample,
}

impl BoneEnd {
    /// A hub or a rim. `addresses` are those of its packets except for the destination; `targets` are the
    /// rims of unicast.
    pub fn new(addresses: Addresses, spec: &BoneSpec, targets: Vec<SocketAddrV4>, seed: u64) -> BoneEnd {
        let side = match &spec.role {
            BoneRole::Hub(hub) => BoneSide::Hub(Box::new(make_hub(hub, targets))),
            &BoneRole::Rim { forgets } => {
                let id = RimId(u32::from(addresses.source));
                BoneSide::Rim(Box::new(Rim::new(RimConfig { id, max_size: u64::MAX, seed, forgets })))
            }
        };
        BoneEnd {
            addresses,
            side,
            start: Nanos(spec.start_ns),
            stop: spec.stop_ns.map_or(Nanos::MAX, Nanos),
            pending: Nanos::MAX,
            not_before: Nanos(spec.start_ns),
            sent: 0,
            received: 0,
            corrupt: 0,
            malformed: 0,
            delivered: 0,
            sample: BoneSample::default(),
        }
    }

    pub fn deadline(&self) -> Nanos {
        if self.pending < Nanos::MAX {
            return Nanos::MAX; // it will be polled
        }
        let deadline = match &self.side {
            BoneSide::Hub(hub) => hub.next_deadline(),
            BoneSide::Rim(rim) => rim.next_deadline(),
        };
        deadline.unwrap_or(Nanos::MAX).min(self.stop).max(self.not_before)
    }

    /// Since when the end may have something to send.
    pub fn wants(&self) -> Nanos {
        self.pending
    }

    /// Handles the end's deadline.
    pub fn on_timer(&mut self, now: Nanos) {
        if self.stop <= now {
            self.stop = Nanos::MAX;
            if let BoneSide::Rim(rim) = &mut self.side {
                rim.leave();
            }
        }
        self.pending = self.pending.min(now);
    }

    /// Handles a datagram that arrives, from its UDP header on.
    pub fn receive(&mut self, now: Nanos, from: SocketAddrV4, segment: &[u8]) {
        let Some(bytes) = segment.get(UDP..).filter(|_| now >= self.start) else { return };
        self.received += 1;
        let datagram = Datagram { from, bytes };
        let result = match &mut self.side {
            BoneSide::Hub(hub) => hub.handle(now, datagram),
            BoneSide::Rim(rim) => rim.handle(now, datagram),
        };
        self.malformed += u64::from(result.is_err());
        self.store();
        self.pending = self.pending.min(now);
    }

    /// Compares the packet that a rim would store with the one sent.
    fn store(&mut self) {
        let BoneSide::Rim(rim) = &mut self.side else { return };
        while let Some(write) = rim.next_write() {
            let wrong = (write.offset..).zip(&write.bytes).filter(|(at, &byte)| byte != pattern(*at)).count();
            self.corrupt += wrong as u64;
        }
        for event in rim.events() {
            self.sample.done |= event == RimEvent::Complete;
        }
        self.delivered = rim.bytes();
    }

    /// Writes the packet to send now, if there is one; returns the length of its tail.
    pub fn poll(&mut self, now: Nanos, head: &mut Vec<u8>) -> Option<u32> {
        self.not_before = now + Nanos(1);
        let transmit = match &mut self.side {
            BoneSide::Hub(hub) => hub.poll_transmit(now),
            BoneSide::Rim(rim) => rim.poll_transmit(now),
        };
        self.listen();
        let Some(transmit) = transmit else {
            self.pending = Nanos::MAX;
            return None;
        };
        self.pending = now;
        self.sent += 1;
        self.write(&transmit, head);
        Some(0)
    }

    fn listen(&mut self) {
        let BoneSide::Hub(hub) = &mut self.side else { return };
        for event in hub.events() {
            if let HubEvent::Ended(report) = event {
                self.sample = BoneSample {
                    done: report.outcome == TransferOutcome::Done,
                    duration: report.ended.saturating_sub(report.started),
                    sent_bytes: report.sent,
                    packets: report.packets,
                    rounds: report.rounds,
                    answers: report.answers,
                    complete: report.complete as u32,
                    lost: report.lost as u32,
                };
            }
        }
    }

    fn write(&self, transmit: &Transmit, head: &mut Vec<u8>) {
        let Dest::Host(to) = transmit.dest else { return };
        write_datagram(&self.addresses, to, &transmit.bytes, head);
    }

    /// Datagrams that the machine refused, and bytes that were not those that were sent.
    pub fn malformed(&self) -> u64 {
        self.malformed + self.corrupt
    }

    /// Measures the hub or the rim.
    pub fn sample(&self, sample: &mut FlowSample) {
        sample.sent_packets = self.sent;
        sample.delivered_packets = self.received;
        sample.delivered_bytes = self.delivered;
        sample.finished = Some(self.sample.done);
        sample.bone = matches!(self.side, BoneSide::Hub(_)).then_some(self.sample);
    }
}

fn make_hub(spec: &HubSpec, targets: Vec<SocketAddrV4>) -> Hub {
    let mut hub = Hub::new(HubConfig {
        group: SocketAddrV4::new(spec.group, spec.group_port),
        method: spec.method,
        repair: spec.repair,
        packet: spec.packet,
        sizes: (spec.least_packet, spec.most_packet),
        per_round: spec.per_round,
        interval: Nanos(spec.interval_ns),
        join_wait: Nanos(spec.join_wait_ns),
        result_wait: Nanos(spec.result_wait_ns),
        grace: Nanos(spec.grace_ns),
        crowd: spec.crowd as usize,
        per_answer: Nanos(spec.per_answer_ns),
        patience: spec.patience,
        max_rims: spec.max_rims as usize,
        targets,
        announce: None,
        transfer: TransferId(0),
    });
    let source = Box::new(PatternBytes(spec.bytes));
    if let Ok(name) = FileName::parse("file") {
        // There is room for one file.
        let _ = hub.push(Offer { name, mode: 0o644, digest: [0; 32], source });
    }
    hub
}
