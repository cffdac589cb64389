//! P4Info bound to a program: the controller's ids on one side, the pipeline's on the other.

use groupflow_pipeline::{
    part_widths, ActionId, CounterId, DigestId, MatchKind, MeterId, MeterKind, RegisterId, TableId,
    ValueSetId,
};
use std::collections::BTreeMap;
use thiserror::Error;

use super::bytestring;
use super::digest_type::DataType;
use super::restriction::Restriction;
use super::status::Status;
use super::translation::{encode, Names};
use crate::core::QueueRegisters;

/// A difference between P4Info and program.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("P4Info does not match the program: {0}")]
pub struct BindingError(pub String);

/// A field of a key, of a member of a value set or of a controller header, or a parameter of an action.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BoundField {
    /// P4Info's id.
    pub id: u32,
    pub name: String,
    /// The program's width in bits.
    pub width: u32,
    /// The controller's match kind of the field; exact where nothing is matched.
    pub kind: MatchKind,
    /// The program's match kind of the field: p4c writes optional fields as ternary ones.
    pub program_kind: MatchKind,
    /// The strings that the controller writes, if its type is string.
    pub names: Option<Names>,
}

impl BoundField {
    /// The parts of the number that the controller's bytes stand for.
    pub fn decode(&self, bytes: &[u8]) -> Result<Vec<u128>, Status> {
        match &self.names {
            Some(names) => {
                let mut parts: Vec<u128> = part_widths(self.width).map(|_| 0).collect();
                let number = names.decode(bytes, self.width)?;
                parts.last_mut().into_iter().for_each(|lowest| *lowest = number);
                Ok(parts)
            }
            None => bytestring::decode_parts(bytes, self.width),
        }
    }

    /// The controller's bytes for a number.
    pub fn encode(&self, parts: &[u128]) -> Vec<u8> {
        encode(parts, self.names.as_ref())
    }
}

/// The entries of a table in which an action may be used.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ActionScope {
    Any,
    /// All entries but the default entry.
    TableOnly,
    /// Only the default entry.
    DefaultOnly,
}

/// An action as one table uses it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BoundAction {
    pub action: ActionId,
    pub name: String,
    pub scope: ActionScope,
    pub params: Vec<BoundField>,
    pub restriction: Option<Restriction>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BoundTable {
    pub table: TableId,
    pub name: String,
    pub fields: Vec<BoundField>,
    /// The table's actions by P4Info's id.
    pub actions: BTreeMap<u32, BoundAction>,
    pub with_priority: bool,
    pub is_const: bool,
    pub restriction: Option<Restriction>,
    pub const_default: bool,
    pub idle_timeout: bool,
    pub direct_counter: bool,
    /// How its entries' direct meter colours, if they have one.
    pub direct_meter: Option<MeterKind>,
    /// P4Info's id of its action profile; 0 is none.
    pub profile: u32,
    /// The program's action that selects from a group, if the profile has a selector.
    pub select: Option<ActionId>,
    pub group: GroupBounds,
}

impl BoundTable {
    /// A refusal with the table's name in front.
    pub fn within(&self, refusal: Status) -> Status {
        refusal.within(&format!("table {}", self.name))
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BoundProfile {
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
    /// The highest weight of one member; 0 is that members have none.
    pub weight: u32,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BoundValueSet {
    pub set: ValueSetId,
    pub name: String,
    /// The parts of a member.
    pub fields: Vec<BoundField>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BoundArray<Id> {
    pub array: Id,
    pub name: String,
    pub size: usize,
    /// The width of a cell in bits; 0 for counters and meters.
    pub width: u32,
    pub signed: bool,
    /// How cells colour, of meters.
    pub meter: MeterKind,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BoundDigest {
    pub id: u32,
    pub digest: DigestId,
    pub name: String,
    pub data: DataType,
}

/// The fields of the packet-in or packet-out header, in wire order.
pub type ControllerHeader = Vec<BoundField>;

/// The objects of a program by the controller's ids.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Binding {
    pub tables: BTreeMap<u32, BoundTable>,
    pub absent: BTreeMap<u32, String>,
    /// Rules that are not kept, with the reasons.
    pub ignored: Vec<String>,
    pub profiles: BTreeMap<u32, BoundProfile>,
    pub value_sets: BTreeMap<u32, BoundValueSet>,
    pub registers: BTreeMap<u32, BoundArray<RegisterId>>,
    pub counters: BTreeMap<u32, BoundArray<CounterId>>,
    pub meters: BTreeMap<u32, BoundArray<MeterId>>,
    pub digests: BTreeMap<u32, BoundDigest>,
    /// Registers that belong to queues.
    pub queues: QueueRegisters,
    /// The reasons that cells of counters stand for.
    pub reasons: Vec<(CounterId, Vec<String>)>,
    /// The strings of translated types, by their URI.
    pub strings: BTreeMap<String, Names>,
    pub packet_in: ControllerHeader,
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

    pub fn digest(&self, id: DigestId) -> Option<&BoundDigest> {
        self.digests.values().find(|digest| digest.digest == id)
    }
}
