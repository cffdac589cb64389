//! Running a packet through native code.

use std::ptr;
use std::sync::Arc;

use crate::interpret;
use crate::metadata::{become_clone, preserve};
use crate::native::compile::Compiled;
use crate::native::context::{Context, CounterCells, RegisterCells};
use crate::native::table::NativeTable;
use crate::packet::{
    Arrival, CloneRequest, Departure, DropReason, Fate, Frame, Ingress, Instance, Outcome, Packet, Verdict,
};
use crate::pipeline::{Parts, Stats};
use crate::pool::Fields;
use crate::program::Program;
use crate::state::Externs;
use crate::table::TableState;
use crate::units::{Nanos, Port};

/// A pipeline's side of native code.
pub(crate) struct Native {
    compiled: Arc<Compiled>,
    pub tables: Vec<NativeTable>,
    registers: Vec<RegisterCells>,
    counters: Vec<CounterCells>,
    digests: Vec<u32>,
    context: Context,
    /// The packet's fields as the interpreter has them, where it takes over.
    slots: Vec<u128>,
    /// The most bytes that headers can take.
    most_header_bytes: usize,
}

// SAFETY: the pointers are to parts of the same pipeline, and are set anew whenever code runs.
unsafe impl Send for Native {}
// SAFETY: nothing is done with the pointers through a shared reference.
unsafe impl Sync for Native {}

impl std::fmt::Debug for Native {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Native").field("tables", &self.tables).finish_non_exhaustive()
    }
}

/// Ingress without a packet, a clone or messages.
#[inline]
fn nothing(verdict: Verdict) -> Ingress {
    Ingress { verdict, packet: None, clone: None, digests: Box::default() }
}

impl Native {
    /// `externs` must stay with the pipeline: its arrays are used by their addresses.
    pub fn new(compiled: Arc<Compiled>, program: &Program, externs: &Externs) -> Native {
        let tables = program.match_tables.iter().zip(&program.tables);
        let order = program.deparser.order.iter();
        Native {
            tables: tables.map(|(table, info)| NativeTable::new(program, table, info)).collect(),
            registers: externs.registers.iter().map(|register| register.native()).collect(),
            counters: externs
                .counters
                .iter()
                .map(|cells| CounterCells { cells: cells.as_ptr().cast(), len: cells.len() as u64 })
                .collect(),
            digests: Vec::new(),
            context: Context::new(),
            slots: Vec::new(),
            most_header_bytes: order.map(|&header| program.layout.header(header).bytes()).sum(),
            compiled,
        }
    }

    /// Says that writes to a register are to be noted.
    pub fn watch(&mut self, register: usize) {
        self.registers[register].watched = 1;
    }

    /// Adds what native code counted.
    pub fn add_to(&self, stats: &mut Stats) {
        stats.parser_errors += self.context.parser_errors;
        stats.register_out_of_range += self.context.register_out_of_range;
        stats.counter_out_of_range += self.context.counter_out_of_range;
        stats.assertions_failed += self.context.assertions_failed;
    }

    /// Sets what both controls need.
    fn prepare(
        &mut self,
        program: &Program,
        externs: &mut Externs,
        states: &mut [TableState],
        words: &mut [u64],
        now: Nanos,
    ) {
        self.digests.clear();
        let context = &mut self.context;
        context.phv = words.as_mut_ptr();
        context.tables = self.tables.as_mut_ptr();
        context.registers = self.registers.as_ptr();
        context.counters = self.counters.as_ptr();
        context.drop_port = u64::from(externs.options.drop_port.0);
        context.externs = externs;
        context.states = states.as_mut_ptr();
        context.program = program;
        context.compiled = &*self.compiled;
        context.digests = &mut self.digests;
        (context.now, context.now_us) = (now.0, now.as_micros());
        (context.clone_list, context.resubmit, context.recirculate) = (0, 0, 0);
        (context.exit, context.failed, context.steps) = (0, 0, 0);
    }

    fn failed(&self) -> Option<DropReason> {
        match self.context.failed {
            0 => None,
            1 => Some(DropReason::Assertion),
            _ => Some(DropReason::StepLimit),
        }
    }

    fn truncation(&self) -> Option<u32> {
        u32::try_from(self.context.truncate).ok()
    }

    pub fn ingress(&mut self, parts: Parts<'_>, now: Nanos, arrival: &Arrival, bytes: &[u8]) -> Ingress {
        let Parts { program, externs, states, pool } = parts;
        let mut body = pool.packet(Fields::Native(Box::default()));
        let words = body.fields.native(&self.compiled.layout.initial);
        let received = crate::pipeline::wire_length(bytes, arrival.tail);
        self.prepare(program, externs, states, words, now);
        let context = &mut self.context;
        (context.bytes, context.len) = (bytes.as_ptr(), bytes.len() as u64);
        (context.payload, context.payload_len) = (ptr::null(), 0);
        context.restored = arrival.restored.as_deref().map_or(ptr::null(), |restored| restored);
        (context.received, context.length) = (u64::from(received), u64::from(received));
        (context.ingress_port, context.instance) = (u64::from(arrival.port.0), arrival.instance as u64);
        context.truncate = u64::MAX;
        // SAFETY: the context's pointers are to parts of this pipeline, which are all borrowed mutably here.
        unsafe { self.compiled.ingress(&mut self.context) };

        let consumed = bytes.len() - self.context.payload_len as usize;
        if let Some(reason) = self.failed() {
            pool.take_back(body);
            return nothing(Verdict::Drop(reason));
        }
        let mut done = nothing(self.verdict());
        if self.context.clone_list != 0 || self.context.resubmit != 0 || !self.digests.is_empty() {
            self.compiled.layout.widen(words, &mut self.slots);
            let parts = Parts { program, externs, states, pool: &mut *pool };
            self.asides(parts, now, arrival, bytes, &mut done);
        }
        if !matches!(done.verdict, Verdict::Unicast(_) | Verdict::Multicast(_)) {
            pool.take_back(body);
            return done;
        }
        let (payload, context) = (&bytes[consumed..], &self.context);
        let wire = context.header_bytes as usize + payload.len() + arrival.tail as usize;
        body.payload = pool.payload(payload);
        body.tail = arrival.tail;
        body.received = received;
        body.length = context.length as u32;
        body.truncate = self.truncation();
        body.wire = u32::try_from(wire).unwrap_or(u32::MAX).min(body.truncate.unwrap_or(u32::MAX));
        body.priority = context.priority as u8;
        done.packet = Some(Packet(body));
        done
    }

    /// Where the packet goes, unless it is resubmitted.
    #[inline]
    fn verdict(&self) -> Verdict {
        let context = &self.context;
        if context.group != 0 {
            Verdict::Multicast(context.group as u16)
        } else if context.egress_spec == context.drop_port {
            Verdict::Drop(DropReason::Marked)
        } else {
            Verdict::Unicast(Port(context.egress_spec as u16))
        }
    }

    /// What few packets ask for in ingress besides: a clone, messages, another round. `self.slots` has the fields.
    #[cold]
    fn asides(&mut self, parts: Parts<'_>, now: Nanos, arrival: &Arrival, bytes: &[u8], done: &mut Ingress) {
        let Parts { program, externs, pool, .. } = parts;
        if let Some(list) = self.context.clone_list.checked_sub(1) {
            let preserved = preserve(program, list as u32, &self.slots);
            let (packet, slots) = interpret::reparse(program, externs, pool, now, arrival, bytes, &preserved);
            let packet = self.own(packet, &slots, pool);
            done.clone = Some(CloneRequest { session: self.context.clone_session as u32, packet });
        }
        let digest = |&list: &u32| interpret::digest(program, list, &self.slots);
        done.digests = self.digests.iter().map(digest).collect();
        if let Some(list) = self.context.resubmit.checked_sub(1) {
            done.verdict = Verdict::Resubmit(Box::new(preserve(program, list as u32, &self.slots)));
        }
    }

    /// Gives a packet of the interpreter the fields of this engine.
    fn own(&self, mut packet: Packet, slots: &[u128], pool: &mut crate::pool::Pool) -> Packet {
        let mut body = pool.packet(Fields::Native(Box::default()));
        self.compiled.layout.narrow(slots, body.fields.native(&self.compiled.layout.initial));
        std::mem::swap(&mut body.fields, &mut packet.0.fields);
        pool.take_back(body);
        packet
    }

    pub fn egress(
        &mut self,
        parts: Parts<'_>,
        now: Nanos,
        packet: Packet,
        departure: &Departure,
        frame: &mut Frame,
    ) -> Outcome {
        let Parts { program, externs, states, pool } = parts;
        let Packet(mut body) = packet;
        let Some(words) = body.fields.own_native(self.compiled.layout.initial.len()) else {
            return Outcome { fate: Fate::Drop(DropReason::Foreign), clone: None };
        };
        self.prepare(program, externs, states, words, now);
        let payload = body.payload.as_deref().map_or(&[][..], |payload| payload);
        let context = &mut self.context;
        (context.payload, context.payload_len) = (payload.as_ptr(), payload.len() as u64);
        (context.received, context.length) = (u64::from(body.received), u64::from(body.length));
        context.truncate = body.truncate.map_or(u64::MAX, u64::from);
        (context.egress_port, context.instance) = (u64::from(departure.port.0), departure.instance as u64);
        context.rid = u64::from(departure.rid);
        context.enq_timestamp_us = departure.enq_timestamp.as_micros();
        context.enq_qdepth = u64::from(departure.enq_qdepth);
        context.deq_qdepth = u64::from(departure.deq_qdepth);
        context.deq_timedelta_us = departure.deq_timedelta.as_micros();
        // SAFETY: as in `ingress`.
        unsafe { self.compiled.egress(&mut self.context) };

        let mut clone = None;
        if let Some(reason) = self.failed() {
            pool.take_back(body);
            return Outcome { fate: Fate::Drop(reason), clone };
        }
        if let Some(list) = self.context.clone_list.checked_sub(1) {
            self.compiled.layout.widen(words, &mut self.slots);
            let preserved = preserve(program, list as u32, &self.slots);
            let mut slots: Box<[u128]> = self.slots.as_slice().into();
            become_clone(program, &mut slots, &preserved, Instance::CloneEgress);
            let length = self.context.length as u32;
            let shape = interpret::Shape { received: body.received, length, truncate: None, tail: body.tail };
            let packet = interpret::finish(program, pool, slots.clone(), body.payload.clone(), shape);
            let packet = self.own(packet, &slots, pool);
            clone = Some(CloneRequest { session: self.context.clone_session as u32, packet });
        }
        if self.context.egress_spec == self.context.drop_port {
            pool.take_back(body);
            return Outcome { fate: Fate::Drop(DropReason::Marked), clone };
        }
        frame.bytes.clear();
        frame.bytes.reserve(self.most_header_bytes + payload.len());
        self.context.out = frame.bytes.as_mut_ptr();
        // SAFETY: as in `ingress`; `out` has room for all headers.
        unsafe { self.compiled.deparse(&mut self.context) };
        debug_assert!(self.context.out_len as usize <= self.most_header_bytes);
        // SAFETY: native code has written as many bytes, within the room reserved.
        unsafe { frame.bytes.set_len(self.context.out_len as usize) };
        frame.bytes.extend_from_slice(payload);
        frame.tail = body.tail;
        if let Some(length) = self.truncation() {
            frame.truncate(length as usize);
        }
        let fate = match self.context.recirculate.checked_sub(1) {
            Some(list) => {
                self.compiled.layout.widen(words, &mut self.slots);
                Fate::Recirculate(Box::new(preserve(program, list as u32, &self.slots)))
            }
            None => Fate::Send,
        };
        pool.take_back(body);
        Outcome { fate, clone }
    }
}
