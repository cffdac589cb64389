//! The settings of a session at this agent.

use std::net::{Ipv4Addr, SocketAddrV4};
use std::sync::Arc;

use groupflow_transport::fanout::Mode;
use groupflow_transport::terms::Policy;

/// The place in a stream at which a late branch begins.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LateStart {
    /// The branch begins at the join point.
    Now,
    /// The branch begins at the stream's start, if the cache still reaches back to it.
    Start,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BranchKind {
    Agent,
    /// A member's listener, with the member's number.
    Member(u32),
}

/// A downstream neighbour in the session's tree.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BranchSpec {
    pub kind: BranchKind,
    /// The branch's name in events and errors.
    pub name: String,
    pub address: SocketAddrV4,
    /// The place in a stream at which the branch begins if it joins late.
    pub join: LateStart,
    /// The links to it whose rate is known: name, and bytes a second that do not overflow a queue before it.
    pub links: Vec<(Arc<str>, u64)>,
}

impl BranchSpec {
    pub fn is_agent(&self) -> bool {
        self.kind == BranchKind::Agent
    }

    /// The member's number, or 0.
    pub fn member(&self) -> u32 {
        match self.kind {
            BranchKind::Agent => 0,
            BranchKind::Member(member) => member,
        }
    }

    pub fn is_same(&self, other: &BranchSpec) -> bool {
        (self.kind, self.address) == (other.kind, other.address)
    }
}

/// The treatment of the members' replies.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Replies {
    /// Only this member's replies go to the sender.
    Leader(u32),
    /// All members' replies go to the sender, in the order of arrival.
    Merge,
    Drop,
}

/// The desired state of one session at this agent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SessionSpec {
    pub id: u32,
    /// The address to which the session's senders connect.
    pub address: Ipv4Addr,
    pub ports: Vec<u16>,
    pub mode: Mode,
    /// Bound of each stream's cache, bytes.
    pub cache_bytes: u64,
    /// Acknowledged bytes kept for late members.
    pub history_bytes: u64,
    /// Bytes that E2E takes beyond those acknowledged by every branch.
    pub allowance_bytes: u64,
    /// The kernel's congestion control, e.g. cubic; `None`: the kernel's default.
    pub congestion: Option<String>,
    /// SO_SNDBUF of downstream connections; `None`: the kernel adapts it.
    pub send_buffer: Option<usize>,
    /// SO_RCVBUF of upstream connections; `None`: the kernel adapts it.
    pub receive_buffer: Option<usize>,
    pub policy: Policy,
    pub replies: Replies,
    /// Agents that may hand streams on to this one, besides those in `branches`.
    pub neighbours: Vec<Ipv4Addr>,
    /// The downstream branches: members, and agents with members behind them.
    pub branches: Vec<BranchSpec>,
}

impl SessionSpec {
    /// Bytes that are cached for slow branches before policy `isolate` goes on without them. In E2E the slow
    /// branches are then fed from the rest of the cache. In N2N they have all of the cache, and are removed.
    pub fn patience(&self) -> u64 {
        match self.mode {
            Mode::NodeToNode => self.cache_bytes,
            Mode::EndToEnd => self.allowance_bytes.min(self.cache_bytes / 2),
        }
    }

    /// Whether an agent at this address may hand streams on to this one.
    pub fn takes_from(&self, agent: Ipv4Addr) -> bool {
        self.neighbours.contains(&agent)
            || self.branches.iter().any(|branch| branch.is_agent() && *branch.address.ip() == agent)
    }

    pub fn wants_reply(&self, member: u32) -> bool {
        match self.replies {
            Replies::Leader(leader) => member == leader,
            Replies::Merge => true,
            Replies::Drop => false,
        }
    }
}
