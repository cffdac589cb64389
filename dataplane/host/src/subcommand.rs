//! Subcommands of gfagent: the options of each app know how to run it. Values of the command line, and the
//! options common to the agents of a session.

use std::ffi::OsString;
use std::io::Write;
use std::net::{Ipv4Addr, SocketAddrV4};
use std::process::ExitCode;

use clap::{Args, ValueEnum};
use groupflow_base::quantity::{self, QuantityError};
use groupflow_base::Nanos;
use groupflow_session::control::StartAt;
use groupflow_session::MemberConfig;
use groupflow_transport::ids::GROUP_PORT;
use groupflow_transport::SessionId;

use crate::error::{exit, plain, AgentError};
use crate::report::Reporter;
use crate::socket::SocketConfig;

/// The options of a subcommand of gfagent.
pub trait Subcommand {
    /// The reporter to which the subcommand's events go.
    fn reporter(&self) -> Reporter;

    /// Runs the subcommand to its end; returns the exit code.
    ///
    /// # Errors
    /// The error names the cause and a remedy.
    fn run(&self, reporter: &mut Reporter) -> Result<u8, AgentError>;
}

/// Runs a subcommand and reports how it ended.
pub fn execute(subcommand: &dyn Subcommand) -> ExitCode {
    let mut reporter = subcommand.reporter();
    match subcommand.run(&mut reporter) {
        Ok(code) => ExitCode::from(code),
        Err(error) => {
            reporter.error(&error);
            ExitCode::from(error.exit)
        }
    }
}

/// Checks that a name fits the wire format and a line of text.
///
/// # Errors
/// The name is too long, empty or not printable.
pub fn check_name(name: &str) -> Result<(), AgentError> {
    if name.is_empty() || name.len() > 255 || name.chars().any(char::is_control) {
        return Err(AgentError::usage("--name must be 1 to 255 printable characters", "choose another name"));
    }
    Ok(())
}

/// The words of a command line, where the file after `--token-file` is replaced by the token that it has: a
/// token itself would be in the command line, which every user can read.
///
/// # Errors
/// The file cannot be read.
pub fn with_token(words: impl Iterator<Item = OsString>) -> Result<Vec<OsString>, String> {
    let (mut all, mut is_next) = (Vec::new(), false);
    for word in words {
        let joined = word.to_str().and_then(|word| word.strip_prefix("--token-file=")).map(OsString::from);
        if let Some(path) = joined.or_else(|| is_next.then(|| word.clone())) {
            let read = std::fs::read_to_string(&path);
            let token =
                read.map_err(|e| format!("--token-file {}: {}", path.to_string_lossy(), plain(&e)))?;
            all.push(format!("--token-file={}", token.trim()).into());
            is_next = false;
            continue;
        }
        is_next = word == "--token-file";
        all.extend((!is_next).then_some(word));
    }
    all.extend(is_next.then(|| "--token-file".into()));
    Ok(all)
}

/// Reports a wrong command line: help is printed unchanged, an error in one line.
pub fn usage(error: &clap::Error) -> ExitCode {
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

/// Options common to all agents of a session.
#[derive(Debug, Args)]
pub struct CommonArgs {
    /// This host's name in the session
    #[arg(long)]
    pub name: String,
    /// File with the session's token; without it $GROUPFLOW_TOKEN has the token
    #[arg(long = "token-file", value_name = "FILE", value_parser = parse_token, env = "GROUPFLOW_TOKEN")]
    #[arg(hide_env_values = true)]
    pub token: Option<String>,
    /// Bind to this interface and use its address
    #[arg(long, value_name = "IFACE")]
    pub bind_iface: Option<String>,
    /// This host's IPv4 address [default: the interface's]
    #[arg(long, value_name = "IP")]
    pub addr: Option<Ipv4Addr>,
    /// UDP port; send and recv take another one if it is in use
    #[arg(long, default_value_t = GROUP_PORT)]
    pub port: u16,
    /// Send all packets to this address (a relay) instead of the group's
    #[arg(long, value_name = "IP:PORT")]
    pub via: Option<SocketAddrV4>,
    /// Seconds after which joining is given up (cache never gives up)
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
    /// The settings of the agent's socket.
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

    /// The reporter of an agent in this role; events go to stderr where stdout carries the data.
    pub fn reporter(&self, role: &str, to_stderr: bool, session: Option<SessionId>) -> Reporter {
        Reporter::new(self.json, to_stderr, role, &self.name, session.map(|session| session.0))
    }

    /// The member's settings; its token may be empty.
    pub fn member(&self, session: SessionId) -> MemberConfig {
        MemberConfig {
            session,
            name: self.name.clone(),
            token: self.token.clone().unwrap_or_default(),
            patience: Some(Nanos::from_secs(self.join_timeout)),
            seed: self.seed(),
        }
    }

    /// The seed of random delays.
    pub fn seed(&self) -> u64 {
        self.seed.unwrap_or_else(rand::random)
    }
}

/// The place in the stream at which a receiver begins.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum StreamStart {
    /// With the bytes that are sent from now on
    Now,
    /// With the first packet, fetched from the caches
    Start,
}

impl StreamStart {
    /// The start in the terms of a JOIN.
    pub fn start(self) -> StartAt {
        match self {
            StreamStart::Now => StartAt::Now,
            StreamStart::Start => StartAt::Start,
        }
    }
}

/// Parses a session id.
pub fn parse_session(text: &str) -> Result<SessionId, String> {
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

/// A rate in bit/s; a number alone is one, too.
pub fn parse_rate(text: &str) -> Result<u64, QuantityError> {
    text.parse().or_else(|_| quantity::parse_rate(text))
}

/// A size in bytes, above zero; a number alone is one, too.
pub fn parse_bytes(text: &str) -> Result<u64, QuantityError> {
    match text.parse().or_else(|_| quantity::parse_size(text))? {
        0 => Err(QuantityError::new(text, "a size above zero such as 64KiB or 1.5GiB")),
        bytes => Ok(bytes),
    }
}
