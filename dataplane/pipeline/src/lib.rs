//! Runs P4 programs that p4c compiled for BMv2 (`--target bmv2 --arch v1model`).
//!
//! A [`Program`] is the compiled program, checked and resolved once. A [`Pipeline`] is a program with its
//! tables, registers, counters and meters. A pipeline does no I/O and has no clock: packets, metadata and the
//! time are arguments, and the decision about a packet is a return value.
//!
//! The modules are layers; each imports those below it only, which `tests/arrows.rs` holds:
//!
//! ```text
//! pipeline           a program with its state: a packet's way, the control plane's access
//! run                ingress and egress of a packet, in either engine
//! native             the program as machine code; leaves rare steps to the interpreter
//! interpret          the reference for native code
//! state              tables' entries, registers, counters, meters; the context of a packet at work
//! packet     load    a packet between the controls; from p4c's JSON to a program
//! trace              the steps of a recorded packet
//! program            the representation: knows neither its loader nor its engines
//! error      port    errors of loading and of the control plane; a port's number
//! ```
//!
//! The crate imports `groupflow-base` for the time, `serde_json` for p4c's file, `crc` for hashes, Cranelift
//! to make machine code, and `libc` to map its memory.

#![deny(unsafe_code)]

mod error;
mod interpret;
mod load;
// Machine code is called through pointers, and its memory mapped.
#[allow(unsafe_code)]
mod native;
mod packet;
mod pipeline;
mod port;
mod program;
// Starts machine code.
#[allow(unsafe_code)]
mod run;
mod state;
mod trace;

pub use error::{FieldMatchError, LoadError, StateError, TableError};
pub use packet::{
    Arrival, CloneRequest, Departure, Digest, DropReason, EgressOutcome, Fate, Frame, Ingress, Instance,
    Packet, Preserved, Unicast, Verdict,
};
pub use pipeline::{AtHand, Pipeline};
pub use port::Port;
pub use program::entry::{
    ActionCall, CounterValue, Entry, EntryKey, EntryResources, EntryView, Match, MeterConfig, MeterKind,
};
pub use program::field::{join, part_prefixes, part_widths, read_bits, split, write_bits};
pub use program::info::{
    ActionId, ActionInfo, CounterId, CounterInfo, DigestId, DigestInfo, KeyInfo, MatchKind, MeterId,
    MeterInfo, MeterUnit, ParamInfo, RegisterId, RegisterInfo, TableId, TableInfo, ValueSetId, ValueSetInfo,
};
pub use program::Program;
pub use state::choices::Choices;
pub use state::group::Weighted;
pub use state::options::{Engine, PipelineOptions, Stats};
pub use trace::{ActionStep, CountStep, FieldMatch, Step, Values};
