//! The recorded way of a packet through parser and controls.
//!
//! A traced packet runs in the interpreter, whose state is that of native code.

use std::net::Ipv4Addr;

use serde::Serialize;

use crate::program::field::Field;
use crate::program::info::ActionInfo;

/// The most steps that are recorded of one pass.
const STEP_BOUND: usize = 4_096;

/// Names with their values, as people read them.
pub type Values = Vec<(String, String)>;

/// One step of a packet (docs/reference/trace.md). `at` is a place in the P4 source, such as
/// `stages/acl.p4:31`, or empty.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(tag = "step", rename_all = "snake_case")]
pub enum Step {
    State { name: String },
    Extract { header: String, fields: Values },
    ParserError { error: String },
    ChecksumError,
    Condition { text: String, result: bool, at: String },
    Table { table: String, key: Values, hit: bool, action: String, arguments: Values, at: String },
    Action(ActionStep),
    RegisterRead { register: String, index: String, value: String, at: String },
    RegisterWrite { register: String, index: String, value: String, at: String },
    Count(CountStep),
    Meter { meter: String, index: String, colour: Option<String>, at: String },
    MarkToDrop { at: String },
    Clone { session: u32, at: String },
    Digest { digest: String, at: String },
    Resubmit { at: String },
    Recirculate { at: String },
    Truncate { bytes: u32, at: String },
    AssertFailed { at: String },
    Exit { at: String },
    Cut, // Further steps were not recorded.
}

/// An action that no entry of a table has.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ActionStep {
    pub action: String,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub arguments: Values,
    pub at: String,
}

impl ActionInfo {
    pub(crate) fn step(&self, arguments: &[u128], at: String) -> Step {
        let arguments = self.shown(arguments);
        Step::Action(ActionStep { action: self.name.clone(), arguments, at })
    }
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct CountStep {
    pub counter: String,
    pub index: String,
    /// The reason of a drop for which the cell stands.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    pub at: String,
}

#[derive(Debug, Clone, Default)]
pub(crate) struct Recording {
    pub steps: Vec<Step>,
    /// The place of the primitive that runs.
    pub at: String,
}

impl Recording {
    pub fn step(&mut self, step: Step) {
        match self.steps.len() {
            STEP_BOUND => self.steps.push(Step::Cut),
            length if length > STEP_BOUND => {}
            _ => self.steps.push(step),
        }
    }
}

/// A value that a field of the packet must have where the mask has ones.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FieldMatch {
    pub(crate) valid: Field,
    pub(crate) field: Field,
    pub(crate) value: u128,
    pub(crate) mask: u128,
}

impl FieldMatch {
    /// Whether the fields of a packet match.
    pub(crate) fn is_met(&self, phv: &[u8]) -> bool {
        self.valid.bits(phv) != 0 && self.field.bits(phv) & self.mask == self.value
    }
}

/// A value and the bits of it that count: `VALUE`, `VALUE/MASK`, or an IPv4 address and a prefix's length.
pub(crate) fn masked(text: &str) -> Option<(u128, u128)> {
    let Some((value, bits)) = text.split_once('/') else { return Some((number(text)?, u128::MAX)) };
    let prefix = bits.parse::<u32>().ok().filter(|length| *length <= 32 && value.parse::<Ipv4Addr>().is_ok());
    match prefix {
        Some(length) => Some((number(value)?, !(u128::from(u32::MAX) >> length))),
        None => Some((number(value)?, number(bits)?)),
    }
}

/// A number in decimal or hexadecimal digits, an IPv4 address, or a MAC address.
pub(crate) fn number(text: &str) -> Option<u128> {
    if let Ok(address) = text.parse::<Ipv4Addr>() {
        return Some(u32::from(address).into());
    }
    if text.len() == 17 && text.split(':').all(|byte| byte.len() == 2) {
        return u128::from_str_radix(&text.replace(':', ""), 16).ok();
    }
    match text.strip_prefix("0x") {
        Some(digits) => u128::from_str_radix(digits, 16).ok(),
        None => text.parse().ok(),
    }
}

#[cfg(test)]
#[path = "tests/trace.rs"]
mod tests;
