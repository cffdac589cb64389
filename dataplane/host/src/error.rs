//! Errors of the agents, each with a remedy.

use std::io;

use thiserror::Error;

/// Exit codes besides 0.
pub mod exit {
    pub const FAILURE: u8 = 1;
    /// The command line is wrong.
    pub const USAGE: u8 = 2;
    /// Data was sent, but some members were lost.
    pub const LOST: u8 = 3;
    /// The controller refused the agent.
    pub const REFUSED: u8 = 4;
}

/// The reason why an agent ends early: one line for people, a code for programs.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("{cause}; {cure}")]
pub struct AgentError {
    pub code: &'static str,
    pub cause: String,
    /// The remedy.
    pub cure: String,
    /// The process's exit code.
    pub exit: u8,
}

impl AgentError {
    /// A failure with exit code 1.
    pub fn new(code: &'static str, cause: impl Into<String>, cure: impl Into<String>) -> AgentError {
        AgentError { code, cause: cause.into(), cure: cure.into(), exit: exit::FAILURE }
    }

    /// The command line is wrong.
    pub fn usage(cause: impl Into<String>, cure: impl Into<String>) -> AgentError {
        AgentError { exit: exit::USAGE, ..AgentError::new("usage", cause, cure) }
    }

    /// A signal ended the agent.
    pub fn interrupted() -> AgentError {
        AgentError::new("interrupted", "stopped by a signal", "start it again to go on")
    }
}

/// The error's text without Rust's "(os error 2)".
pub fn plain(error: &io::Error) -> String {
    let text = error.to_string();
    match text.split_once(" (os error") {
        Some((plain, _)) => plain.to_lowercase(),
        None => text,
    }
}

/// Makes text from outside safe to use within one line.
pub fn one_line(text: &str) -> String {
    text.chars().map(|c| if c.is_control() { ' ' } else { c }).collect()
}
