//! Options and errors of the agents of a session.

use clap::Parser;
use groupflow_host::error::{exit, AgentError};
use groupflow_session::agent::{parse_session, CommonArgs};
use groupflow_session::control::Refusal;
use groupflow_session::{MemberError, SendError};

#[derive(Parser)]
struct CommandLine {
    #[command(flatten)]
    _common: CommonArgs,
}

fn refused(code: Refusal, text: &str) -> AgentError {
    MemberError::Refused { code, text: text.to_owned() }.into()
}

#[test]
fn errors_are_one_line_with_cause_and_cure() {
    let error = refused(Refusal::WrongToken, "token\nis wrong");
    let line = "refused by the controller: token is wrong; \
                pass the session's token, which `groupflow session token` prints";
    assert_eq!((error.to_string().as_str(), error.exit), (line, exit::REFUSED));
    let error = refused(Refusal::Unavailable, "disk is full");
    let line = "the controller cannot serve this host now: disk is full; \
                see that its store and the switches work, then try again";
    assert_eq!((error.to_string().as_str(), error.exit), (line, exit::FAILURE));
    let lost = vec!["mb1".to_owned(), "mc2".to_owned()];
    let error = AgentError::from(SendError::NoReceivers { lost });
    assert_eq!(error.cause, "no receivers are left, lost: mb1, mc2");
}

#[test]
fn ids_and_tokens() {
    for (text, ok) in [("1", true), ("16777215", true), ("0", false), ("16777216", false), ("x", false)] {
        assert_eq!(parse_session(text).is_ok(), ok, "{text}");
    }
    for (text, ok) in [("", true), ("c0FFee", true), ("xyz", false)] {
        let line = ["", "--name", "ma1", "--token-file", text];
        assert_eq!(CommandLine::try_parse_from(line).is_ok(), ok, "{text}");
    }
}
