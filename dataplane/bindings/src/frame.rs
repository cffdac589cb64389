//! Ethernet, IPv4 and UDP around a group packet, for what the controller gets and sends through switches.

use std::net::Ipv4Addr;

use groupflow_transport::ids::GROUP_PORT;
use groupflow_transport::wire::checksum;
use pyo3::exceptions::PyValueError;
use pyo3::PyErr;

const ETHERNET: usize = 14;
const IPV4: usize = 20;
const UDP: usize = 8;
/// Bytes before the group header.
pub const OVERHEAD: usize = ETHERNET + IPV4 + UDP;
/// Hops a frame of the controller may take.
const TTL: u8 = 64;

/// An Ethernet address, written `02:00:0a:00:01:01`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Mac(pub [u8; 6]);

impl Mac {
    /// Parses the written form, or a ValueError naming `field`.
    pub fn parse(field: &str, text: &str) -> Result<Mac, PyErr> {
        let bad = || PyValueError::new_err(format!("{field}: {text:?} is not a MAC like 02:00:0a:00:01:01"));
        let mut bytes = [0; 6];
        let mut parts = text.split(':');
        for byte in &mut bytes {
            let part = parts.next().filter(|p| p.len() == 2).ok_or_else(bad)?;
            *byte = u8::from_str_radix(part, 16).map_err(|_| bad())?;
        }
        if parts.next().is_some() {
            return Err(bad());
        }
        Ok(Mac(bytes))
    }
}

impl std::fmt::Display for Mac {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let [a, b, c, d, e, g] = self.0;
        write!(f, "{a:02x}:{b:02x}:{c:02x}:{d:02x}:{e:02x}:{g:02x}")
    }
}

/// Parses an IPv4 address, or a ValueError naming `field`.
pub fn address(field: &str, text: &str) -> Result<Ipv4Addr, PyErr> {
    text.parse().map_err(|_| PyValueError::new_err(format!("{field}: {text:?} is not an IPv4 address")))
}

/// The addresses around a group packet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Envelope {
    /// Ethernet source.
    pub eth_src: Mac,
    /// Ethernet destination.
    pub eth_dst: Mac,
    /// IPv4 source.
    pub ip_src: Ipv4Addr,
    /// IPv4 destination.
    pub ip_dst: Ipv4Addr,
    /// UDP source port.
    pub udp_src: u16,
    /// UDP destination port.
    pub udp_dst: u16,
}

impl Envelope {
    /// From the controller, whose messages come from the group port.
    pub fn from_controller(
        eth_src: Mac,
        eth_dst: Mac,
        ip_src: Ipv4Addr,
        ip_dst: Ipv4Addr,
        udp_dst: u16,
    ) -> Envelope {
        Envelope { eth_src, eth_dst, ip_src, ip_dst, udp_src: GROUP_PORT, udp_dst }
    }

    /// The frame around `group`, a group packet of at most 1,472 bytes. The UDP checksum is 0: none.
    pub fn wrap(&self, group: &[u8]) -> Vec<u8> {
        let udp_length = (UDP + group.len()) as u16;
        let mut frame = Vec::with_capacity(OVERHEAD + group.len());
        frame.extend_from_slice(&self.eth_dst.0);
        frame.extend_from_slice(&self.eth_src.0);
        frame.extend_from_slice(&[0x08, 0x00]);
        let mut ip = [0u8; IPV4];
        ip[0] = 0x45;
        ip[2..4].copy_from_slice(&(IPV4 as u16 + udp_length).to_be_bytes());
        ip[6] = 0x40; // don't fragment
        ip[8] = TTL;
        ip[9] = 17;
        ip[12..16].copy_from_slice(&self.ip_src.octets());
        ip[16..20].copy_from_slice(&self.ip_dst.octets());
        let sum = checksum(&ip);
        ip[10..12].copy_from_slice(&sum.to_be_bytes());
        frame.extend_from_slice(&ip);
        frame.extend_from_slice(&self.udp_src.to_be_bytes());
        frame.extend_from_slice(&self.udp_dst.to_be_bytes());
        frame.extend_from_slice(&udp_length.to_be_bytes());
        frame.extend_from_slice(&[0, 0]);
        frame.extend_from_slice(group);
        frame
    }

    /// The envelope and what is in it, or a ValueError that says which header is wrong.
    pub fn open(frame: &[u8]) -> Result<(Envelope, &[u8]), PyErr> {
        let bad = |what: &str| PyValueError::new_err(format!("frame: {what}"));
        if frame.len() < OVERHEAD {
            return Err(bad("too short for Ethernet, IPv4 and UDP"));
        }
        let (ethernet, rest) = frame.split_at(ETHERNET);
        let (ip, rest) = rest.split_at(IPV4);
        let (udp, payload) = rest.split_at(UDP);
        if ethernet[12..14] != [0x08, 0x00] || ip[0] != 0x45 || ip[9] != 17 {
            return Err(bad("not IPv4 with UDP"));
        }
        let length = usize::from(u16::from_be_bytes([udp[4], udp[5]]));
        let payload = length
            .checked_sub(UDP)
            .and_then(|n| payload.get(..n))
            .ok_or_else(|| bad("the UDP length is not the frame's"))?;
        let mac = |at: usize| {
            let mut bytes = [0; 6];
            bytes.copy_from_slice(&ethernet[at..at + 6]);
            Mac(bytes)
        };
        let address = |at: usize| Ipv4Addr::new(ip[at], ip[at + 1], ip[at + 2], ip[at + 3]);
        let envelope = Envelope {
            eth_dst: mac(0),
            eth_src: mac(6),
            ip_src: address(12),
            ip_dst: address(16),
            udp_src: u16::from_be_bytes([udp[0], udp[1]]),
            udp_dst: u16::from_be_bytes([udp[2], udp[3]]),
        };
        Ok((envelope, payload))
    }
}
