//! The errors: one enum an operation.

use thiserror::Error;

/// The reason why a text is not a program that this crate can run, with the place in the JSON.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("{0}")]
pub struct LoadError(pub(crate) String);

/// The reason why a table, which its caller names, refused an operation. The table's state is as before.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum TableError {
    /// The id is of another program.
    #[error("no such table")]
    NoSuchTable,
    #[error("the table has no key: only its default entry can be set")]
    NoKey,
    #[error("its entries are constant")]
    ConstEntries,
    #[error("its default action is constant")]
    ConstDefault,
    /// An entry with this key (and priority) is there already.
    #[error("it has this entry already")]
    AlreadyExists,
    /// No entry with this key (and priority).
    #[error("it has no such entry")]
    NotFound,
    #[error("it is full (size {0})")]
    Full(usize),
    /// All groups together have as many actions as the switch takes.
    #[error("the groups have {0} actions, as many as the switch takes")]
    GroupsFull(usize),
    #[error("key fields: the table has {expected}, the entry {got}")]
    KeyLength { expected: usize, got: usize },
    #[error("key field {field}: {reason}")]
    Key { field: String, reason: &'static str },
    /// A priority is missing or too much, or a meter's rates are wrong.
    #[error("{0}")]
    Invalid(&'static str),
    /// The action is not one of the table's.
    #[error("the table does not have this action")]
    Action,
    /// `parameter` is the parameter's name, or its number where there is no such parameter.
    #[error("action {action}, parameter {parameter}: {reason}")]
    Argument { action: String, parameter: String, reason: &'static str },
    /// The table has no direct counter or meter.
    #[error("it has no direct {0}")]
    NoDirect(&'static str),
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
