//! The machines of round multicast, a hub or a rim: those of `groupflow_bone::machine`.

use std::net::{Ipv4Addr, SocketAddrV4};

use groupflow_base::{CodecError, Datagram, Machine, Nanos, Transmit};
use groupflow_bone::machine::{
    FileName, Hub, HubConfig, HubEvent, Offer, Rim, RimConfig, RimEvent, RimId, TransferId, TransferOutcome,
};

use super::machine_end::{wrong_bytes, Application, PatternBytes, Simulated};
use crate::sample::{BoneSample, FlowSample};
use crate::spec::{BoneRole, BoneSpec, HubSpec};

/// The machine of a hub or a rim at a host with this address.
pub fn bone(spec: &BoneSpec, address: Ipv4Addr, seed: u64) -> Box<dyn Simulated> {
    match &spec.role {
        BoneRole::Hub(hub) => Box::new(SimulatedHub { hub: make_hub(hub), sample: BoneSample::default() }),
        &BoneRole::Rim { forgets } => {
            let id = RimId(u32::from(address));
            let rim = Rim::new(RimConfig { id, max_size: u64::MAX, seed, forgets });
            let stop = spec.stop_ns.map_or(Nanos::MAX, Nanos);
            Box::new(SimulatedRim { rim, stop, corrupt: 0, done: false })
        }
    }
}

#[derive(Debug)]
struct SimulatedHub {
    hub: Hub,
    sample: BoneSample,
}

impl Machine for SimulatedHub {
    type Error = CodecError;

    fn handle(&mut self, now: Nanos, datagram: Datagram<'_>) -> Result<(), CodecError> {
        self.hub.handle(now, datagram)
    }

    fn poll_transmit(&mut self, now: Nanos) -> Option<Transmit> {
        let transmit = self.hub.poll_transmit(now);
        for event in self.hub.events() {
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
        transmit
    }

    fn next_deadline(&self) -> Option<Nanos> {
        self.hub.next_deadline()
    }
}

impl Simulated for SimulatedHub {
    fn settle(&mut self, _now: Nanos, _application: &mut Application) {}

    fn measure(&self, sample: &mut FlowSample) {
        sample.finished = Some(self.sample.done);
        sample.bone = Some(self.sample);
    }
}

#[derive(Debug)]
struct SimulatedRim {
    rim: Rim,
    /// When the rim leaves.
    stop: Nanos,
    /// Bytes to store that were not those that were sent, since the application last looked.
    corrupt: u64,
    done: bool,
}

impl Machine for SimulatedRim {
    type Error = CodecError;

    /// Compares what the rim would store with what was sent.
    fn handle(&mut self, now: Nanos, datagram: Datagram<'_>) -> Result<(), CodecError> {
        let result = self.rim.handle(now, datagram);
        while let Some(write) = self.rim.next_write() {
            self.corrupt += wrong_bytes(write.offset, &write.bytes);
        }
        self.done |= self.rim.events().any(|event| event == RimEvent::Complete);
        result
    }

    fn poll_transmit(&mut self, now: Nanos) -> Option<Transmit> {
        self.rim.poll_transmit(now)
    }

    fn next_deadline(&self) -> Option<Nanos> {
        let stop = Some(self.stop).filter(|&stop| stop < Nanos::MAX);
        self.rim.next_deadline().into_iter().chain(stop).min()
    }
}

impl Simulated for SimulatedRim {
    fn on_timer(&mut self, now: Nanos) {
        if self.stop <= now {
            self.stop = Nanos::MAX;
            self.rim.leave();
        }
    }

    fn settle(&mut self, _now: Nanos, application: &mut Application) {
        application.corrupt += std::mem::take(&mut self.corrupt);
        application.delivered = self.rim.bytes();
    }

    fn measure(&self, sample: &mut FlowSample) {
        sample.finished = Some(self.done);
    }
}

fn make_hub(spec: &HubSpec) -> Hub {
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
        targets: spec.targets.iter().map(|&ip| SocketAddrV4::new(ip, spec.group_port)).collect(),
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
