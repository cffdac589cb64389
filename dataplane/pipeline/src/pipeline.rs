//! A program with its state, and a packet's way through it.

use std::sync::Arc;

use crate::action::{Machine, Pass};
use crate::calculation::Checksum;
use crate::control;
use crate::info::DigestId;
use crate::metadata::{arrive, become_clone, depart, preserve, set};
use crate::packet::{
    Arrival, CloneRequest, Departure, Digest, DropReason, Egress, Emission, Fate, Frame, Ingress, Instance,
    Outcome, Packet, Preserved, Verdict,
};
use crate::parser::{parse, Parsed};
use crate::program::Program;
use crate::state::Externs;
use crate::table::TableState;
use crate::units::{Nanos, Port};

/// What runs the program.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Engine {
    /// The fastest one that this machine and this program allow.
    #[default]
    Auto,
    /// The interpreter: slower, and the reference for what is right.
    Interpreter,
}

/// What a target decides for a pipeline.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Options {
    /// Where `mark_to_drop` sends packets; BMv2's default is 511.
    pub drop_port: Port,
    /// Seeds the `random` extern.
    pub seed: u64,
    /// What runs the program; all engines do the same.
    pub engine: Engine,
}

impl Default for Options {
    fn default() -> Options {
        Options { drop_port: Port(511), seed: 1, engine: Engine::Auto }
    }
}

/// What went wrong inside a program so far.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Stats {
    /// Packets whose parsing ended with an error.
    pub parser_errors: u64,
    /// Register accesses past the end: reads gave 0, writes nothing.
    pub register_out_of_range: u64,
    /// Counts past the end, ignored.
    pub counter_out_of_range: u64,
    /// Meters executed past the end, ignored.
    pub meter_out_of_range: u64,
    /// False `assert` and `assume` statements.
    pub assertions_failed: u64,
    /// Packets that ran into the step limit.
    pub step_limit: u64,
    /// `log_msg` lines discarded because nobody took the earlier ones.
    pub log_lost: u64,
}

/// A program with its tables, registers, counters and meters.
#[derive(Debug)]
pub struct Pipeline {
    pub(crate) program: Arc<Program>,
    pub(crate) tables: Vec<TableState>,
    pub(crate) externs: Externs,
    /// The key of the table being looked up; kept to save an allocation.
    key: Vec<u128>,
}

impl Pipeline {
    /// The program with its initial state and BMv2's drop port.
    pub fn new(program: Arc<Program>) -> Pipeline {
        Pipeline::with_options(program, Options::default())
    }

    /// The program with its initial state.
    pub fn with_options(program: Arc<Program>, options: Options) -> Pipeline {
        let externs = Externs::new(&program, options);
        let tables = program.match_tables.iter().map(TableState::new).collect();
        let mut pipeline = Pipeline { program, tables, externs, key: Vec::new() };
        pipeline.install_declared();
        pipeline
    }

    /// The program.
    pub fn program(&self) -> &Arc<Program> {
        &self.program
    }

    /// What went wrong so far.
    pub fn stats(&self) -> Stats {
        self.externs.stats
    }

    /// The lines the program logged since the last call. At most 1024 are kept.
    pub fn take_log(&mut self) -> Vec<String> {
        std::mem::take(&mut self.externs.log)
    }

    /// Parser, checksum verification and ingress control.
    ///
    /// A packet whose parsing fails goes on to ingress with `parser_error` set, as in BMv2.
    pub fn ingress(&mut self, now: Nanos, arrival: Arrival, bytes: &[u8]) -> Ingress {
        let program = &*self.program;
        let mut phv = program.layout.initial.clone();
        arrive(program, &mut phv, now, &arrival, bytes.len() + arrival.tail as usize);
        let received = wire_length(bytes, arrival.tail);
        let pass = Pass { now, received, length: received, ..Pass::default() };
        let mut machine = Machine { program, phv: &mut phv, externs: &mut self.externs, payload: &[], pass };
        let parsed = parse(&mut machine, bytes);
        let payload = &bytes[parsed.consumed..];
        machine.payload = payload;
        after_parsing(&mut machine, &parsed);
        control::run(&mut machine, &mut self.tables, program.ingress, &mut self.key);
        let pass = machine.pass;

        if let Some(reason) = pass.failed {
            return Ingress { verdict: Verdict::Drop(reason), packet: None, clones: vec![], digests: vec![] };
        }
        let mut clones = Vec::new();
        if let Some((session, list)) = pass.clone {
            let preserved = preserve(program, list, &phv);
            let packet = reparse(program, &mut self.externs, now, &arrival, bytes, &preserved);
            clones.push(CloneRequest { session, packet });
        }
        let digests = pass.digests.iter().map(|&list| digest(program, list, &phv)).collect();
        let verdict = verdict(program, &phv, &pass, self.externs.options.drop_port);
        let keep = matches!(verdict, Verdict::Unicast(_) | Verdict::Multicast(_));
        let packet = keep.then(|| finish(program, phv, payload.into(), arrival.tail, &pass));
        Ingress { verdict, packet, clones, digests }
    }

    /// Egress control, checksum update and deparser.
    pub fn egress(&mut self, now: Nanos, packet: Packet, departure: Departure) -> Egress {
        let mut frame = Frame::default();
        let Outcome { fate, clones } = self.egress_into(now, packet, departure, &mut frame);
        let emission = match fate {
            Fate::Drop(reason) => Emission::Drop(reason),
            Fate::Send => Emission::Send(frame),
            Fate::Recirculate(preserved) => Emission::Recirculate { frame, preserved },
        };
        Egress { emission, clones }
    }

    /// As [`Pipeline::egress`], with the frame written to `frame`, whose buffer is used again.
    pub fn egress_into(
        &mut self,
        now: Nanos,
        packet: Packet,
        departure: Departure,
        frame: &mut Frame,
    ) -> Outcome {
        let program = &*self.program;
        let Packet { fields: mut phv, payload, tail, received, length, truncate, .. } = packet;
        let drop_port = self.externs.options.drop_port;
        depart(program, &mut phv, now, &departure, length, drop_port);
        let pass = Pass { now, received, length, truncate, ..Pass::default() };
        let mut machine =
            Machine { program, phv: &mut phv, externs: &mut self.externs, payload: &payload, pass };
        control::run(&mut machine, &mut self.tables, program.egress, &mut self.key);

        if let Some(reason) = machine.pass.failed {
            return Outcome { fate: Fate::Drop(reason), clones: vec![] };
        }
        let mut clones = Vec::new();
        if let Some((session, list)) = machine.pass.clone {
            let mut fields: Box<[u128]> = (*machine.phv).into();
            let preserved = preserve(program, list, &fields);
            become_clone(program, &mut fields, &preserved, Instance::CloneEgress);
            let untruncated = Pass { received, length: machine.pass.length, ..Pass::default() };
            let packet = finish(program, fields, Arc::clone(&payload), tail, &untruncated);
            clones.push(CloneRequest { session, packet });
        }
        if program.standard.egress_spec.bits(machine.phv) == u128::from(drop_port.0) {
            return Outcome { fate: Fate::Drop(DropReason::Marked), clones };
        }
        update_checksums(&mut machine);
        machine.run(&program.deparser.ops, &[]);
        program.deparser.emit(&program.layout, machine.phv, &payload, &mut frame.bytes);
        frame.tail = tail;
        if let Some(length) = machine.pass.truncate {
            frame.truncate(length as usize);
        }
        let fate = match machine.pass.recirculate {
            Some(list) => Fate::Recirculate(Box::new(preserve(program, list, machine.phv))),
            None => Fate::Send,
        };
        Outcome { fate, clones }
    }

    /// A copy of a packet for the replication engine. It shares the payload.
    pub fn replicate(&mut self, packet: &Packet) -> Packet {
        packet.clone()
    }

    /// Takes back a packet that will not go to egress, to use its memory again.
    pub fn recycle(&mut self, packet: Packet) {
        drop(packet);
    }
}

/// Bytes on the wire.
fn wire_length(bytes: &[u8], tail: u32) -> u32 {
    u32::try_from(bytes.len()).unwrap_or(u32::MAX).saturating_add(tail)
}

/// Sets `parser_error`, verifies the checksums and sets `checksum_error`.
fn after_parsing(machine: &mut Machine<'_>, parsed: &Parsed) {
    let program = machine.program;
    if parsed.error != program.parser.errors.no_error {
        machine.externs.stats.parser_errors += 1;
    }
    set(program.standard.parser_error, machine.phv, u128::from(parsed.error));
    let wrong = program.verified.iter().any(|checksum| {
        machine.phv[checksum.valid as usize] != 0
            && applies(machine, checksum)
            && u128::from(machine.calculate(checksum.calculation)) != checksum.field.bits(machine.phv)
    });
    set(program.standard.checksum_error, machine.phv, u128::from(wrong));
}

fn applies(machine: &Machine<'_>, checksum: &Checksum) -> bool {
    checksum.condition.as_ref().map_or(true, |condition| machine.eval(condition, &[]) != 0)
}

fn update_checksums(machine: &mut Machine<'_>) {
    for checksum in &machine.program.updated {
        if applies(machine, checksum) {
            let sum = machine.calculate(checksum.calculation);
            checksum.field.write(machine.phv, u128::from(sum));
        }
    }
}

/// Where a packet goes after ingress. Of what was asked for, the first counts: resubmit, multicast, port.
fn verdict(program: &Program, phv: &[u128], pass: &Pass, drop_port: Port) -> Verdict {
    if let Some(list) = pass.resubmit {
        return Verdict::Resubmit(Box::new(preserve(program, list, phv)));
    }
    let group = program.standard.mcast_grp.map_or(0, |field| field.bits(phv));
    if group != 0 {
        return Verdict::Multicast(group as u16);
    }
    match program.standard.egress_spec.bits(phv) {
        port if port == u128::from(drop_port.0) => Verdict::Drop(DropReason::Marked),
        port => Verdict::Unicast(Port(port as u16)),
    }
}

/// A packet ready for egress.
fn finish(program: &Program, fields: Box<[u128]>, payload: Arc<[u8]>, tail: u32, pass: &Pass) -> Packet {
    let headers = program.deparser.header_bytes(&program.layout, &fields);
    let bytes = headers + payload.len() + tail as usize;
    let wire = u32::try_from(bytes).unwrap_or(u32::MAX).min(pass.truncate.unwrap_or(u32::MAX));
    let priority = program.standard.priority.map_or(0, |field| field.bits(&fields) as u8);
    Packet {
        fields,
        payload,
        tail,
        received: pass.received,
        length: pass.length,
        wire,
        priority,
        truncate: pass.truncate,
    }
}

/// The clone of an ingress packet: as it arrived, parsed anew, only the field list kept.
fn reparse(
    program: &Program,
    externs: &mut Externs,
    now: Nanos,
    arrival: &Arrival,
    bytes: &[u8],
    preserved: &Preserved,
) -> Packet {
    let mut phv = program.layout.initial.clone();
    // Parsers may branch on the ingress port.
    program.standard.ingress_port.write(&mut phv, u128::from(arrival.port.0));
    let received = wire_length(bytes, arrival.tail);
    let pass = Pass { now, received, length: received, ..Pass::default() };
    let mut machine = Machine { program, phv: &mut phv, externs, payload: &[], pass };
    let parsed = parse(&mut machine, bytes);
    let pass = machine.pass;
    become_clone(program, &mut phv, preserved, Instance::CloneIngress);
    finish(program, phv, bytes[parsed.consumed..].into(), arrival.tail, &pass)
}

fn digest(program: &Program, list: u32, phv: &[u128]) -> Digest {
    let env = crate::expr::Env { layout: &program.layout, phv, locals: &[] };
    let members = program.learn_lists[list as usize].iter().zip(&program.digests[list as usize].widths);
    let values = members.map(|(expr, &width)| expr.eval(env) & crate::phv::mask(width as u8)).collect();
    Digest { digest: DigestId(list), values }
}
