//! The parts of a program that the control plane sees: tables, actions, registers, counters, meters, digests.

use std::net::{Ipv4Addr, Ipv6Addr};

use crate::program::field::{join, part_widths};

macro_rules! ids {
    ($($(#[$doc:meta])* $name:ident),+ $(,)?) => {
        $($(#[$doc])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub struct $name(pub(crate) u32);

        impl $name {
            /// The position in the program's list of its kind.
            pub fn index(self) -> usize {
                self.0 as usize
            }
        })+
    };
}

ids!(
    TableId,
    ActionId,
    RegisterId,
    /// An indirect counter array of a program.
    CounterId,
    /// An indirect meter array of a program.
    MeterId,
    /// A digest (learn list) of a program.
    DigestId,
    /// A value set of a program's parser.
    ValueSetId,
);
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MatchKind {
    Exact,
    Lpm,
    /// Value and mask. p4c writes `optional` fields as ternary.
    Ternary,
    Range,
    /// A value or anything.
    Optional,
}

/// A field of a table's key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KeyInfo {
    /// The control plane's name, such as `hdr.ipv4.dst`.
    pub name: String,
    pub kind: MatchKind,
    /// The key's width in bits.
    pub width: u32,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TableInfo {
    pub id: TableId,
    /// The control plane's name, such as `Ingress.route`.
    pub name: String,
    /// The table's key, empty for tables that p4c makes for bare action calls.
    pub key: Vec<KeyInfo>,
    /// The actions entries may use.
    pub actions: Vec<ActionId>,
    /// The action of entries that have a group of actions, in a table with a selector. Its one argument is
    /// the handle given to [`Pipeline::set_group`](crate::Pipeline::set_group).
    pub select: Option<ActionId>,
    /// How many entries it holds.
    pub max_size: usize,
    /// Whether P4 declares its entries, which makes it immutable.
    pub const_entries: bool,
    pub const_default: bool,
    /// Whether entries have a priority: any ternary, range or optional field.
    pub with_priority: bool,
    pub direct_counter: bool,
    /// The unit of the entries' direct meters, if there are any.
    pub direct_meter: Option<MeterUnit>,
    /// Whether the time of an entry's last packet is kept.
    pub timed: bool,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ParamInfo {
    /// The parameter's name.
    pub name: String,
    /// The parameter's width in bits.
    pub width: u32,
}

/// An action. Several may share a name: p4c copies an action for each table that uses it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ActionInfo {
    pub id: ActionId,
    /// The control plane's name, such as `Ingress.forward`.
    pub name: String,
    /// The action's parameters.
    pub params: Vec<ParamInfo>,
}

impl ActionInfo {
    /// The parameters' names with values, for a trace.
    pub(crate) fn shown(&self, arguments: &[u128]) -> Vec<(String, String)> {
        let mut rest = arguments;
        let mut shown = |param: &ParamInfo| {
            let (own, others) = rest.split_at(part_widths(param.width).count().min(rest.len()));
            rest = others;
            (param.name.clone(), shown(&param.name, param.width, own))
        };
        self.params.iter().map(&mut shown).collect()
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RegisterInfo {
    pub id: RegisterId,
    /// The control plane's name.
    pub name: String,
    pub size: usize,
    /// A cell's width in bits.
    pub width: u32,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CounterInfo {
    pub id: CounterId,
    /// The control plane's name.
    pub name: String,
    pub size: usize,
    /// If packets are counted by the reason of their drop: the word for each of the first cells.
    pub reasons: Vec<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MeterUnit {
    Packets,
    /// Bytes of the packets as they arrived.
    Bytes,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MeterInfo {
    pub id: MeterId,
    /// The control plane's name.
    pub name: String,
    pub size: usize,
    pub unit: MeterUnit,
}

/// The fields of a digest message.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DigestInfo {
    pub id: DigestId,
    /// The name of its type.
    pub name: String,
    /// The width of each member in bits, or of each part of one of more than 128.
    pub widths: Vec<u32>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ValueSetInfo {
    pub id: ValueSetId,
    /// The control plane's name.
    pub name: String,
    /// How many members it holds.
    pub max_size: usize,
    /// The width of each part of a member in bits; empty where no state uses it.
    pub widths: Vec<u32>,
}

/// A value as people read it: IPv4, IPv6 and MAC addresses in their own form, by the last word of the name
/// and by the width in bits; all else in hexadecimal digits.
pub(crate) fn shown(name: &str, width: u32, parts: &[u128]) -> String {
    let &[value] = parts else { return format!("{:#x}", join(parts)) };
    let word = name.rsplit(['.', '$', '_']).next().unwrap_or(name).to_ascii_lowercase();
    let kinds = ["addr", "src", "dst", "mac"];
    let address = kinds.iter().any(|kind| word.starts_with(kind) || word.ends_with(kind))
        || word.ends_with("hop")
        || matches!(word.as_str(), "ip" | "ipv4" | "ipv6");
    match (address, width) {
        (true, 32) => Ipv4Addr::from(value as u32).to_string(),
        (true, 48) => {
            value.to_be_bytes()[10..].iter().map(|b| format!("{b:02x}")).collect::<Vec<_>>().join(":")
        }
        (true, 128) => Ipv6Addr::from(value).to_string(),
        _ => format!("{value:#x}"),
    }
}

#[cfg(test)]
#[path = "tests/info.rs"]
mod tests;
