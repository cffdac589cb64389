//! Options of `shape`, and the flows that they name.

use std::net::Ipv4Addr;
use std::str::FromStr;

use clap::Args;

/// Options of `shape`.
#[derive(Debug, Args)]
pub struct ShapeArgs {
    /// The interface towards the switch; its root queueing discipline is replaced while this runs
    #[arg(long, value_name = "IFACE")]
    pub iface: String,
    /// A flow's number at the controller and its packets: N=DESTINATION or N=tcp|udp:DESTINATION[:PORT];
    /// may be repeated
    #[arg(long = "flow", value_name = "FLOW", required = true)]
    pub flows: Vec<Flow>,
    /// The size of the packets in which the flows are counted, the controller's --packet-bytes
    #[arg(long, value_name = "N", default_value_t = 1514)]
    #[arg(value_parser = clap::value_parser!(u32).range(64..=65535))]
    pub packet_bytes: u32,
    /// Write events as JSON lines
    #[arg(long)]
    pub json: bool,
}

/// The largest number of a flow (`LAST_FLOW` of the controller).
const LAST_FLOW: u16 = 4095;

/// A flow: `NUMBER=DESTINATION` or `NUMBER=PROTOCOL:DESTINATION[:PORT]`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Flow {
    /// The number that the controller gave it.
    pub number: u16,
    /// IPv4's number of its packets' protocol; `None`: any.
    pub protocol: Option<u8>,
    /// The receiver of its packets.
    pub destination: Ipv4Addr,
    /// The receiver's port; `None`: any.
    pub port: Option<u16>,
}

impl FromStr for Flow {
    type Err = String;

    fn from_str(text: &str) -> Result<Flow, String> {
        parse(text).ok_or_else(|| {
            let such = "1=tcp:10.0.6.1:5001 or 2=10.0.7.1";
            format!("{text:?} is no flow such as {such}, numbered from 1 to {LAST_FLOW}")
        })
    }
}

fn parse(text: &str) -> Option<Flow> {
    let (number, packets) = text.split_once('=')?;
    let number = number.parse().ok().filter(|number| (1..=LAST_FLOW).contains(number))?;
    let Some((protocol, rest)) = packets.split_once(':') else {
        return Some(Flow { number, protocol: None, destination: packets.parse().ok()?, port: None });
    };
    let protocol = match protocol {
        "tcp" => 6,
        "udp" => 17,
        _ => return None,
    };
    let (destination, port) = match rest.split_once(':') {
        Some((destination, port)) => (destination, Some(port.parse().ok().filter(|&port| port > 0)?)),
        None => (rest, None),
    };
    Some(Flow { number, protocol: Some(protocol), destination: destination.parse().ok()?, port })
}
