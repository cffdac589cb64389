//! A flow of the command line: the number in its reports, and the packets that belong to it.

use std::net::Ipv4Addr;
use std::str::FromStr;

/// The largest number of a flow (`LAST_FLOW` of the controller).
const LAST_FLOW: u16 = 4095;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Protocol {
    Tcp,
    Udp,
}

impl Protocol {
    /// IPv4's number of the protocol.
    pub fn number(self) -> u8 {
        match self {
            Protocol::Tcp => 6,
            Protocol::Udp => 17,
        }
    }
}

/// A flow: `NUMBER=DESTINATION` or `NUMBER=PROTOCOL:DESTINATION[:PORT]`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Flow {
    /// The number that the controller gave it.
    pub number: u16,
    /// The protocol of its packets; `None`: any.
    pub protocol: Option<Protocol>,
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
        "tcp" => Protocol::Tcp,
        "udp" => Protocol::Udp,
        _ => return None,
    };
    let (destination, port) = match rest.split_once(':') {
        Some((destination, port)) => (destination, Some(port.parse().ok().filter(|&port| port > 0)?)),
        None => (rest, None),
    };
    Some(Flow { number, protocol: Some(protocol), destination: destination.parse().ok()?, port })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn flows_are_read_or_refused() {
        let destination = Ipv4Addr::new(10, 0, 6, 1);
        let tcp = Flow { number: 1, protocol: Some(Protocol::Tcp), destination, port: Some(5001) };
        assert_eq!("1=tcp:10.0.6.1:5001".parse(), Ok(tcp));
        let udp = Flow { number: 4095, protocol: Some(Protocol::Udp), destination, port: None };
        assert_eq!("4095=udp:10.0.6.1".parse(), Ok(udp));
        let any = Flow { number: 2, protocol: None, destination, port: None };
        assert_eq!("2=10.0.6.1".parse(), Ok(any));
        for wrong in ["", "1", "0=10.0.6.1", "4096=10.0.6.1", "1=sctp:10.0.6.1", "1=tcp:h6", "1=10.0.6.1:80"]
        {
            assert!(wrong.parse::<Flow>().is_err(), "{wrong}");
        }
        for wrong in ["1=tcp:10.0.6.1:0", "1=tcp:10.0.6.1:65536", "1=tcp:10.0.6.1:80:81", "-1=10.0.6.1"] {
            assert!(wrong.parse::<Flow>().is_err(), "{wrong}");
        }
    }
}
