//! The machines of round multicast, a hub or a rim: those of `groupflow_bone::machine`.

use std::net::Ipv4Addr;

use groupflow_base::Nanos;
use groupflow_bone::machine::{
    FileName, Hub, HubConfig, HubEvent, Offer, Rim, RimConfig, RimEvent, RimId, TransferOutcome,
};

use super::machine_end::{wrong_bytes, Application, PatternBytes, Simulated};
use crate::sample::{BoneSample, FlowSample};
use crate::spec::{BoneRole, BoneSpec};

/// The machine of a hub or a rim at a host with this address.
pub fn bone(spec: &BoneSpec, address: Ipv4Addr, seed: u64) -> Box<dyn Simulated> {
    match &spec.role {
        BoneRole::Hub { bytes, config } => Box::new(make_hub(*bytes, config)),
        &BoneRole::Rim { forgets } => {
            let id = RimId(u32::from(address));
            Box::new(Rim::new(RimConfig { id, max_size: u64::MAX, seed, forgets }))
        }
    }
}

impl Simulated for Hub {
    fn settle(&mut self, now: Nanos, application: &mut Application) {
        application.first.get_or_insert(now);
    }

    fn measure(&mut self, application: &mut Application, sample: &mut FlowSample) {
        for event in self.events() {
            if let HubEvent::Ended(report) = event {
                application.latest = Some(report.ended);
                application.written = report.size;
                application.transfer = Some(BoneSample {
                    done: report.outcome == TransferOutcome::Done,
                    duration_s: report.ended.saturating_sub(report.started).0 as f64 / 1e9,
                    sent_bytes: report.sent,
                    packets: report.packets,
                    rounds: report.rounds,
                    answers: report.answers,
                    complete: report.complete as u32,
                    lost: report.lost as u32,
                });
            }
        }
        let done = application.transfer.is_some_and(|transfer| transfer.done);
        sample.finished = Some(done);
        sample.acknowledged_bytes = done.then_some(application.written);
        sample.bone = application.transfer;
    }
}

impl Simulated for Rim {
    fn leave(&mut self) {
        Rim::leave(self, false);
    }

    /// Compares what the rim would store with what was sent.
    fn handled(&mut self, application: &mut Application) {
        while let Some(write) = self.next_write() {
            application.corrupt += wrong_bytes(write.offset, &write.bytes);
        }
        application.complete |= self.events().any(|event| event == RimEvent::Complete);
    }

    fn settle(&mut self, now: Nanos, application: &mut Application) {
        if self.bytes() > application.delivered {
            application.latest = Some(now);
        }
        application.delivered = self.bytes();
    }

    fn measure(&mut self, application: &mut Application, sample: &mut FlowSample) {
        sample.delivered_bytes = Some(application.delivered);
        sample.finished = Some(application.complete);
    }
}

fn make_hub(bytes: u64, config: &HubConfig) -> Hub {
    let mut hub = Hub::new(config.clone());
    let source = Box::new(PatternBytes(bytes));
    if let Ok(name) = FileName::parse("file") {
        // There is room for one file.
        let _ = hub.push(Offer { name, mode: 0o644, digest: [0; 32], source });
    }
    hub
}
