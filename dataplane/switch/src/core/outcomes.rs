//! All outcomes of a packet: it runs once for each way that chance and hashes leave open, without effect.
//!
//! A run is a switch of its own with the same ports, and a copy of program and entries. Its queues are empty
//! and its links ideal, so that nothing else decides.

use groupflow_base::Nanos;
use groupflow_pipeline::{Arrival, Choices};

use super::generator::Generators;
use super::switch::{Forwarding, Switch};
use super::trace::{Branch, Outcome, Outcomes, TraceFilter};

/// The work of all ways of a packet that are tried, in copied entries: some 0.1 s.
const WORK: usize = 1 << 22;
/// A way's work at least, so that there are at most 256, and that of a recorded step.
const WAY: usize = WORK / 256;
const STEP: usize = 32;
/// The most packets in the loop of a run.
const LOOP: usize = 256;

impl Switch {
    /// The outcomes of a packet that comes to ingress.
    pub(super) fn outcomes(&self, now: Nanos, arrival: &Arrival, bytes: &[u8]) -> Outcomes {
        let size = self.forwarding.as_ref().map_or(0, |forwarding| forwarding.pipeline.size());
        let (mut all, mut work, mut next) = (Outcomes::default(), 0, Some(Choices::default()));
        while let Some(choices) = next.take() {
            let Some((choices, outcome)) = self.outcome(choices, now, arrival, bytes) else {
                all.outcomes_cut = true;
                break;
            };
            work += WAY.max(size + STEP * steps(&outcome.root));
            match all.outcomes.iter_mut().find(|known| known.sent == outcome.sent) {
                Some(known) => known.ways.extend(outcome.ways),
                None => all.outcomes.push(outcome),
            }
            next = choices.next();
            all.outcomes_cut = work >= WORK && next.take().is_some();
        }
        all
    }

    /// The outcome of a packet by these choices and those that follow. `None`: too many copies go round.
    fn outcome(
        &self, choices: Choices, now: Nanos, arrival: &Arrival, bytes: &[u8],
    ) -> Option<(Choices, Outcome)> {
        let (mut run, real) = (Switch::new(self.config.clone()).ok()?, self.forwarding.as_ref()?);
        let (pipeline, replication) = (real.pipeline.copy(choices), real.replication.clone());
        let (generators, registers) = (Generators::default(), real.registers);
        run.forwarding = Some(Forwarding { pipeline, replication, generators, registers });
        run.clock = self.clock;
        for (port, own) in run.ports.iter_mut().zip(&self.ports) {
            port.out_wire.set_up(own.out_wire.is_up());
        }
        let filter = run.tracer.arm(TraceFilter::default(), 1)?;
        run.ingress(now, arrival.clone(), bytes);
        let trace = loop {
            if let Some(trace) = run.tracer.take(filter)?.pop() {
                break trace;
            }
            let next = run.agenda.next().filter(|_| run.loopback.len() <= LOOP)?;
            run.catch_up(next);
        };
        let outputs = run.emitted.outputs.into_iter().map(|frame| (frame.port, frame.bytes, frame.tail));
        let told = run.emitted.packet_ins.into_iter().map(|packet| (run.config.cpu_port, packet.bytes, 0));
        let sent = outputs
            .chain(told)
            .map(|(port, bytes, tail)| (port.0, bytes.len() + tail as usize, hex::encode(bytes)));
        let (mut sent, choices) = (sent.collect::<Vec<_>>(), run.forwarding?.pipeline.into_choices());
        sent.sort();
        let ways = vec![choices.decisions()];
        Some((choices, Outcome { ways, sent, root: trace.root }))
    }
}

fn steps(branch: &Branch) -> usize {
    branch.steps.len() + branch.copies.iter().map(steps).sum::<usize>()
}
