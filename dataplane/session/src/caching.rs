//! The agent beside a switch: a cache, and what the controller and it tell each other about streams.

use std::collections::BTreeMap;
use std::net::SocketAddrV4;

use groupflow_base::{Machine, Nanos, Transmit};
use groupflow_transport::cache::{Cache, CacheEvent, CacheStats, StreamKey};
use groupflow_transport::terms::Terms;
use groupflow_transport::wire::{Header, Kind, Packet, WireError};
use groupflow_transport::{MemberId, SessionId};

use crate::control::{Answer, Delegated, Query, Reply, Report, ReportKind, Request, RequestId, Role};
use crate::endpoint::{Endpoint, Part, Seat};
use crate::member::{Member, MemberConfig, MemberEvent, Purpose};
use crate::outbox::Outbox;

/// The controller did not know a stream: ask again after this.
const QUERY_AGAIN: Nanos = Nanos::from_secs(1);
/// No answer at all.
const QUERY_ANEW: Nanos = Nanos::from_secs(5);
/// Housekeeping.
const TICK: Nanos = Nanos::from_secs(1);

/// A stream the controller was asked about.
#[derive(Debug, Clone, Copy)]
struct Queried {
    request: RequestId,
    /// Ask anew, unless answered: the outbox may have had to drop the request.
    again_at: Nanos,
}

/// Caches for a switch.
#[derive(Debug)]
pub struct Caching {
    cache: Cache,
    /// Requests about streams, apart from the membership's.
    outbox: Outbox,
    queries: BTreeMap<StreamKey, Queried>,
    tick_due: Nanos,
}

impl Endpoint<Caching> {
    /// An agent that makes itself known at once, and never gives up. `max_bytes` is the bound over all streams.
    pub fn caching(now: Nanos, member: MemberConfig, max_bytes: u64) -> Endpoint<Caching> {
        let mut rng = member.rng();
        let member = MemberConfig { session: SessionId(0), patience: None, ..member };
        let member = Member::new(now, member, Purpose::new(Role::Cache), &mut rng);
        let (outbox, queries) = (member.second_outbox(), BTreeMap::new());
        let part = Caching { cache: Cache::new(max_bytes, rng), outbox, queries, tick_due: now + TICK };
        Endpoint::new(member, part)
    }

    /// Figures for reports.
    pub fn stats(&self) -> CacheStats {
        self.part.cache.stats()
    }
}

impl Caching {
    /// Tells the controller what it may want to know.
    fn cache_events(&mut self, now: Nanos, member: MemberId) {
        while let Some(event) = self.cache.poll_event() {
            let (key, kind, about, value) = match event {
                CacheEvent::New(key) => {
                    self.query(now, member, key);
                    continue;
                }
                CacheEvent::Full(key) => (key, ReportKind::CacheFull, MemberId::NONE, self.kib()),
                CacheEvent::Room(key) => (key, ReportKind::CacheRoom, MemberId::NONE, self.kib()),
                CacheEvent::Lag(key, change) => {
                    let kind = if change.slow { ReportKind::SlowBranch } else { ReportKind::CaughtUp };
                    (key, kind, change.member, change.behind)
                }
            };
            let report = |request| Request::Report(Report { kind, about, value, request });
            self.request(now, member, key, Kind::Report, report);
        }
    }

    /// Bytes that some branch lacks, in KiB.
    fn kib(&self) -> u32 {
        u32::try_from(self.cache.promised() / 1024).unwrap_or(u32::MAX)
    }

    fn on_delegated(&mut self, now: Nanos, delegated: &Delegated) {
        let Delegated { session, source, mode, policy, window, max_bytes, rate, .. } = *delegated;
        let key = (session, source);
        if !delegated.active {
            self.cache.forget(key);
        } else if !self.cache.delegate(now, key, Terms { mode, policy, window, max_bytes, rate }) {
            return;
        }
        self.settle(key);
    }

    /// Nothing more is to be asked about a stream.
    fn settle(&mut self, key: StreamKey) {
        if let Some(queried) = self.queries.remove(&key) {
            self.outbox.answered(queried.request);
        }
    }

    fn query(&mut self, now: Nanos, member: MemberId, key: StreamKey) {
        self.settle(key);
        let query = |request| Request::Query(Query { request });
        let request = self.request(now, member, key, Kind::Query, query);
        self.queries.insert(key, Queried { request, again_at: now + QUERY_ANEW });
    }

    fn request(
        &mut self,
        now: Nanos,
        member: MemberId,
        key: StreamKey,
        kind: Kind,
        request: impl FnOnce(RequestId) -> Request,
    ) -> RequestId {
        let id = self.outbox.next_id();
        let header = Header { member, ..Header::new(kind, key.0, key.1) };
        self.outbox.push(now, id, header, &request(id));
        id
    }
}

impl Part for Caching {
    type Event = MemberEvent;

    fn on_member(&mut self, _now: Nanos, seat: &mut Seat<MemberEvent>, event: MemberEvent) {
        match event {
            MemberEvent::Joined { joined, .. } => self.cache.set_member(joined.member),
            // An agent is of no session: notices are none of its owner's business.
            MemberEvent::Notice(_) | MemberEvent::Receivers(_) => return,
            _ => {}
        }
        seat.tell(event);
    }

    fn on_reply(&mut self, now: Nanos, seat: &mut Seat<MemberEvent>, reply: &Reply) -> bool {
        let ours = self.outbox.answered(reply.request);
        match &reply.answer {
            Answer::Delegated(delegated) => {
                self.on_delegated(now, delegated);
                self.cache_events(now, seat.member.id());
                true
            }
            Answer::Unknown | Answer::Refused { .. } if ours => {
                for queried in self.queries.values_mut().filter(|q| q.request == reply.request) {
                    queried.again_at = now + QUERY_AGAIN;
                }
                true
            }
            _ => ours,
        }
    }

    fn on_packet(
        &mut self,
        now: Nanos,
        seat: &mut Seat<MemberEvent>,
        from: SocketAddrV4,
        packet: &Packet<'_>,
    ) -> Result<(), WireError> {
        let taken = self.cache.on_packet(now, from, packet);
        self.cache_events(now, seat.member.id());
        taken
    }

    fn expire(&mut self, now: Nanos, seat: &mut Seat<MemberEvent>) {
        if now < self.tick_due {
            return;
        }
        self.tick_due = now + TICK;
        let due = self.queries.iter().filter(|(_, queried)| queried.again_at <= now);
        let again: Vec<StreamKey> = due.map(|(&key, _)| key).collect();
        again.into_iter().for_each(|key| self.query(now, seat.member.id(), key));
        self.cache.forget_strays(now).into_iter().for_each(|key| self.settle(key));
        let stats = self.cache.stats();
        let repairs = stats.counters.repairs_unicast + stats.counters.repairs_multicast;
        let kib = u32::try_from(stats.stored_bytes / 1024).unwrap_or(u32::MAX);
        seat.member.set_position(kib, u32::try_from(repairs).unwrap_or(u32::MAX));
    }

    fn poll_transmit(&mut self, now: Nanos, _seat: &mut Seat<MemberEvent>) -> Option<Transmit> {
        self.outbox.poll_transmit(now).or_else(|| self.cache.poll_transmit(now))
    }

    fn next_deadline(&self, _member: &Member) -> Option<Nanos> {
        let cache = self.cache.next_deadline();
        [Some(self.tick_due), self.outbox.next_deadline(), cache].into_iter().flatten().min()
    }
}
