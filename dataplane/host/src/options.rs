//! Values of the command line, and the options common to a session's agents.

use std::net::{Ipv4Addr, SocketAddrV4};

use clap::{Args, ValueEnum};
use groupflow_base::quantity::{self, QuantityError};
use groupflow_base::Nanos;
use groupflow_session::control::StartAt;
use groupflow_session::MemberConfig;
use groupflow_transport::ids::GROUP_PORT;
use groupflow_transport::SessionId;

use crate::report::Reporter;
use crate::socket::SocketConfig;

/// Options common to all agents of a session.
#[derive(Debug, Args)]
pub struct CommonArgs {
    /// This host's name in the session
    #[arg(long)]
    pub name: String,
    /// File with the session's token; without it $GROUPFLOW_TOKEN has the token
    #[arg(long = "token-file", value_name = "FILE", value_parser = parse_token, env = "GROUPFLOW_TOKEN", hide_env_values = true)]
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
