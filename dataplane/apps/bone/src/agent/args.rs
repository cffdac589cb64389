//! Options of `bone-hub` and `bone-rim`.

use std::net::SocketAddrV4;
use std::path::PathBuf;

use clap::Args;
use groupflow_base::Nanos;
use groupflow_host::error::AgentError;
use groupflow_host::socket::{Multicast, SocketConfig};
use groupflow_host::subcommand::{parse_bytes, parse_rate};
use groupflow_session::agent::{parse_session, CommonArgs};
use groupflow_transport::SessionId;

use super::http::STALLED;
use crate::machine::message::{DATA_HEADER, MAX_PACKET};
use crate::machine::{HubConfig, Method, Repair, TransferId};

/// Bytes of a frame besides the payload of a DATA message: Ethernet 14, IPv4 20, UDP 8 and the message's own.
const OVERHEAD: usize = 42 + DATA_HEADER;
/// Bytes that a session's header adds to a frame.
const SESSION: usize = groupflow_transport::wire::HEADER;

/// How often an idle hub announces its presence.
const ANNOUNCE: Nanos = Nanos::from_secs(5);

/// The carrier of messages to all rims.
#[derive(Debug, Args)]
pub struct BoneArgs {
    /// The multicast group and UDP port where rims listen
    #[arg(long, value_name = "IP:PORT", default_value = "239.83.84.1:26500", value_parser = parse_group)]
    pub group: SocketAddrV4,
    /// Send through P4 switches in this session, instead of plain multicast
    #[arg(long, value_parser = parse_session)]
    pub session: Option<SessionId>,
    /// Take orders from stdin, one JSON object a line: {"bytes": N} for a rim, {"rate_bps": N} for a hub
    #[arg(long)]
    pub orders: bool,
    /// Options common to all agents.
    #[command(flatten)]
    pub common: CommonArgs,
}

impl BoneArgs {
    /// The address to which the hub sends for all rims; in a session, the session's group replaces it in each
    /// datagram.
    pub fn group(&self) -> SocketAddrV4 {
        self.session.map_or(self.group, |session| session.group())
    }

    /// The hub's socket, bound to the address to which rims answer.
    pub fn hub_socket(&self) -> SocketConfig {
        let multicast = self.session.is_none().then_some(Multicast { listen: None });
        SocketConfig { multicast, ..self.common.socket(false) }
    }

    /// A rim's socket: bound to the group's port, or in a session to any port.
    pub fn rim_socket(&self) -> SocketConfig {
        match self.session {
            Some(_) => SocketConfig { port: 0, ..self.common.socket(false) },
            None => SocketConfig {
                port: self.group.port(),
                multicast: Some(Multicast { listen: Some(*self.group.ip()) }),
                ..self.common.socket(false)
            },
        }
    }

    /// The socket from which a rim asks the hub and receives its answers. All rims of one host share the
    /// group's port, and the kernel may hand a unicast datagram for that port to any of them. In a session a
    /// rim's socket is its own already, so that none is needed.
    pub fn private_socket(&self) -> Option<SocketConfig> {
        let multicast = Some(Multicast { listen: None });
        self.session.is_none().then(|| SocketConfig { port: 0, multicast, ..self.common.socket(false) })
    }
}

/// Options of `bone-hub`.
#[derive(Debug, Args)]
pub struct BoneHubArgs {
    /// Folder of the files; each file put into it is sent
    #[arg(long, value_name = "DIR")]
    pub dir: PathBuf,
    /// Also send the files that are in the folder at the start
    #[arg(long)]
    pub all: bool,
    /// How files are sent
    #[arg(long, value_enum, default_value = "scheduled")]
    pub method: Method,
    /// Which bytes are sent again
    #[arg(long, value_enum, default_value = "go-back-n")]
    pub repair: Repair,
    /// Address of a rim, for unicast; may be repeated
    #[arg(long = "rim", value_name = "IP:PORT")]
    pub rims: Vec<SocketAddrV4>,
    /// Sending rate that packets of --packet bytes fill, headers included
    #[arg(long, value_parser = parse_rate, default_value = "1mbit")]
    pub rate: u64,
    /// Bytes of a file in each packet of the first round, and of every round where the size is fixed
    #[arg(long, value_name = "BYTES", default_value_t = 1000)]
    #[arg(value_parser = clap::value_parser!(u16).range(1..=i64::from(MAX_PACKET)))]
    pub packet: u16,
    /// Packets in a round
    #[arg(long, value_name = "N", default_value_t = 64)]
    #[arg(value_parser = clap::value_parser!(u16).range(1..=10_000))]
    pub per_round: u16,
    /// Milliseconds that the hub waits for rims to join
    #[arg(long, value_name = "MS", default_value_t = 2000)]
    #[arg(value_parser = clap::value_parser!(u64).range(10..=60_000))]
    pub join_ms: u64,
    /// Milliseconds that the hub waits for rims to answer a round
    #[arg(long, value_name = "MS", default_value_t = 2000)]
    #[arg(value_parser = clap::value_parser!(u64).range(10..=60_000))]
    pub result_ms: u64,
    /// Milliseconds by which a packet may be late
    #[arg(long, value_name = "MS", default_value_t = 500)]
    #[arg(value_parser = clap::value_parser!(u64).range(1..=60_000))]
    pub grace_ms: u64,
    /// Number of unanswered requests in a row after which a rim is dropped
    #[arg(long, value_name = "N", default_value_t = 20, value_parser = clap::value_parser!(u8).range(1..))]
    pub patience: u8,
    /// Milliseconds between scans of the folder
    #[arg(long, value_name = "MS", default_value_t = 1000)]
    #[arg(value_parser = clap::value_parser!(u64).range(10..=600_000))]
    pub poll_ms: u64,
    /// Address where files are listed and orders taken over HTTP
    #[arg(long, value_name = "IP:PORT", default_value = "127.0.0.1:26502")]
    pub http: SocketAddrV4,
    /// The carrier of the hub's messages to rims.
    #[command(flatten)]
    pub bone: BoneArgs,
}

impl BoneHubArgs {
    pub fn config(&self) -> Result<HubConfig, AgentError> {
        let unicast = self.method == Method::Unicast;
        if unicast && self.rims.is_empty() {
            return Err(AgentError::usage("--method unicast needs rims", "name each with --rim IP:PORT"));
        }
        if !unicast && !self.rims.is_empty() {
            return Err(AgentError::usage("--rim is of unicast", "leave it out, or use --method unicast"));
        }
        if unicast && self.bone.session.is_some() {
            return Err(AgentError::usage("unicast needs no session", "leave out --session"));
        }
        let interval = self.interval(self.rate).ok_or_else(|| {
            AgentError::usage(format!("--rate {} will not do", self.rate), "choose one like 500kbit")
        })?;
        Ok(HubConfig {
            group: self.bone.group(),
            method: self.method,
            repair: self.repair,
            packet: self.packet,
            sizes: (LEAST.min(self.packet), LARGEST.max(self.packet)),
            per_round: self.per_round,
            interval,
            join_wait: Nanos::from_millis(self.join_ms),
            result_wait: Nanos::from_millis(self.result_ms),
            grace: Nanos::from_millis(self.grace_ms),
            crowd: CROWD,
            per_answer: Nanos::from_millis(PER_ANSWER_MS),
            patience: self.patience,
            max_rims: MAX_RIMS,
            targets: self.rims.clone(),
            announce: Some(ANNOUNCE),
            // Rims that remember an earlier hub must not take this hub's transfer for one of that hub's.
            transfer: TransferId(rand::random()),
        })
    }

    /// The time between two packets at a rate in bit/s, if it can be kept.
    pub fn interval(&self, rate: u64) -> Option<Nanos> {
        let session = self.bone.session.map_or(0, |_| SESSION);
        let bits = (usize::from(self.packet) + OVERHEAD + session) as u64 * 8;
        (bits * 1_000_000_000).checked_div(rate).filter(|&nanos| nanos > 0).map(Nanos)
    }
}

/// The least packet size of a scheduled hub.
const LEAST: u16 = 64;
const LARGEST: u16 = 1344;
/// With more rims than this, only some of them answer.
const CROWD: usize = 16;
const PER_ANSWER_MS: u64 = 10;
const MAX_RIMS: usize = 10_000;

/// Options of `bone-rim`.
#[derive(Debug, Args)]
pub struct BoneRimArgs {
    /// Folder of the files
    #[arg(long, value_name = "DIR")]
    pub dir: PathBuf,
    /// Bytes of files that the rim keeps; the least recently used files are removed first
    #[arg(long, value_name = "SIZE", value_parser = parse_bytes, default_value = "1GiB")]
    pub max_bytes: u64,
    /// Address of the only hub to accept [default: any hub that multicasts]
    #[arg(long, value_name = "IP:PORT")]
    pub hub: Option<SocketAddrV4>,
    /// Address where clients get files over HTTP
    #[arg(long, value_name = "IP:PORT", default_value = "0.0.0.0:26503")]
    pub http: SocketAddrV4,
    /// Seconds that a client waits for a file to begin to arrive
    #[arg(long, value_name = "SECONDS", default_value_t = 120)]
    #[arg(value_parser = clap::value_parser!(u64).range(1..86400))]
    pub miss_wait: u64,
    /// Seconds after which a client that reads nothing is disconnected
    #[arg(long, value_name = "SECONDS", default_value_t = STALLED.as_secs())]
    #[arg(value_parser = clap::value_parser!(u64).range(1..86400))]
    pub client_wait: u64,
    /// The carrier of the hub's messages to this rim.
    #[command(flatten)]
    pub bone: BoneArgs,
}

fn parse_group(text: &str) -> Result<SocketAddrV4, String> {
    let address = text.parse::<SocketAddrV4>().ok();
    address
        .filter(|address| address.ip().is_multicast() && address.port() > 0)
        .ok_or_else(|| "a multicast group is like 239.83.84.1:26500".to_owned())
}
