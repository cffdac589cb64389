//! Messages between hosts and dispatchers.
//!
//! In JSON, a message is `{"say": NAME, "what": …}`; names, tickets and tokens are hexadecimal digits, and
//! times are in nanoseconds.

use groupflow_base::Nanos;
use groupflow_base::Token;
use serde::{Deserialize, Serialize};

use super::names::{self, ClusterId, HostId, Peer, RouterId, Ticket};

/// A host's request to be in the tree.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TreeJoin {
    /// The host, and the address at which it takes children.
    pub peer: Peer,
    /// The host's router, if the host knows it.
    pub router: Option<RouterId>,
    /// How many children the host offers to serve.
    pub capacity: u16,
    /// The session's token.
    pub token: Token,
    /// The host's name, for people: up to 255 bytes, printable.
    #[serde(default, deserialize_with = "names::shown")]
    pub name: String,
}

/// A message from a host to its dispatcher.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "say", content = "what", rename_all = "snake_case")]
pub enum FromHost {
    /// The host wants to be in the tree.
    Join(TreeJoin),
    /// The latencies that the host was asked to measure, to join or while it is in the tree, one way; hosts
    /// that did not answer are left out.
    Measured(Vec<(HostId, Nanos)>),
    /// The host is connected to the parent that an order named, and to no other.
    Attached {
        /// The order's number.
        order: u32,
        /// Latency to the parent, one way.
        latency: Nanos,
    },
    /// The host is connected to no parent: its parent is gone, or could not be reached. An order that is
    /// under way may still be carried out.
    Lost {
        /// The number of the host's last order.
        order: u32,
        /// Whether the parent lacks the host's next bytes, which a host above may have.
        gone: bool,
    },
    /// The backlog for one of the host's children grows.
    Backlog {
        /// The child.
        child: HostId,
    },
    /// The host is alive.
    Alive,
    /// The host could not reach its dispatcher for a while, which may have been restored from a stored state
    /// meanwhile. The fields tell the host's last order and whether it is carried out. The source has no
    /// orders, and says this whenever it connects. A host that is connected to no parent and has no order
    /// under way also says that it is lost.
    Back {
        /// The order's number.
        order: u32,
        /// Whether the host is connected to the parent that the order named.
        attached: bool,
    },
    /// The host has the whole stream, and its reader, too. It says this again after it has another parent.
    Complete,
    /// The host leaves the tree.
    Leave,
}

/// The reason why a dispatcher refuses a host.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RefusalCode {
    /// The token is wrong.
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
    /// Connect to this parent, and to no other.
    Place {
        /// The number of the order: a larger number overrides a smaller one.
        order: u32,
        /// The parent.
        parent: Peer,
        /// The ticket by which the parent recognizes the child.
        ticket: Ticket,
    },
    /// Expect a child to connect.
    Expect {
        /// The host that will connect.
        child: HostId,
        /// The ticket by which the child is recognized.
        ticket: Ticket,
    },
    /// Do not expect this child any more, and keep nothing for it: it has another parent, or it is gone and
    /// the hosts below it have other parents.
    Forget {
        /// The child.
        child: HostId,
    },
    /// The host's delay from the source, when it has come to be beyond the tree's bound, or within it again.
    Delay {
        /// The sum of the latencies of all edges, one way.
        delay: Nanos,
        /// [`super::Policy::delay_bound`].
        bound: Nanos,
    },
    /// No host has the next bytes any more: skip them, or break off the stream.
    Gone,
    /// The host may end once its children have left.
    Released,
    /// The host is refused.
    Refused {
        /// The reason for programs.
        code: RefusalCode,
        /// The reason for people.
        text: String,
    },
}
