//! The errors: one enum an operation.

use thiserror::Error;

/// The reason why a text is not a program that this crate can run, with the place in the JSON.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("{0}")]
pub struct LoadError(pub(crate) String);

/// The reason why a table refused an operation. The table's state is as before.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum TableError {
    /// The id is of another program.
    #[error("no such table")]
    NoSuchTable,
    #[error("table {0} has no key: only its default entry can be set")]
    NoKey(String),
    #[error("the entries of table {0} are constant")]
    ConstEntries(String),
    #[error("the default action of table {0} is constant")]
    ConstDefault(String),
    /// An entry with this key (and priority) is there already.
    #[error("table {0} has this entry already")]
    AlreadyExists(String),
    /// No entry with this key (and priority).
    #[error("table {0} has no such entry")]
    NotFound(String),
    #[error("table {0} is full ({1} entries)")]
    Full(String, usize),
    /// All groups together have as many actions as the switch takes.
    #[error("the groups have {0} actions, as many as the switch takes")]
    GroupsFull(usize),
    #[error("table {table} has {expected} key fields, the entry {got}")]
    KeyLength { table: String, expected: usize, got: usize },
    #[error("table {table}, key field {field}: {reason}")]
    Key { table: String, field: String, reason: &'static str },
    /// A priority is missing or too much, or a meter's rates are wrong.
    #[error("table {table}: {reason}")]
    Invalid { table: String, reason: &'static str },
    /// The action is not one of the table's.
    #[error("table {0} does not have this action")]
    Action(String),
    /// `parameter` is the parameter's name, or its number where there is no such parameter.
    #[error("action {action}, parameter {parameter}: {reason}")]
    Argument { action: String, parameter: String, reason: &'static str },
    /// The table has no direct counter or meter.
    #[error("table {0} has no direct {1}")]
    NoDirect(String, &'static str),
}

/// The reason why a register, counter or meter refused an access from outside.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum StateError {
    /// The id is of another program.
    #[error("no such {0}")]
    NoSuch(&'static str),
    /// The index is past the end of a register, counter or meter.
    #[error("{what} {name}: index {index} is out of range, size {size}")]
    Index { what: &'static str, name: String, index: usize, size: usize },
    /// A value set has no room for all members.
    #[error("value set {0}: more than {1} members")]
    Full(String, usize),
    /// The value is wider than a register's cell.
    #[error("register {0}: the value does not fit {1} bits")]
    Width(String, u32),
    /// A meter's rates are wrong.
    #[error("meter {0}: {1}")]
    Meter(String, &'static str),
}

impl StateError {
    pub(crate) fn index(what: &'static str, name: &str, index: usize, size: usize) -> StateError {
        StateError::Index { what, name: name.to_owned(), index, size }
    }
}

/// The reason why text is no match of a packet's field.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("match {text}: {reason}")]
pub struct FieldMatchError {
    pub(crate) text: String,
    pub(crate) reason: String,
}
