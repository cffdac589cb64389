//! Ethernet, IPv4 and UDP around a group packet, for packets that the controller gets and sends through
//! switches.

use std::net::Ipv4Addr;

use groupflow_netsim::spec::Mac;
use groupflow_netsim::wire::{read, write_datagram, Addresses, Received, Template, PROTOCOL_UDP, UDP};
use pyo3::exceptions::PyValueError;
use pyo3::PyErr;

/// Hops a frame of the controller may take.
const TTL: u8 = 64;

/// Parses an Ethernet address such as `02:00:0a:00:01:01`, or a ValueError naming `field`.
pub fn mac(field: &str, text: &str) -> Result<[u8; 6], PyErr> {
    let mac = Mac::try_from(text.to_owned());
    mac.map(|mac| mac.0).map_err(|problem| PyValueError::new_err(format!("{field}: {problem}")))
}

/// Parses an IPv4 address, or a ValueError naming `field`.
pub fn address(field: &str, text: &str) -> Result<Ipv4Addr, PyErr> {
    text.parse().map_err(|_| PyValueError::new_err(format!("{field}: {text:?} is not an IPv4 address")))
}

/// The frame around `group`, a group packet of at most 1,472 bytes.
pub fn wrap(addresses: &Addresses, group: &[u8]) -> Vec<u8> {
    let mut frame = Vec::new();
    let mut headers = Template::new(addresses, PROTOCOL_UDP).with_ttl(TTL);
    write_datagram(&mut headers, addresses, group, 0, &mut frame);
    frame
}

/// The sender of a frame: its Ethernet and IPv4 address and its UDP port.
pub type Sender = (Mac, Ipv4Addr, u16);

/// The sender of a frame and its UDP payload, or a ValueError.
pub fn open(frame: &[u8]) -> Result<(Sender, &[u8]), PyErr> {
    let bad = |what: &str| PyValueError::new_err(format!("frame: {what}"));
    let Received::Transport { protocol: PROTOCOL_UDP, source, source_port, segment, .. } = read(frame, 0)
    else {
        return Err(bad("not IPv4 with UDP"));
    };
    let length = segment.get(4..6).map_or(0, |field| usize::from(field[0]) << 8 | usize::from(field[1]));
    let payload = segment.get(UDP..length).ok_or_else(|| bad("the UDP length is not the frame's"))?;
    let mut mac = [0; 6];
    mac.copy_from_slice(&frame[6..12]);
    Ok(((Mac(mac), source, source_port), payload))
}
