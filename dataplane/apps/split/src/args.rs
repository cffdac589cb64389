//! Options of `split`.

use std::net::Ipv4Addr;

use clap::Args;
use groupflow_host::error::AgentError;
use groupflow_host::options::parse_bytes;
use groupflow_host::report::Reporter;
use groupflow_host::subcommand::{check_name, Subcommand};

use crate::control::ControlAddress;

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
    /// Address of the control socket, where sessions are set and counters read: a Unix socket's path, or
    /// IP:PORT
    #[arg(long, value_name = "PATH|IP:PORT", value_parser = ControlAddress::parse)]
    pub control: ControlAddress,
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

    fn run(&self, reporter: &mut Reporter) -> Result<u8, AgentError> {
        check_name(&self.name)?;
        crate::run(self, reporter)
    }
}
