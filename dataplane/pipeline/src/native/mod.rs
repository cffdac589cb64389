//! The native engine: a program as machine code, made by Cranelift when the program is first used.
//!
//! [`compile`] turns parser, controls and deparser into three functions. Fields are bytes of a packet's block
//! ([`crate::program::phv`] says which), tables are arrays of rows. Entries of tables are looked up
//! at run time, so the control plane's writes need no new code. Rare or wide operations are left to the
//! interpreter, one by one ([`helpers`]). No access of generated code is compiled that could leave its memory
//! ([`bounds`]).

mod bounds;
mod checksum;
mod code;
mod compile;
mod control;
mod expr;
mod gen;
mod helpers;
mod op;
mod parser;
mod range;

use std::sync::Arc;

use crate::native::compile::Compiled;
use crate::program::Program;
use crate::state::context::{Context, CounterCells, EntryPoint, RegisterCells};
use crate::state::Externs;

/// A pipeline's machine code.
#[derive(Debug)]
pub(crate) struct Machine {
    compiled: Arc<Compiled>,
    registers: Vec<RegisterCells>,
    counters: Vec<CounterCells>,
}

// SAFETY: the pointers are to arrays of the same pipeline, and only used when its code runs.
unsafe impl Send for Machine {}
// SAFETY: nothing is done with the pointers through a shared reference.
unsafe impl Sync for Machine {}

impl Machine {
    /// Machine code for a pipeline, if its options want it and it can be made. `externs` must stay with the
    /// pipeline: native code uses the addresses of its arrays.
    pub fn new(program: &Program, externs: &mut Externs) -> Option<Machine> {
        let compiled = Compiled::of(program, externs.options.engine)?;
        let registers = externs.registers.iter_mut().map(RegisterCells::of).collect();
        let counters = externs.counters.iter_mut();
        let counters = counters
            .map(|cells| CounterCells { cells: cells.as_mut_ptr().cast(), len: cells.len() as u64 })
            .collect();
        Some(Machine { compiled, registers, counters })
    }

    /// Says that writes to a register are to be noted.
    pub fn watch(&mut self, register: usize) {
        self.registers[register].watched = 1;
    }

    /// Gives the context what the code needs.
    #[inline]
    pub fn attach(&self, context: &mut Context) {
        context.registers = self.registers.as_ptr();
        context.counters = self.counters.as_ptr();
        context.compiled = Arc::as_ptr(&self.compiled).cast();
    }

    /// Runs a function.
    ///
    /// # Safety
    ///
    /// The context's pointers must be those of the pipeline that has this code, which nothing else uses
    /// meanwhile, and `out` must have room for all headers.
    #[inline]
    pub unsafe fn run(&self, function: EntryPoint, context: &mut Context) {
        // SAFETY: the caller's promise.
        unsafe { self.compiled.run(function, context) }
    }
}
