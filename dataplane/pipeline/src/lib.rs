//! Runs P4 programs that p4c compiled for BMv2 (`--target bmv2 --arch v1model`).
//!
//! [`Program`] is the compiled program, checked and resolved once; [`Pipeline`] is a program with its
//! tables, registers, counters and meters. A pipeline does no I/O and has no clock: packets, metadata
//! and the time come in as arguments, and what is to be done comes out as values.

#![deny(unsafe_code)]

mod action;
mod bits;
mod calculation;
mod check;
mod control;
mod deparser;
mod entry;
mod error;
mod expr;
mod hash;
mod info;
mod interpret;
mod load;
mod matching;
mod metadata;
mod meter;
// Machine code is called through pointers, and its memory mapped.
#[allow(unsafe_code)]
mod native;
mod packet;
mod parser;
mod phv;
mod pipeline;
mod pool;
mod port;
mod program;
mod state;
mod state_access;
mod table;
mod table_access;

pub use entry::{ActionCall, CounterValue, Entry, EntryKey, EntryView, Match, MeterConfig};
pub use error::{LoadError, StateError, TableError};
pub use info::{
    ActionId, ActionInfo, CounterId, CounterInfo, DigestId, DigestInfo, KeyInfo, MatchKind, MeterId,
    MeterInfo, MeterUnit, ParamInfo, RegisterId, RegisterInfo, TableId, TableInfo, ValueSetId, ValueSetInfo,
};
pub use packet::{
    Arrival, CloneRequest, Departure, Digest, DropReason, Egress, Emission, Fate, Frame, Ingress, Instance,
    Outcome, Packet, Preserved, Unicast, Verdict,
};
pub use pipeline::{AtHand, Engine, Options, Pipeline, Stats};
pub use port::Port;
pub use program::Program;
