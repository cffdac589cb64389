//! Messages between hosts and dispatchers, and among the dispatchers of a tree.
//!
//! In JSON, a message is `{"say": NAME, "what": …}`; names, tickets and tokens are hexadecimal digits, and
//! times are in nanoseconds.

use groupflow_base::Nanos;
use groupflow_base::Token;
use serde::{Deserialize, Serialize};

use super::dispatcher::Below;
use super::names::{ClusterId, HostId, Peer, RouterId, Ticket};

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

/// A message between dispatchers, which are all in one process: messages arrive in order, and none is lost. A
/// message to the parent is for the cluster that is the parent when it arrives.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Between {
    /// To the parent: this host is the head of the sender's cluster, and needs to know its parent.
    Head {
        /// The head.
        head: Peer,
        /// A host that should have served the head lacks its next bytes; a host above may have them.
        behind: bool,
        /// The last [`Between::Attach`] that could not be carried out for that reason.
        tried: Option<Ticket>,
    },
    /// To a child: its head is to be connected to this host.
    Attach {
        /// The host of the parent's cluster.
        to: Peer,
        /// The ticket by which that host recognizes the head.
        ticket: Ticket,
        /// The head that the parent knew when it sent this.
        head: HostId,
        /// The delay of `to` from the source.
        delay: Nanos,
    },
    /// To a child: the delay from the source of the host to which its head is connected.
    Delay(Nanos),
    /// To the parent: the sender's head is to measure latencies again.
    Review,
    /// To a child: its head is to measure the latencies to these hosts of the parent's cluster, which have room.
    Probe(Vec<Peer>),
    /// To the parent: the latencies that the sender's head measured again, one way.
    Measured(Vec<(HostId, Nanos)>),
    /// To a child: the source lacks the next bytes of the child's head; this ticket was tried last.
    Gone(Ticket),
    /// To the sender of this [`Between::Attach`]: no host needs bytes any more that are kept for the head
    /// connected by it.
    Free(Ticket),
    /// To the parent: that [`Between::Attach`] and all orders of the cluster's hosts are carried out.
    Settled(Ticket),
    /// To a child: its head is slow and must be replaced.
    HeadSlow,
    /// To the parent: the sender's head is slow, and there is no other; it should be connected to a lower
    /// host.
    Lower,
    /// From the root: there is no place for the child's cluster; its hosts must begin again.
    Dissolve,
}

impl Between {
    /// Whether the message is for whichever cluster is the sender's parent.
    pub(super) fn is_to_parent(&self) -> bool {
        matches!(
            self,
            Between::Head { .. }
                | Between::Review
                | Between::Measured(_)
                | Between::Settled(_)
                | Between::Lower
        )
    }
}

/// The description of a cluster that is to be founded.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Founding {
    /// The cluster's name.
    pub cluster: ClusterId,
    /// The cluster's parent.
    pub parent: ClusterId,
    /// The source's cluster.
    pub root: ClusterId,
    /// The host that will be its head: the first one that joins.
    pub founder: HostId,
    /// The host to which the head is to be connected; `None`: the parent must be asked.
    pub attach: Option<(Peer, Ticket)>,
    /// The delay of that host from the source.
    pub delay: Nanos,
}

/// An action that a dispatcher asks its caller to carry out. All except a message are carried out before
/// anything else happens.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum DispatcherAction {
    /// Send a message to a host.
    Host(HostId, ToHost),
    /// Send a message to a dispatcher.
    Cluster(ClusterId, Between),
    /// A cluster that was below this one is below another from now on.
    Move {
        /// The cluster.
        cluster: ClusterId,
        /// The facts known about the cluster.
        below: Below,
        /// The cluster that takes it: one that was beside it, or this cluster's parent.
        to: ClusterId,
        /// Whether the other may put it below one of its own. A cluster that no host here can serve, or whose
        /// next bytes none has, is kept by the parent, since passing it on might bring it back for ever.
        may_pass_on: bool,
    },
    /// The cluster's hosts are gone: its parent forgets it, and takes these clusters, which were below it.
    Vanished(Vec<(ClusterId, Below)>),
    /// Run a dispatcher for a new cluster.
    Found(Founding),
    /// The dispatcher's cluster has ended; no further output follows.
    Ended,
}
