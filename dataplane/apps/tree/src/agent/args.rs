//! Options of `tree-send` and `tree-recv`.

use std::net::SocketAddrV4;
use std::path::PathBuf;

use clap::{Args, ValueEnum};
use groupflow_base::{Nanos, Token};
use groupflow_host::error::AgentError;
use groupflow_host::subcommand::{parse_bytes, StreamStart};
use groupflow_host::tls::SecureSend;

use crate::machine::{HostId, NodeConfig, Slow, StartAt};

/// Children beyond those offered, which no other host can serve.
const IN_NEED: usize = 16;
/// With `--slow wait`: how long bytes are kept for a departed child, unless dispatchers say more.
const KEEP: Nanos = Nanos::from_millis(20_000);
/// Bounds on the delay in milliseconds are below this.
const MOST_DELAY_MS: f64 = 65_535.0;

/// The treatment of a slow child, or of this host's slow reader.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum SlowArg {
    /// All wait for a slow host when the caches are full: nothing is lost
    Wait,
    /// A slow host is cut off when the cache no longer has the bytes that it needs
    Isolate,
    /// A slow host goes on later in the stream, at a multiple of --align bytes: for streams whose late data
    /// are of no use
    Skip,
}

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
    pub slow: SlowArg,
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
    /// Refuses options that do not go together, in one line.
    pub fn check(&self) -> Result<(), AgentError> {
        // A record is read whole, and comes within a quarter of the bytes that are held.
        if self.slow == SlowArg::Skip && self.align > self.cache / 4 {
            let cause = format!("--align {} is too much for this --cache", self.align);
            let cure = format!("{} bytes at most: a quarter of the cache", self.cache / 4);
            return Err(AgentError::usage(cause, cure));
        }
        Ok(())
    }

    /// The node's part of the options.
    pub fn config(&self, host: HostId) -> NodeConfig {
        let slow = match self.slow {
            SlowArg::Wait => Slow::Wait,
            SlowArg::Isolate => Slow::Isolate,
            SlowArg::Skip => Slow::Skip { align: self.align },
        };
        let base = NodeConfig::new(host);
        NodeConfig {
            slow,
            capacity: self.cache,
            history: self.cache / 2,
            window: base.window.min(self.cache / 4).max(1),
            slow_after: base.slow_after.min(self.cache / 4).max(1),
            sockets: self.parallel,
            max_children: usize::from(self.children) + IN_NEED,
            // Longer than dispatchers wait for a host that is away, and less than a child may be stuck.
            keep: if slow == Slow::Wait { KEEP } else { base.keep },
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
    /// Options of both commands.
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
    /// Options of both commands.
    #[command(flatten)]
    pub tree: TreeArgs,
}

/// The node's beginning.
pub fn begin(from: StreamStart) -> StartAt {
    match from {
        StreamStart::Now => StartAt::Now,
        StreamStart::Start => StartAt::Offset(0),
    }
}

fn parse_delay(text: &str) -> Result<f64, String> {
    let given = text.parse().ok().filter(|ms| (0.0..MOST_DELAY_MS).contains(ms) && *ms > 0.0);
    given.ok_or_else(|| format!("write more than 0, less than {MOST_DELAY_MS}"))
}
