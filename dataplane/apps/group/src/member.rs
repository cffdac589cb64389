//! `gfagent member`: joins a session on behalf of a TCP program of this host.

use groupflow_base::Nanos;
use groupflow_host::error::AgentError;
use groupflow_host::report::{Reporter, Weight};
use groupflow_host::shell::{Shell, LEAVE_PATIENCE};
use groupflow_host::socket::GroupSocket;
use groupflow_session::control::LeaveReason;
use groupflow_session::listener::{Listener, ListenerConfig};
use groupflow_session::member::MemberEvent;
use serde_json::json;

use crate::args::MemberArgs;

/// Stays in the session until a signal comes, or the controller ends the membership; returns the exit code.
pub fn run(args: &MemberArgs, reporter: &mut Reporter) -> Result<u8, AgentError> {
    let socket = GroupSocket::open(&args.common.socket(true))?;
    let mut shell = Shell::new(socket)?;
    reporter.ready(shell.socket.address());
    let config = ListenerConfig {
        session: args.session,
        name: args.common.name.clone(),
        token: args.common.token(),
        port: args.listen,
        start: args.from.start(),
        join_patience: Some(Nanos::from_secs(args.common.join_timeout)),
        seed: args.common.seed(),
    };
    let mut listener = Listener::new(shell.clock.now(), config);
    loop {
        shell.exchange(&mut listener)?;
        if let Some(error) = events(&mut listener, reporter) {
            return Err(error);
        }
        if shell.wait(&listener, None, None)?.signal {
            break;
        }
    }
    let end = shell.clock.now() + LEAVE_PATIENCE;
    listener.leave(shell.clock.now(), LeaveReason::Done);
    while !listener.over() && shell.clock.now() < end {
        shell.exchange(&mut listener)?;
        shell.wait(&listener, Some(end), None)?;
    }
    reporter.event("left", Weight::Lasting, json!({}), Some("left the session".to_owned()));
    Ok(0)
}

/// Reports the events; returns the reason why the membership is over, if it is.
fn events(listener: &mut Listener, reporter: &mut Reporter) -> Option<AgentError> {
    let events: Vec<MemberEvent> = listener.events().collect();
    for event in events {
        match event {
            MemberEvent::Joined { joined, again, took } => reporter.joined(&joined, again, took),
            MemberEvent::Refused { code, text } => return Some(AgentError::refused(code, &text)),
            MemberEvent::JoinTimeout => return Some(AgentError::join_timeout()),
            MemberEvent::Notice(notice) => {
                reporter.notice(&notice);
                if listener.lost(&notice) {
                    return Some(AgentError::put_out(&notice.text));
                }
                if listener.over() {
                    return Some(AgentError::session_deleted());
                }
            }
            MemberEvent::ControllerSilent(quiet) => reporter.controller(Some(quiet)),
            MemberEvent::ControllerBack => reporter.controller(None),
            MemberEvent::Receivers(_) | MemberEvent::Left => {}
        }
    }
    None
}
