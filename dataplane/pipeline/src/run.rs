//! A packet's run: ingress, egress and deparser of either engine, and what comes of a packet after each.

use std::{mem, ptr};

use groupflow_base::Nanos;

use crate::interpret;
use crate::interpret::interpreter::Interpreter;
use crate::interpret::parser::parse;
use crate::native::Machine;
use crate::packet::pool::PacketBody;
use crate::packet::{
    become_clone, wire_length, Arrival, CloneRequest, Departure, Digest, DropReason, EgressOutcome, Fate,
    Frame, Ingress, Instance, Packet, Preserved, Unicast, Verdict,
};
use crate::port::Port;
use crate::program::Program;
use crate::state::context::{Context, EntryPoint};
use crate::state::options::Stats;
use crate::state::table::TableState;
use crate::state::{EngineParts, Externs};
use crate::trace::FieldMatch;

/// The word of packets that a program takes out because they have done their work.
const ABSORBED: &str = "absorbed";

/// A pipeline's engine with the packet at work.
#[derive(Debug)]
pub(crate) struct Runner {
    /// The program's machine code; the interpreter runs traced packets, and all where there is none.
    pub machine: Option<Machine>,
    pub context: Context,
    /// The fields of the packet in ingress. They become the packet's own where it has to wait.
    fields: Box<[u8]>,
    /// The most bytes that headers can take.
    most_header_bytes: usize,
    /// The rarer requests of egress: a clone, and another round.
    clone: Option<CloneRequest>,
    recirculated: Option<Box<Preserved>>,
}

/// The interpreter at work on a packet, and the tables.
fn interpreter<'a>(
    parts: &'a mut EngineParts<'_>, context: &'a mut Context, phv: &'a mut [u8], bytes: &'a [u8],
) -> (Interpreter<'a>, &'a mut [TableState]) {
    let EngineParts { program, externs, states, .. } = parts;
    (Interpreter { program, phv, externs, context, bytes }, states)
}

/// The machine code, if this packet runs there.
#[inline(always)]
fn machine<'a>(machine: &'a Option<Machine>, externs: &Externs) -> Option<&'a Machine> {
    machine.as_ref().filter(|_| externs.recording.is_none())
}

impl Runner {
    pub fn new(program: &Program, externs: &mut Externs) -> Runner {
        let order = program.deparser.order.iter();
        Runner {
            machine: Machine::new(program, externs),
            context: Context::new(),
            fields: Box::default(),
            most_header_bytes: order.map(|&header| program.layout.header(header).len as usize).sum(),
            clone: None,
            recirculated: None,
        }
    }

    /// Adds the counts of native code.
    pub fn add_to(&self, stats: &mut Stats) {
        stats.parser_errors += self.context.parser_errors;
        stats.register_out_of_range += self.context.register_out_of_range;
        stats.counter_out_of_range += self.context.counter_out_of_range;
        stats.assertions_failed += self.context.assertions_failed;
    }

    /// Sets the words that both controls need.
    #[inline]
    fn prepare(&mut self, parts: &mut EngineParts<'_>, now: Nanos) {
        parts.externs.digests.clear();
        let context = &mut self.context;
        if let Some(machine) = &self.machine {
            machine.attach(context);
        }
        context.drop_port = u64::from(parts.externs.options.drop_port.0);
        context.externs = parts.externs;
        context.states = parts.states.as_mut_ptr();
        context.program = parts.program;
        (context.now, context.now_us) = (now.0, now.as_micros());
        (context.clone_list, context.resubmit, context.recirculate) = (0, 0, 0);
        context.failed = 0;
    }

    /// Sets the words of a packet that comes to ingress, and gives it new fields, in `self.fields`.
    #[inline(always)]
    fn arrive(&mut self, parts: &mut EngineParts<'_>, now: Nanos, arrival: &Arrival, bytes: &[u8]) {
        let initial = &parts.program.layout.initial;
        match self.fields.len() == initial.len() {
            true => self.fields.copy_from_slice(initial),
            false => self.fields = initial.clone(),
        }
        self.prepare(parts, now);
        let context = &mut self.context;
        context.phv = self.fields.as_mut_ptr();
        (context.bytes, context.len) = (bytes.as_ptr(), bytes.len() as u64);
        (context.payload, context.payload_len) = (ptr::null(), 0);
        context.restored = arrival.restored.as_deref().map_or(ptr::null(), |restored| restored);
        let received = u64::from(wire_length(bytes, arrival.tail));
        (context.received, context.length) = (received, received);
        (context.ingress_port, context.instance) = (u64::from(arrival.port.0), arrival.instance as u64);
        context.truncate = u64::MAX;
        (context.exit, context.steps, context.dropped_at, context.counter) = (0, 0, 0, 0);
    }

    /// Runs ingress on a packet with new fields, which stay in `self.fields`.
    #[inline(always)]
    pub fn ingress(&mut self, parts: &mut EngineParts<'_>, now: Nanos, arrival: &Arrival, bytes: &[u8]) {
        self.arrive(parts, now, arrival, bytes);
        match machine(&self.machine, parts.externs) {
            // SAFETY: the context's pointers are to parts of this pipeline, which are all borrowed mutably
            // here.
            Some(machine) => unsafe { machine.run(EntryPoint::Ingress, &mut self.context) },
            None => {
                let (mut interpreter, states) =
                    interpreter(parts, &mut self.context, &mut self.fields, bytes);
                interpret::ingress(&mut interpreter, states, arrival.restored.as_deref());
            }
        }
    }

    /// Whether the fields of a packet, as the parser finds them, have these values.
    pub fn matches(
        &mut self, parts: &mut EngineParts<'_>, now: Nanos, arrival: &Arrival, bytes: &[u8],
        wanted: &[FieldMatch],
    ) -> bool {
        self.arrive(parts, now, arrival, bytes);
        let (mut interpreter, _) = interpreter(parts, &mut self.context, &mut self.fields, bytes);
        interpret::arrive(&mut interpreter, arrival.restored.as_deref());
        parse(&mut interpreter);
        wanted.iter().all(|wanted| wanted.is_met(&self.fields))
    }

    /// The packet that ingress was run on, if it is to go to one port and nothing else came of it.
    #[inline]
    pub fn unicast(&self, externs: &Externs, tail: u32) -> Option<Unicast> {
        let context = &self.context;
        let others = context.failed | context.clone_list | context.resubmit | context.group;
        if others != 0 || context.egress_spec == context.drop_port || !externs.digests.is_empty() {
            return None;
        }
        let port = Port(context.egress_spec as u16);
        Some(Unicast { port, bytes: wire(context, tail), priority: context.priority as u8 })
    }

    /// The verdict of ingress, as a value.
    #[inline]
    pub fn held(&mut self, parts: &mut EngineParts<'_>, arrival: &Arrival, bytes: &[u8]) -> Ingress {
        if let Some(reason) = self.context.failed() {
            return Ingress::nothing(Verdict::Drop(reason));
        }
        let mut done = Ingress::nothing(self.verdict(parts.program));
        let context = &self.context;
        if context.clone_list != 0 || context.resubmit != 0 || !parts.externs.digests.is_empty() {
            self.asides(parts, arrival, bytes, &mut done);
        }
        if !matches!(done.verdict, Verdict::Unicast(_) | Verdict::Multicast(_)) {
            return done;
        }
        let mut body = parts.pool.packet();
        mem::swap(&mut body.fields, &mut self.fields);
        body.payload = parts.pool.payload(payload(&self.context, bytes));
        describe(&mut body, &self.context, arrival.tail);
        done.packet = Some(Packet(body));
        done
    }

    /// The fate of the packet, unless it is resubmitted.
    #[inline]
    fn verdict(&self, program: &Program) -> Verdict {
        let context = &self.context;
        if context.group != 0 {
            Verdict::Multicast(context.group as u16)
        } else if context.egress_spec == context.drop_port {
            Verdict::Drop(self.marked(program))
        } else {
            Verdict::Unicast(Port(context.egress_spec as u16))
        }
    }

    /// The program's word for what becomes of the packet: that of its last count by reason.
    pub fn reason<'a>(&self, program: &'a Program) -> Option<&'a str> {
        let counter = &program.counters[self.context.counter.checked_sub(1)? as usize];
        counter.reasons.get(usize::try_from(self.context.counter_cell).ok()?).map(String::as_str)
    }

    /// The reason of a drop that the program asks for.
    fn marked(&self, program: &Program) -> DropReason {
        match self.reason(program) {
            Some(ABSORBED) => DropReason::Absorbed,
            _ => DropReason::Marked,
        }
    }

    /// The rarer requests of ingress: a clone, messages, another round.
    #[cold]
    fn asides(&mut self, parts: &mut EngineParts<'_>, arrival: &Arrival, bytes: &[u8], done: &mut Ingress) {
        let program = parts.program;
        let preserve = |list: u64| Preserved::of(program, list as u32, &self.fields);
        if let Some(list) = self.context.clone_list.checked_sub(1) {
            let packet = self.reparse(parts, arrival, bytes, &preserve(list));
            done.clone = Some(CloneRequest { session: self.context.clone_session as u32, packet });
        }
        let digest = |&list: &u32| Digest::of(program, list, &self.fields);
        done.digests = parts.externs.digests.iter().map(digest).collect();
        if let Some(list) = self.context.resubmit.checked_sub(1) {
            done.verdict = Verdict::Resubmit(Box::new(preserve(list)));
        }
    }

    /// The clone of an ingress packet: as it arrived, parsed anew, only the field list kept.
    fn reparse(
        &self, parts: &mut EngineParts<'_>, arrival: &Arrival, bytes: &[u8], preserved: &Preserved,
    ) -> Packet {
        let program = parts.program;
        let mut body = parts.pool.packet();
        body.fields.clone_from(&program.layout.initial);
        // Parsers may branch on the ingress port.
        program.standard.ingress_port.write(&mut body.fields, u128::from(arrival.port.0));
        let mut context = Context { length: self.context.received, steps: 0, ..self.context };
        parse(&mut interpreter(parts, &mut context, &mut body.fields, bytes).0);
        body.payload = parts.pool.payload(payload(&context, bytes));
        become_clone(program, &mut body.fields, preserved, Instance::CloneIngress);
        cloned(program, body, context, arrival.tail)
    }

    #[inline]
    pub fn egress(
        &mut self, mut parts: EngineParts<'_>, now: Nanos, packet: Packet, departure: &Departure,
        frame: &mut Frame,
    ) -> EgressOutcome {
        let Packet(mut body) = packet;
        if body.fields.len() != parts.program.layout.initial.len() {
            return EgressOutcome { fate: Fate::Drop(DropReason::Foreign), clone: None };
        }
        self.prepare(&mut parts, now);
        let PacketBody { fields, payload, tail, received, length, truncate, recirculate, .. } = &mut *body;
        let payload = payload.as_deref().map_or(&[][..], |payload| payload);
        let context = &mut self.context;
        (context.received, context.length) = (u64::from(*received), u64::from(*length));
        context.truncate = truncate.map_or(u64::MAX, u64::from);
        context.recirculate = recirculate.map_or(0, |list| u64::from(list) + 1);
        let dropped = self.leave(&mut parts, fields, payload, *tail, departure, frame);
        parts.pool.take_back(body);
        self.outcome(dropped)
    }

    /// Runs egress on the packet that ingress was run on.
    #[inline]
    pub fn egress_at_hand(
        &mut self, parts: &mut EngineParts<'_>, tail: u32, bytes: &[u8], departure: &Departure,
        frame: &mut Frame,
    ) -> EgressOutcome {
        let payload = payload(&self.context, bytes);
        let mut fields = mem::take(&mut self.fields);
        let dropped = self.leave(parts, &mut fields, payload, tail, departure, frame);
        self.fields = fields;
        self.outcome(dropped)
    }

    /// The outcome of egress. It is made last: a value that is written by parts and then moved as a whole
    /// waits until the parts have reached memory.
    #[inline]
    fn outcome(&mut self, dropped: Option<DropReason>) -> EgressOutcome {
        let fate = match (dropped, self.recirculated.take()) {
            (Some(reason), _) => Fate::Drop(reason),
            (None, Some(preserved)) => Fate::Recirculate(preserved),
            (None, None) => Fate::Send,
        };
        EgressOutcome { fate, clone: self.clone.take() }
    }

    /// Runs egress on a packet, whose context is set but for the payload and the queue's metadata. Says why
    /// there is no frame.
    #[inline(always)]
    fn leave(
        &mut self, parts: &mut EngineParts<'_>, fields: &mut [u8], payload: &[u8], tail: u32,
        departure: &Departure, frame: &mut Frame,
    ) -> Option<DropReason> {
        let context = &mut self.context;
        context.phv = fields.as_mut_ptr();
        (context.payload, context.payload_len) = (payload.as_ptr(), payload.len() as u64);
        (context.exit, context.steps, context.dropped_at, context.counter) = (0, 0, 0, 0);
        // Anything but the drop port, as in BMv2: the program may still mark the packet.
        context.egress_spec = context.drop_port + 1;
        (context.egress_port, context.instance) = (u64::from(departure.port.0), departure.instance as u64);
        context.rid = u64::from(departure.rid);
        context.enq_timestamp_us = departure.enq_timestamp.as_micros();
        context.enq_qdepth = u64::from(departure.enq_qdepth);
        context.deq_qdepth = u64::from(departure.deq_qdepth);
        context.deq_timedelta_us = departure.deq_timedelta.as_micros();
        match machine(&self.machine, parts.externs) {
            // SAFETY: as in `ingress`.
            Some(machine) => unsafe { machine.run(EntryPoint::Egress, context) },
            None => {
                let (mut interpreter, states) = interpreter(parts, context, fields, payload);
                interpret::egress(&mut interpreter, states);
            }
        }

        if let Some(reason) = self.context.failed() {
            return Some(reason);
        }
        if let Some(list) = self.context.clone_list.checked_sub(1) {
            self.clone = Some(self.clone_out(parts, fields, list, payload, tail));
        }
        if self.context.egress_spec == self.context.drop_port {
            return Some(self.marked(parts.program));
        }
        frame.bytes.clear();
        frame.bytes.reserve(self.most_header_bytes + payload.len());
        match machine(&self.machine, parts.externs) {
            Some(machine) => {
                self.context.out = frame.bytes.as_mut_ptr();
                // SAFETY: as in `ingress`; `out` has room for all headers.
                unsafe { machine.run(EntryPoint::Deparse, &mut self.context) };
                debug_assert!(self.context.out_len as usize <= self.most_header_bytes);
                // SAFETY: native code has written as many bytes, within the room reserved.
                unsafe { frame.bytes.set_len(self.context.out_len as usize) };
            }
            None => {
                let (mut interpreter, _) = interpreter(parts, &mut self.context, fields, payload);
                interpret::deparse(&mut interpreter, &mut frame.bytes);
            }
        }
        frame.bytes.extend_from_slice(payload);
        frame.tail = tail;
        if let Some(length) = self.context.truncation() {
            frame.truncate(length as usize);
        }
        if let Some(list) = self.context.recirculate.checked_sub(1) {
            self.recirculated = Some(Box::new(Preserved::of(parts.program, list as u32, fields)));
        }
        None
    }

    /// The clone that egress asks for: the packet as it is, only the fields of a list kept.
    #[cold]
    fn clone_out(
        &mut self, parts: &mut EngineParts<'_>, fields: &[u8], list: u64, payload: &[u8], tail: u32,
    ) -> CloneRequest {
        let program = parts.program;
        let mut body = parts.pool.packet();
        match body.fields.len() == fields.len() {
            true => body.fields.copy_from_slice(fields),
            false => body.fields = fields.into(),
        }
        body.payload = parts.pool.payload(payload);
        let preserved = Preserved::of(program, list as u32, fields);
        become_clone(program, &mut body.fields, &preserved, Instance::CloneEgress);
        let packet = cloned(program, body, self.context, tail);
        CloneRequest { session: self.context.clone_session as u32, packet }
    }
}

/// The bytes that no header covers, at the end of others.
#[inline]
fn payload<'a>(context: &Context, bytes: &'a [u8]) -> &'a [u8] {
    &bytes[bytes.len() - context.payload_len as usize..]
}

/// Bytes of the frame if egress changes nothing.
#[inline]
fn wire(context: &Context, tail: u32) -> u32 {
    let bytes = context.header_bytes + context.payload_len + u64::from(tail);
    u32::try_from(bytes.min(context.truncate)).unwrap_or(u32::MAX)
}

/// Gives a packet that has to wait what its context says.
#[inline]
fn describe(body: &mut PacketBody, context: &Context, tail: u32) {
    body.tail = tail;
    body.received = context.received as u32;
    body.length = context.length as u32;
    body.truncate = context.truncation();
    // Copies for a group lose the request, as BMv2's do.
    let asked = context.recirculate.checked_sub(1).filter(|_| context.group == 0);
    body.recirculate = asked.map(|list| list as u32);
    body.wire = wire(context, tail);
    body.priority = context.priority as u8;
}

/// A clone whose fields and payload are there.
fn cloned(program: &Program, mut body: Box<PacketBody>, mut context: Context, tail: u32) -> Packet {
    (context.truncate, context.recirculate) = (u64::MAX, 0);
    interpret::summarise(program, &body.fields, &mut context);
    describe(&mut body, &context, tail);
    Packet(body)
}
