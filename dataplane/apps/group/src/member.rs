//! `gfagent member`: joins a session on behalf of a TCP program of this host.

use groupflow_host::error::AgentError;
use groupflow_host::report::{Reporter, Weight};
use groupflow_host::shell::Shell;
use groupflow_host::socket::GroupSocket;
use groupflow_host::subcommand::{check_name, Subcommand};
use groupflow_session::agent;
use groupflow_session::control::LeaveReason;
use groupflow_session::Endpoint;
use serde_json::json;

use crate::args::MemberArgs;

impl Subcommand for MemberArgs {
    fn reporter(&self) -> Reporter {
        self.common.reporter("member", false, Some(self.session))
    }

    /// Stays in the session until a signal comes, or the controller ends the membership; returns the exit
    /// code.
    fn run(&self, reporter: &mut Reporter) -> Result<u8, AgentError> {
        check_name(&self.common.name)?;
        let socket = GroupSocket::open(&self.common.socket(true))?;
        let mut shell = Shell::new(socket)?;
        reporter.ready(shell.socket.address);
        let config = self.common.member(self.session);
        let mut listener = Endpoint::listening(shell.clock.now(), config, self.listen, self.from.into());
        loop {
            shell.exchange(&mut listener)?;
            while let Some(event) = listener.poll_event() {
                agent::report(reporter, event)?;
            }
            if shell.wait(&listener, None, None)?.signal {
                break;
            }
        }
        listener.leave(shell.clock.now(), LeaveReason::Done);
        shell.farewell(&mut listener, Endpoint::has_ended)?;
        reporter.event("left", Weight::Lasting, json!({}), Some("left the session".to_owned()));
        Ok(0)
    }
}
