//! `gfagent member`: joins a session on behalf of a TCP program of this host.

use groupflow_host::error::AgentError;
use groupflow_host::report::{Reporter, Weight};
use groupflow_host::shell::Shell;
use groupflow_host::socket::GroupSocket;
use groupflow_host::subcommand::{check_name, Subcommand};
use groupflow_session::agent;
use groupflow_session::control::LeaveReason;
use groupflow_session::{Endpoint, Listening};
use serde_json::json;

use crate::args::MemberArgs;

impl Subcommand for MemberArgs {
    fn reporter(&self) -> Reporter {
        self.common.reporter("member", false, Some(self.session))
    }

    fn run(&self, reporter: &mut Reporter) -> Result<u8, AgentError> {
        check_name(&self.common.name)?;
        member(self, reporter)
    }
}

/// Stays in the session until a signal comes, or the controller ends the membership; returns the exit code.
pub fn member(args: &MemberArgs, reporter: &mut Reporter) -> Result<u8, AgentError> {
    let socket = GroupSocket::open(&args.common.socket(true))?;
    let mut shell = Shell::new(socket)?;
    reporter.ready(shell.socket.address());
    let config = args.common.member(args.session);
    let mut listener = Endpoint::listening(shell.clock.now(), config, args.listen, args.from.into());
    loop {
        shell.exchange(&mut listener)?;
        events(&mut listener, reporter)?;
        if shell.wait(&listener, None, None)?.signal {
            break;
        }
    }
    listener.leave(shell.clock.now(), LeaveReason::Done);
    shell.farewell(&mut listener, Endpoint::has_ended)?;
    reporter.event("left", Weight::Lasting, json!({}), Some("left the session".to_owned()));
    Ok(0)
}

/// Reports the events; the error is the reason why the membership is over, if it is.
fn events(listener: &mut Endpoint<Listening>, reporter: &mut Reporter) -> Result<(), AgentError> {
    std::iter::from_fn(|| listener.poll_event()).try_for_each(|event| agent::report(reporter, event))
}
