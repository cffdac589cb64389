//! The command line: that of simple_switch_grpc, with links, statistics and run-time changes added.

use std::ffi::{OsStr, OsString};
use std::fmt::Display;
use std::io::{IsTerminal, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::{Args, Parser, Subcommand};
use groupflow_host::subcommand::usage;
use tracing_subscriber::filter::LevelFilter;

use super::args::{default_control_socket, instead, SwitchArgs};
use super::control::{ask, find_switch, trace_switch, ControlRequest};
use super::error::{system, ShellError};
use super::report::render;
use super::run::run;
use super::trace_text::render_trace;
use crate::core::TraceRequest;

/// A P4 software switch with emulated links: a drop-in for simple_switch_grpc.
#[derive(Debug, Parser)]
#[command(name = "gfswitch", version, args_conflicts_with_subcommands = true)]
struct Cli {
    #[command(subcommand)]
    command: Option<Command>,
    #[command(flatten)]
    switch: SwitchArgs,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Show a running switch's counters
    Stats {
        #[command(flatten)]
        target: RunningSwitch,
        /// As JSON
        #[arg(long)]
        json: bool,
        /// Start new lateness figures and high-water marks
        #[arg(long)]
        reset: bool,
    },
    /// Show the way of packets through a running switch: waits for them, until Ctrl-C
    Trace {
        #[command(flatten)]
        target: RunningSwitch,
        #[command(flatten)]
        request: TraceRequest,
        /// As JSON, an object a line
        #[arg(long)]
        json: bool,
    },
    /// Change a link of a running switch
    Link {
        #[command(flatten)]
        target: RunningSwitch,
        /// The port
        port: u16,
        /// rate=10mbit,delay=5ms,loss=0,queue=100,dir=out, up, down
        spec: String,
    },
    /// Change a queue of a running switch
    Queue {
        #[command(flatten)]
        target: RunningSwitch,
        /// The port
        port: u16,
        /// The queue
        queue: u8,
        /// level=1,weight=2,rate=1000pps,packets=100,bytes=64000, pause, resume
        spec: String,
    },
    /// Change a port's settings in a running switch
    Port {
        #[command(flatten)]
        target: RunningSwitch,
        /// The port
        port: u16,
        /// A packet's size in bytes where packets/s are computed from the port's bit rate
        #[arg(long, value_name = "BYTES")]
        nominal_packet: u32,
    },
    /// Take the role of primary from the clients that have it, in all roles: their streams end, and the next
    /// election id wins, whatever it is
    Depose {
        #[command(flatten)]
        target: RunningSwitch,
    },
}

/// The control sockets of a network that groupflow runs, visible within it.
const NETWORK_FOLDER: &str = "/run/groupflow";
/// The environment variable of the node at which a program runs.
const NODE: &str = "GROUPFLOW_NAME";

#[derive(Debug, Args)]
struct RunningSwitch {
    /// The switch's control socket
    #[arg(long, value_name = "PATH", conflicts_with = "device_id")]
    socket: Option<PathBuf>,
    /// The switch's device id, if it has the default control socket or is one of a network of groupflow's,
    /// within which this runs. Not needed in `groupflow net exec s1 gfswitch stats` [default: 0]
    #[arg(long, value_name = "N")]
    device_id: Option<u64>,
}

impl RunningSwitch {
    fn path(&self) -> PathBuf {
        let device_id = self.device_id.unwrap_or(0);
        // `groupflow net exec` names the node at which a program runs.
        let of_node = || std::env::var(NODE).ok().map(|name| format!("{NETWORK_FOLDER}/{name}.sock").into());
        let named = if self.device_id.is_none() { of_node() } else { None };
        let own = default_control_socket(device_id);
        self.socket
            .clone()
            .or(named.filter(|path: &PathBuf| path.exists()))
            .or_else(|| Some(own.clone()).filter(|path| path.exists()))
            .or_else(|| find_switch(Path::new(NETWORK_FOLDER), device_id))
            .unwrap_or(own)
    }
}

pub fn main() -> ExitCode {
    let cli = match Cli::try_parse_from(arguments(std::env::args())) {
        Ok(cli) => cli,
        Err(error) => return usage("gfswitch", &error),
    };
    let change = |target: RunningSwitch, request| ask(&target.path(), &request).map(drop);
    let result = match cli.command {
        Some(Command::Stats { target, json, reset }) => stats(&target, json, reset),
        Some(Command::Trace { target, request, json }) => trace(&target.path(), request, json),
        Some(Command::Link { target, port, spec }) => change(target, ControlRequest::Link { port, spec }),
        Some(Command::Queue { target, port, queue, spec }) => {
            change(target, ControlRequest::Queue { port, queue, spec })
        }
        Some(Command::Port { target, port, nominal_packet }) => {
            change(target, ControlRequest::Port { port, nominal_packet })
        }
        Some(Command::Depose { target }) => change(target, ControlRequest::Depose),
        None => start(cli.switch, is_bmv2(std::env::args_os().next())),
    };
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            tell(&error);
            ExitCode::FAILURE
        }
    }
}

/// Writes a line to standard error. That may be a file on a full disk, where `eprintln` would panic.
pub fn tell(line: impl Display) {
    let _ = writeln!(std::io::stderr(), "gfswitch: {line}");
}

/// The arguments, without the first `--`: simple_switch_grpc wants it before its target's own flags.
fn arguments(arguments: impl Iterator<Item = String>) -> Vec<String> {
    let mut arguments: Vec<String> = arguments.collect();
    if let Some(place) = arguments.iter().position(|argument| argument == "--") {
        arguments.remove(place);
    }
    arguments
}

fn trace(path: &Path, request: TraceRequest, json: bool) -> Result<(), ShellError> {
    let (wanted, mut shown) = (request.next, 0);
    let show = |trace: &serde_json::Value| {
        shown += 1;
        print(&if json { trace.to_string() } else { render_trace(trace) })
    };
    trace_switch(path, request, show, || tell("waiting for such a packet; Ctrl-C ends"))?;
    if shown < wanted {
        return Err(ShellError::Refused(format!("the switch ended; {shown} of {wanted} packets came")));
    }
    Ok(())
}

fn print(text: &str) -> Result<(), ShellError> {
    match writeln!(std::io::stdout(), "{text}") {
        // The reader has enough, as `head` has.
        Err(error) if error.kind() == std::io::ErrorKind::BrokenPipe => std::process::exit(0),
        written => written.map_err(system("writing to standard output")),
    }
}

fn stats(target: &RunningSwitch, json: bool, reset: bool) -> Result<(), ShellError> {
    let report = ask(&target.path(), &ControlRequest::Stats { reset })?;
    print(&if json { report.to_string() } else { render(&report).trim_end().to_string() })
}

fn is_bmv2(program: Option<OsString>) -> bool {
    program.is_some_and(|path| Path::new(&path).file_name() == Some(OsStr::new("simple_switch_grpc")))
}

fn start(mut args: SwitchArgs, like_bmv2: bool) -> Result<(), ShellError> {
    // `--pcap program.json`: the directory is optional, and a program's file is no directory.
    let is_program = |path: &PathBuf| path.extension().is_some_and(|extension| extension == "json");
    if args.program.is_none() && args.pcap.as_ref().is_some_and(is_program) {
        args.program = args.pcap.replace(".".into());
    }
    log(&args)?;
    for flag in &args.ignored.0 {
        tell(format_args!("warning: --{flag} has no effect here{}", instead(flag)));
    }
    run(&args, like_bmv2)
}

fn log(args: &SwitchArgs) -> Result<(), ShellError> {
    let is_asked_for = args.log_console || args.log_file.is_some();
    let default = if is_asked_for { LevelFilter::INFO } else { LevelFilter::WARN };
    let builder = tracing_subscriber::fmt().with_max_level(args.log_level.unwrap_or(default));
    // The subscriber would print its own errors with `eprintln`.
    let builder = builder.with_target(false).log_internal_errors(false);
    match &args.log_file {
        Some(path) => {
            let file = std::fs::File::create(path);
            let file = file.map_err(|error| ShellError::File(path.clone(), error))?;
            builder.with_ansi(false).with_writer(std::sync::Mutex::new(file)).init();
        }
        None => builder.with_ansi(std::io::stderr().is_terminal()).with_writer(std::io::stderr).init(),
    }
    Ok(())
}

#[cfg(test)]
#[path = "tests/cli.rs"]
mod tests;
