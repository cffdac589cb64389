//! The representation of a program: p4c's JSON with every name resolved to an index.
//!
//! Nothing here knows how a program is read or which engine runs it.

pub(crate) mod action;
pub(crate) mod bits;
pub(crate) mod calculation;
pub(crate) mod check;
pub(crate) mod control;
pub(crate) mod deparser;
pub(crate) mod entry;
pub(crate) mod expr;
pub(crate) mod field;
pub(crate) mod hash;
pub(crate) mod info;
pub(crate) mod names;
pub(crate) mod parser;
pub(crate) mod phv;
pub(crate) mod table;

use std::any::Any;
use std::sync::{Arc, OnceLock};

use crate::program::action::Action;
use crate::program::calculation::{Calculation, Checksum};
use crate::program::control::ControlNode;
use crate::program::deparser::Deparser;
use crate::program::expr::Expr;
use crate::program::field::Field;
use crate::program::info::{
    ActionInfo, CounterId, CounterInfo, DigestInfo, MeterInfo, ParamInfo, RegisterInfo, TableId, TableInfo,
    ValueSetInfo,
};
use crate::program::names::Names;
use crate::program::parser::Parser;
use crate::program::phv::Layout;
use crate::program::table::{Next, Table};

/// The fields of `standard_metadata` that the target reads and writes. Programs may lack the optional ones.
#[derive(Debug)]
pub(crate) struct Standard {
    pub ingress_port: Field,
    pub egress_spec: Field,
    pub egress_port: Field,
    pub instance_type: Field,
    pub packet_length: Field,
    pub parser_error: Option<Field>,
    pub checksum_error: Option<Field>,
    pub ingress_global_timestamp: Option<Field>,
    pub egress_global_timestamp: Option<Field>,
    pub mcast_grp: Option<Field>,
    pub egress_rid: Option<Field>,
    pub priority: Option<Field>,
    pub enq_timestamp: Option<Field>,
    pub enq_qdepth: Option<Field>,
    pub deq_timedelta: Option<Field>,
    pub deq_qdepth: Option<Field>,
}

/// A program that p4c compiled for BMv2's v1model, checked and resolved to indices. It does not change.
#[derive(Debug)]
pub struct Program {
    pub(crate) source: Option<String>,
    pub(crate) layout: Layout,
    pub(crate) standard: Standard,
    pub(crate) parser: Parser,
    pub(crate) deparser: Deparser,
    /// Verified after parsing.
    pub(crate) verified: Vec<Checksum>,
    /// Updated before deparsing.
    pub(crate) updated: Vec<Checksum>,
    pub(crate) calculations: Vec<Calculation>,
    pub(crate) bodies: Vec<Action>,
    pub(crate) nodes: Vec<ControlNode>,
    pub(crate) ingress: Next,
    pub(crate) egress: Next,
    pub(crate) match_tables: Vec<Table>,
    /// The fields that clones, resubmitted and recirculated packets keep.
    pub(crate) field_lists: Vec<Vec<Field>>,
    /// The members of each digest.
    pub(crate) learn_lists: Vec<Vec<Expr>>,
    pub(crate) tables: Vec<TableInfo>,
    pub(crate) actions: Vec<ActionInfo>,
    pub(crate) registers: Vec<RegisterInfo>,
    pub(crate) counters: Vec<CounterInfo>,
    pub(crate) meters: Vec<MeterInfo>,
    pub(crate) digests: Vec<DigestInfo>,
    pub(crate) names: Names,
    pub(crate) value_sets: Vec<ValueSetInfo>,
    /// The code that a back end generated when it was first wanted, for all pipelines of this program.
    pub(crate) derived: OnceLock<Option<Arc<dyn Any + Send + Sync>>>,
}

impl Program {
    /// The file p4c compiled, if the JSON names it.
    pub fn source(&self) -> Option<&str> {
        self.source.as_deref()
    }

    /// The tables of both pipelines, in the order of their ids.
    pub fn tables(&self) -> &[TableInfo] {
        &self.tables
    }

    /// The actions, in the order of their ids.
    pub fn actions(&self) -> &[ActionInfo] {
        &self.actions
    }

    /// The register arrays, in the order of their ids.
    pub fn registers(&self) -> &[RegisterInfo] {
        &self.registers
    }

    /// The indirect counter arrays, in the order of their ids.
    pub fn counters(&self) -> &[CounterInfo] {
        &self.counters
    }

    /// The indirect meter arrays, in the order of their ids.
    pub fn meters(&self) -> &[MeterInfo] {
        &self.meters
    }

    /// The digests, in the order of their ids.
    pub fn digests(&self) -> &[DigestInfo] {
        &self.digests
    }

    /// The value sets of the parser, in the order of their ids.
    pub fn value_sets(&self) -> &[ValueSetInfo] {
        &self.value_sets
    }

    /// Opens the declared entries of a table, which the JSON does not tell from constant ones, to changes,
    /// and gives the table room for `size` entries.
    pub fn open_table(&mut self, name: &str, size: usize) {
        if let Some(table) = self.tables.iter_mut().find(|table| table.name == name) {
            table.const_entries = false;
            table.max_size = table.max_size.max(size);
        }
    }

    /// Gives the actions of this name a parameter that p4c removed because nothing uses it, with its width in
    /// bits: entries keep its value. Nothing changes where they have it, or have `count` parameters.
    pub fn restore_parameter(&mut self, action: &str, name: &str, width: u32, count: usize) {
        let lacks = |known: &&mut ActionInfo| {
            let fewer = known.name == action && known.params.len() < count;
            fewer && known.params.iter().all(|param| param.name != name)
        };
        for found in self.actions.iter_mut().filter(lacks) {
            found.params.push(ParamInfo { name: name.to_owned(), width });
            for table in &mut self.match_tables {
                let calls = table.entries.iter_mut().map(|entry| &mut entry.call).chain(&mut table.default);
                calls.filter(|call| call.action == found.id).for_each(|call| call.arguments.push(0));
            }
        }
    }

    /// The table of this name.
    pub fn table(&self, name: &str) -> Option<&TableInfo> {
        self.tables.iter().find(|table| table.name == name)
    }

    /// The action of this name that the table uses.
    pub fn table_action(&self, table: TableId, name: &str) -> Option<&ActionInfo> {
        let table = self.tables.get(table.index())?;
        table.actions.iter().map(|action| &self.actions[action.index()]).find(|action| action.name == name)
    }

    /// The widths in bits of the fields of the first header that has fields of these names, and widths where
    /// they are known, and no others.
    pub fn header_of(&self, fields: &[(&str, Option<u32>)]) -> Option<Vec<u32>> {
        let headers = self.names.headers.iter().zip(&self.layout.headers);
        let headers = headers.filter(|((_, names), header)| !header.metadata && names.len() == fields.len());
        let mut widths = headers.map(|((_, names), header)| {
            let widths = header.fields.iter().map(|field| u32::from(field.width));
            names.iter().map(String::as_str).zip(widths).collect::<Vec<_>>()
        });
        let fits = |((name, width), known): (&(&str, u32), &(&str, Option<u32>))| {
            *name == known.0 && known.1.map_or(true, |known| known == *width)
        };
        let found = widths.find(|header| header.iter().zip(fields).all(fits))?;
        Some(found.into_iter().map(|(_, width)| width).collect())
    }

    /// The register array of this name.
    pub fn register(&self, name: &str) -> Option<&RegisterInfo> {
        self.registers.iter().find(|register| register.name == name)
    }

    /// The indirect counter array of this name.
    pub fn counter(&self, name: &str) -> Option<&CounterInfo> {
        self.counters.iter().find(|counter| counter.name == name)
    }

    /// Says that a counter counts drops, and the reason that each of its first cells stands for.
    pub fn set_reasons(&mut self, counter: CounterId, reasons: Vec<String>) {
        self.counters[counter.index()].reasons = reasons;
    }

    /// The indirect meter array of this name.
    pub fn meter(&self, name: &str) -> Option<&MeterInfo> {
        self.meters.iter().find(|meter| meter.name == name)
    }

    /// The digest of this name.
    pub fn digest(&self, name: &str) -> Option<&DigestInfo> {
        self.digests.iter().find(|digest| digest.name == name)
    }
}
