//! gfagent: the group transport's machines on a UDP socket.
//!
//! One thread runs one loop around one machine: receive a batch, let the machine act, send a
//! batch, sleep ([`shell`]). There is no async runtime: twenty agents and their switches share a
//! few cores in an emulation, and a loop that wakes once a millisecond and moves what has gathered
//! costs less than a task that wakes for every packet, and is simpler to follow.
//!
//! | module | is |
//! |---|---|
//! | [`cli`] | the command line |
//! | [`send`], [`recv`], [`member`], [`cache`] | the commands of the group transport |
//! | [`split`] | TCP connections split at agents: a command with a loop of its own |
//! | [`gather`] | many clients' streams over several TCP connections each: two commands with loops of their own |
//! | [`bone`] | files to many caches in rounds, and the caches: two commands, with HTTP servers in threads of their own |
//! | [`tree`] | a host of a clustered tree: two commands with a loop of their own |
//! | [`shell`], [`socket`], [`batch`] | the loop, the socket, many datagrams in one system call |
//! | [`input`], [`output`] | files, stdin and stdout |
//! | [`report`], [`progress`], [`error`] | events, progress, errors with their cure |

use std::io::Write;
use std::process::ExitCode;

use clap::Parser;
use groupflow_protocol::Nanos;

pub mod batch;
pub mod bone;
pub mod cache;
pub mod cli;
pub mod error;
pub mod gather;
pub mod input;
pub mod member;
pub mod output;
pub mod progress;
pub mod recv;
pub mod report;
pub mod send;
pub mod shell;
pub mod socket;
pub mod split;
pub mod tree;

use cli::{Cli, Command};
use error::{exit, AgentError};
use report::Reporter;

/// Who is stopped waits this long for the answer to its LEAVE.
pub const LEAVE_PATIENCE: Nanos = Nanos::from_millis(300);

/// Runs the command line.
pub fn main() -> ExitCode {
    let cli = match Cli::try_parse() {
        Ok(cli) => cli,
        Err(error) => return usage(&error),
    };
    let (mut reporter, result) = match &cli.command {
        Command::Send(args) => {
            let session = Some(args.session.0);
            let mut reporter = Reporter::new(args.common.json, false, "send", &args.common.name, session);
            let result = checked(&args.common.name).and_then(|()| send::run(args, &mut reporter));
            (reporter, result)
        }
        Command::Recv(args) => {
            let (stdout, session) = (args.output.as_os_str() == "-", Some(args.session.0));
            let mut reporter = Reporter::new(args.common.json, stdout, "recv", &args.common.name, session);
            let result = checked(&args.common.name).and_then(|()| recv::run(args, &mut reporter));
            (reporter, result)
        }
        Command::Member(args) => {
            let session = Some(args.session.0);
            let mut reporter = Reporter::new(args.common.json, false, "member", &args.common.name, session);
            let result = checked(&args.common.name).and_then(|()| member::run(args, &mut reporter));
            (reporter, result)
        }
        Command::Cache(args) => {
            let mut reporter = Reporter::new(args.common.json, false, "cache", &args.common.name, None);
            let result = checked(&args.common.name).and_then(|()| cache::run(args, &mut reporter));
            (reporter, result)
        }
        Command::Keep(args) => {
            let reporter = Reporter::new(false, true, "keep", "keep", None);
            (reporter, split::keep(args))
        }
        Command::GatherServe(args) => {
            let name = args.listen.to_string();
            let mut reporter = Reporter::new(args.json, false, "gather-serve", &name, None);
            let result = gather::serve::run(args, &mut reporter);
            (reporter, result)
        }
        Command::GatherSend(args) => {
            let mut reporter = Reporter::new(args.json, false, "gather-send", args.client.as_str(), None);
            let result = gather::send::run(args, &mut reporter);
            (reporter, result)
        }
        Command::BoneHub(args) => {
            let common = &args.bone.common;
            let mut reporter =
                Reporter::new(common.json, false, "bone-hub", &common.name, session_of(&args.bone));
            let result = checked(&common.name).and_then(|()| bone::hub::run(args, &mut reporter));
            (reporter, result)
        }
        Command::BoneRim(args) => {
            let common = &args.bone.common;
            let mut reporter =
                Reporter::new(common.json, false, "bone-rim", &common.name, session_of(&args.bone));
            let result = checked(&common.name).and_then(|()| bone::rim::run(args, &mut reporter));
            (reporter, result)
        }
        Command::TreeSend(args) => {
            let mut reporter = Reporter::new(args.tree.json, false, "tree-send", &args.tree.name, None);
            let result = checked(&args.tree.name).and_then(|()| tree::run::send(args, &mut reporter));
            (reporter, result)
        }
        Command::TreeRecv(args) => {
            let stdout = args.output.as_os_str() == "-";
            let mut reporter = Reporter::new(args.tree.json, stdout, "tree-recv", &args.tree.name, None);
            let result = checked(&args.tree.name).and_then(|()| tree::run::recv(args, &mut reporter));
            (reporter, result)
        }
        Command::Split(args) => {
            let mut reporter = Reporter::new(args.json, false, "split", &args.name, None);
            let result = checked(&args.name).and_then(|()| split::run(args, &mut reporter));
            (reporter, result)
        }
    };
    match result {
        Ok(code) => ExitCode::from(code),
        Err(error) => {
            reporter.error(&error);
            ExitCode::from(error.exit)
        }
    }
}

fn session_of(args: &bone::args::BoneArgs) -> Option<u32> {
    args.session.map(|session| session.0)
}

/// A name must fit the wire, and a line.
fn checked(name: &str) -> Result<(), AgentError> {
    if name.is_empty() || name.len() > 255 || name.chars().any(char::is_control) {
        return Err(AgentError::usage("--name must be 1 to 255 printable characters", "choose another name"));
    }
    Ok(())
}

/// Help goes out as it is; an error in one line.
fn usage(error: &clap::Error) -> ExitCode {
    if !error.use_stderr() {
        let _ = error.print();
        return ExitCode::SUCCESS;
    }
    let text = error.to_string();
    let first: Vec<&str> = text
        .split("\n\n")
        .next()
        .unwrap_or_default()
        .lines()
        .map(str::trim)
        .filter(|l| !l.is_empty())
        .collect();
    let cause = first.join(" ");
    let cause = cause.strip_prefix("error: ").unwrap_or(&cause);
    let _ = writeln!(std::io::stderr(), "gfagent: {cause}; see gfagent --help");
    ExitCode::from(exit::USAGE)
}
