//! The interpreter: runs a program as it stands, slowly, and is the reference for native code.

pub(crate) mod control;
pub(crate) mod interpreter;
pub(crate) mod parser;

use std::sync::Arc;

use groupflow_base::Nanos;

use self::interpreter::{Interpreter, Pass};
use self::parser::{parse, Parsed};
use crate::packet::metadata::{arrive, become_clone, depart, preserve, set};
use crate::packet::pool::{PacketBody, PacketPool, Phv};
use crate::packet::wire_length;
use crate::packet::{
    Arrival, CloneRequest, Departure, Digest, DropReason, EgressOutcome, Fate, Frame, Ingress, Instance,
    Packet, Preserved, Unicast, Verdict,
};
use crate::port::Port;
use crate::program::calculation::Checksum;
use crate::program::info::DigestId;
use crate::program::Program;
use crate::state::{EngineParts, Externs};
use crate::trace::{FieldMatch, Step};

/// Parser, checksum verification and ingress control.
pub(crate) fn ingress(parts: EngineParts<'_>, now: Nanos, arrival: &Arrival, bytes: &[u8]) -> Ingress {
    let EngineParts { program, externs, states, pool } = parts;
    (externs.dropped_at, externs.counted.0) = (0, 0);
    let mut phv = program.layout.initial.clone();
    arrive(program, &mut phv, now, arrival, bytes.len() + arrival.tail as usize);
    let received = wire_length(bytes, arrival.tail);
    let pass = Pass { now, received, length: received, ..Pass::default() };
    let mut interpreter = Interpreter { program, phv: &mut phv, externs, payload: &[], pass };
    let parsed = parse(&mut interpreter, bytes);
    let payload = &bytes[parsed.consumed..];
    interpreter.payload = payload;
    after_parsing(&mut interpreter, &parsed);
    control::run(&mut interpreter, states, program.ingress);
    let pass = interpreter.pass;

    if let Some(reason) = pass.failed {
        return Ingress::nothing(Verdict::Drop(reason));
    }
    let mut clone = None;
    if let Some((session, list)) = pass.clone {
        let preserved = preserve(program, list, &phv);
        let (packet, _) = reparse(program, externs, pool, now, arrival, bytes, &preserved);
        clone = Some(CloneRequest { session, packet });
    }
    let digests = pass.digests.iter().map(|&list| digest(program, list, &phv)).collect();
    let verdict = verdict(program, &phv, &pass, externs.options.drop_port);
    let keep = matches!(verdict, Verdict::Unicast(_) | Verdict::Multicast(_));
    let shape = PacketLengths { received, length: pass.length, truncate: pass.truncate, tail: arrival.tail };
    let packet = keep.then(|| {
        let payload = pool.payload(payload);
        let mut packet = finish(program, pool, phv, payload, shape);
        // Copies for a group lose the request, as BMv2's do.
        packet.0.recirculate = pass.recirculate.filter(|_| matches!(verdict, Verdict::Unicast(_)));
        packet
    });
    Ingress { verdict, packet, clone, digests }
}

/// Whether the fields of a packet, as the parser finds them, have these values.
pub(crate) fn matches(
    parts: EngineParts<'_>, now: Nanos, arrival: &Arrival, bytes: &[u8], wanted: &[FieldMatch],
) -> bool {
    let EngineParts { program, externs, .. } = parts;
    let mut phv = program.layout.initial.clone();
    arrive(program, &mut phv, now, arrival, bytes.len() + arrival.tail as usize);
    let mut interpreter =
        Interpreter { program, phv: &mut phv, externs, payload: &[], pass: Pass { now, ..Pass::default() } };
    parse(&mut interpreter, bytes);
    wanted.iter().all(|wanted| {
        let header = &program.layout.headers[wanted.header];
        header.is_valid(&phv) && header.fields[wanted.field].bits(&phv) & wanted.mask == wanted.value
    })
}

/// The packet that ingress sends to one port, if nothing else came of it.
pub(crate) fn unicast(done: &Ingress) -> Option<Unicast> {
    match (&done.verdict, &done.packet) {
        (Verdict::Unicast(port), Some(packet)) if done.clone.is_none() && done.digests.is_empty() => {
            let bytes = u32::try_from(packet.wire_len()).unwrap_or(u32::MAX);
            Some(Unicast { port: *port, priority: packet.priority(), bytes })
        }
        _ => None,
    }
}

/// Egress control, checksum update and deparser.
pub(crate) fn egress(
    parts: EngineParts<'_>, now: Nanos, packet: Packet, departure: &Departure, frame: &mut Frame,
) -> EgressOutcome {
    let EngineParts { program, externs, states, pool } = parts;
    let Packet(mut body) = packet;
    let Some(phv) = body.fields.own_slots(program.layout.initial.len()) else {
        return EgressOutcome { fate: Fate::Drop(DropReason::Foreign), clone: None };
    };
    let payload = body.payload.as_deref().map_or(&[][..], |payload| payload);
    (externs.dropped_at, externs.counted.0) = (0, 0);
    let drop_port = externs.options.drop_port;
    depart(program, phv, now, departure, body.length, drop_port);
    let PacketBody { received, length, truncate, recirculate, .. } = *body;
    let pass = Pass { now, received, length, truncate, recirculate, ..Pass::default() };
    let mut interpreter = Interpreter { program, phv, externs, payload, pass };
    control::run(&mut interpreter, states, program.egress);

    if let Some(reason) = interpreter.pass.failed {
        return EgressOutcome { fate: Fate::Drop(reason), clone: None };
    }
    let mut clone = None;
    if let Some((session, list)) = interpreter.pass.clone {
        let mut fields: Box<[u128]> = (*interpreter.phv).into();
        let preserved = preserve(program, list, &fields);
        become_clone(program, &mut fields, &preserved, Instance::CloneEgress);
        let shape =
            PacketLengths { received, length: interpreter.pass.length, truncate: None, tail: body.tail };
        let packet = finish(program, pool, fields, body.payload.clone(), shape);
        clone = Some(CloneRequest { session, packet });
    }
    if program.standard.egress_spec.bits(interpreter.phv) == u128::from(drop_port.0) {
        return EgressOutcome { fate: Fate::Drop(DropReason::Marked), clone };
    }
    update_checksums(&mut interpreter);
    interpreter.run(&program.deparser.ops, &[]);
    program.deparser.emit(&program.layout, interpreter.phv, payload, &mut frame.bytes);
    frame.tail = body.tail;
    if let Some(length) = interpreter.pass.truncate {
        frame.truncate(length as usize);
    }
    let fate = match interpreter.pass.recirculate {
        Some(list) => Fate::Recirculate(Box::new(preserve(program, list, interpreter.phv))),
        None => Fate::Send,
    };
    pool.take_back(body);
    EgressOutcome { fate, clone }
}

/// Sets `parser_error`, verifies the checksums and sets `checksum_error`.
fn after_parsing(interpreter: &mut Interpreter<'_>, parsed: &Parsed) {
    let program = interpreter.program;
    if parsed.error != program.parser.errors.no_error {
        interpreter.externs.stats.parser_errors += 1;
        interpreter.record(|program, _| Step::ParserError { error: program.names.error(parsed.error) });
    }
    set(program.standard.parser_error, interpreter.phv, u128::from(parsed.error));
    let wrong = program.verified.iter().any(|checksum| {
        interpreter.phv[checksum.valid as usize] != 0
            && applies(interpreter, checksum)
            && u128::from(interpreter.calculate(checksum.calculation)) != checksum.field.bits(interpreter.phv)
    });
    if wrong {
        interpreter.record(|_, _| Step::ChecksumError);
    }
    set(program.standard.checksum_error, interpreter.phv, u128::from(wrong));
}

fn applies(interpreter: &Interpreter<'_>, checksum: &Checksum) -> bool {
    checksum.condition.as_ref().map_or(true, |condition| interpreter.eval(condition, &[]) != 0)
}

fn update_checksums(interpreter: &mut Interpreter<'_>) {
    for checksum in &interpreter.program.updated {
        if applies(interpreter, checksum) {
            let sum = interpreter.calculate(checksum.calculation);
            checksum.field.write(interpreter.phv, u128::from(sum));
        }
    }
}

/// The fate of a packet after ingress. The first request counts: resubmit, multicast, port.
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

/// A packet's lengths.
#[derive(Debug, Clone, Copy)]
pub(crate) struct PacketLengths {
    pub received: u32,
    pub length: u32,
    pub truncate: Option<u32>,
    pub tail: u32,
}

/// A packet ready for egress.
pub(crate) fn finish(
    program: &Program, pool: &mut PacketPool, fields: Box<[u128]>, payload: Option<Arc<Vec<u8>>>,
    shape: PacketLengths,
) -> Packet {
    let headers = program.deparser.header_bytes(&program.layout, &fields);
    let bytes = headers + payload.as_deref().map_or(0, Vec::len) + shape.tail as usize;
    let mut body = pool.packet(Phv::Slots(Box::default()));
    body.priority = program.standard.priority.map_or(0, |field| field.bits(&fields) as u8);
    body.fields = Phv::Slots(fields);
    body.payload = payload;
    (body.received, body.length, body.truncate) = (shape.received, shape.length, shape.truncate);
    body.recirculate = None;
    body.tail = shape.tail;
    body.wire = u32::try_from(bytes).unwrap_or(u32::MAX).min(shape.truncate.unwrap_or(u32::MAX));
    Packet(body)
}

/// The clone of an ingress packet: as it arrived, parsed anew, only the field list kept. Also its fields.
pub(crate) fn reparse(
    program: &Program, externs: &mut Externs, pool: &mut PacketPool, now: Nanos, arrival: &Arrival,
    bytes: &[u8], preserved: &Preserved,
) -> (Packet, Box<[u128]>) {
    let mut phv = program.layout.initial.clone();
    // Parsers may branch on the ingress port.
    program.standard.ingress_port.write(&mut phv, u128::from(arrival.port.0));
    let received = wire_length(bytes, arrival.tail);
    let pass = Pass { now, received, length: received, ..Pass::default() };
    let mut interpreter = Interpreter { program, phv: &mut phv, externs, payload: &[], pass };
    let parsed = parse(&mut interpreter, bytes);
    let length = interpreter.pass.length;
    become_clone(program, &mut phv, preserved, Instance::CloneIngress);
    let shape = PacketLengths { received, length, truncate: None, tail: arrival.tail };
    let payload = pool.payload(&bytes[parsed.consumed..]);
    (finish(program, pool, phv.clone(), payload, shape), phv)
}

/// A digest's members.
pub(crate) fn digest(program: &Program, list: u32, phv: &[u128]) -> Digest {
    let env = crate::program::expr::Env { layout: &program.layout, phv, locals: &[] };
    let members = program.learn_lists[list as usize].iter().zip(&program.digests[list as usize].widths);
    let values =
        members.map(|(expr, &width)| expr.eval(env) & crate::program::phv::mask(width as u8)).collect();
    Digest { digest: DigestId(list), values }
}
