//! The dialogue of a host with the dispatchers: how it joins, what it tells them, and their messages.

use std::collections::BTreeSet;
use std::net::{SocketAddr, SocketAddrV4};
use std::time::{Duration, Instant};

use groupflow_base::Nanos;
use groupflow_host::error::{exit, AgentError};

use super::drive::Drive;
use crate::agent::args::{SlowArg, TreeArgs};
use crate::agent::dispatcher_link::DispatcherLink;
use crate::agent::router;
use crate::machine::dialogue::{CertifiedKey, ClusterLine, HostHello, HostLine, ServiceLine, ServiceRefusal};
use crate::machine::{ClusterId, FromHost, HostId, Members, Peer, RefusalCode, ToHost, TreeJoin};

/// Pause before a refused host tries again, and its number of attempts.
const AGAIN: Duration = Duration::from_millis(300);
const ATTEMPTS: u32 = 40;
/// Dispatchers that are silent for this many of their signs of life are gone.
const SIGNS_MISSED: u32 = 4;

/// A dispatcher's message that other parts of the host carry out.
pub(super) enum DispatcherWord {
    /// None.
    Nothing,
    /// The connection is of no use any more.
    Lost,
    /// The dispatchers know the host, and have sent the tree's certificate.
    Welcome(Option<CertifiedKey>),
    Order(ToHost),
}

/// The dialogue, and the host's standing as the dispatchers told it last.
pub struct Dialogue {
    /// The connection to the dispatchers.
    pub(super) link: DispatcherLink,
    /// The host's introduction to a cluster; its router and its address may not be known yet.
    card: TreeJoin,
    key: u128,
    is_source: bool,
    /// The source's bound on the delay of its stream.
    pub(in crate::agent) delay_bound_ms: Option<f64>,
    /// Whether the source waits for hosts that are away.
    waits: bool,
    root: Option<ClusterId>,
    cluster: Option<ClusterId>,
    joins: u32,
    /// When a refused host joins again.
    retry_at: Option<Instant>,
    attempts: u32,
    order: u32,
    attached: bool,
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
            waits: args.slow == SlowArg::Wait,
            key: rand::random(),
            is_source,
            delay_bound_ms: None,
            root: None,
            cluster: None,
            joins: 0,
            retry_at: None,
            attempts: 0,
            order: 0,
            attached: false,
            members: Members::default(),
            lost_before: BTreeSet::new(),
            is_welcome: false,
            delay: None,
            ended: false,
        })
    }

    pub fn id(&self) -> HostId {
        self.card.peer.host
    }

    /// Whether the host has a parent, or is the source and was let in.
    pub fn is_in(&self) -> bool {
        self.attached || self.is_source && self.root.is_some()
    }

    /// Whether the dispatchers can be reached, as far as is known.
    pub fn is_connected(&self) -> bool {
        self.is_welcome && self.link.is_made()
    }

    /// Notes that the stream begins: hosts that were lost earlier were promised nothing.
    pub fn begin_stream(&mut self) {
        self.lost_before = self.members.lost.keys().copied().collect();
    }

    /// The names of the lost hosts.
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
    pub(super) fn try_again(&mut self, drive: &Drive) {
        if self.retry_at.is_some_and(|time| time <= drive.poller.now) {
            self.retry_at = None;
            self.join(self.root.filter(|_| !drive.node.is_leaving()));
        }
    }

    /// A dispatcher refused the host, which tries again after a pause. The error: it is of no use.
    pub(super) fn on_refusal(
        &mut self, drive: &mut Drive, code: RefusalCode, text: &str,
    ) -> Result<(), AgentError> {
        self.attempts += 1;
        if code == RefusalCode::WrongToken || self.attempts > ATTEMPTS {
            return Err(refused(text));
        }
        drive.node.begin_again(drive.nanos());
        let time = drive.poller.now + if code == RefusalCode::Ended { Duration::ZERO } else { AGAIN };
        self.retry_at = Some(time).filter(|_| !drive.node.is_leaving());
        Ok(())
    }

    pub(super) fn report(&mut self, message: FromHost) {
        match message {
            FromHost::Attached { order, .. } if order == self.order => {
                (self.attached, self.attempts) = (true, 0);
            }
            FromHost::Lost { .. } => self.attached = false,
            _ => {}
        }
        if let Some(cluster) = self.cluster {
            self.link.send(&HostLine::Message(ClusterLine { cluster, joins: self.joins, message }));
        }
    }

    pub(super) fn join(&mut self, cluster: Option<ClusterId>) {
        if cluster.is_some() {
            (self.cluster, self.order, self.attached) = (cluster, 0, false);
            self.joins += 1;
            self.report(FromHost::Join(self.card()));
        }
    }

    fn card(&self) -> TreeJoin {
        let mut card = TreeJoin { router: router::own(), ..self.card.clone() };
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
            root: self.root,
        };
        self.link.send(&HostLine::Hello(hello));
    }

    pub(super) fn on_line(
        &mut self, drive: &mut Drive, line: ServiceLine, is_dialling: bool,
    ) -> Result<DispatcherWord, AgentError> {
        match line {
            ServiceLine::Welcome { root, identity, alive_ms } => {
                self.on_welcome(drive, root, alive_ms, is_dialling)?;
                Ok(DispatcherWord::Welcome(identity))
            }
            ServiceLine::Refused { code, text } => self.on_refused(drive, code, &text),
            ServiceLine::Message(ClusterLine { cluster, joins, message: order }) => {
                if joins != self.joins || Some(cluster) != self.cluster {
                    return Ok(DispatcherWord::Nothing);
                }
                match &order {
                    ToHost::Place { order, .. } => (self.order, self.attached) = (*order, false),
                    ToHost::Delay { delay, bound } => self.delay = Some((*delay, *bound)),
                    _ => {}
                }
                Ok(DispatcherWord::Order(order))
            }
            ServiceLine::Members(members) => {
                self.lost_before.retain(|host| members.lost.contains_key(host));
                self.members = members;
                Ok(DispatcherWord::Nothing)
            }
            ServiceLine::Alive(_) | ServiceLine::Other(_) => Ok(DispatcherWord::Nothing),
        }
    }

    fn on_refused(
        &mut self, drive: &mut Drive, code: ServiceRefusal, text: &str,
    ) -> Result<DispatcherWord, AgentError> {
        match code {
            ServiceRefusal::Ended => {
                self.ended = true;
                self.link.lose(&mut drive.poller);
            }
            ServiceRefusal::NoTree => return Err(another_tree()),
            // There may be room when hosts have left.
            ServiceRefusal::Full => self.link.leave(drive.poller.now, &mut drive.poller, text),
            ServiceRefusal::Other => return Err(refused(text)),
        }
        Ok(DispatcherWord::Lost)
    }

    fn on_welcome(
        &mut self, drive: &mut Drive, root: ClusterId, alive_ms: Option<u64>, is_dialling: bool,
    ) -> Result<(), AgentError> {
        self.is_welcome = true;
        self.link.is_welcome();
        drive.node.conns.on_dispatchers(self.link.round_trip());
        self.link.expect_signs(alive_ms.map(|every| SIGNS_MISSED * Duration::from_millis(every)));
        if self.root.replace(root).is_some_and(|before| before != root) {
            return Err(another_tree());
        }
        let (order, attached) = (self.order, self.attached);
        if self.is_source {
            self.cluster = Some(root);
            self.report(FromHost::Back { order: 0, attached: true });
        }
        // These dispatchers may not have heard it before.
        if drive.node.has_all_read() {
            self.report(FromHost::Complete);
        }
        if drive.node.is_leaving() {
            self.report(FromHost::Leave);
        } else if !self.is_source && order == 0 {
            // The host may have been sent to another cluster before the connection was lost.
            self.retry_at = None;
            self.join(self.cluster.or(self.root));
        } else if !self.is_source {
            self.report(FromHost::Back { order, attached });
            if drive.node.parent().is_none() && !is_dialling {
                self.report(FromHost::Lost { order, gone: false });
            }
        }
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

#[cfg(test)]
#[path = "tests/dialogue.rs"]
mod tests;
