//! The errors of a simulation.

use groupflow_base::Nanos;
use thiserror::Error;

use crate::ids::NodeId;

/// The reason why a network cannot be built: the field of the description, and its problem.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("{field}: {problem}")]
pub struct BuildError {
    field: String,
    problem: String,
}

impl BuildError {
    pub fn new(field: impl Into<String>, problem: impl ToString) -> BuildError {
        BuildError { field: field.into(), problem: problem.to_string() }
    }
}

/// The reason why a run ended early.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("at {time}: packets go round without end near node {}: give a link of the loop a delay or a rate",
    .node.0)]
pub struct RunError {
    pub time: Nanos,
    pub node: NodeId,
}
