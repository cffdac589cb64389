//! Who is who in a clustered tree.

use std::fmt;
use std::net::SocketAddr;

use serde::{Deserialize, Serialize};

/// A host, chosen by it at random.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct HostId(#[serde(with = "hex::number")] pub u64);

impl fmt::Display for HostId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "host {:x}", self.0)
    }
}

/// A cluster, and its dispatcher; chosen at random by the dispatcher that lets it be founded.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct ClusterId(#[serde(with = "hex::number")] pub u64);

impl fmt::Display for ClusterId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "cluster {:x}", self.0)
    }
}

/// A host's first router, as far as the host knows it: its gateway's hardware address.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct RouterId(#[serde(with = "hex::number")] pub u64);

/// A host, and where it takes children.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Peer {
    /// Who.
    pub host: HostId,
    /// Where.
    pub address: SocketAddr,
}

/// What a child proves itself with to its parent: both are told it by their dispatcher. Never shown.
#[derive(Clone, Copy, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Ticket(#[serde(with = "hex::bytes")] pub [u8; Ticket::BYTES]);

impl Ticket {
    /// Its length.
    pub const BYTES: usize = 16;
}

/// In a time that does not tell how much of a guess was right.
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

/// Hexadecimal digits in JSON, whose numbers many programs keep to 53 bits only.
mod hex {
    use serde::de::Error;
    use serde::{Deserialize, Deserializer};

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
