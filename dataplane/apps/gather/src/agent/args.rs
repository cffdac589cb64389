//! Options of `gather-serve` and `gather-send`.

use std::net::SocketAddrV4;
use std::path::PathBuf;

use clap::Args;
use groupflow_base::Token;
use groupflow_host::subcommand::parse_bytes;
use groupflow_host::tls::{SecureSend, SecureServe};

use crate::machine::ClientName;

/// Options of `gather-serve`.
#[derive(Debug, Args)]
pub struct GatherServeArgs {
    /// Address to listen at for clients; port 0 takes any free port
    #[arg(long, value_name = "IP:PORT", default_value = "0.0.0.0:26490")]
    pub listen: SocketAddrV4,
    /// Whether connections are encrypted.
    #[command(flatten)]
    pub secure: SecureServe,
    /// Most clients on the list, which stdin brings
    #[arg(long, value_name = "N", default_value_t = 64)]
    #[arg(value_parser = clap::value_parser!(u32).range(1..=65_536))]
    pub max_clients: u32,
    /// Folder for the streams
    #[arg(long, value_name = "DIR", required_unless_present = "discard", conflicts_with = "discard")]
    pub out: Option<PathBuf>,
    /// Count the bytes that arrive, and keep nothing
    #[arg(long)]
    pub discard: bool,
    /// Milliseconds between measurements
    #[arg(long, value_name = "MS", default_value_t = 500)]
    #[arg(value_parser = clap::value_parser!(u64).range(10..=60_000))]
    pub round_ms: u64,
    /// Memory for reassembly, of which each client has a share: this, divided by --max-clients
    #[arg(long, value_name = "SIZE", value_parser = parse_bytes, default_value = "256MiB")]
    pub memory: u64,
    /// Bound on the sum of all receive windows [default: none]
    #[arg(long, value_name = "SIZE", value_parser = parse_bytes)]
    pub buffer: Option<u64>,
    /// Largest segment that clients send [default: the path's limit]
    #[arg(long, value_name = "BYTES", value_parser = clap::value_parser!(u16).range(536..=32_000))]
    pub mss: Option<u16>,
    /// Connections that a client may have
    #[arg(long, value_name = "N", default_value_t = 64, value_parser = clap::value_parser!(u16).range(1..))]
    pub max_connections: u16,
    /// Milliseconds within which a connection must send its HELLO
    #[arg(long, value_name = "MS", default_value_t = 5000)]
    #[arg(value_parser = clap::value_parser!(u64).range(10..=600_000))]
    pub handshake_ms: u64,
    /// Connections that may wait without a HELLO; beyond, the oldest of the address with the most is closed
    #[arg(long, value_name = "N", default_value_t = 4096, value_parser = clap::value_parser!(u32).range(1..))]
    pub max_pending: u32,
    /// Seconds until an unresponsive peer is given up, and a stream without connections forgotten
    #[arg(long, value_name = "SECONDS", default_value_t = 30)]
    #[arg(value_parser = clap::value_parser!(u64).range(1..86400))]
    pub silence: u64,
    /// Write events as JSON lines
    #[arg(long)]
    pub json: bool,
}

/// Options of `gather-send`.
#[derive(Debug, Args)]
pub struct GatherSendArgs {
    /// Address of the server
    #[arg(long, value_name = "IP:PORT")]
    pub to: SocketAddrV4,
    /// The client's means to recognize the server.
    #[command(flatten)]
    pub secure: SecureSend,
    /// This client's name
    #[arg(long, value_parser = parse_client)]
    pub client: ClientName,
    /// File with this client's token; without it $GROUPFLOW_TOKEN has the token
    #[arg(long = "token-file", value_name = "FILE", env = "GROUPFLOW_TOKEN")]
    #[arg(hide_env_values = true)]
    pub token: Token,
    /// File to send [default: stdin]
    #[arg(long, value_name = "PATH")]
    pub file: Option<PathBuf>,
    /// Seconds after which the stream ends
    #[arg(long, value_name = "SECONDS")]
    pub duration: Option<u64>,
    /// Memory for bytes that are not delivered yet
    #[arg(long, value_name = "SIZE", value_parser = parse_bytes, default_value = "4MiB")]
    pub memory: u64,
    /// Congestion control of the connections, e.g. reno [default: the system's]
    #[arg(long, value_name = "NAME")]
    pub congestion: Option<String>,
    /// Most connections to open, whatever the server wants
    #[arg(long, value_name = "N", default_value_t = 64, value_parser = clap::value_parser!(u16).range(1..))]
    pub max_connections: u16,
    /// Seconds to keep trying to reach the server, at the start and after a loss
    #[arg(long, value_name = "SECONDS", default_value_t = 60)]
    #[arg(value_parser = clap::value_parser!(u64).range(1..86400))]
    pub retry: u64,
    /// Seconds until an unresponsive connection is given up
    #[arg(long, value_name = "SECONDS", default_value_t = 30)]
    #[arg(value_parser = clap::value_parser!(u64).range(1..86400))]
    pub silence: u64,
    /// Write events as JSON lines
    #[arg(long)]
    pub json: bool,
}

fn parse_client(text: &str) -> Result<ClientName, String> {
    ClientName::parse(text).ok_or_else(|| format!("a client's name must have {}", ClientName::RULE))
}
