//! A program with its state, and a packet's way through it.

mod externs;
mod tables;
mod traced;

use std::sync::Arc;

use groupflow_base::Nanos;

use crate::packet::pool::PacketPool;
use crate::packet::{Arrival, Departure, EgressOutcome, Frame, Ingress, Packet, Unicast};
use crate::program::Program;
use crate::run::Runner;
use crate::state::choices::Choices;
use crate::state::options::{Engine, PipelineOptions, Stats};
use crate::state::table::TableState;
use crate::state::{EngineParts, Externs, Register};

/// A program with its tables, registers, counters and meters.
#[derive(Debug)]
pub struct Pipeline {
    pub(crate) program: Arc<Program>,
    pub(crate) tables: Vec<TableState>,
    pub(crate) externs: Externs,
    pub(crate) runner: Runner,
    pool: PacketPool,
}

impl Pipeline {
    /// The program with its initial state and BMv2's drop port.
    pub fn new(program: Arc<Program>) -> Pipeline {
        Pipeline::with_options(program, PipelineOptions::default())
    }

    /// The program with its initial state.
    pub fn with_options(program: Arc<Program>, options: PipelineOptions) -> Pipeline {
        let mut externs = Externs::new(&program, options);
        let tables = program.tables.iter().map(|table| TableState::new(table, &program.actions)).collect();
        let runner = Runner::new(&program, &mut externs);
        let mut pipeline = Pipeline { program, tables, externs, runner, pool: PacketPool::default() };
        pipeline.install_declared();
        pipeline
    }

    /// The same program in the same state, for one packet that makes these choices where chance or a
    /// selector's hash would decide.
    pub fn copy(&self, choices: Choices) -> Pipeline {
        let mut externs = Externs { choices: Some(choices), ..self.externs.clone() };
        externs.options.engine = Engine::Interpreter;
        let runner = Runner::new(&self.program, &mut externs);
        let (program, tables) = (Arc::clone(&self.program), self.tables.clone());
        Pipeline { program, tables, externs, runner, pool: PacketPool::default() }
    }

    /// The choices that the packet made.
    pub fn into_choices(self) -> Choices {
        self.externs.choices.unwrap_or_default()
    }

    /// The size of a copy, in entries of tables; eight cells of arrays count as one.
    pub fn size(&self) -> usize {
        let Externs { registers, counters, meters, .. } = &self.externs;
        let arrays = registers.iter().map(Register::len).chain(counters.iter().map(Vec::len));
        let cells: usize = arrays.chain(meters.iter().map(|array| array.cells.len())).sum();
        self.tables.iter().map(TableState::len).sum::<usize>() + cells / 8
    }

    pub fn program(&self) -> &Arc<Program> {
        &self.program
    }

    pub fn engine(&self) -> Engine {
        match self.runner.machine {
            Some(_) => Engine::Native,
            None => Engine::Interpreter,
        }
    }

    /// The counters of failures so far.
    pub fn stats(&self) -> Stats {
        let mut stats = self.externs.stats;
        self.runner.add_to(&mut stats);
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
        let (parts, runner) = self.parts();
        runner.egress(parts, now, packet, &departure, frame)
    }

    /// Runs ingress, as [`Pipeline::ingress`], and leaves open whether the packet becomes a value that can
    /// wait. Either way the packet is treated as [`Pipeline::ingress`] and [`Pipeline::egress_into`] would.
    #[inline(always)] // the switch calls it twice, and once for each packet
    pub fn arrive<'a>(&'a mut self, now: Nanos, arrival: &'a Arrival, bytes: &'a [u8]) -> AtHand<'a> {
        let (mut parts, runner) = self.parts();
        runner.ingress(&mut parts, now, arrival, bytes);
        AtHand { pipeline: self, arrival, bytes }
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
    fn parts(&mut self) -> (EngineParts<'_>, &mut Runner) {
        let Pipeline { program, tables, externs, runner, pool } = self;
        (EngineParts { program, externs, states: tables, pool }, runner)
    }
}

/// A packet that ingress is done with: it either goes on through egress at once, or becomes a value.
#[derive(Debug)]
pub struct AtHand<'a> {
    pipeline: &'a mut Pipeline,
    arrival: &'a Arrival,
    bytes: &'a [u8],
}

impl AtHand<'_> {
    /// The packet, if it goes to one port and ingress left nothing else to do: no clone, no digest, no
    /// register cell that [`Pipeline::pop_written`] would give.
    #[inline]
    pub fn unicast(&self) -> Option<Unicast> {
        if self.pipeline.has_written() {
            return None;
        }
        self.pipeline.runner.unicast(&self.pipeline.externs, self.arrival.tail)
    }

    /// Runs egress, as [`Pipeline::egress_into`]. Only for a packet that [`AtHand::unicast`] describes: of
    /// any other packet it loses the rest of the requests of ingress.
    #[inline]
    pub fn egress(self, departure: &Departure, frame: &mut Frame) -> EgressOutcome {
        debug_assert!(self.unicast().is_some(), "it has to be held");
        let AtHand { pipeline, arrival, bytes } = self;
        let (mut parts, runner) = pipeline.parts();
        runner.egress_at_hand(&mut parts, arrival.tail, bytes, departure, frame)
    }

    /// The verdict of ingress, as a value.
    #[inline]
    pub fn hold(self) -> Ingress {
        let AtHand { pipeline, arrival, bytes } = self;
        let (mut parts, runner) = pipeline.parts();
        runner.held(&mut parts, arrival, bytes)
    }
}
