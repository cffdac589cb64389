//! A controller in miniature: members, tree, delegation, timeouts.

use std::collections::BTreeMap;
use std::net::SocketAddrV4;

use groupflow_base::{BitRate, Nanos};
use groupflow_session::control::{
    Answer, Delegated, JoinRequest, Joined, LeaveReason, Notice, NoticeKind, Refusal, Reply, ReportKind,
    Request, RequestId, Role, StartAt,
};
use groupflow_transport::terms::{Mode, Policy};
use groupflow_transport::wire::{GroupPacket, Header, Kind};
use groupflow_transport::{MemberId, Seq, SessionId};

use super::switch::{LinkFrame, PortId, StreamEntry, SwitchModel};

/// The interval of keepalives that members are told.
pub const KEEPALIVE_MS: u16 = 500;
/// A member is lost after this silence.
const LOST: Nanos = Nanos::from_millis(1_700);
/// A receiver may hold its stream for this long.
const HELD: Nanos = Nanos::from_secs(60);
/// A notice is sent again at so many keepalives.
const REPEATS: u32 = 3;

/// The terms of every session.
#[derive(Debug, Clone)]
pub struct Rules {
    /// The node that acknowledges.
    pub mode: Mode,
    /// The effect of a slow receiver.
    pub policy: Policy,
    /// The window in packets.
    pub window: u32,
    /// The rate at which a sender begins.
    pub rate: BitRate,
    /// The token that hosts must show.
    pub token: String,
    /// Whether sessions use cache agents.
    pub agents: bool,
    /// Whether slow branches are taken out of the replication.
    pub decouple: bool,
    /// Whether a stream stays in switches and caches after its sender is done. The controller ends it.
    pub keeps_streams: bool,
}

#[derive(Debug)]
struct MemberRecord {
    id: MemberId,
    session: SessionId,
    role: Role,
    name: String,
    address: SocketAddrV4,
    switch: usize,
    port: PortId,
    heard: Nanos,
    /// The stream and the packet that the last KEEPALIVE named, and since when the packet is the same.
    place: (MemberId, u32, Nanos),
    request: RequestId,
    /// A sender that is done: its stream stays in the caches.
    ended: bool,
}

/// A reply on its way to a host.
pub struct Post {
    /// The host.
    pub to: SocketAddrV4,
    /// The reply as a packet.
    pub bytes: Vec<u8>,
}

/// The controller of some switches.
#[derive(Debug)]
pub struct ControllerModel {
    /// The terms of every session.
    pub rules: Rules,
    /// Whether the controller answers; its owner asks it nothing while it does not.
    pub alive: bool,
    /// The reports that came: kind, and the member that each is about.
    pub reports: Vec<(ReportKind, MemberId)>,
    /// Notices that are repeated at the next keepalives of a host: its address, and how often.
    owed: Vec<(SocketAddrV4, Notice, u32)>,
    members: Vec<MemberRecord>,
    next_id: u16,
    /// The port of each switch that leads to each other switch.
    pub paths: BTreeMap<(usize, usize), PortId>,
    /// The port of each switch's cache agent.
    pub agents: Vec<Option<PortId>>,
}

impl ControllerModel {
    /// A controller without members.
    pub fn new(rules: Rules) -> ControllerModel {
        ControllerModel {
            rules,
            alive: true,
            reports: Vec::new(),
            owed: Vec::new(),
            members: Vec::new(),
            next_id: 1,
            paths: BTreeMap::new(),
            agents: Vec::new(),
        }
    }

    /// Forgets everybody, as a controller without a store would after a restart.
    #[allow(dead_code)] // only the groups in virtual time have a controller that restarts
    pub fn forget_members(&mut self) {
        self.members.clear();
    }

    /// Takes a frame that the switch `at` punted; returns the replies to hosts.
    pub fn receive(
        &mut self, now: Nanos, switches: &mut [SwitchModel], at: (usize, PortId), frame: &LinkFrame,
    ) -> Vec<Post> {
        let Ok(packet) = GroupPacket::parse(&frame.bytes) else { return Vec::new() };
        let header = packet.header;
        let Ok(request) = Request::parse(header.kind, packet.payload) else { return Vec::new() };
        let known = self.members.iter_mut().find(|m| m.id == header.member && m.address == frame.from);
        if let Some(member) = known {
            member.heard = now;
        }
        let to = frame.from;
        match request {
            Request::Join(join) => self.join(now, switches, at, header, to, join),
            Request::Leave { request, reason } => {
                let sender =
                    self.members.iter_mut().find(|m| m.id == header.member && m.role == Role::Sender);
                let keeps = self.rules.keeps_streams && reason == LeaveReason::Done;
                if let Some(sender) = sender.filter(|_| keeps) {
                    sender.ended = true;
                    return vec![post(to, header, request, Answer::Left)];
                }
                let mut posts = vec![post(to, header, request, Answer::Left)];
                posts.extend(self.remove(switches, header.member, NoticeKind::MemberLeft));
                posts
            }
            Request::Keepalive { request, next, .. } => {
                let member = self.members.iter_mut().find(|m| m.id == header.member && m.address == to);
                if let Some(member) = member.filter(|m| (m.place.0, m.place.1) != (header.source, next)) {
                    member.place = (header.source, next, now);
                }
                let answer = self.alive(header, to);
                // The notices come first: a sender may say "complete" when it hears the answer.
                let mut posts = Vec::new();
                for (_, notice, left) in self.owed.iter_mut().filter(|owed| owed.0 == to) {
                    posts.push(post(to, header, RequestId(0), Answer::Notice(notice.clone())));
                    *left -= 1;
                }
                self.owed.retain(|owed| owed.2 > 0);
                posts.push(post(to, header, request, answer));
                posts
            }
            Request::Query(request) => {
                let answer = Answer::Delegated(self.delegation(header.session, header.source));
                vec![post(to, header, request, answer)]
            }
            Request::Report(report) => {
                self.reports.push((report.kind, report.about));
                self.decouple(switches, header, report.kind, report.about);
                let answer = self.alive(header, to);
                let mut posts = vec![post(to, header, report.request, answer)];
                if report.kind == ReportKind::Complete {
                    posts.extend(self.tell(header.session, header.member, NoticeKind::MemberComplete));
                }
                posts
            }
        }
    }

    /// Takes a slow receiver out of the replication, and back in.
    fn decouple(&self, switches: &mut [SwitchModel], header: Header, kind: ReportKind, about: MemberId) {
        let member = self.members.iter().find(|m| m.id == about).filter(|_| self.rules.decouple);
        let Some(member) = member else { return };
        let streams = &mut switches[member.switch].streams;
        let Some(entry) = streams.get_mut(&(header.session, header.source)) else { return };
        match kind {
            ReportKind::SlowBranch => _ = entry.decoupled.insert(member.port),
            ReportKind::CaughtUp => _ = entry.decoupled.remove(&member.port),
            _ => {}
        }
    }

    fn alive(&self, header: Header, from: SocketAddrV4) -> Answer {
        let member = self.members.iter().any(|m| m.id == header.member && m.address == from);
        if !member {
            return Answer::Unknown;
        }
        let receivers = self.receivers(header.session);
        let mut senders =
            self.members.iter().filter(|m| (m.session, m.role) == (header.session, Role::Sender));
        let named = header.source != MemberId::NONE;
        Answer::Alive { receivers, sources: u8::from(senders.any(|m| !named || m.id == header.source)) }
    }

    fn delegation(&self, session: SessionId, source: MemberId) -> Delegated {
        Delegated {
            session,
            source,
            active: true,
            mode: self.rules.mode,
            policy: self.rules.policy,
            window: self.rules.window,
            branches: 1,
            max_bytes: 0,
            rate: self.rules.rate,
            shares: Vec::new(),
        }
    }

    fn join(
        &mut self, now: Nanos, switches: &mut [SwitchModel], (switch, port): (usize, PortId), header: Header,
        to: SocketAddrV4, join: JoinRequest,
    ) -> Vec<Post> {
        if join.token != self.rules.token && join.role != Role::Cache {
            let text = "the token is not the session's".to_owned();
            let code = Refusal::WrongToken;
            return vec![post(to, header, join.request, Answer::Refused { code, text })];
        }
        let repeated = self.members.iter().find(|m| m.address == to && m.request == join.request);
        let id = match repeated {
            Some(member) => member.id,
            None => {
                let id = if header.member == MemberId::NONE {
                    let id = MemberId(self.next_id);
                    self.next_id += 1;
                    id
                } else {
                    header.member
                };
                self.members.retain(|m| m.address != to);
                self.members.push(MemberRecord {
                    id,
                    session: header.session,
                    role: join.role,
                    name: join.name.clone(),
                    address: to,
                    switch,
                    port,
                    heard: now,
                    place: (header.source, 0, now),
                    request: join.request,
                    ended: false,
                });
                id
            }
        };
        let source = match join.role {
            Role::Sender => id,
            _ if join.start == StartAt::Resume && header.source != MemberId::NONE => {
                let named = self.members.iter().find(|m| m.id == header.source && m.role == Role::Sender);
                named.map_or(MemberId::NONE, |m| m.id)
            }
            _ => self.sender(header.session).map_or(MemberId::NONE, |m| m.id),
        };
        let begun = self.begun(switches, header.session);
        self.build(switches, header.session);
        let start_seq = match join.start {
            StartAt::Resume => header.seq,
            StartAt::Now if begun => Seq::ZERO,
            _ => Seq::FIRST,
        };
        let joined = Joined {
            member: id,
            source,
            window: self.rules.window,
            // As without a limit on the own link: known once there are branches.
            rate: if self.receivers(header.session) == 0 { BitRate(0) } else { self.rules.rate },
            mode: self.rules.mode,
            policy: self.rules.policy,
            keepalive_ms: KEEPALIVE_MS,
            receivers: self.receivers(header.session),
            start_seq,
        };
        let mut posts = vec![post(to, header, join.request, Answer::Joined(joined))];
        if repeated_is_none(&posts, join.role) {
            posts.extend(self.tell(header.session, id, NoticeKind::MemberJoined));
        }
        posts
    }

    fn begun(&self, switches: &[SwitchModel], session: SessionId) -> bool {
        let streams = switches.iter().flat_map(|s| &s.streams);
        streams.filter(|(key, _)| key.0 == session).any(|(_, entry)| entry.data_seen > 0)
    }

    /// Writes the tree of the session into the switches, keeping the registers of old branches.
    fn build(&self, switches: &mut [SwitchModel], session: SessionId) {
        let Some(sender) = self.sender(session) else { return };
        let key = (session, sender.id);
        let mut wanted: Vec<BTreeMap<PortId, ()>> = vec![BTreeMap::new(); switches.len()];
        for member in self.members.iter().filter(|m| m.session == session && m.role == Role::Receiver) {
            wanted[member.switch].insert(member.port, ());
            if member.switch != sender.switch {
                wanted[sender.switch].insert(self.paths[&(sender.switch, member.switch)], ());
            }
        }
        for (index, switch) in switches.iter_mut().enumerate() {
            let upstream = match index == sender.switch {
                true => sender.port,
                false => self.paths[&(index, sender.switch)],
            };
            let entry = switch.streams.entry(key).or_insert_with(StreamEntry::default);
            entry.upstream = upstream;
            entry.agent = self.agents[index].filter(|_| self.rules.agents);
            entry.agent_acknowledges = entry.agent.is_some()
                && (self.rules.mode, self.rules.policy) != (Mode::EndToEnd, Policy::Strict);
            entry.branches.retain(|port, _| wanted[index].contains_key(port));
            for &port in wanted[index].keys() {
                entry.branches.entry(port).or_insert(1);
            }
        }
    }

    fn remove(&mut self, switches: &mut [SwitchModel], id: MemberId, what: NoticeKind) -> Vec<Post> {
        let Some(index) = self.members.iter().position(|m| m.id == id) else { return Vec::new() };
        let session = self.members[index].session;
        let was_sender = self.members[index].role == Role::Sender;
        if was_sender && !self.rules.keeps_streams {
            switches.iter_mut().for_each(|switch| _ = switch.streams.remove(&(session, id)));
        }
        let posts_before = was_sender.then(|| self.tell(session, id, what));
        let name = self.members.remove(index).name;
        if let Some(posts) = posts_before {
            return posts;
        }
        self.build(switches, session);
        self.tell_named(session, id, what, &name)
    }

    /// Removes the members that were silent too long, or held their stream too long; returns the notices of
    /// that to the others.
    pub fn expire(&mut self, now: Nanos, switches: &mut [SwitchModel]) -> Vec<Post> {
        let silent = self.members.iter().filter(|m| !m.ended && now - m.heard > LOST);
        let lost: Vec<MemberId> = silent.map(|m| m.id).collect();
        let holding: Vec<(MemberId, SessionId, SocketAddrV4)> =
            self.holding(now).map(|m| (m.id, m.session, m.address)).collect();
        let mut posts = Vec::new();
        for (about, session, address) in &holding {
            let (what, text) = (NoticeKind::MemberLost, "it acknowledged nothing".to_owned());
            let notice = Notice { what, about: *about, text, receivers: 0, rate: BitRate(0) };
            let header = Header::new(Kind::Reply, *session, MemberId::NONE);
            posts.push(post(*address, header, RequestId(0), Answer::Notice(notice)));
        }
        let gone = lost.into_iter().chain(holding.into_iter().map(|holder| holder.0));
        posts.extend(
            gone.flat_map(|id| self.remove(switches, id, NoticeKind::MemberLost)).collect::<Vec<_>>(),
        );
        posts
    }

    /// The receivers that are behind a sender which they stop.
    fn holding(&self, now: Nanos) -> impl Iterator<Item = &MemberRecord> {
        self.members.iter().filter(move |m| {
            let (source, next, since) = m.place;
            let sender = self.members.iter().find(|s| s.id == source && s.role == Role::Sender);
            m.role == Role::Receiver
                && next > 0
                && sender.is_some_and(|s| s.place.1 > next && now - s.place.2.max(since) > HELD)
        })
    }

    fn tell(&mut self, session: SessionId, about: MemberId, what: NoticeKind) -> Vec<Post> {
        let name = self.members.iter().find(|m| m.id == about).map_or(String::new(), |m| m.name.clone());
        self.tell_named(session, about, what, &name)
    }

    fn tell_named(&mut self, session: SessionId, about: MemberId, what: NoticeKind, name: &str) -> Vec<Post> {
        let (receivers, rate) = (self.receivers(session), self.rules.rate);
        let notice = Notice { what, about, text: name.to_owned(), receivers, rate };
        let others = self.members.iter().filter(|m| m.session == session && m.role != Role::Cache);
        let to: Vec<SocketAddrV4> = others.filter(|m| m.id != about).map(|m| m.address).collect();
        self.owed.retain(|(address, owed, _)| !(to.contains(address) && owed.about == about));
        self.owed.extend(to.iter().map(|&address| (address, notice.clone(), REPEATS)));
        let header = Header::new(Kind::Reply, session, MemberId::NONE);
        to.into_iter()
            .map(|address| post(address, header, RequestId(0), Answer::Notice(notice.clone())))
            .collect()
    }

    fn sender(&self, session: SessionId) -> Option<&MemberRecord> {
        self.members.iter().find(|m| m.session == session && m.role == Role::Sender)
    }

    fn receivers(&self, session: SessionId) -> u16 {
        let all = self.members.iter().filter(|m| m.session == session && m.role == Role::Receiver);
        all.count() as u16
    }
}

/// The others are told that a sender or a receiver joined, not that an agent did.
fn repeated_is_none(posts: &[Post], role: Role) -> bool {
    !posts.is_empty() && role != Role::Cache
}

fn post(to: SocketAddrV4, header: Header, request: RequestId, answer: Answer) -> Post {
    let reply = Reply { request, answer };
    let header = Header::new(Kind::Reply, header.session, header.source);
    Post { to, bytes: header.encode(&reply.encode()) }
}
