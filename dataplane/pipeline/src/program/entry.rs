//! Table entries as the control plane writes them.

use groupflow_base::Nanos;

use crate::program::info::ActionId;

/// The match of one key field of an entry. Values are right-aligned.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Match {
    /// Equal to the value.
    Exact(u128),
    /// The `prefix` highest bits are equal; the others of `value` are zero.
    Lpm { value: u128, prefix: u8 },
    /// Equal where `mask` has ones; `value` is zero where it has not.
    Ternary { value: u128, mask: u128 },
    /// Within `low..=high`.
    Range { low: u128, high: u128 },
    /// Equal to the value, or anything. p4c writes such fields as ternary; both kinds take it.
    Optional(Option<u128>),
    /// Of a field of more than 128 bits: a match of its kind for each part ([`part_widths`]). The ends of a
    /// range are two numbers in parts; a part's prefix is the rest of the whole number's.
    ///
    /// [`part_widths`]: crate::part_widths
    Wide(Vec<Match>),
}

impl Match {
    /// The matches of the field's parts.
    pub fn parts(&self) -> &[Match] {
        match self {
            Match::Wide(parts) => parts,
            narrow => std::slice::from_ref(narrow),
        }
    }

    /// The two numbers of a match: the second one is a mask, a prefix or the high end. A number of more than
    /// 128 bits is told as the highest of 128.
    pub fn numbers(&self) -> (u128, u128) {
        match *self {
            Match::Exact(value) | Match::Optional(Some(value)) => (value, u128::MAX),
            Match::Lpm { value, prefix } => (value, prefix.into()),
            Match::Ternary { value, mask } => (value, mask),
            Match::Range { low, high } => (low, high),
            Match::Optional(None) => (0, 0),
            Match::Wide(ref parts) => {
                let joined = |(high, all): (u128, u128), (low, second)| {
                    (high.saturating_mul(u128::MAX).saturating_add(low), all.saturating_add(second))
                };
                parts.iter().map(Match::numbers).fold((0, 0), joined)
            }
        }
    }

    /// A field's match that has these parts.
    pub fn of_parts(mut parts: Vec<Match>) -> Match {
        match parts.len() {
            1 => parts.remove(0),
            _ => Match::Wide(parts),
        }
    }
}

#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct ActionCall {
    pub action: ActionId,
    /// One value a parameter, in the order of the declaration; several of one of more than 128 bits
    /// ([`part_widths`](crate::part_widths)).
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
    pub packets: u64,
    /// Bytes of those packets as they arrived.
    pub bytes: u64,
}

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
    pub entry: Entry,
    /// Whether P4 declares it.
    pub is_const: bool,
    /// The entry's counter and meter.
    pub resources: EntryResources,
    /// When a packet last had this entry, or [`Pipeline::table_touch`](crate::Pipeline::table_touch) was
    /// called, in a table that keeps this time.
    pub hit: Nanos,
}
