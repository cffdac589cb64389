//! What hosts and dispatchers tell each other, and dispatchers each other.
//!
//! In JSON, a message is `{"say": NAME, "what": …}`; names, tickets and tokens are hexadecimal digits, times nanoseconds.

use groupflow_base::Nanos;
use groupflow_base::Token;
use serde::{Deserialize, Serialize};

use super::dispatcher::Below;
use super::names::{ClusterId, HostId, Peer, RouterId, Ticket};

/// A host wants to be in the tree.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Join {
    /// Who, and where it takes children.
    pub peer: Peer,
    /// Its router, where it knows it.
    pub router: Option<RouterId>,
    /// Children that it offers to serve.
    pub capacity: u16,
    /// The session's.
    pub token: Token,
}

/// From a host to its dispatcher.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "say", content = "what", rename_all = "snake_case")]
pub enum FromHost {
    /// It wants to be in the tree.
    Join(Join),
    /// What it was asked to measure, one way; who did not answer is not there.
    Measured(Vec<(HostId, Nanos)>),
    /// It is connected to the parent that an order named, and to nobody else any more.
    Attached {
        /// The order's number.
        order: u32,
        /// To the parent, one way.
        latency: Nanos,
    },
    /// It is connected to nobody: its parent is gone, or could not be reached. An order that is under way may still be
    /// carried out.
    Lost {
        /// The number of its last order.
        order: u32,
        /// Whether the parent does not have what comes next any more: one above it may.
        gone: bool,
    },
    /// What waits for one of its children grows.
    Backlog {
        /// The child.
        child: HostId,
    },
    /// It is there.
    Alive,
    /// Its dispatcher could not be reached for a while, and may have been replaced from what was stored: this is the last order
    /// that it got, and whether it is carried out. The source has none, and says so whenever it comes. Who is connected to nobody and has no order under way says that it is lost, too.
    Back {
        /// The order's number.
        order: u32,
        /// Whether it is connected to the parent that the order named.
        attached: bool,
    },
    /// It leaves.
    Leave,
}

/// Why a dispatcher does not take a host.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RefusalCode {
    /// The token is another one.
    WrongToken,
    /// Nobody here can serve another child.
    Full,
    /// Too many are joining: try again.
    Busy,
    /// A message makes no sense where it comes.
    BadMessage,
    /// The cluster is no more: begin at the root.
    Ended,
}

/// From a dispatcher to a host.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "say", content = "what", rename_all = "snake_case")]
pub enum ToHost {
    /// Measure how far these are.
    Probe(Vec<Peer>),
    /// Join that cluster. Who has a place lets go of its parent and its children before.
    Redirect(ClusterId),
    /// Be connected to this parent, and to nobody else.
    Place {
        /// Goes up; of two orders the one with the larger number counts.
        order: u32,
        /// The parent.
        parent: Peer,
        /// What it knows the child by.
        ticket: Ticket,
    },
    /// A child will come.
    Expect {
        /// Who.
        child: HostId,
        /// What it is known by.
        ticket: Ticket,
    },
    /// That child has another parent, or is gone and those below it have others: it will not come any more, and
    /// nothing need be kept for it.
    Forget {
        /// Who.
        child: HostId,
    },
    /// Nobody has what comes next any more: go on with what comes, or break off.
    Gone,
    /// It may go when its children have.
    Released,
    /// It is not taken.
    Refused {
        /// Why, for programs.
        code: RefusalCode,
        /// Why, for people.
        text: String,
    },
}

/// Between dispatchers. Each pair's come in order.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "say", content = "what", rename_all = "snake_case")]
pub enum Between {
    /// To the parent: this host receives for my cluster, and needs to know from whom. To the root, when the parent is no
    /// more.
    Head {
        /// Who.
        head: Peer,
        /// How often I was given from one cluster to another ([`Below::moves`]).
        moves: u32,
        /// Somebody it was to receive from does not have what comes next for it any more: who is above may.
        behind: bool,
        /// The last [`Between::Attach`] that could not be carried out for that reason.
        tried: Option<Ticket>,
    },
    /// To a child: this head of yours is to be connected to this host.
    Attach {
        /// Of the parent's cluster.
        to: Peer,
        /// What it knows your head by.
        ticket: Ticket,
        /// The head that was known when this was said.
        head: HostId,
    },
    /// To a child: the source does not have what comes next for your head any more; this was tried last.
    Gone(Ticket),
    /// To who said this [`Between::Attach`]: nobody here needs any more what is kept for who was connected by it.
    Free(Ticket),
    /// To the parent: that [`Between::Attach`] is carried out, and so is all that my hosts were told.
    Settled(Ticket),
    /// To a child: your head is slow; take another.
    HeadSlow,
    /// To the parent: my head is slow, and there is no other; connect it to a lower host.
    Lower(Peer),
    /// To a child: you are below me now.
    Adopted {
        /// Your head, as far as I know.
        head: Peer,
        /// [`Below::moves`]: what was said before the last one counts no more, though it may come after it.
        moves: u32,
    },
    /// To a child: that cluster, which is beside you, is below you now.
    Adopt {
        /// Which.
        cluster: ClusterId,
        /// What is known of it; the latency is from your head to its.
        below: Below,
    },
    /// To a parent: I am below another, by the move with this number. It may have me again by a later one.
    Left(u32),
    /// To the parent: nobody of my cluster can serve that one or has what it needs next, or there are too many. It is kept, also beyond
    /// `Policy::max_clusters`: who passed it on again might get it back for ever.
    GiveBack {
        /// Which.
        cluster: ClusterId,
        /// What is known of it.
        below: Below,
    },
    /// From the root: there is no place for your cluster; its hosts are to begin again.
    Dissolve,
    /// To the parent: my cluster is empty, and these were below it.
    Vanished(Vec<(ClusterId, Below)>),
    /// From a cluster that was below the sender.
    Forwarded(ClusterId, Box<Between>),
    /// From a cluster that is empty, and is there only until nobody needs what is kept for its hosts: it does not take that.
    Returned(Box<Between>),
}

/// A cluster is to be founded.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Founding {
    /// Its name.
    pub cluster: ClusterId,
    /// What it is below.
    pub parent: ClusterId,
    /// The source's.
    pub root: ClusterId,
    /// Who will be its head; the first that joins.
    pub founder: HostId,
    /// What its head is to be connected to; `None`: the parent is to be asked.
    pub attach: Option<(Peer, Ticket)>,
}

/// What a dispatcher wants done.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "say", content = "what", rename_all = "snake_case")]
pub enum Output {
    /// Tell a host.
    Host(HostId, ToHost),
    /// Tell a dispatcher; what cannot be delivered comes back ([`super::Dispatcher::on_undelivered`]).
    Cluster(ClusterId, Between),
    /// Run a dispatcher for a new cluster.
    Found(Founding),
    /// This cluster is no more; nothing follows.
    Ended,
}
