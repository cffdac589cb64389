//! gfagent: the table of subcommands. Each is the agent of an app, whose crate has its options and runs it.

use std::process::ExitCode;

use clap::{Parser, Subcommand};
use groupflow_bone::agent::args::{BoneHubArgs, BoneRimArgs};
use groupflow_gather::agent::args::{GatherSendArgs, GatherServeArgs};
use groupflow_group::args::{CacheArgs, MemberArgs, RecvArgs, SendArgs};
use groupflow_host::subcommand;
use groupflow_shape::args::ShapeArgs;
use groupflow_split::SplitArgs;
use groupflow_tree::agent::{TreeRecvArgs, TreeSendArgs};

/// A host's agent for group communication: each command is one task of a host in a group.
#[derive(Debug, Parser)]
#[command(name = "gfagent", version, arg_required_else_help = true)]
struct Cli {
    /// The subcommand
    #[command(subcommand)]
    command: Command,
}

/// The subcommands.
#[derive(Debug, Subcommand)]
enum Command {
    /// Send a file, stdin, or datagrams into a session
    #[command(after_help = "Examples:
  gfagent send --session 7 --token-file 7.token --name ma1 --file video.mp4 --members 3
  tar c docs | gfagent send --session 7 --token-file 7.token --name ma1 --rate 10mbit")]
    Send(SendArgs),
    /// Receive a session's stream
    #[command(after_help = "Examples:
  gfagent recv --session 7 --token-file 7.token --name mb1 --output video.mp4
  gfagent recv --session 7 --token-file 7.token --name mb1 --from start | tar x")]
    Recv(RecvArgs),
    /// Be a member whose streams come as TCP connections, to a program that listens on this host
    #[command(after_help = "Example:
  gfagent member --session 7 --token-file 7.token --name mb1 --listen 9000")]
    Member(MemberArgs),
    /// Cache and repair for the switch this host is connected to
    #[command(after_help = "Example:
  gfagent cache --name sa1 --bind-iface sa1-eth0 --max-bytes 256MiB --json")]
    Cache(CacheArgs),
    /// Split TCP connections: cache a sender's bytes, hand them to agents and members
    #[command(after_help = "Example:
  ip route add local 10.200.0.0/16 dev lo
  gfagent split --name sa1 --addr 10.0.0.1 --control /run/groupflow/sa1.sock")]
    Split(SplitArgs),
    /// Gather the streams of many clients, each over several TCP connections whose windows and number are
    /// tuned
    #[command(after_help = "Example:
  gfagent gather-serve --listen 0.0.0.0:26490 --out gathered --json < clients.json")]
    GatherServe(GatherServeArgs),
    /// Send a file or stdin to a server that gathers
    #[command(after_help = "Examples:
  gfagent gather-send --to 10.0.0.1:26490 --client cam1 --token-file cam1.token --file video.mp4
  tar c logs | GROUPFLOW_TOKEN=c0ffee gfagent gather-send --to 10.0.0.1:26490 --client cam1")]
    GatherSend(GatherSendArgs),
    /// Send files to many caches at once: those put into a folder, and those a cache or an order asks for
    #[command(mut_arg("port", |port| port.default_value("26501").help("UDP port, where rims answer to")))]
    #[command(after_help = "Examples:
  gfagent bone-hub --name hub --dir outbox --bind-iface eth0 --rate 96kbit
  gfagent bone-hub --name hub --dir outbox --method unicast --rim 10.0.1.1:26500 --rim 10.0.2.1:26500
  curl -X POST http://127.0.0.1:26502/video.mp4")]
    BoneHub(Box<BoneHubArgs>),
    /// Cache a hub's files, and serve them to local clients over HTTP
    #[command(mut_arg("port", |port| port.hide(true)))]
    #[command(after_help = "Examples:
  gfagent bone-rim --name rim1 --dir cache --max-bytes 10GiB --bind-iface eth0
  curl -O http://127.0.0.1:26503/video.mp4")]
    BoneRim(Box<BoneRimArgs>),
    /// Shape flows that this host sends to the rates that its switch reports (diffusion-type flow control)
    #[command(after_help = "Example:
  gfagent shape --iface eth0 --flow 1=tcp:10.0.6.1:5001 --flow 2=10.0.7.1")]
    Shape(ShapeArgs),
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
}

impl Command {
    /// The options, which know how to run it.
    fn subcommand(&self) -> &dyn subcommand::Subcommand {
        match self {
            Command::Send(args) => args,
            Command::Recv(args) => args,
            Command::Member(args) => args,
            Command::Cache(args) => args,
            Command::Split(args) => args,
            Command::GatherServe(args) => args,
            Command::GatherSend(args) => args,
            Command::BoneHub(args) => &**args,
            Command::BoneRim(args) => &**args,
            Command::Shape(args) => args,
            Command::TreeSend(args) => &**args,
            Command::TreeRecv(args) => &**args,
        }
    }
}

fn main() -> ExitCode {
    let parsed = subcommand::with_token(std::env::args_os()).map_err(|text| {
        clap::Error::raw(clap::error::ErrorKind::Io, format!("{text}; name a file with the token"))
    });
    match parsed.and_then(Cli::try_parse_from) {
        Ok(cli) => subcommand::execute(cli.command.subcommand()),
        Err(error) => subcommand::usage("gfagent", &error),
    }
}

#[cfg(test)]
#[path = "tests/main.rs"]
mod tests;
