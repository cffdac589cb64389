//! The bytes of frames as hosts write and read them: Ethernet, IPv4, UDP and TCP.

use std::net::Ipv4Addr;

use groupflow_base::feedback::{self, Feedback};

use crate::transit::FlowKey;

pub const ETHERNET: usize = 14;
/// Bytes of an IPv4 header without options.
pub const IPV4: usize = 20;
pub const UDP: usize = 8;
/// The offset of a frame's TCP or UDP header.
pub const TRANSPORT: usize = ETHERNET + IPV4;

const ETHERTYPE_IPV4: u16 = 0x0800;
const DONT_FRAGMENT: u16 = 0x4000;
/// More than the 64 that hosts usually begin with: lines of more nodes are simulated.
const TTL: u8 = 255;

/// IPv4's number of TCP.
pub const PROTOCOL_TCP: u8 = 6;
/// IPv4's number of UDP.
pub const PROTOCOL_UDP: u8 = 17;

/// Source and destination of a flow.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Addresses {
    pub source_mac: [u8; 6],
    /// The next hop's MAC.
    pub destination_mac: [u8; 6],
    pub source: Ipv4Addr,
    pub destination: Ipv4Addr,
    pub source_port: u16,
    pub destination_port: u16,
}

impl Addresses {
    /// The number that tells the flow from others.
    pub fn key(&self) -> FlowKey {
        let mut key = [0; 12];
        key[..4].copy_from_slice(&self.source.octets());
        key[4..8].copy_from_slice(&self.destination.octets());
        key[8..10].copy_from_slice(&self.source_port.to_be_bytes());
        key[10..].copy_from_slice(&self.destination_port.to_be_bytes());
        key
    }
}

/// Ethernet and IPv4 headers of a flow; varying fields are filled in for each packet.
#[derive(Debug, Clone)]
pub struct Template {
    bytes: [u8; TRANSPORT],
    /// The sum of the IPv4 header's words, without those that vary.
    sum: u32,
    identification: u16,
}

impl Template {
    pub fn new(addresses: &Addresses, protocol: u8) -> Template {
        let mut bytes = [0; TRANSPORT];
        bytes[..6].copy_from_slice(&addresses.destination_mac);
        bytes[6..12].copy_from_slice(&addresses.source_mac);
        bytes[12..14].copy_from_slice(&ETHERTYPE_IPV4.to_be_bytes());
        let ip = &mut bytes[ETHERNET..];
        ip[0] = 0x45;
        ip[6..8].copy_from_slice(&DONT_FRAGMENT.to_be_bytes());
        ip[8] = TTL;
        ip[9] = protocol;
        ip[12..16].copy_from_slice(&addresses.source.octets());
        ip[16..20].copy_from_slice(&addresses.destination.octets());
        let sum = words(ip);
        Template { bytes, sum, identification: 0 }
    }

    /// The headers with another time to live.
    pub fn with_ttl(mut self, ttl: u8) -> Template {
        self.bytes[ETHERNET + 8] = ttl;
        self.sum = words(&self.bytes[ETHERNET..]);
        self
    }

    /// Begins a packet of `length` bytes after the IPv4 header; `ecn` are the two ECN bits.
    #[inline]
    pub fn begin(&mut self, head: &mut Vec<u8>, length: u32, ecn: u8) {
        let total = (IPV4 as u32 + length) as u16;
        let identification = self.identification;
        self.identification = identification.wrapping_add(1);
        let sum = self.sum + u32::from(total) + u32::from(identification) + u32::from(ecn);
        head.clear();
        head.extend_from_slice(&self.bytes);
        head[15] = ecn;
        head[16..18].copy_from_slice(&total.to_be_bytes());
        head[18..20].copy_from_slice(&identification.to_be_bytes());
        head[24..26].copy_from_slice(&(!fold(sum)).to_be_bytes());
    }
}

/// Writes the head of a UDP datagram's frame, with these Ethernet and IPv4 headers. The payload goes on for
/// `tail` bytes that the head does not have.
pub fn write_datagram(
    headers: &mut Template, addresses: &Addresses, payload: &[u8], tail: u32, frame: &mut Vec<u8>,
) {
    let length = (UDP + payload.len()) as u32 + tail;
    headers.begin(frame, length, 0);
    frame.extend_from_slice(&addresses.source_port.to_be_bytes());
    frame.extend_from_slice(&addresses.destination_port.to_be_bytes());
    frame.extend_from_slice(&(length as u16).to_be_bytes());
    frame.extend_from_slice(&[0; 2]); // no checksum: IPv4 allows it
    frame.extend_from_slice(payload);
}

/// A frame as a host reads it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Received<'a> {
    /// A TCP or UDP packet.
    Transport {
        protocol: u8,
        ecn: u8,
        source: Ipv4Addr,
        source_port: u16,
        destination_port: u16,
        /// The transport header, and the rest of the head.
        segment: &'a [u8],
        /// Bytes from the transport header on, the tail included.
        length: u32,
    },
    /// A node's report to a host that shapes.
    Feedback(Feedback),
    /// Any other frame.
    Other,
}

pub fn read(head: &[u8], tail: u32) -> Received<'_> {
    match field16(head, 12) {
        Some(ETHERTYPE_IPV4) => read_ipv4(head, tail).unwrap_or(Received::Other),
        Some(feedback::ETHERTYPE) => Feedback::read(head).map_or(Received::Other, Received::Feedback),
        _ => Received::Other,
    }
}

fn read_ipv4(head: &[u8], tail: u32) -> Option<Received<'_>> {
    let ip = head.get(ETHERNET..TRANSPORT)?;
    let total = u32::from(field16(ip, 2)?);
    let there = (head.len() - ETHERNET) as u32 + tail;
    let fragment = field16(ip, 6)? & 0x3FFF;
    if ip[0] != 0x45 || total < IPV4 as u32 || total > there || fragment != 0 || fold(words(ip)) != 0xFFFF {
        return None;
    }
    let segment = &head[TRANSPORT..head.len().min(ETHERNET + total as usize)];
    Some(Received::Transport {
        protocol: ip[9],
        ecn: ip[1] & 3,
        source: Ipv4Addr::new(ip[12], ip[13], ip[14], ip[15]),
        source_port: field16(segment, 0)?,
        destination_port: field16(segment, 2)?,
        segment,
        length: total - IPV4 as u32,
    })
}

fn field16(bytes: &[u8], at: usize) -> Option<u16> {
    let field = bytes.get(at..at + 2)?;
    Some(u16::from_be_bytes([field[0], field[1]]))
}

/// The sum of 16-bit words.
#[inline]
fn words(bytes: &[u8]) -> u32 {
    bytes.chunks_exact(2).map(|word| u32::from(u16::from_be_bytes([word[0], word[1]]))).sum()
}

/// The ones' complement sum in 16 bits.
#[inline]
fn fold(sum: u32) -> u16 {
    let sum = (sum & 0xFFFF) + (sum >> 16);
    ((sum & 0xFFFF) + (sum >> 16)) as u16
}

#[cfg(test)]
#[path = "tests/wire.rs"]
mod tests;
