//! Tables as the program declares them, and the conditions between them.

use crate::program::action::Op;
use crate::program::entry::{ActionCall, Entry};
use crate::program::expr::Expr;
use crate::program::field::Field;
use crate::program::info::{MatchKind, MeterUnit, TableInfo};

/// The most fields a key may have.
pub(crate) const MAX_KEY_FIELDS: usize = 64;

/// A node of the control flow, or the end of the pipeline.
pub(crate) type Next = Option<u32>;

/// A step of a control. The loader refuses cycles, so every control ends.
#[derive(Debug)]
pub(crate) enum ControlNode {
    Table(u32),
    Condition { condition: Expr, on_true: Next, on_false: Next },
    Call { action: u32, next: Next },
}

/// A field of a table's key as the data plane reads it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct KeyField {
    pub field: Field,
    /// The header's validity: fields of invalid headers count as 0.
    pub valid: u32,
    /// P4's static mask.
    pub mask: u128,
}

/// A table as the program declares it.
#[derive(Debug)]
pub(crate) struct Table {
    pub key: Vec<KeyField>,
    /// Sets the fields of the key that are computed.
    pub before: Vec<Op>,
    /// Next node by position in the table's list of actions.
    pub next: Vec<Next>,
    /// Whether the next node depends on the action that a group selects.
    pub follows: bool,
    /// `__HIT__` and `__MISS__`, where the program asks for them.
    pub next_hit: Option<Next>,
    pub next_miss: Option<Next>,
    /// Next node of a miss without default action.
    pub next_default: Next,
    pub default: Option<ActionCall>,
    /// In p4c's form of a bare call of an action: the node after it.
    pub bare: Option<Next>,
    pub entries: Vec<Entry>,
    pub counted: bool,
    /// Whether the time of an entry's last packet is kept.
    pub timed: bool,
    /// The unit of the direct meters, and where the colour goes.
    pub metered: Option<(MeterUnit, Field)>,
}

impl Table {
    /// Reads the key from a packet: words, each of a part of the key and shifted right.
    pub fn gather(&self, phv: &[u8], words: &[(usize, u32)], key: &mut Vec<u64>) {
        key.clear();
        key.extend(words.iter().map(|&(part, shift)| {
            let part = &self.key[part];
            match phv[part.valid as usize] {
                0 => 0,
                _ => ((part.field.bits(phv) & part.mask) >> shift) as u64,
            }
        }));
    }
}

/// Whether the table's entries have priorities.
pub(crate) fn with_priority(info: &TableInfo) -> bool {
    info.key.iter().any(|field| !matches!(field.kind, MatchKind::Exact | MatchKind::Lpm))
}
