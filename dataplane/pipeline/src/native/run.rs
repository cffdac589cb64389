//! Running a packet through native code.

use std::sync::Arc;
use std::{mem, ptr};

use groupflow_base::Nanos;

use crate::interpret;
use crate::native::compile::{Compiled, EntryPoint};
use crate::native::context::{Context, CounterCells, RegisterCells};
use crate::packet::metadata::{become_clone, preserve};
use crate::packet::pool::{PacketBody, Phv};
use crate::packet::{
    Arrival, CloneRequest, Departure, DropReason, EgressOutcome, Fate, Frame, Ingress, Instance, Packet,
    Preserved, Unicast, Verdict,
};
use crate::port::Port;
use crate::program::Program;
use crate::state::options::Stats;
use crate::state::{EngineParts, Externs};

/// A pipeline's side of native code.
pub(crate) struct Native {
    compiled: Arc<Compiled>,
    registers: Vec<RegisterCells>,
    counters: Vec<CounterCells>,
    digests: Vec<u32>,
    context: Context,
    /// The fields of the packet in ingress. They become the packet's own where it has to wait.
    fields: Phv,
    /// The packet's fields as the interpreter has them, where it takes over.
    slots: Vec<u128>,
    /// The most bytes that headers can take.
    most_header_bytes: usize,
    /// The rarer requests of egress: a clone, and another round.
    clone: Option<CloneRequest>,
    recirculated: Option<Box<Preserved>>,
}

// SAFETY: the pointers are to parts of the same pipeline, and are set anew whenever code runs.
unsafe impl Send for Native {}
// SAFETY: nothing is done with the pointers through a shared reference.
unsafe impl Sync for Native {}

impl std::fmt::Debug for Native {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Native").finish_non_exhaustive()
    }
}

impl Native {
    /// Native code for a pipeline, if its options want it and it can be made. `externs` must stay with the
    /// pipeline: native code uses the addresses of its arrays.
    pub fn new(program: &Program, externs: &Externs) -> Option<Native> {
        let compiled = Compiled::of(program, externs.options.engine)?;
        let order = program.deparser.order.iter();
        Some(Native {
            registers: externs.registers.iter().map(RegisterCells::of).collect(),
            counters: externs
                .counters
                .iter()
                .map(|cells| CounterCells { cells: cells.as_ptr().cast(), len: cells.len() as u64 })
                .collect(),
            digests: Vec::new(),
            context: Context::new(),
            fields: Phv::Native(Box::default()),
            slots: Vec::new(),
            most_header_bytes: order.map(|&header| program.layout.header(header).bytes()).sum(),
            clone: None,
            recirculated: None,
            compiled,
        })
    }

    /// Says that writes to a register are to be noted.
    pub fn watch(&mut self, register: usize) {
        self.registers[register].watched = 1;
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
    fn prepare(&mut self, parts: &mut EngineParts<'_>, words: *mut u64, now: Nanos) {
        self.digests.clear();
        let context = &mut self.context;
        context.phv = words;
        context.registers = self.registers.as_ptr();
        context.counters = self.counters.as_ptr();
        context.drop_port = u64::from(parts.externs.options.drop_port.0);
        context.externs = parts.externs;
        context.states = parts.states.as_mut_ptr();
        context.program = parts.program;
        context.compiled = &*self.compiled;
        context.digests = &mut self.digests;
        (context.now, context.now_us) = (now.0, now.as_micros());
        (context.clone_list, context.resubmit, context.recirculate) = (0, 0, 0);
        (context.exit, context.failed, context.steps) = (0, 0, 0);
        (context.dropped_at, context.counter) = (0, 0);
    }

    #[inline]
    fn failed(&self) -> Option<DropReason> {
        match self.context.failed {
            0 => None,
            1 => Some(DropReason::Assertion),
            _ => Some(DropReason::StepLimit),
        }
    }

    /// Notes where the packet was marked to drop, and the reason that was counted.
    #[cold]
    fn note_drop(&self, externs: &mut Externs) {
        externs.dropped_at = self.context.dropped_at as u32;
        externs.counted = (self.context.counter as u32, self.context.counter_cell);
    }

    #[inline]
    fn truncation(&self) -> Option<u32> {
        u32::try_from(self.context.truncate).ok()
    }

    /// Runs egress on the packet that ingress was run on.
    #[inline]
    pub fn egress_at_hand(
        &mut self, parts: &mut EngineParts<'_>, tail: u32, bytes: &[u8], departure: &Departure,
        frame: &mut Frame,
    ) -> EgressOutcome {
        let payload = self.payload(bytes);
        let context = &mut self.context;
        (context.payload, context.payload_len) = (payload.as_ptr(), payload.len() as u64);
        context.truncate = u32::try_from(context.truncate).map_or(u64::MAX, u64::from);
        let mut fields = mem::replace(&mut self.fields, Phv::Native(Box::default()));
        let dropped = self.leave(parts, &mut fields, payload, tail, departure, frame);
        self.fields = fields;
        self.outcome(dropped)
    }

    /// Runs ingress on a packet with new fields, which stay in `self.fields`.
    #[inline(always)]
    pub fn decide(&mut self, parts: &mut EngineParts<'_>, now: Nanos, arrival: &Arrival, bytes: &[u8]) {
        let words = self.fields.native(&self.compiled.layout.initial).as_mut_ptr();
        let received = crate::packet::wire_length(bytes, arrival.tail);
        self.prepare(parts, words, now);
        let context = &mut self.context;
        (context.bytes, context.len) = (bytes.as_ptr(), bytes.len() as u64);
        (context.payload, context.payload_len) = (ptr::null(), 0);
        context.restored = arrival.restored.as_deref().map_or(ptr::null(), |restored| restored);
        (context.received, context.length) = (u64::from(received), u64::from(received));
        (context.ingress_port, context.instance) = (u64::from(arrival.port.0), arrival.instance as u64);
        context.truncate = u64::MAX;
        // SAFETY: the context's pointers are to parts of this pipeline, which are all borrowed mutably here.
        unsafe { self.compiled.run(EntryPoint::Ingress, &mut self.context) };
    }

    /// The bytes that ingress left, of those that arrived.
    #[inline]
    fn payload<'a>(&self, bytes: &'a [u8]) -> &'a [u8] {
        &bytes[bytes.len() - self.context.payload_len as usize..]
    }

    /// The packet that ingress was run on, if it is to go to one port and nothing else came of it.
    #[inline]
    pub fn unicast(&self, tail: u32) -> Option<Unicast> {
        let context = &self.context;
        let others = context.failed | context.clone_list | context.resubmit | context.group;
        if others != 0 || context.egress_spec == context.drop_port || !self.digests.is_empty() {
            return None;
        }
        let port = Port(context.egress_spec as u16);
        let bytes = self.wire(context.payload_len as usize, tail);
        Some(Unicast { port, bytes, priority: context.priority as u8 })
    }

    /// Bytes of the frame if egress changes nothing.
    #[inline]
    fn wire(&self, payload: usize, tail: u32) -> u32 {
        let bytes = self.context.header_bytes as usize + payload + tail as usize;
        u32::try_from(bytes).unwrap_or(u32::MAX).min(self.truncation().unwrap_or(u32::MAX))
    }

    /// The verdict of ingress, as a value.
    #[inline]
    pub fn held(&mut self, parts: EngineParts<'_>, now: Nanos, arrival: &Arrival, bytes: &[u8]) -> Ingress {
        let EngineParts { program, externs, states, pool } = parts;
        if let Some(reason) = self.failed() {
            self.note_drop(externs);
            return Ingress::nothing(Verdict::Drop(reason));
        }
        let mut done = Ingress::nothing(self.verdict());
        if matches!(done.verdict, Verdict::Drop(_)) {
            self.note_drop(externs);
        }
        if self.context.clone_list != 0 || self.context.resubmit != 0 || !self.digests.is_empty() {
            let words = self.fields.own_native(self.compiled.layout.initial.len()).unwrap_or_default();
            self.compiled.layout.widen(words, &mut self.slots);
            let parts = EngineParts { program, externs, states, pool: &mut *pool };
            self.asides(parts, now, arrival, bytes, &mut done);
        }
        if !matches!(done.verdict, Verdict::Unicast(_) | Verdict::Multicast(_)) {
            return done;
        }
        let payload = self.payload(bytes);
        let mut body = pool.packet(Phv::Native(Box::default()));
        mem::swap(&mut body.fields, &mut self.fields);
        body.payload = pool.payload(payload);
        body.tail = arrival.tail;
        body.received = self.context.received as u32;
        body.length = self.context.length as u32;
        body.truncate = self.truncation();
        let asked = self.context.recirculate.checked_sub(1).filter(|_| self.context.group == 0);
        body.recirculate = asked.map(|list| list as u32);
        body.wire = self.wire(payload.len(), arrival.tail);
        body.priority = self.context.priority as u8;
        done.packet = Some(Packet(body));
        done
    }

    /// The fate of the packet, unless it is resubmitted.
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

    /// The rarer requests of ingress: a clone, messages, another round. `self.slots` has the
    /// fields.
    #[cold]
    fn asides(
        &mut self, parts: EngineParts<'_>, now: Nanos, arrival: &Arrival, bytes: &[u8], done: &mut Ingress,
    ) {
        let EngineParts { program, externs, pool, .. } = parts;
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
    fn own(&self, mut packet: Packet, slots: &[u128], pool: &mut crate::packet::pool::PacketPool) -> Packet {
        let mut body = pool.packet(Phv::Native(Box::default()));
        self.compiled.layout.narrow(slots, body.fields.native(&self.compiled.layout.initial));
        std::mem::swap(&mut body.fields, &mut packet.0.fields);
        pool.take_back(body);
        packet
    }

    #[inline]
    pub fn egress(
        &mut self, mut parts: EngineParts<'_>, now: Nanos, packet: Packet, departure: &Departure,
        frame: &mut Frame,
    ) -> EgressOutcome {
        let Packet(mut body) = packet;
        let Some(words) = body.fields.own_native(self.compiled.layout.initial.len()) else {
            return EgressOutcome { fate: Fate::Drop(DropReason::Foreign), clone: None };
        };
        self.prepare(&mut parts, words.as_mut_ptr(), now);
        let PacketBody { fields, payload, tail, received, length, truncate, recirculate, .. } = &mut *body;
        let payload = payload.as_deref().map_or(&[][..], |payload| payload);
        let context = &mut self.context;
        (context.payload, context.payload_len) = (payload.as_ptr(), payload.len() as u64);
        (context.received, context.length) = (u64::from(*received), u64::from(*length));
        context.truncate = truncate.map_or(u64::MAX, u64::from);
        context.recirculate = recirculate.map_or(0, |list| u64::from(list) + 1);
        let dropped = self.leave(&mut parts, fields, payload, *tail, departure, frame);
        parts.pool.take_back(body);
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

    /// Runs egress on a packet, whose context is set but for the queue's metadata. Says why there is no
    /// frame.
    #[inline(always)]
    fn leave(
        &mut self, parts: &mut EngineParts<'_>, fields: &mut Phv, payload: &[u8], tail: u32,
        departure: &Departure, frame: &mut Frame,
    ) -> Option<DropReason> {
        let context = &mut self.context;
        (context.egress_port, context.instance) = (u64::from(departure.port.0), departure.instance as u64);
        context.rid = u64::from(departure.rid);
        context.enq_timestamp_us = departure.enq_timestamp.as_micros();
        context.enq_qdepth = u64::from(departure.enq_qdepth);
        context.deq_qdepth = u64::from(departure.deq_qdepth);
        context.deq_timedelta_us = departure.deq_timedelta.as_micros();
        // SAFETY: as in `decide`.
        unsafe { self.compiled.run(EntryPoint::Egress, &mut self.context) };

        if let Some(reason) = self.failed() {
            self.note_drop(parts.externs);
            return Some(reason);
        }
        if let Some(list) = self.context.clone_list.checked_sub(1) {
            self.clone = Some(self.clone_out(parts, fields, list, payload, tail));
        }
        if self.context.egress_spec == self.context.drop_port {
            self.note_drop(parts.externs);
            return Some(DropReason::Marked);
        }
        frame.bytes.clear();
        frame.bytes.reserve(self.most_header_bytes + payload.len());
        self.context.out = frame.bytes.as_mut_ptr();
        // SAFETY: as in `decide`; `out` has room for all headers.
        unsafe { self.compiled.run(EntryPoint::Deparse, &mut self.context) };
        debug_assert!(self.context.out_len as usize <= self.most_header_bytes);
        // SAFETY: native code has written as many bytes, within the room reserved.
        unsafe { frame.bytes.set_len(self.context.out_len as usize) };
        frame.bytes.extend_from_slice(payload);
        frame.tail = tail;
        if let Some(length) = self.truncation() {
            frame.truncate(length as usize);
        }
        if let Some(list) = self.context.recirculate.checked_sub(1) {
            self.widen(fields);
            self.recirculated = Some(Box::new(preserve(parts.program, list as u32, &self.slots)));
        }
        None
    }

    /// The clone that egress asks for: the packet as it is, only the fields of a list kept.
    #[cold]
    fn clone_out(
        &mut self, parts: &mut EngineParts<'_>, fields: &mut Phv, list: u64, payload: &[u8], tail: u32,
    ) -> CloneRequest {
        let EngineParts { program, pool, .. } = parts;
        self.widen(fields);
        let preserved = preserve(program, list as u32, &self.slots);
        let mut slots: Box<[u128]> = self.slots.as_slice().into();
        become_clone(program, &mut slots, &preserved, Instance::CloneEgress);
        let (received, length) = (self.context.received as u32, self.context.length as u32);
        let shape = interpret::PacketLengths { received, length, truncate: None, tail };
        let payload = pool.payload(payload);
        let packet = interpret::finish(program, pool, slots.clone(), payload, shape);
        let packet = self.own(packet, &slots, pool);
        CloneRequest { session: self.context.clone_session as u32, packet }
    }

    /// Gives `self.slots` these fields.
    fn widen(&mut self, fields: &mut Phv) {
        let words = fields.own_native(self.compiled.layout.initial.len()).unwrap_or_default();
        self.compiled.layout.widen(words, &mut self.slots);
    }
}
