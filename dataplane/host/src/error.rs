//! Errors of the agents, each with a remedy.

use std::io;

use groupflow_session::control::Refusal;
use groupflow_session::{MemberError, ReceiveError, SendError};
use groupflow_transport::receiver::ReceiverError;
use groupflow_transport::source::SourceError;
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
    /// The code for programs.
    pub code: &'static str,
    /// The cause, for people.
    pub cause: String,
    /// The remedy, for people.
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

    /// A split agent could not serve this member.
    pub fn put_out(text: &str) -> AgentError {
        let cure = "see that the program listens and reads its input, then join again";
        AgentError::new("put_out", format!("put out of the session: {}", one_line(text)), cure)
    }

    fn refused(code: Refusal, text: &str) -> AgentError {
        let cure = match code {
            Refusal::UnknownSession => "create the session first, or check its number",
            Refusal::WrongToken => "pass the session's token in GROUPFLOW_TOKEN or a --token-file",
            Refusal::SessionFull => "make room in the session, or raise its limit",
            Refusal::BadRequest => "check that agent and controller are of the same version",
            Refusal::NoSuchSource => "check --source, or leave it out",
            Refusal::Expired => "create a new session",
            Refusal::Unavailable => {
                let cause = format!("the controller cannot serve this host now: {}", one_line(text));
                return AgentError::new(
                    "unavailable",
                    cause,
                    "see that its store and the switches work, then try again",
                );
            }
        };
        let cause = format!("refused by the controller: {}", one_line(text));
        AgentError { exit: exit::REFUSED, ..AgentError::new("refused", cause, cure) }
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

impl From<MemberError> for AgentError {
    fn from(error: MemberError) -> AgentError {
        let cause = error.to_string();
        match error {
            MemberError::Refused { code, text } => AgentError::refused(code, &text),
            MemberError::JoinTimeout => AgentError::new(
                "join_timeout",
                "no answer to JOIN from the controller",
                "check that the controller runs and that the switch this host is connected to punts joins",
            ),
            MemberError::SessionDeleted => AgentError::new("session_deleted", cause, "create a new session"),
        }
    }
}

impl From<SendError> for AgentError {
    fn from(error: SendError) -> AgentError {
        let (code, cure) = match error {
            SendError::NoReceivers { .. } => ("no_receivers", "start the receivers again, then send again"),
            SendError::NoAcknowledgement { .. } => ("no_acknowledgement", "bring it back, then send again"),
            SendError::Renamed => ("no_acknowledgement", "send again"),
            SendError::Source(SourceError::TooLong) => ("too_long", "send it in several parts"),
            SendError::Source(SourceError::Read(_)) => ("input", "check the file, then send again"),
        };
        AgentError::new(code, one_line(&error.to_string()), cure)
    }
}

impl From<ReceiveError> for AgentError {
    fn from(error: ReceiveError) -> AgentError {
        let (code, cure) = match error {
            ReceiveError::SenderLost { .. } => ("sender_lost", "send and receive again"),
            ReceiveError::Transport(ReceiverError::Gone { .. }) => {
                ("gone", "receive with --from now, or have it sent again")
            }
            ReceiveError::Transport(ReceiverError::Format(_)) => {
                ("format", "use --datagrams at both ends or at neither")
            }
            ReceiveError::Deaf(_) => ("no_controller", "check the controller and the links, then try again"),
        };
        AgentError::new(code, one_line(&error.to_string()), cure)
    }
}
