//! A target's options for a pipeline, and the pipeline's counters.

use crate::port::Port;

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Engine {
    /// Machine code where this machine and program allow it, and the interpreter otherwise.
    #[default]
    Native,
    /// The interpreter: slower, and the reference for native code.
    Interpreter,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PipelineOptions {
    /// The port to which `mark_to_drop` sends packets; BMv2's default is 511.
    pub drop_port: Port,
    pub seed: u64,
    /// The engine; all engines do the same.
    pub engine: Engine,
}

impl Default for PipelineOptions {
    fn default() -> PipelineOptions {
        PipelineOptions { drop_port: Port(511), seed: 1, engine: Engine::Native }
    }
}

/// Counters of failures inside a program.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, serde::Serialize)]
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
}
