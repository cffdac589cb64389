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
    /// The table has no key; only its default entry can be set.
    #[error("table {0} has no key: only its default entry can be set")]
    NoKey(String),
    /// The entries are `const` in P4.
    #[error("the entries of table {0} are constant")]
    ConstEntries(String),
    /// The default entry is `const` in P4.
    #[error("the default action of table {0} is constant")]
    ConstDefault(String),
    /// An entry with this key (and priority) is there already.
    #[error("table {0} has this entry already")]
    AlreadyExists(String),
    /// No entry with this key (and priority).
    #[error("table {0} has no such entry")]
    NotFound(String),
    /// The table holds its `size` of entries.
    #[error("table {table} is full ({size} entries)")]
    Full {
        /// The table's name.
        table: String,
        /// The table's size.
        size: usize,
    },
    /// All groups together have as many actions as the switch takes.
    #[error("the groups have {0} actions, as many as the switch takes")]
    GroupsFull(usize),
    /// The number of key fields differs from the table's.
    #[error("table {table} has {expected} key fields, the entry {got}")]
    KeyLength {
        /// The table's name.
        table: String,
        /// Fields of the table's key.
        expected: usize,
        /// Fields of the entry.
        got: usize,
    },
    /// One key field is wrong.
    #[error("table {table}, key field {field}: {reason}")]
    Key {
        /// The table's name.
        table: String,
        /// The key field's name.
        field: String,
        /// The fault.
        reason: &'static str,
    },
    /// A priority is missing or too much, or a meter's rates are wrong.
    #[error("table {table}: {reason}")]
    Invalid {
        /// The table's name.
        table: String,
        /// The fault.
        reason: &'static str,
    },
    /// The action is not one of the table's.
    #[error("table {0} does not have this action")]
    Action(String),
    /// The action's arguments are wrong.
    #[error("action {action}, parameter {parameter}: {reason}")]
    Argument {
        /// The action's name.
        action: String,
        /// The parameter's name, or its number where there is no such parameter.
        parameter: String,
        /// The fault.
        reason: &'static str,
    },
    /// The table has no direct counter or meter.
    #[error("table {table} has no direct {what}")]
    NoDirect {
        /// The table's name.
        table: String,
        /// `counter` or `meter`.
        what: &'static str,
    },
}

/// The reason why a register, counter or meter refused an access from outside.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum StateError {
    /// The id is of another program.
    #[error("no such {0}")]
    NoSuch(&'static str),
    /// The index is past the end.
    #[error("{what} {name}: index {index} is out of range, size {size}")]
    Index {
        /// `register`, `counter` or `meter`.
        what: &'static str,
        /// The array's name.
        name: String,
        /// The index asked for.
        index: usize,
        /// The number of cells.
        size: usize,
    },
    /// A value set has no room for so many members.
    #[error("value set {name}: more than {size} members")]
    Full {
        /// The value set's name.
        name: String,
        /// The value set's size.
        size: usize,
    },
    /// The value is wider than a register's cell.
    #[error("register {name}: the value does not fit {width} bits")]
    Width {
        /// The register's name.
        name: String,
        /// The width of a cell.
        width: u32,
    },
    /// A meter's rates are wrong.
    #[error("meter {name}: {reason}")]
    Meter {
        /// The meter's name.
        name: String,
        /// The fault.
        reason: &'static str,
    },
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
