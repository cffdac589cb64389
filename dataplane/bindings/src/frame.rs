//! Ethernet, IPv4 and UDP around a group packet, for packets that the controller gets and sends through
//! switches.

use std::net::Ipv4Addr;

use groupflow_netsim::spec::Mac;
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

/// Parses an Ethernet address such as `02:00:0a:00:01:01`, or a ValueError naming `field`.
pub fn mac(field: &str, text: &str) -> Result<Mac, PyErr> {
    Mac::try_from(text.to_owned()).map_err(|problem| PyValueError::new_err(format!("{field}: {problem}")))
}

/// Parses an IPv4 address, or a ValueError naming `field`.
pub fn address(field: &str, text: &str) -> Result<Ipv4Addr, PyErr> {
    text.parse().map_err(|_| PyValueError::new_err(format!("{field}: {text:?} is not an IPv4 address")))
}

/// The addresses in the headers around a group packet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FrameAddresses {
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

impl FrameAddresses {
    /// From the controller, whose messages come from the group port.
    pub fn from_controller(
        eth_src: Mac, eth_dst: Mac, ip_src: Ipv4Addr, ip_dst: Ipv4Addr, udp_dst: u16,
    ) -> FrameAddresses {
        FrameAddresses { eth_src, eth_dst, ip_src, ip_dst, udp_src: GROUP_PORT, udp_dst }
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

    /// The addresses of a frame and its UDP payload, or a ValueError that says which header is wrong.
    pub fn open(frame: &[u8]) -> Result<(FrameAddresses, &[u8]), PyErr> {
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
        let addresses = FrameAddresses {
            eth_dst: mac(0),
            eth_src: mac(6),
            ip_src: address(12),
            ip_dst: address(16),
            udp_src: u16::from_be_bytes([udp[0], udp[1]]),
            udp_dst: u16::from_be_bytes([udp[2], udp[3]]),
        };
        Ok((addresses, payload))
    }
}
