//! The lines of a host and the dispatchers' service to each other, one JSON object each. The service is written
//! in Python (`groupflow.tree.connection`); both sides are tested with the lines of
//! `tests/support/tree-lines.json`.

use serde::de::IgnoredAny;
use serde::{Deserialize, Serialize};

use super::dispatcher::Members;
use super::message::{FromHost, ToHost, TreeJoin};
use super::names::ClusterId;

/// A line of a host.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum HostLine {
    /// The first line of each connection, by which the host introduces itself.
    Hello(HostHello),
    /// A message to a cluster's dispatcher.
    #[serde(untagged)]
    Message(ClusterLine<FromHost>),
}

/// The introduction of a host.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct HostHello {
    /// The host, with the token.
    pub join: TreeJoin,
    /// The key by which the host proves its name, hexadecimal digits.
    pub key: String,
    /// Whether the host is the source.
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
    /// The dispatcher's cluster.
    pub cluster: ClusterId,
    /// How often the host had joined a cluster when it sent the message, or the one that is answered.
    pub joins: u32,
    /// The message.
    #[serde(flatten)]
    pub message: Message,
}

/// A line of the service.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ServiceLine {
    /// The dispatchers know the host.
    Welcome {
        /// The root's cluster.
        root: ClusterId,
        /// `None`: nothing is encrypted.
        identity: Option<CertifiedKey>,
        /// Milliseconds between signs of life.
        alive_ms: Option<u64>,
    },
    /// The last line.
    Refused {
        /// The reason for programs.
        code: ServiceRefusal,
        /// The reason for people.
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
    /// A line of a later version, which is not for this host.
    #[serde(untagged, skip_serializing)]
    Other(IgnoredAny),
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
    /// The certificate.
    pub certificate: String,
    /// The certificate's key.
    pub key: String,
}
