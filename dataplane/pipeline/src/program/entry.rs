//! Table entries as the control plane writes them.

use groupflow_base::Nanos;

use crate::program::info::ActionId;

/// The match of one key field of an entry. Values are right-aligned.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Match {
    /// Equal to the value.
    Exact(u128),
    /// The `prefix` highest bits are equal; the others of `value` are zero.
    Lpm {
        /// The prefix's bits, left in place.
        value: u128,
        /// How many bits count.
        prefix: u8,
    },
    /// Equal where `mask` has ones; `value` is zero where it has not.
    Ternary {
        /// The bits wanted.
        value: u128,
        /// The bits that count. 0 matches everything.
        mask: u128,
    },
    /// Within `low..=high`.
    Range {
        /// The lowest value that matches.
        low: u128,
        /// The highest value that matches.
        high: u128,
    },
    /// Equal to the value, or anything. p4c writes such fields as ternary; both kinds take it.
    Optional(Option<u128>),
}

/// An action with its arguments.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct ActionCall {
    /// The action.
    pub action: ActionId,
    /// One value a parameter, in the order of the declaration.
    pub arguments: Vec<u128>,
}

/// The identity of an entry within its table.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct EntryKey {
    /// One match a key field, in the order of the table's declaration.
    pub matches: Vec<Match>,
    /// The highest wins, as in P4Runtime. At least 1 in tables with a ternary, range or optional field,
    /// 0 in all others.
    pub priority: u32,
}

/// A table entry.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entry {
    /// The packets that it is for.
    pub key: EntryKey,
    /// The action on packets that match.
    pub call: ActionCall,
}

/// A counter's cell; every counter counts both units, as BMv2's do.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[repr(C)]
pub struct CounterValue {
    /// Packets.
    pub packets: u64,
    /// Bytes of those packets as they arrived.
    pub bytes: u64,
}

/// How a meter colours.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum MeterKind {
    /// Two rates, three colours (RFC 2698).
    #[default]
    TwoRates,
    /// One rate, three colours (RFC 2697): bytes beyond `cburst` take from `pburst`, which is the excess
    /// burst, and fills when the committed one is full. `pir` is not used.
    OneRate,
    /// One rate, green or red. `pir` and `pburst` are not used.
    TwoColours,
}

/// The rates of a meter in its unit (packets or bytes).
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct MeterConfig {
    /// How the meter colours.
    pub kind: MeterKind,
    /// Committed information rate, units per second.
    pub cir: u64,
    /// Committed burst size, units.
    pub cburst: u64,
    /// Peak information rate of two rates, units per second; at least `cir`.
    pub pir: u64,
    /// Peak or excess burst size, units.
    pub pburst: u64,
}

/// The direct resources of an entry.
#[derive(Debug, Clone, Copy)]
pub struct EntryResources {
    /// The entry's direct counter, if the table has one.
    pub counter: Option<CounterValue>,
    /// The rates of its direct meter, if the table has one and it is configured.
    pub meter: Option<MeterConfig>,
    /// The packets of each colour of its direct meter: green, yellow, red.
    pub colours: [CounterValue; 3],
}

/// An entry together with its state, as read back.
#[derive(Debug, Clone)]
pub struct EntryView {
    /// The entry.
    pub entry: Entry,
    /// Whether P4 declares it.
    pub is_const: bool,
    /// The entry's counter and meter.
    pub resources: EntryResources,
    /// When a packet last had this entry, or [`Pipeline::table_touch`](crate::Pipeline::table_touch) was
    /// called, in a table that keeps this time.
    pub hit: Nanos,
}
