//! Options of `send`, `recv`, `member` and `cache`.

use std::path::PathBuf;

use clap::Args;
use groupflow_host::subcommand::{parse_bytes, parse_rate, StreamStart};
use groupflow_session::agent::{parse_session, CommonArgs};
use groupflow_transport::SessionId;

/// Options of `send`.
#[derive(Debug, Args)]
pub struct SendArgs {
    /// The session's id
    #[arg(long, value_parser = parse_session)]
    pub session: SessionId,
    /// Send this file [default: stdin, as a byte stream]
    #[arg(long, value_name = "PATH", conflicts_with = "datagrams")]
    pub file: Option<PathBuf>,
    /// Send datagrams: stdin holds frames, each a u32 length (big endian) and that many bytes
    #[arg(long)]
    pub datagrams: bool,
    /// Begin when this many receivers have joined
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub members: u16,
    /// Never send faster, e.g. 500kbit, 10mbit, 1gbit
    #[arg(long, value_parser = parse_rate, default_value = "0", hide_default_value = true)]
    pub rate: u64,
    /// Options common to all agents.
    #[command(flatten)]
    pub common: CommonArgs,
}

/// Options of `recv`.
#[derive(Debug, Args)]
pub struct RecvArgs {
    /// The session's id
    #[arg(long, value_parser = parse_session)]
    pub session: SessionId,
    /// Write to this file, or to stdout (-)
    #[arg(long, value_name = "PATH", default_value = "-")]
    pub output: PathBuf,
    /// Expect datagrams; the output holds frames, each a u32 length (big endian) and that many bytes
    #[arg(long)]
    pub datagrams: bool,
    /// Place in the stream at which to begin
    #[arg(long, value_enum, default_value = "now")]
    pub from: StreamStart,
    /// The sender's member id, when a session has several [default: the controller's choice]
    #[arg(long, value_name = "ID", default_value_t = 0, hide_default_value = true)]
    pub source: u16,
    /// The rate that this receiver wants from a session that isolates, like 18mbit [default: none]
    #[arg(long, value_parser = parse_rate, default_value = "0", hide_default_value = true)]
    pub target: u64,
    /// Options common to all agents.
    #[command(flatten)]
    pub common: CommonArgs,
}

/// Options of `member`.
#[derive(Debug, Args)]
pub struct MemberArgs {
    /// The session's id
    #[arg(long, value_parser = parse_session)]
    pub session: SessionId,
    /// TCP port where a program on this host listens
    #[arg(long, value_name = "PORT", value_parser = clap::value_parser!(u16).range(1..))]
    pub listen: u16,
    /// Place at which to begin in a stream that is under way
    #[arg(long, value_enum, default_value = "now")]
    pub from: StreamStart,
    /// Options common to all agents.
    #[command(flatten)]
    pub common: CommonArgs,
}

/// Options of `cache`.
#[derive(Debug, Args)]
pub struct CacheArgs {
    /// Bytes kept for all streams together, e.g. 64MiB
    #[arg(long, value_parser = parse_bytes, default_value = "256MiB")]
    pub max_bytes: u64,
    /// Milliseconds between stats events
    #[arg(long, value_name = "MS", default_value_t = 200)]
    #[arg(value_parser = clap::value_parser!(u64).range(10..))]
    pub stats_ms: u64,
    /// Options common to all agents.
    #[command(flatten)]
    pub common: CommonArgs,
}
