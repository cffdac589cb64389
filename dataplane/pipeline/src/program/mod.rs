//! The representation of a program: p4c's JSON with every name resolved to an index.
//!
//! Nothing here knows how a program is read or which engine runs it.

pub(crate) mod action;
pub(crate) mod calculation;
pub(crate) mod check;
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
use crate::program::expr::Expr;
use crate::program::field::{part_widths, Field};
use crate::program::info::{
    ActionInfo, CounterId, CounterInfo, DigestInfo, MeterInfo, ParamInfo, RegisterInfo, TableId, TableInfo,
    ValueSetInfo,
};
use crate::program::names::Names;
use crate::program::parser::{Deparser, Parser};
use crate::program::phv::Layout;
use crate::program::table::{ControlNode, Next, Table};

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
    /// The file that was compiled, if the JSON names it.
    pub source: Option<String>,
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
    /// The tables of both pipelines. Like all that the control plane sees, they are in the order of their
    /// ids.
    pub tables: Vec<TableInfo>,
    pub actions: Vec<ActionInfo>,
    pub registers: Vec<RegisterInfo>,
    pub counters: Vec<CounterInfo>,
    pub meters: Vec<MeterInfo>,
    pub digests: Vec<DigestInfo>,
    pub(crate) names: Names,
    pub value_sets: Vec<ValueSetInfo>,
    /// The code that a back end generated when it was first wanted, for all pipelines of this program.
    pub(crate) derived: OnceLock<Option<Arc<dyn Any + Send + Sync>>>,
}

impl Program {
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
                for call in calls.filter(|call| call.action == found.id) {
                    call.arguments.extend(part_widths(width).map(|_| 0));
                }
            }
        }
    }

    pub fn table(&self, name: &str) -> Option<&TableInfo> {
        self.tables.iter().find(|table| table.name == name)
    }

    pub fn table_action(&self, table: TableId, name: &str) -> Option<&ActionInfo> {
        let table = self.tables.get(table.index())?;
        table.actions.iter().map(|action| &self.actions[action.index()]).find(|action| action.name == name)
    }

    /// The widths in bits of the fields of the first header that has fields of these names, and widths where
    /// they are known, and no others.
    pub fn header_of(&self, fields: &[(&str, Option<u32>)]) -> Option<Vec<u32>> {
        let headers = self.names.headers.iter().zip(&self.layout.headers);
        let mut headers = headers.filter(|(_, header)| !header.metadata);
        headers.find_map(|((_, names), header)| {
            let mut parts = names.iter().zip(&header.fields).peekable();
            // The parts of a wide field have its name and their number.
            let mut width_of = |name: &str| {
                let of_name =
                    |part: &str| part == name || part.strip_prefix(name).is_some_and(|n| n.starts_with('['));
                let own = std::iter::from_fn(|| parts.next_if(|(part, _)| of_name(part)));
                own.map(|(_, field)| u32::from(field.width)).sum()
            };
            let widths: Vec<u32> = fields.iter().map(|(name, _)| width_of(name)).collect();
            let fits = |(width, (_, known)): (&u32, &(_, Option<u32>))| {
                known.map_or(*width > 0, |known| known == *width)
            };
            (parts.next().is_none() && widths.iter().zip(fields).all(fits)).then_some(widths)
        })
    }

    pub fn register(&self, name: &str) -> Option<&RegisterInfo> {
        self.registers.iter().find(|register| register.name == name)
    }

    pub fn counter(&self, name: &str) -> Option<&CounterInfo> {
        self.counters.iter().find(|counter| counter.name == name)
    }

    /// Says that a counter counts drops, and the reason that each of its first cells stands for.
    pub fn set_reasons(&mut self, counter: CounterId, reasons: Vec<String>) {
        self.counters[counter.index()].reasons = reasons;
    }

    pub fn meter(&self, name: &str) -> Option<&MeterInfo> {
        self.meters.iter().find(|meter| meter.name == name)
    }

    pub fn digest(&self, name: &str) -> Option<&DigestInfo> {
        self.digests.iter().find(|digest| digest.name == name)
    }
}
