//! P4Info bound to a program: the controller's ids on one side, the pipeline's on the other.

use groupflow_pipeline::{
    ActionId, CounterId, DigestId, MatchKind, MeterId, MeterKind, RegisterId, TableId, ValueSetId,
};
use std::collections::BTreeMap;
use thiserror::Error;

use super::digest_type::DataType;
use super::restriction::Restriction;
use super::status::Status;
use super::translation::{decode, encode, Names};
use crate::core::QueueRegisters;

/// A difference between P4Info and program.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("P4Info does not match the program: {0}")]
pub struct BindingError(pub String);

/// A field of a table's key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BoundField {
    /// P4Info's id.
    pub id: u32,
    /// The name of the object.
    pub name: String,
    /// The program's width in bits.
    pub width: u32,
    /// The controller's match kind of the field.
    pub kind: MatchKind,
    /// The program's match kind of the field: p4c writes optional fields as ternary ones.
    pub program_kind: MatchKind,
    /// The strings that the controller writes, if its type is string.
    pub names: Option<Names>,
}

/// The entries of a table in which an action may be used.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ActionScope {
    /// All entries.
    Any,
    /// All entries but the default entry.
    TableOnly,
    /// Only the default entry.
    DefaultOnly,
}

/// An action as one table uses it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BoundAction {
    /// The program's action.
    pub action: ActionId,
    /// The name of the object.
    pub name: String,
    /// The entries in which the action may be used.
    pub scope: ActionScope,
    /// The parameters, in the program's order.
    pub params: Vec<BoundValue>,
    /// The rules of its arguments.
    pub restriction: Option<Restriction>,
}

/// A table.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BoundTable {
    /// The program's table.
    pub table: TableId,
    /// The name of the object.
    pub name: String,
    /// The table's key in the program's order.
    pub fields: Vec<BoundField>,
    /// The table's actions by P4Info's id.
    pub actions: BTreeMap<u32, BoundAction>,
    /// Whether its entries have a priority.
    pub with_priority: bool,
    /// Whether its entries are constant.
    pub is_const: bool,
    /// The rules of its entries.
    pub restriction: Option<Restriction>,
    /// Whether its default action is constant.
    pub const_default: bool,
    /// Whether entries may have an idle timeout.
    pub idle_timeout: bool,
    /// Whether its entries have a direct counter.
    pub direct_counter: bool,
    /// How its entries' direct meter colours, if they have one.
    pub direct_meter: Option<MeterKind>,
    /// P4Info's id of its action profile; 0 is none.
    pub profile: u32,
    /// The program's action that selects from a group, if the profile has a selector.
    pub select: Option<ActionId>,
    /// The bounds of a group.
    pub group: GroupBounds,
}

/// An action profile.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BoundProfile {
    /// The name of the object.
    pub name: String,
    /// Whether entries may have groups.
    pub selector: bool,
    /// The most members, and the most groups.
    pub size: usize,
}

/// The bounds that P4Info sets for a group of an action profile.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct GroupBounds {
    /// The most members, or the most that their weights sum up to.
    pub size: u64,
    /// Whether the size is one of members.
    pub by_members: bool,
    /// The highest weight of one member.
    pub weight: u32,
}

/// A value set of the parser.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BoundValueSet {
    /// The program's value set.
    pub set: ValueSetId,
    /// The name of the object.
    pub name: String,
    /// The parts of a member.
    pub fields: Vec<BoundField>,
}

/// An array of registers, counters or meters.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BoundArray<Id> {
    /// The program's array.
    pub array: Id,
    /// The name of the object.
    pub name: String,
    /// The number of cells.
    pub size: usize,
    /// The width of a cell in bits; 0 for counters and meters.
    pub width: u32,
    /// Whether cells are of type `int`.
    pub signed: bool,
    /// How cells colour, of meters.
    pub meter: MeterKind,
}

/// A digest.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BoundDigest {
    /// P4Info's id.
    pub id: u32,
    /// The program's digest.
    pub digest: DigestId,
    /// The name of the object.
    pub name: String,
    /// The type of its data.
    pub data: DataType,
}

/// A parameter of an action, or a field of a controller header.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BoundValue {
    /// P4Info's id.
    pub id: u32,
    /// The name of the object.
    pub name: String,
    /// The program's width in bits.
    pub width: u32,
    /// The strings that the controller writes, if its type is string.
    pub names: Option<Names>,
}

impl BoundValue {
    /// The number that the controller's bytes stand for.
    pub fn decode(&self, bytes: &[u8]) -> Result<u128, Status> {
        decode(bytes, self.width, self.names.as_ref())
    }

    /// The controller's bytes for a number.
    pub fn encode(&self, number: u128) -> Vec<u8> {
        encode(number, self.names.as_ref())
    }
}

/// The fields of the packet-in or packet-out header, in wire order.
pub type ControllerHeader = Vec<BoundValue>;

/// The objects of a program by the controller's ids.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Binding {
    /// The tables.
    pub tables: BTreeMap<u32, BoundTable>,
    /// The names of P4Info's tables that the program does not have.
    pub absent: BTreeMap<u32, String>,
    /// Action profiles.
    pub profiles: BTreeMap<u32, BoundProfile>,
    /// Value sets.
    pub value_sets: BTreeMap<u32, BoundValueSet>,
    /// Registers.
    pub registers: BTreeMap<u32, BoundArray<RegisterId>>,
    /// Indirect counters.
    pub counters: BTreeMap<u32, BoundArray<CounterId>>,
    /// Indirect meters.
    pub meters: BTreeMap<u32, BoundArray<MeterId>>,
    /// Digests.
    pub digests: BTreeMap<u32, BoundDigest>,
    /// Registers that belong to queues.
    pub queues: QueueRegisters,
    /// The reasons that cells of counters stand for.
    pub reasons: Vec<(CounterId, Vec<String>)>,
    /// The strings of translated types, by their URI.
    pub strings: BTreeMap<String, Names>,
    /// The header of packets to the controller.
    pub packet_in: ControllerHeader,
    /// The header of packets from the controller.
    pub packet_out: ControllerHeader,
}

/// The fault of a table that only P4Info has, in words.
pub fn absent_table(name: &str) -> String {
    format!("table {name} is in P4Info and not in the program")
}

impl Binding {
    /// Keeps the strings that came since the last call, or forgets them. Says whether one was not a number.
    pub fn settle(&self, keep: bool) -> bool {
        self.strings.values().filter(|names| names.settle(keep)).count() > 0
    }

    /// The digest with the program's id.
    pub fn digest(&self, id: DigestId) -> Option<&BoundDigest> {
        self.digests.values().find(|digest| digest.digest == id)
    }
}
