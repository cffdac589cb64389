//! The dialogue of hosts and dispatchers: the names of hosts and clusters, the messages, and the lines that
//! carry them.
//!
//! In JSON, a message is `{"say": NAME, "what": …}`; names, tickets and tokens are hexadecimal digits, and
//! times are in nanoseconds. A line is one JSON object. The dispatchers' service is written in Python
//! (`groupflow.tree.service`); both sides are tested with the lines of `tests/support/tree-lines.json`.

use std::collections::BTreeMap;
use std::fmt;
use std::mem::size_of;
use std::net::SocketAddr;

use groupflow_base::{Nanos, Token};
use serde::de::{Error, IgnoredAny};
use serde::{Deserialize, Deserializer, Serialize};

/// A host's number, which it chose at random.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct HostId(#[serde(with = "hex")] pub u64);

impl fmt::Display for HostId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "host {:x}", self.0)
    }
}

/// The number of a cluster and its dispatcher, chosen at random by the dispatcher above it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct ClusterId(#[serde(with = "hex")] pub u64);

impl fmt::Display for ClusterId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "cluster {:x}", self.0)
    }
}

/// A host's first router, as far as the host knows it: the hardware address of its gateway.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct RouterId(#[serde(with = "hex")] pub u64);

/// A host, and the address at which it takes children.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Peer {
    pub host: HostId,
    pub address: SocketAddr,
}

/// The secret by which a child proves itself to its parent; both get it from their dispatchers. It is never
/// shown.
#[derive(Clone, Copy, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Ticket(
    #[serde(serialize_with = "hex::serialize_all", deserialize_with = "hex::deserialize")] pub u128,
);

/// The time of a comparison does not depend on how much of a guess is right.
impl PartialEq for Ticket {
    fn eq(&self, other: &Ticket) -> bool {
        std::hint::black_box(self.0 ^ other.0) == 0
    }
}

impl Eq for Ticket {}

impl fmt::Debug for Ticket {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Ticket(…)")
    }
}

/// A host's request to be in the tree.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TreeJoin {
    pub peer: Peer,
    pub router: Option<RouterId>,
    /// How many children the host offers to serve.
    pub capacity: u16,
    pub token: Token,
    /// The host's name, for people: up to 255 bytes, printable.
    #[serde(default, deserialize_with = "shown")]
    pub name: String,
}

/// A message from a host to its dispatcher.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "say", content = "what", rename_all = "snake_case")]
pub enum FromHost {
    /// The host asks to be in the cluster.
    Join(TreeJoin),
    /// The latencies that the host was asked to measure, to join or while it is in the tree, one way; hosts
    /// that did not answer are left out.
    Measured(Vec<(HostId, Nanos)>),
    /// The host is connected to the parent that this order named, and to no other. The latency to the parent
    /// is one way.
    Attached { order: u32, latency: Nanos },
    /// The host is connected to no parent: its parent is gone, or could not be reached. `order` is the host's
    /// last, which may still be carried out; `gone`: the parent lacks the host's next bytes, which a host
    /// above may have.
    Lost { order: u32, gone: bool },
    /// The backlog for one of the host's children grows.
    Backlog { child: HostId },
    /// The host lives.
    Alive,
    /// The host could not reach its dispatcher for a while, which may have been restored from a stored state
    /// meanwhile. The fields tell the host's last order and whether it is carried out. The source has no
    /// orders, and says this whenever it connects. A host that is connected to no parent and has no order
    /// under way also says that it is lost.
    Back { order: u32, attached: bool },
    /// The host has the whole stream, and its reader, too. It says this again after it has another parent.
    Complete,
    /// The host leaves once it is released.
    Leave,
}

/// The reason why a dispatcher refuses a host.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RefusalCode {
    WrongToken,
    /// No host here can serve another child.
    Full,
    /// Too many hosts are joining: try again.
    Busy,
    /// The message is wrong in its context.
    BadMessage,
    /// The cluster has ended: begin at the root.
    Ended,
}

/// A message from a dispatcher to a host.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "say", content = "what", rename_all = "snake_case")]
pub enum ToHost {
    /// Measure the latency to these hosts.
    Probe(Vec<Peer>),
    /// Join that cluster. A host that has a place leaves its parent and its children before.
    Redirect(ClusterId),
    /// Connect to this parent, which recognizes the child by the ticket, and to no other. An order with a
    /// larger number overrides one with a smaller.
    Place { order: u32, parent: Peer, ticket: Ticket },
    /// Expect a child to connect, which is recognized by the ticket.
    Expect { child: HostId, ticket: Ticket },
    /// Do not expect this child any more, and keep nothing for it: it has another parent, or it is gone and
    /// the hosts below it have other parents.
    Forget { child: HostId },
    /// The host's delay from the source (the sum of the latencies of all edges, one way), when it has come to
    /// be beyond [`super::Policy::delay_bound`], or within it again.
    Delay { delay: Nanos, bound: Nanos },
    /// No host has the next bytes any more: skip them, or break off the stream.
    Gone,
    /// The host may end once its children have left.
    Released,
    /// The host is refused, for this reason: the code is for programs, the text for people.
    Refused { code: RefusalCode, text: String },
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum HostLine {
    /// The first line of each connection, by which the host introduces itself.
    Hello(HostHello),
    /// A message to a cluster's dispatcher.
    #[serde(untagged)]
    Message(ClusterLine<FromHost>),
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct HostHello {
    pub join: TreeJoin,
    /// The key by which the host proves its name, hexadecimal digits.
    pub key: String,
    pub source: bool,
    /// The source's bound on the delay of its stream.
    pub delay_ms: Option<f64>,
    /// Whether the source waits for hosts that are away.
    #[serde(default)]
    pub waits: bool,
    /// The tree that the host is in.
    pub root: Option<ClusterId>,
}

/// A message between a host and a cluster's dispatcher.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ClusterLine<Message> {
    pub cluster: ClusterId,
    /// How often the host had joined a cluster when it sent the message, or the one that is answered.
    pub joins: u32,
    #[serde(flatten)]
    pub message: Message,
}

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ServiceLine {
    /// The dispatchers know the host, and give a sign of life in this time. Without an identity nothing is
    /// encrypted.
    Welcome { root: ClusterId, identity: Option<CertifiedKey>, alive_ms: Option<u64> },
    /// The last line: the code is for programs, the text for people.
    Refused {
        code: ServiceRefusal,
        #[serde(default)]
        text: String,
    },
    /// The hosts in the tree, and those that lack bytes of the stream, for the source.
    Members(Members),
    /// A sign of life.
    Alive(bool),
    /// A message of a cluster's dispatcher.
    #[serde(untagged)]
    Message(ClusterLine<ToHost>),
    /// A welcome that this version does not know.
    #[serde(untagged, skip_serializing)]
    BadWelcome { welcome: IgnoredAny },
    /// A line of a later version, which is not for this host.
    #[serde(untagged, skip_serializing)]
    Other(IgnoredAny),
}

/// The hosts of the tree, as the source is told.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Members {
    /// How many hosts have a parent.
    pub hosts: usize,
    /// How many hosts lack bytes, here or away.
    pub receiving: usize,
    /// The names of some of these.
    pub names: Vec<String>,
    /// Those that left or died before they had all bytes.
    pub lost: BTreeMap<HostId, String>,
}

/// Why the service refuses a host.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ServiceRefusal {
    /// The source has left.
    Ended,
    /// The source's tree is no more.
    NoTree,
    /// As many hosts are connected as may be.
    Full,
    /// Another reason, which the text has.
    #[serde(other)]
    Other,
}

/// The tree's certificate and its key, in PEM.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct CertifiedKey {
    pub certificate: String,
    pub key: String,
}

/// A name that other hosts keep and show to people.
fn shown<'de, D: Deserializer<'de>>(from: D) -> Result<String, D::Error> {
    let name = String::deserialize(from)?;
    let fits = name.len() <= 255 && !name.chars().any(char::is_control);
    fits.then_some(name).ok_or_else(|| D::Error::custom("name: must be at most 255 printable bytes"))
}

/// Numbers as hexadecimal digits in JSON, since many programs keep only 53 bits of a JSON number.
mod hex {
    use serde::Serializer;

    use super::*;

    pub fn serialize<S: Serializer>(number: &impl fmt::LowerHex, to: S) -> Result<S::Ok, S::Error> {
        to.collect_str(&format_args!("{number:x}"))
    }

    /// Writes all digits, also zeros.
    pub fn serialize_all<S: Serializer>(number: &u128, to: S) -> Result<S::Ok, S::Error> {
        to.collect_str(&format_args!("{number:032x}"))
    }

    pub fn deserialize<'de, N: TryFrom<u128>, D: Deserializer<'de>>(from: D) -> Result<N, D::Error> {
        let text = String::deserialize(from)?;
        let is_number = text.bytes().all(|digit| digit.is_ascii_hexdigit());
        let number = u128::from_str_radix(&text, 16).ok().filter(|_| is_number);
        let fits = number.and_then(|number| N::try_from(number).ok());
        fits.ok_or_else(|| {
            D::Error::custom(format!("must be hexadecimal digits of {} bytes", size_of::<N>()))
        })
    }
}
