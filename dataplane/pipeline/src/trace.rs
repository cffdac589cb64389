//! The recorded way of a packet through parser and controls.
//!
//! A traced packet runs in the interpreter, whose state is that of native code.

use serde::Serialize;

/// The most steps that are recorded of one pass.
const STEP_BOUND: usize = 4_096;

/// Names with their values, in hexadecimal digits.
pub type Values = Vec<(String, String)>;

/// One step of a packet. `at` is a place in the P4 source, such as `stages/acl.p4:31`, or empty.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(tag = "step", rename_all = "snake_case")]
#[allow(missing_docs)] // docs/reference/trace.md says what each is.
pub enum Step {
    State {
        name: String,
    },
    Extract {
        header: String,
        fields: Values,
    },
    ParserError {
        error: String,
    },
    ChecksumError,
    Condition {
        text: String,
        result: bool,
        at: String,
    },
    Table {
        table: String,
        key: Values,
        hit: bool,
        action: String,
        arguments: Values,
        at: String,
    },
    Action {
        action: String,
        at: String,
    },
    RegisterRead {
        register: String,
        index: String,
        value: String,
        at: String,
    },
    RegisterWrite {
        register: String,
        index: String,
        value: String,
        at: String,
    },
    Count {
        counter: String,
        index: String,
        at: String,
    },
    Meter {
        meter: String,
        index: String,
        colour: Option<String>,
        at: String,
    },
    MarkToDrop {
        at: String,
    },
    Clone {
        session: u32,
        at: String,
    },
    Digest {
        digest: String,
        at: String,
    },
    Resubmit {
        at: String,
    },
    Recirculate {
        at: String,
    },
    Truncate {
        bytes: u32,
        at: String,
    },
    AssertFailed {
        at: String,
    },
    Exit {
        at: String,
    },
    /// Further steps were not recorded.
    Cut,
}

/// A recording in progress.
#[derive(Debug, Default)]
pub(crate) struct Recording {
    pub steps: Vec<Step>,
    /// Tables with direct counters and the places of the entries that were hit.
    pub counted: Vec<(u32, u32)>,
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
    pub(crate) header: usize,
    pub(crate) field: usize,
    pub(crate) value: u128,
    pub(crate) mask: u128,
}

/// A number in decimal or hexadecimal digits, or an IPv4 address.
pub(crate) fn number(text: &str) -> Option<u128> {
    if let Ok(address) = text.parse::<std::net::Ipv4Addr>() {
        return Some(u32::from(address).into());
    }
    match text.strip_prefix("0x") {
        Some(digits) => u128::from_str_radix(digits, 16).ok(),
        None => text.parse().ok(),
    }
}
