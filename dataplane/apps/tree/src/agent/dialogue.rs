//! The dialogue of a host with the dispatchers: how it joins, what it tells them, and their messages.

use std::collections::BTreeSet;
use std::fs;
use std::net::{SocketAddr, SocketAddrV4};
use std::time::{Duration, Instant};

use groupflow_base::Nanos;
use groupflow_host::error::{exit, AgentError};
use groupflow_host::poller::Poller;

use super::dial::HostPollKey;
use super::dispatcher_link::DispatcherLink;
use super::TreeArgs;
use crate::machine::messages::{ClusterLine, HostHello, HostLine, ServiceRefusal};
use crate::machine::{
    ClusterId, FromHost, HostId, Members, Peer, RefusalCode, RouterId, Slow, Standing, ToHost, TreeJoin,
    TreeNode,
};

/// Pause before a refused host tries again, and its number of attempts.
const AGAIN: Duration = Duration::from_millis(300);
const ATTEMPTS: u32 = 40;
/// Dispatchers that are silent for this many of their signs of life are gone.
const SIGNS_MISSED: u32 = 4;

/// The dialogue, and the host's standing as the dispatchers told it last.
pub struct Dialogue {
    pub(super) link: DispatcherLink,
    /// The host's introduction to a cluster; its router and its address may not be known yet.
    pub(super) card: TreeJoin,
    key: u128,
    is_source: bool,
    standing: Standing,
    /// The source's bound on the delay of its stream.
    pub(super) delay_bound_ms: Option<f64>,
    waits: bool,
    /// When a refused host joins again.
    retry_at: Option<Instant>,
    attempts: u32,
    /// The hosts of the tree, as the dispatchers tell the source.
    pub members: Members,
    /// Hosts that were lost before the stream began.
    lost_before: BTreeSet<HostId>,
    /// Whether the dispatchers have welcomed the host on the present connection.
    is_welcome: bool,
    /// The delay from the source and the tree's bound, as told when it came to be beyond it, or within again.
    pub delay: Option<(Nanos, Nanos)>,
    /// Whether the source has left: there are no dispatchers any more.
    pub ended: bool,
}

impl Dialogue {
    pub(super) fn new(
        args: &TreeArgs, host: HostId, is_source: bool, port: u16, now: Instant,
    ) -> Result<Dialogue, AgentError> {
        let trust = args.secure.trust(args.to)?;
        let address = SocketAddrV4::new(*args.listen.ip(), port);
        let (peer, token) = (Peer { host, address: SocketAddr::V4(address) }, args.token.clone());
        let patience = Duration::from_secs(args.patience);
        Ok(Dialogue {
            link: DispatcherLink::new(args.to, trust, patience, now),
            card: TreeJoin { peer, router: None, capacity: args.children, token, name: args.name.clone() },
            waits: args.slow == Slow::Wait,
            key: rand::random(),
            is_source,
            standing: Standing::new(is_source),
            delay_bound_ms: None,
            retry_at: None,
            attempts: 0,
            members: Members::default(),
            lost_before: BTreeSet::new(),
            is_welcome: false,
            delay: None,
            ended: false,
        })
    }

    /// Whether the host has a parent, or is the source and was let in.
    pub fn is_in(&self) -> bool {
        self.standing.is_in()
    }

    /// Whether the dispatchers can be reached, as far as is known.
    pub fn is_connected(&self) -> bool {
        self.is_welcome && self.link.is_made()
    }

    /// Notes that the stream begins: hosts that were lost earlier were promised nothing.
    pub fn begin_stream(&mut self) {
        self.lost_before = self.members.lost.keys().copied().collect();
    }

    pub fn lost(&self) -> Vec<String> {
        let lost = self.members.lost.iter().filter(|(host, _)| !self.lost_before.contains(host));
        lost.map(|(_, name)| name.clone()).collect()
    }

    /// The names of the hosts that are lost, or may have all bytes but did not say so.
    pub fn lost_or_receiving(&self) -> Vec<String> {
        let Members { receiving, names, .. } = &self.members;
        let unnamed = receiving.saturating_sub(names.len());
        let others = (unnamed > 0).then(|| format!("{unnamed} others"));
        [self.lost(), names.clone()].concat().into_iter().chain(others).collect()
    }

    /// When a refused host joins again, or the connection has work to do.
    pub(super) fn deadline(&self) -> Option<Instant> {
        let link = self.link.deadline().filter(|_| !self.ended);
        link.into_iter().chain(self.retry_at).min()
    }

    /// Lets a refused host join again, if it is time. A host that has begun to leave meanwhile does not: the
    /// dispatcher that refused it lets it go.
    pub(super) fn try_again(&mut self, now: Instant, is_leaving: bool) {
        if self.retry_at.is_some_and(|time| time <= now) {
            self.retry_at = None;
            self.join(self.standing.root.filter(|_| !is_leaving));
        }
    }

    /// A dispatcher refused the host, which tries again after a pause. The error: it is of no use.
    pub(super) fn on_refusal(
        &mut self, code: RefusalCode, text: &str, now: Instant,
    ) -> Result<(), AgentError> {
        self.attempts += 1;
        if code == RefusalCode::WrongToken || self.attempts > ATTEMPTS {
            return Err(refused(text));
        }
        self.retry_at = Some(now + if code == RefusalCode::Ended { Duration::ZERO } else { AGAIN });
        Ok(())
    }

    pub(super) fn report(&mut self, message: FromHost) {
        let line = self.standing.line(message);
        if self.standing.attached {
            self.attempts = 0;
        }
        self.send(line);
    }

    pub(super) fn join(&mut self, cluster: Option<ClusterId>) {
        let card = self.card();
        let line = cluster.map(|cluster| self.standing.join(cluster, card));
        self.send(line);
    }

    fn send(&mut self, lines: impl IntoIterator<Item = ClusterLine<FromHost>>) {
        lines.into_iter().for_each(|line| self.link.send(&HostLine::Message(line)));
    }

    fn card(&self) -> TreeJoin {
        let mut card = TreeJoin { router: own_router(), ..self.card.clone() };
        if let Some(own) = self.link.own_address().filter(|_| card.peer.address.ip().is_unspecified()) {
            card.peer.address.set_ip(own.into());
        }
        card
    }

    /// Introduces the host to dispatchers that it has just connected to.
    pub(super) fn greet(&mut self) {
        self.is_welcome = false;
        let hello = HostHello {
            join: self.card(),
            key: format!("{:032x}", self.key),
            source: self.is_source,
            delay_ms: self.delay_bound_ms,
            waits: self.waits,
            root: self.standing.root,
        };
        self.link.send(&HostLine::Hello(hello));
    }

    /// The order that a message of a dispatcher has for the node; `None`: it answers an earlier join.
    pub(super) fn order(&mut self, line: ClusterLine<ToHost>) -> Option<ToHost> {
        let message = self.standing.order(line)?;
        if let ToHost::Delay { delay, bound } = message {
            self.delay = Some((delay, bound));
        }
        Some(message)
    }

    pub(super) fn on_members(&mut self, members: Members) {
        self.lost_before.retain(|host| members.lost.contains_key(host));
        self.members = members;
    }

    /// The service refuses the host.
    pub(super) fn on_refused(
        &mut self, code: ServiceRefusal, text: &str, poller: &mut Poller<HostPollKey>,
    ) -> Result<(), AgentError> {
        match code {
            ServiceRefusal::Ended => {
                self.ended = true;
                self.link.lose(poller);
            }
            ServiceRefusal::NoTree => return Err(another_tree()),
            // There may be room when hosts have left.
            ServiceRefusal::Full => self.link.leave(poller.now, poller, text),
            ServiceRefusal::Other => return Err(refused(text)),
        }
        Ok(())
    }

    /// The dispatchers know the host. They may have been replaced, and are told again where it stands.
    pub(super) fn on_welcome(
        &mut self, root: ClusterId, alive_ms: Option<u64>, node: &TreeNode, is_dialling: bool,
    ) -> Result<(), AgentError> {
        self.is_welcome = true;
        self.link.welcome = true;
        self.link.silence = alive_ms.map(|every| SIGNS_MISSED * Duration::from_millis(every));
        let lines = self.standing.welcomed(root, node, is_dialling, self.card()).ok_or_else(another_tree)?;
        if lines.iter().any(|line| matches!(line.message, FromHost::Join(_))) {
            self.retry_at = None;
        }
        self.send(lines);
        Ok(())
    }
}

fn another_tree() -> AgentError {
    let cure = "start it again to be in the new tree";
    AgentError::new("ended", "the tree has ended, and another has begun, or will", cure)
}

fn refused(text: &str) -> AgentError {
    let cause = format!("refused by the dispatchers: {}", text.replace('\n', " "));
    AgentError { exit: exit::REFUSED, ..AgentError::new("refused", cause, "check the token and --to") }
}

/// The router that this host is behind, named by its gateway's hardware address. `None`: there is no gateway,
/// or nothing was sent over it yet, so that the kernel does not know the address.
fn own_router() -> Option<RouterId> {
    let gateway = gateway(&fs::read_to_string("/proc/net/route").ok()?)?;
    hardware(&fs::read_to_string("/proc/net/arp").ok()?, &gateway)
}

/// The default route's gateway, in dotted form. The columns are interface, destination and gateway; numbers
/// are hexadecimal, the lowest byte first.
fn gateway(routes: &str) -> Option<String> {
    let mut rows = routes.lines().skip(1).map(|line| line.split_whitespace().collect::<Vec<_>>());
    let row = rows.find(|row| row.len() > 2 && row[1] == "00000000" && row[2] != "00000000")?;
    let number = u32::from_str_radix(row[2], 16).ok()?;
    let [a, b, c, d] = number.to_le_bytes();
    Some(format!("{a}.{b}.{c}.{d}"))
}

/// The hardware address of a neighbour. The columns are address, type, flags and hardware address.
fn hardware(neighbours: &str, address: &str) -> Option<RouterId> {
    let mut rows = neighbours.lines().skip(1).map(|line| line.split_whitespace().collect::<Vec<_>>());
    let row = rows.find(|row| row.len() > 3 && row[0] == address)?;
    let digits: String = row[3].chars().filter(|&c| c != ':').collect();
    u64::from_str_radix(&digits, 16).ok().filter(|&number| number != 0).map(RouterId)
}

#[cfg(test)]
#[path = "tests/dialogue.rs"]
mod tests;
