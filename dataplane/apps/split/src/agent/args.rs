//! The options of `gfagent split`, and its start.

use std::net::{Ipv4Addr, SocketAddrV4};
use std::path::PathBuf;
use std::time::Duration;

use clap::Args;
use groupflow_base::Nanos;
use groupflow_host::error::{plain, AgentError};
use groupflow_host::process::{raise_descriptors, system};
use groupflow_host::report::{Reporter, Weight};
use groupflow_host::sockopt::PrivateListener;
use groupflow_host::subcommand::{check_name, parse_bytes, Subcommand};
use groupflow_host::tcp::{self, TcpOptions};
use serde_json::{json, Value};

use super::cache::BlockPool;
use super::{Agent, Resources};
use crate::machine::MachineConfig;

/// Reports an event; a slow reader of events does not stop the agent.
fn tell(reporter: &mut Reporter, event: &Value) {
    let name = event["event"].as_str().unwrap_or_default();
    let human = ["name", "member", "peer", "outcome", "code", "text"]
        .iter()
        .filter_map(|&field| event.get(field).map(|value| format!(" {field}={value}")))
        .collect::<String>();
    let human = format!("session {}: {name}{human}", event["session"]);
    reporter.event(name, Weight::Passing, event.clone(), Some(human));
}

/// Options of `split`.
#[derive(Debug, Args)]
pub struct SplitArgs {
    /// This agent's name
    #[arg(long)]
    pub name: String,
    /// This agent's IPv4 address: other agents connect to it, and connections downstream come from it
    #[arg(long, value_name = "IP", default_value = "0.0.0.0")]
    pub addr: Ipv4Addr,
    /// TCP port for other agents; 0 takes any free port
    #[arg(long, value_name = "PORT", default_value_t = 26480)]
    pub peer_port: u16,
    /// Path of the control socket, where sessions are set and counters read
    #[arg(long, value_name = "PATH")]
    pub control: PathBuf,
    /// Cache memory of all streams together
    #[arg(long, value_parser = parse_bytes, default_value = "1GiB")]
    pub max_cache: u64,
    /// Most streams at one time
    #[arg(long, value_name = "N", default_value_t = 16384)]
    pub max_streams: usize,
    /// Seconds for which a peer may leave bytes unacknowledged
    #[arg(long, value_name = "SECONDS", default_value_t = 60)]
    #[arg(value_parser = clap::value_parser!(u64).range(1..86400))]
    pub silence: u64,
    /// Seconds to keep trying the next agent when a stream begins
    #[arg(long, value_name = "SECONDS", default_value_t = 5)]
    #[arg(value_parser = clap::value_parser!(u64).range(1..3600))]
    pub connect_timeout: u64,
    /// Write events as JSON lines
    #[arg(long)]
    pub json: bool,
}

impl Subcommand for SplitArgs {
    fn reporter(&self) -> Reporter {
        Reporter::new(self.json, false, "split", &self.name, None)
    }

    /// Runs the agent until a signal ends it; returns the exit code.
    fn run(&self, reporter: &mut Reporter) -> Result<u8, AgentError> {
        check_name(&self.name)?;
        raise_descriptors();
        let pool = BlockPool::new(self.max_cache);
        let max_cache = pool.limit();
        let silence = Duration::from_secs(self.silence);
        let resources = Resources::new(pool, self.addr, silence).map_err(|e| system(&e))?;
        let address = SocketAddrV4::new(self.addr, self.peer_port);
        let peers = tcp::listen(address, &TcpOptions::default()).map_err(|e| {
            let cause = format!("cannot listen for agents at {address}: {}", plain(&e));
            AgentError::new("listen", cause, "choose another --addr or --peer-port")
        })?;
        let control = PrivateListener::open(&self.control).map_err(|e| {
            let cause = format!("cannot open the control socket: {}", plain(&e));
            AgentError::new("control", cause, "choose another --control, or stop the agent that has it")
        })?;
        let port = peers.local_addr().map_err(|e| system(&e))?.port();
        let ready = json!({
            "addr": self.addr.to_string(), "port": port, "control": self.control.display().to_string(),
        });
        let config = MachineConfig {
            connect: Nanos::from_secs(self.connect_timeout),
            max_streams: self.max_streams,
            max_cache,
        };
        let mut agent = Agent::new(resources, config, peers, control).map_err(|e| system(&e))?;
        reporter.event("ready", Weight::Lasting, ready, None);
        agent.run(|event| tell(reporter, event)).map_err(|e| system(&e))?;
        Ok(0)
    }
}
