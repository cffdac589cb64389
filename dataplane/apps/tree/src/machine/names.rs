//! Names in a clustered tree: hosts, clusters, routers, and the tickets of connections.

use std::fmt;
use std::net::SocketAddr;

use serde::de::Error;
use serde::{Deserialize, Deserializer, Serialize};

/// A host's number, which it chose at random.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct HostId(#[serde(with = "hex::number")] pub u64);

impl fmt::Display for HostId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "host {:x}", self.0)
    }
}

/// The number of a cluster and its dispatcher, chosen at random by the dispatcher above it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct ClusterId(#[serde(with = "hex::number")] pub u64);

impl fmt::Display for ClusterId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "cluster {:x}", self.0)
    }
}

/// A host's first router, as far as the host knows it: the hardware address of its gateway.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct RouterId(#[serde(with = "hex::number")] pub u64);

/// A host, and the address at which it takes children.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Peer {
    /// The host's number.
    pub host: HostId,
    /// The address at which it takes children.
    pub address: SocketAddr,
}

/// The secret by which a child proves itself to its parent; both get it from their dispatchers. It is never
/// shown.
#[derive(Clone, Copy, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Ticket(#[serde(with = "hex::bytes")] pub [u8; Ticket::BYTES]);

impl Ticket {
    /// The length in bytes.
    pub const BYTES: usize = 16;
}

/// The time of a comparison does not depend on how much of a guess is right.
impl PartialEq for Ticket {
    fn eq(&self, other: &Ticket) -> bool {
        let differences = self.0.iter().zip(&other.0).fold(0, |found, (x, y)| found | (x ^ y));
        std::hint::black_box(differences) == 0
    }
}

impl Eq for Ticket {}

impl fmt::Debug for Ticket {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Ticket(…)")
    }
}

/// A name that other hosts keep and show to people.
pub(super) fn shown<'de, D: Deserializer<'de>>(from: D) -> Result<String, D::Error> {
    let name = String::deserialize(from)?;
    let fits = name.len() <= 255 && !name.chars().any(char::is_control);
    fits.then_some(name).ok_or_else(|| D::Error::custom("name: must be at most 255 printable bytes"))
}

/// Numbers as hexadecimal digits in JSON, since many programs keep only 53 bits of a JSON number.
mod hex {
    use super::{Deserialize, Deserializer, Error};

    fn digits<'de, D: Deserializer<'de>>(from: D, most: usize) -> Result<String, D::Error> {
        let text = String::deserialize(from)?;
        let fits = (1..=most).contains(&text.len()) && text.bytes().all(|b| b.is_ascii_hexdigit());
        fits.then_some(text)
            .ok_or_else(|| D::Error::custom(format!("must be 1 to {most} hexadecimal digits")))
    }

    pub mod number {
        use super::*;
        use serde::Serializer;

        pub fn serialize<S: Serializer>(number: &u64, to: S) -> Result<S::Ok, S::Error> {
            to.collect_str(&format_args!("{number:x}"))
        }

        pub fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<u64, D::Error> {
            u64::from_str_radix(&digits(from, 16)?, 16).map_err(D::Error::custom)
        }
    }

    pub mod bytes {
        use super::*;
        use serde::Serializer;

        pub fn serialize<S: Serializer>(bytes: &[u8; 16], to: S) -> Result<S::Ok, S::Error> {
            to.collect_str(&format_args!("{:032x}", u128::from_be_bytes(*bytes)))
        }

        pub fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<[u8; 16], D::Error> {
            let number = u128::from_str_radix(&digits(from, 32)?, 16).map_err(D::Error::custom)?;
            Ok(number.to_be_bytes())
        }
    }
}
