//! A program with its state, and a packet's way through it.

mod externs;
mod tables;
mod traced;

use std::sync::Arc;

use groupflow_base::Nanos;

use crate::interpret;
use crate::native::Native;
use crate::packet::pool::PacketPool;
use crate::packet::{
    Arrival, Departure, DropReason, EgressOutcome, Fate, Frame, Ingress, Packet, Unicast, Verdict,
};
use crate::program::Program;
use crate::state::options::{Engine, PipelineOptions, Stats};
use crate::state::table::TableState;
use crate::state::{EngineParts, Externs};

/// A program with its tables, registers, counters and meters.
#[derive(Debug)]
pub struct Pipeline {
    pub(crate) program: Arc<Program>,
    pub(crate) tables: Vec<TableState>,
    pub(crate) externs: Externs,
    pub(crate) native: Option<Native>,
    pool: PacketPool,
}

impl Pipeline {
    /// The program with its initial state and BMv2's drop port.
    pub fn new(program: Arc<Program>) -> Pipeline {
        Pipeline::with_options(program, PipelineOptions::default())
    }

    /// The program with its initial state.
    pub fn with_options(program: Arc<Program>, options: PipelineOptions) -> Pipeline {
        let externs = Externs::new(&program, options);
        let tables = program.tables.iter().map(|table| TableState::new(table, &program.actions)).collect();
        let native = Native::new(&program, &externs);
        let mut pipeline = Pipeline { program, tables, externs, native, pool: PacketPool::default() };
        pipeline.install_declared();
        pipeline
    }

    /// The program.
    pub fn program(&self) -> &Arc<Program> {
        &self.program
    }

    /// The engine that runs the program: never [`Engine::Auto`].
    pub fn engine(&self) -> Engine {
        match self.native {
            Some(_) => Engine::Native,
            None => Engine::Interpreter,
        }
    }

    /// The counters of failures so far.
    pub fn stats(&self) -> Stats {
        let mut stats = self.externs.stats;
        if let Some(native) = &self.native {
            native.add_to(&mut stats);
        }
        stats
    }

    /// Parser, checksum verification and ingress control.
    ///
    /// A packet whose parsing fails goes on to ingress with `parser_error` set, as in BMv2.
    #[inline]
    pub fn ingress(&mut self, now: Nanos, arrival: Arrival, bytes: &[u8]) -> Ingress {
        self.arrive(now, &arrival, bytes).hold()
    }

    /// Egress control, checksum update and deparser. The frame is written to `frame`, whose buffer is used
    /// again; the content of `frame` is of use only if the fate is not a drop.
    #[inline]
    pub fn egress_into(
        &mut self, now: Nanos, packet: Packet, departure: Departure, frame: &mut Frame,
    ) -> EgressOutcome {
        if self.native.is_some() && !packet.is_native() {
            return self.trace_egress(now, packet, &departure, frame).0;
        }
        let (parts, native) = self.parts();
        match native {
            Some(native) => native.egress(parts, now, packet, &departure, frame),
            None => interpret::egress(parts, now, packet, &departure, frame),
        }
    }

    /// Runs ingress, as [`Pipeline::ingress`], and leaves open whether the packet becomes a value that can
    /// wait. Either way the packet is treated as [`Pipeline::ingress`] and [`Pipeline::egress_into`] would.
    #[inline(always)] // the switch calls it twice, and once for each packet
    pub fn arrive<'a>(&'a mut self, now: Nanos, arrival: &'a Arrival, bytes: &'a [u8]) -> AtHand<'a> {
        let (mut parts, native) = self.parts();
        let interpreted = match native {
            Some(native) => {
                native.decide(&mut parts, now, arrival, bytes);
                None
            }
            None => Some(interpret::ingress(parts, now, arrival, bytes)),
        };
        AtHand { pipeline: self, now, arrival, bytes, interpreted }
    }

    /// A copy of a packet for the replication engine. It shares the payload.
    #[inline]
    pub fn replicate(&mut self, packet: &Packet) -> Packet {
        Packet(self.pool.copy(&packet.0))
    }

    /// Takes back a packet that will not go to egress, to use its memory again.
    #[inline]
    pub fn recycle(&mut self, packet: Packet) {
        self.pool.take_back(packet.0);
    }

    #[inline]
    fn parts(&mut self) -> (EngineParts<'_>, Option<&mut Native>) {
        let Pipeline { program, tables, externs, native, pool } = self;
        (EngineParts { program, externs, states: tables, pool }, native.as_mut())
    }
}

/// A packet that ingress is done with: it either goes on through egress at once, or becomes a value.
#[derive(Debug)]
pub struct AtHand<'a> {
    pipeline: &'a mut Pipeline,
    now: Nanos,
    arrival: &'a Arrival,
    bytes: &'a [u8],
    /// The interpreter's result; native code does not hand one over.
    interpreted: Option<Ingress>,
}

impl AtHand<'_> {
    /// The packet, if it goes to one port and ingress left nothing else to do: no clone, no digest, no
    /// register cell that [`Pipeline::pop_written`] would give.
    #[inline]
    pub fn unicast(&self) -> Option<Unicast> {
        if self.pipeline.has_written() {
            return None;
        }
        match (&self.interpreted, &self.pipeline.native) {
            (None, Some(native)) => native.unicast(self.arrival.tail),
            (Some(done), _) => interpret::unicast(done),
            (None, None) => None,
        }
    }

    /// Runs egress, as [`Pipeline::egress_into`]. Only for a packet that [`AtHand::unicast`] describes: of
    /// any other packet it loses the rest of the requests of ingress.
    #[inline]
    pub fn egress(self, departure: &Departure, frame: &mut Frame) -> EgressOutcome {
        debug_assert!(self.unicast().is_some(), "it has to be held");
        let AtHand { pipeline, now, arrival, bytes, interpreted } = self;
        let (mut parts, native) = pipeline.parts();
        match (native, interpreted) {
            (Some(native), None) => native.egress_at_hand(&mut parts, arrival.tail, bytes, departure, frame),
            (None, Some(Ingress { packet: Some(packet), .. })) => {
                interpret::egress(parts, now, packet, departure, frame)
            }
            _ => EgressOutcome { fate: Fate::Drop(DropReason::Marked), clone: None },
        }
    }

    /// The verdict of ingress, as a value.
    #[inline]
    pub fn hold(self) -> Ingress {
        let AtHand { pipeline, now, arrival, bytes, interpreted } = self;
        let (parts, native) = pipeline.parts();
        match (native, interpreted) {
            (Some(native), None) => native.held(parts, now, arrival, bytes),
            (_, done) => done.unwrap_or_else(|| Ingress::nothing(Verdict::Drop(DropReason::Marked))),
        }
    }
}
