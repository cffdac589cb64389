//! Options of `gather-serve` and `gather-send`.

use std::net::SocketAddrV4;
use std::path::PathBuf;

use clap::{Args, Parser};
use groupflow_host::error::AgentError;
use groupflow_host::options::parse_bytes;
use groupflow_host::report::Reporter;
use groupflow_host::secure::{SecureSend, SecureServe};
use groupflow_host::subcommand::Subcommand;

use crate::machine::{ClientName, Code};
use groupflow_base::Token;

/// Options of `gather-serve`.
#[derive(Debug, Args)]
pub struct GatherServeArgs {
    /// Where clients connect to; port 0 takes any
    #[arg(long, value_name = "IP:PORT", default_value = "0.0.0.0:26490")]
    pub listen: SocketAddrV4,
    /// Whether connections are encrypted
    #[command(flatten)]
    pub secure: SecureServe,
    /// Who may send, with tokens: JSON
    #[arg(long, value_name = "PATH")]
    pub clients: PathBuf,
    /// Folder of the streams
    #[arg(long, value_name = "DIR", required_unless_present = "discard", conflicts_with = "discard")]
    pub out: Option<PathBuf>,
    /// Count what comes and keep nothing
    #[arg(long)]
    pub discard: bool,
    /// Milliseconds between measurements
    #[arg(long, value_name = "MS", default_value_t = 500, value_parser = clap::value_parser!(u64).range(10..=60_000))]
    pub round_ms: u64,
    /// Memory for reassembly, shared by all clients of the list
    #[arg(long, value_name = "SIZE", value_parser = parse_bytes, default_value = "256MiB")]
    pub memory: u64,
    /// Bound of all receive windows together [default: none]
    #[arg(long, value_name = "SIZE", value_parser = parse_bytes)]
    pub buffer: Option<u64>,
    /// Largest segment that clients send [default: the path's]
    #[arg(long, value_name = "BYTES", value_parser = clap::value_parser!(u16).range(536..=32_000))]
    pub mss: Option<u16>,
    /// Connections that a client may have
    #[arg(long, value_name = "N", default_value_t = 64, value_parser = clap::value_parser!(u16).range(1..))]
    pub max_connections: u16,
    /// Milliseconds until a connection must have said who it is
    #[arg(long, value_name = "MS", default_value_t = 5000, value_parser = clap::value_parser!(u64).range(10..=600_000))]
    pub handshake_ms: u64,
    /// Connections that have not said who they are; the oldest goes when there are more
    #[arg(long, value_name = "N", default_value_t = 4096, value_parser = clap::value_parser!(u32).range(1..))]
    pub max_pending: u32,
    /// Seconds until a peer that does not answer is given up, and a stream without connections forgotten
    #[arg(long, value_name = "SECONDS", default_value_t = 30, value_parser = clap::value_parser!(u64).range(1..86400))]
    pub silence: u64,
    /// Write events as JSON lines
    #[arg(long)]
    pub json: bool,
}

/// Options of `gather-send`.
#[derive(Debug, Args)]
pub struct GatherSendArgs {
    /// The server
    #[arg(long, value_name = "IP:PORT")]
    pub to: SocketAddrV4,
    /// How the server is known
    #[command(flatten)]
    pub secure: SecureSend,
    /// This client's name
    #[arg(long, value_parser = parse_client)]
    pub client: ClientName,
    /// This client's token
    #[arg(long, value_parser = parse_token, env = "GROUPFLOW_TOKEN", hide_env_values = true)]
    pub token: Token,
    /// What to send [default: stdin]
    #[arg(long, value_name = "PATH")]
    pub file: Option<PathBuf>,
    /// End the stream after so many seconds
    #[arg(long, value_name = "SECONDS")]
    pub duration: Option<u64>,
    /// Memory for what is not delivered yet
    #[arg(long, value_name = "SIZE", value_parser = parse_bytes, default_value = "4MiB")]
    pub memory: u64,
    /// The connections' congestion control, e.g. reno [default: the system's]
    #[arg(long, value_name = "NAME")]
    pub congestion: Option<String>,
    /// Connections at most, whatever the server wants
    #[arg(long, value_name = "N", default_value_t = 64, value_parser = clap::value_parser!(u16).range(1..))]
    pub max_connections: u16,
    /// Erasure coding over the connections: K pieces and M of parity, any K of which are enough [4+2 when nothing is said]
    #[arg(long, value_name = "K+M", value_parser = parse_code, num_args = 0..=1, default_missing_value = "4+2")]
    pub fec: Option<Code>,
    /// Seconds to find the server, and to find it again
    #[arg(long, value_name = "SECONDS", default_value_t = 60, value_parser = clap::value_parser!(u64).range(1..86400))]
    pub retry: u64,
    /// Seconds until a connection that does not answer is given up
    #[arg(long, value_name = "SECONDS", default_value_t = 30, value_parser = clap::value_parser!(u64).range(1..86400))]
    pub silence: u64,
    /// Write events as JSON lines
    #[arg(long)]
    pub json: bool,
}

/// A line of nothing but these options.
#[derive(Debug, Parser)]
struct Line {
    #[command(flatten)]
    send: GatherSendArgs,
}

impl GatherSendArgs {
    /// What the command line would have made of these, with its defaults for all the rest. A name or a token that
    /// is none is refused.
    pub fn new(
        to: SocketAddrV4,
        client: &str,
        token: &str,
        secure: SecureSend,
    ) -> Result<GatherSendArgs, AgentError> {
        let to = to.to_string();
        let line = ["", "--to", &to, "--client", client, "--token", token, "--plain"];
        let Line { send } = Line::try_parse_from(line).map_err(|error| {
            let cause = error.to_string().lines().next().unwrap_or_default().to_owned();
            AgentError::usage(cause.trim_start_matches("error: "), "write what docs/gather.md says")
        })?;
        Ok(GatherSendArgs { secure, ..send })
    }
}

fn parse_client(text: &str) -> Result<ClientName, String> {
    ClientName::parse(text).ok_or_else(|| format!("a client's name must have {}", ClientName::RULE))
}

fn parse_code(text: &str) -> Result<Code, String> {
    Code::parse(text).ok_or_else(|| format!("it must be {}", Code::RULE))
}

fn parse_token(text: &str) -> Result<Token, String> {
    Token::parse(text).ok_or_else(|| format!("a token must be {}", Token::RULE))
}

impl Subcommand for GatherServeArgs {
    fn reporter(&self) -> Reporter {
        Reporter::new(self.json, false, "gather-serve", &self.listen.to_string(), None)
    }

    fn run(&self, reporter: &mut Reporter) -> Result<u8, AgentError> {
        super::serve::run(self, reporter)
    }
}

impl Subcommand for GatherSendArgs {
    fn reporter(&self) -> Reporter {
        Reporter::new(self.json, false, "gather-send", self.client.as_str(), None)
    }

    fn run(&self, reporter: &mut Reporter) -> Result<u8, AgentError> {
        super::send::run(self, reporter)
    }
}
