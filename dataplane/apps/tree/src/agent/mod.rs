//! `gfagent tree-send` and `gfagent tree-recv`: a host of a clustered tree, which takes a stream from its
//! parent and hands it to its children. Here are the options of both.
//!
//! The host is one thread with one epoll. [`crate::machine::TreeNode`] decides what it does, and the
//! dispatchers (`groupflow tree serve`) decide which hosts are its parent and its children. `groupflow_host`
//! gives sockets, polling, TLS and reports.

pub mod dial; // a connection that is being made
mod dialogue; // the host's joins, and its dialogue with the dispatchers
pub mod dispatcher_link; // the connection to the dispatchers: lines of JSON
mod edges; // the connections to parents and children, and the tree's certificate
pub mod host; // the host's loop
pub mod run; // the commands: input, output, and their ends

use std::net::SocketAddrV4;
use std::path::PathBuf;

use clap::Args;
use groupflow_base::{Nanos, Token};
use groupflow_host::error::AgentError;
use groupflow_host::subcommand::{check_name, parse_bytes, StreamStart};
use groupflow_host::tls::SecureSend;

use crate::machine::{HostId, NodeConfig, Slow};

/// Children beyond those offered, which no other host can serve.
const IN_NEED: usize = 16;
/// With `--slow wait`: how long bytes are kept for a departed child, unless dispatchers say more.
const KEEP: Nanos = Nanos::from_millis(20_000);
/// Bounds on the delay in milliseconds are below this.
const MOST_DELAY_MS: f64 = 65_535.0;

/// Options of both commands.
#[derive(Debug, Args)]
pub struct TreeArgs {
    /// This host's name, in events
    #[arg(long, default_value = "host")]
    pub name: String,
    /// Address of the tree's dispatchers (groupflow tree serve)
    #[arg(long, value_name = "IP:PORT")]
    pub to: SocketAddrV4,
    /// How the dispatchers are recognized
    #[command(flatten)]
    pub secure: SecureSend,
    /// File with the tree's token; without it $GROUPFLOW_TOKEN has the token
    #[arg(long = "token-file", value_name = "FILE", env = "GROUPFLOW_TOKEN")]
    #[arg(hide_env_values = true)]
    pub token: Token,
    /// Address for children to connect to; port 0 takes any, 0.0.0.0 is the address from which this host
    /// reaches the dispatchers
    #[arg(long, value_name = "IP:PORT", default_value = "0.0.0.0:0")]
    pub listen: SocketAddrV4,
    /// Children that this host offers to serve; it gets more when no other host can serve them
    #[arg(long, value_name = "N", default_value_t = 4)]
    pub children: u16,
    /// Connections to the parent; several take more than a fair share of a path
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u16).range(1..=16))]
    pub parallel: u16,
    /// Bytes of the stream that are held; half of them for hosts whose parent dies
    #[arg(long, value_name = "SIZE", value_parser = parse_bytes, default_value = "16MiB")]
    pub cache: u64,
    /// Treatment of a slow child, or of this host's slow reader
    #[arg(long, value_enum, default_value = "wait")]
    pub slow: Slow,
    /// Bytes of a record, which is skipped whole
    #[arg(long, value_name = "BYTES", default_value_t = 1)]
    #[arg(value_parser = clap::value_parser!(u64).range(1..))]
    pub align: u64,
    /// Seconds to look for dispatchers that are gone
    #[arg(long, value_name = "SECONDS", default_value_t = 60)]
    #[arg(value_parser = clap::value_parser!(u64).range(1..86400))]
    pub patience: u64,
    /// Write events as JSON lines
    #[arg(long)]
    pub json: bool,
}

impl TreeArgs {
    /// Refuses a bad name, and options that do not go together, in one line.
    pub fn check(&self) -> Result<(), AgentError> {
        check_name(&self.name)?;
        // A record is read whole, and comes within a quarter of the bytes that are held.
        if self.slow == Slow::Skip && self.align > self.cache / 4 {
            let cause = format!("--align {} is too much for this --cache", self.align);
            let cure = format!("{} bytes at most: a quarter of the cache", self.cache / 4);
            return Err(AgentError::usage(cause, cure));
        }
        Ok(())
    }

    /// The options' part of a node with a random name.
    pub fn config(&self) -> NodeConfig {
        let base = NodeConfig::new(HostId(rand::random())).with_cache(self.cache);
        NodeConfig {
            slow: self.slow,
            align: self.align,
            sockets: self.parallel,
            max_children: usize::from(self.children) + IN_NEED,
            // Dispatchers wait less long for a host that is away; a stuck child is cut off later.
            keep: if self.slow == Slow::Wait { KEEP } else { base.keep },
            ..base
        }
    }
}

/// Options of `tree-send`.
#[derive(Debug, Args)]
pub struct TreeSendArgs {
    /// Send this file [default: stdin]
    #[arg(long, value_name = "PATH")]
    pub file: Option<PathBuf>,
    /// Begin when this many hosts are in the tree
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub members: usize,
    /// Bound on the latencies from the source to a host in sum [default: that of the dispatchers]
    #[arg(long, value_name = "MS", value_parser = parse_delay)]
    pub delay_ms: Option<f64>,
    #[command(flatten)]
    pub tree: TreeArgs,
}

/// Options of `tree-recv`.
#[derive(Debug, Args)]
pub struct TreeRecvArgs {
    /// Write to this file, or to stdout (-)
    #[arg(long, value_name = "PATH", default_value = "-")]
    pub output: PathBuf,
    /// Place in the stream at which to begin
    #[arg(long, value_enum, default_value = "now")]
    pub from: StreamStart,
    #[command(flatten)]
    pub tree: TreeArgs,
}

fn parse_delay(text: &str) -> Result<f64, String> {
    let given = text.parse().ok().filter(|ms| (0.0..MOST_DELAY_MS).contains(ms) && *ms > 0.0);
    given.ok_or_else(|| format!("write more than 0, less than {MOST_DELAY_MS}"))
}
