//! The command line.

use std::net::{Ipv4Addr, SocketAddrV4};
use std::path::PathBuf;

use clap::{Args, Parser, Subcommand, ValueEnum};
use groupflow_protocol::control::StartAt;
use groupflow_protocol::ids::GROUP_PORT;
use groupflow_protocol::SessionId;

use crate::bone::args::{BoneHubArgs, BoneRimArgs};
use crate::gather::args::{GatherSendArgs, GatherServeArgs};
use crate::socket::SocketConfig;
use crate::split::control::Place;
use crate::tree::args::{TreeRecvArgs, TreeSendArgs};

/// Sends to a group, receives from it, caches for a switch, or splits TCP connections.
#[derive(Debug, Parser)]
#[command(name = "gfagent", version, about, arg_required_else_help = true)]
pub struct Cli {
    /// What to do.
    #[command(subcommand)]
    pub command: Command,
}

/// What to do.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Send a file, stdin, or datagrams into a session
    #[command(after_help = "Examples:
  gfagent send --session 7 --token c0ffee --name ma1 --file video.mp4 --members 3
  tar c docs | gfagent send --session 7 --token c0ffee --name ma1 --rate 10mbit")]
    Send(SendArgs),
    /// Receive a session's stream
    #[command(after_help = "Examples:
  gfagent recv --session 7 --token c0ffee --name mb1 --output video.mp4
  gfagent recv --session 7 --token c0ffee --name mb1 --from start | tar x")]
    Recv(RecvArgs),
    /// Be a member whose streams come as TCP connections, to a program that listens on this host
    #[command(after_help = "Example:
  gfagent member --session 7 --token c0ffee --name mb1 --listen 9000")]
    Member(MemberArgs),
    /// Cache and repair for the switch this host is connected to
    #[command(after_help = "Example:
  gfagent cache --name sa1 --bind-iface sa1-eth0 --max-bytes 256MiB --json")]
    Cache(CacheArgs),
    /// Split TCP connections: cache what a sender sends, hand it to agents and members
    #[command(after_help = "Example:
  ip route add local 10.200.0.0/16 dev lo
  gfagent split --name sa1 --addr 10.0.0.1 --control /run/groupflow/sa1.sock")]
    Split(SplitArgs),
    /// Gather the streams of many clients, each over several TCP connections whose windows and number are tuned
    #[command(after_help = "Example:
  gfagent gather-serve --listen 0.0.0.0:26490 --clients clients.json --out gathered --json")]
    GatherServe(GatherServeArgs),
    /// Send a file or stdin to a server that gathers
    #[command(after_help = "Examples:
  gfagent gather-send --to 10.0.0.1:26490 --client cam1 --token c0ffee --file video.mp4
  tar c logs | GROUPFLOW_TOKEN=c0ffee gfagent gather-send --to 10.0.0.1:26490 --client cam1")]
    GatherSend(GatherSendArgs),
    /// Send files to many caches at once: what is put into a folder, what a cache or an order asks for
    #[command(mut_arg("port", |port| port.default_value("26501").help("UDP port, where rims answer to")))]
    #[command(after_help = "Examples:
  gfagent bone-hub --name hub --dir outbox --bind-iface eth0 --rate 96kbit
  gfagent bone-hub --name hub --dir outbox --method unicast --rim 10.0.1.1:26500 --rim 10.0.2.1:26500
  curl -X POST http://127.0.0.1:26502/video.mp4")]
    BoneHub(Box<BoneHubArgs>),
    /// Cache what a hub sends, and serve it to local clients over HTTP
    #[command(mut_arg("port", |port| port.hide(true)))]
    #[command(after_help = "Examples:
  gfagent bone-rim --name rim1 --dir cache --max-bytes 10GiB --bind-iface eth0
  curl -O http://127.0.0.1:26503/video.mp4")]
    BoneRim(Box<BoneRimArgs>),
    /// Send a stream to the hosts of a clustered tree
    #[command(after_help = "Examples:
  gfagent tree-send --to 10.0.0.1:26495 --tls-pin $PIN --file video.mp4 --members 20
  tar c data | gfagent tree-send --to 10.0.0.1:26495 --plain")]
    TreeSend(Box<TreeSendArgs>),
    /// Receive the stream of a clustered tree, and pass it on
    #[command(after_help = "Examples:
  gfagent tree-recv --to 10.0.0.1:26495 --tls-pin $PIN --output video.mp4
  gfagent tree-recv --to 10.0.0.1:26495 --plain --slow skip --align 1316 > video")]
    TreeRecv(Box<TreeRecvArgs>),
    /// Hold connections while a split agent is started again (it starts this itself)
    #[command(hide = true)]
    Keep(KeepArgs),
}

/// Options of all commands.
#[derive(Debug, Args)]
pub struct CommonArgs {
    /// This host's name in the session
    #[arg(long)]
    pub name: String,
    /// The session's token
    #[arg(long, value_parser = parse_token, env = "GROUPFLOW_TOKEN", hide_env_values = true)]
    pub token: Option<String>,
    /// Bind to this interface and use its address
    #[arg(long, value_name = "IFACE")]
    pub bind_iface: Option<String>,
    /// Own IPv4 address [default: the interface's]
    #[arg(long, value_name = "IP")]
    pub addr: Option<Ipv4Addr>,
    /// UDP port; send and recv take another one when it is busy
    #[arg(long, default_value_t = GROUP_PORT)]
    pub port: u16,
    /// Send everything to this address, not to the group's (a relay)
    #[arg(long, value_name = "IP:PORT")]
    pub via: Option<SocketAddrV4>,
    /// Give up joining after so many seconds (cache never does)
    #[arg(long, value_name = "SECONDS", default_value_t = 10)]
    pub join_timeout: u64,
    /// Seed of the random delays [default: the system's]
    #[arg(long)]
    pub seed: Option<u64>,
    /// Write events as JSON lines
    #[arg(long)]
    pub json: bool,
}

impl CommonArgs {
    /// Where the socket goes.
    pub fn socket(&self, any_port: bool) -> SocketConfig {
        SocketConfig {
            interface: self.bind_iface.clone(),
            address: self.addr,
            port: self.port,
            any_port,
            via: self.via,
            multicast: None,
        }
    }

    /// The token; may be empty.
    pub fn token(&self) -> String {
        self.token.clone().unwrap_or_default()
    }

    /// The seed.
    pub fn seed(&self) -> u64 {
        self.seed.unwrap_or_else(rand::random)
    }
}

/// Options of `send`.
#[derive(Debug, Args)]
pub struct SendArgs {
    /// The session's id
    #[arg(long, value_parser = parse_session)]
    pub session: SessionId,
    /// Send this file [default: stdin, as a byte stream]
    #[arg(long, value_name = "PATH", conflicts_with = "datagrams")]
    pub file: Option<PathBuf>,
    /// Send datagrams: stdin holds frames of a u32 length (big endian) and that many bytes
    #[arg(long)]
    pub datagrams: bool,
    /// Begin when this many receivers have joined
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub members: u16,
    /// Never send faster, e.g. 500kbit, 10mbit, 1gbit
    #[arg(long, value_parser = parse_rate, default_value = "0", hide_default_value = true)]
    pub rate: u64,
    /// Common options.
    #[command(flatten)]
    pub common: CommonArgs,
}

/// Where a receiver begins.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum From {
    /// With what is sent from now on
    Now,
    /// With the first packet, from the caches
    Start,
}

impl From {
    /// As a JOIN says it.
    pub fn start(self) -> StartAt {
        match self {
            From::Now => StartAt::Now,
            From::Start => StartAt::Start,
        }
    }
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
    /// Expect datagrams; the output holds frames of a u32 length and that many bytes
    #[arg(long)]
    pub datagrams: bool,
    /// Where to begin
    #[arg(long, value_enum, default_value = "now")]
    pub from: From,
    /// The sender's member id, when a session has several [default: the controller's choice]
    #[arg(long, value_name = "ID", default_value_t = 0, hide_default_value = true)]
    pub source: u16,
    /// Common options.
    #[command(flatten)]
    pub common: CommonArgs,
}

/// Options of `member`.
#[derive(Debug, Args)]
pub struct MemberArgs {
    /// The session's id
    #[arg(long, value_parser = parse_session)]
    pub session: SessionId,
    /// The TCP port where a program of this host listens
    #[arg(long, value_name = "PORT", value_parser = clap::value_parser!(u16).range(1..))]
    pub listen: u16,
    /// Where to begin in a stream that is under way
    #[arg(long, value_enum, default_value = "now")]
    pub from: From,
    /// Common options.
    #[command(flatten)]
    pub common: CommonArgs,
}

/// Options of `cache`.
#[derive(Debug, Args)]
pub struct CacheArgs {
    /// Bytes kept over all streams, e.g. 64MiB
    #[arg(long, value_parser = parse_bytes, default_value = "256MiB")]
    pub max_bytes: u64,
    /// Milliseconds between stats events
    #[arg(long, value_name = "MS", default_value_t = 200, value_parser = clap::value_parser!(u64).range(10..))]
    pub stats_ms: u64,
    /// Common options.
    #[command(flatten)]
    pub common: CommonArgs,
}

/// Options of `split`.
#[derive(Debug, Args)]
pub struct SplitArgs {
    /// This agent's name
    #[arg(long)]
    pub name: String,
    /// Own IPv4 address: other agents connect to it, and connections onward come from it
    #[arg(long, value_name = "IP", default_value = "0.0.0.0")]
    pub addr: Ipv4Addr,
    /// TCP port for other agents; 0 takes any
    #[arg(long, value_name = "PORT", default_value_t = 26480)]
    pub peer_port: u16,
    /// Where sessions are set and counters read: a Unix socket's path, or IP:PORT
    #[arg(long, value_name = "PATH|IP:PORT", value_parser = Place::parse)]
    pub control: Place,
    /// Cache memory of all streams together
    #[arg(long, value_parser = parse_bytes, default_value = "1GiB")]
    pub max_cache: u64,
    /// Streams at one time
    #[arg(long, value_name = "N", default_value_t = 16384)]
    pub max_streams: usize,
    /// Seconds that a peer may leave bytes unacknowledged
    #[arg(long, value_name = "SECONDS", default_value_t = 60, value_parser = clap::value_parser!(u64).range(1..86400))]
    pub silence: u64,
    /// Seconds to try the next agent when a stream begins
    #[arg(long, value_name = "SECONDS", default_value_t = 5, value_parser = clap::value_parser!(u64).range(1..3600))]
    pub connect_timeout: u64,
    /// Seconds to wait for a lost agent in sessions that resume
    #[arg(long, value_name = "SECONDS", default_value_t = 30, value_parser = clap::value_parser!(u64).range(1..3600))]
    pub resume_timeout: u64,
    /// Keep connections of sessions that resume, while the agent is started again: a Unix socket's path
    #[arg(long, value_name = "PATH")]
    pub keep: Option<PathBuf>,
    /// Write events as JSON lines
    #[arg(long)]
    pub json: bool,
}

/// Options of `keep`.
#[derive(Debug, Args)]
pub struct KeepArgs {
    /// The Unix socket
    #[arg(long)]
    pub path: PathBuf,
    /// Seconds to wait for the next agent
    #[arg(long)]
    pub patience: u64,
}

pub(crate) fn parse_session(text: &str) -> Result<SessionId, String> {
    match text.parse::<u32>() {
        Ok(id) if (1..=SessionId::MAX.0).contains(&id) => Ok(SessionId(id)),
        _ => Err(format!("a session id is a number from 1 to {}", SessionId::MAX.0)),
    }
}

fn parse_token(text: &str) -> Result<String, String> {
    if text.len() <= 255 && text.bytes().all(|b| b.is_ascii_hexdigit()) {
        Ok(text.to_owned())
    } else {
        Err("a token is at most 255 hexadecimal digits".to_owned())
    }
}

pub(crate) fn parse_rate(text: &str) -> Result<u64, String> {
    parse_quantity(text, &[("kbit", 1_000), ("mbit", 1_000_000), ("gbit", 1_000_000_000), ("bit", 1)])
        .ok_or_else(|| "a rate is a number of bit/s, or like 500kbit, 10mbit, 1gbit".to_owned())
}

pub(crate) fn parse_bytes(text: &str) -> Result<u64, String> {
    parse_quantity(text, &[("KiB", 1 << 10), ("MiB", 1 << 20), ("GiB", 1 << 30), ("B", 1)])
        .filter(|&bytes| bytes > 0)
        .ok_or_else(|| "a size is a number of bytes, or like 64KiB, 256MiB, 1GiB".to_owned())
}

fn parse_quantity(text: &str, units: &[(&str, u64)]) -> Option<u64> {
    let found = units.iter().find_map(|&(unit, factor)| Some((text.strip_suffix(unit)?, factor)));
    let (number, factor) = found.unwrap_or((text, 1));
    number.parse::<u64>().ok()?.checked_mul(factor)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantities() {
        let rates =
            [("0", Ok(0)), ("100mbit", Ok(100_000_000)), ("5bit", Ok(5)), ("1gbit", Ok(1_000_000_000))];
        for (text, expected) in rates {
            assert_eq!(parse_rate(text), expected, "{text}");
        }
        for text in ["", "mbit", "-1", "1.5mbit", "1mb", "99999999999gbit"] {
            assert!(parse_rate(text).is_err(), "{text}");
        }
        assert_eq!(parse_bytes("256MiB"), Ok(256 << 20));
        assert!(parse_bytes("0").is_err());
    }

    #[test]
    fn ids_and_tokens() {
        for (text, ok) in [("1", true), ("16777215", true), ("0", false), ("16777216", false), ("x", false)] {
            assert_eq!(parse_session(text).is_ok(), ok, "{text}");
        }
        for (text, ok) in [("", true), ("c0FFee", true), ("xyz", false)] {
            assert_eq!(parse_token(text).is_ok(), ok, "{text}");
        }
    }

    #[test]
    fn the_command_line_is_consistent() {
        use clap::CommandFactory;
        Cli::command().debug_assert();
    }
}
