//! The agent beside a switch: a cache, and its messages with the controller about streams; and requests to
//! the controller, repeated until answered, which every member has.

use std::collections::{BTreeMap, VecDeque};

use groupflow_base::{Nanos, Transmit};
use groupflow_transport::cache::{Cache, CacheEvent, CacheStats, StreamKey};
use groupflow_transport::terms::Terms;
use groupflow_transport::wire::{Header, Kind};
use groupflow_transport::{MemberId, SessionId};

use crate::control::{Answer, Delegated, Reply, Report, ReportKind, Request, RequestId, Role};
use crate::endpoint::{Endpoint, Part, Seat};
use crate::member::{Member, MemberConfig, MemberEvent, Purpose};

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
    /// When the controller is asked anew, unless it answers: the request may have been pushed out.
    again_at: Nanos,
}

#[derive(Debug)]
pub struct Caching {
    /// Requests about streams, apart from the membership's.
    pending: PendingRequests,
    queries: BTreeMap<StreamKey, Queried>,
    tick_due: Nanos,
}

impl Endpoint<Caching> {
    /// An agent that makes itself known at once, and never gives up. `max_bytes` is the bound over all
    /// streams.
    pub fn caching(now: Nanos, member: MemberConfig, max_bytes: u64) -> Endpoint<Caching> {
        let mut rng = member.rng();
        let member = MemberConfig { session: SessionId(0), patience: None, ..member };
        let member = Member::new(now, member, Purpose::new(Role::Cache), &mut rng);
        let (pending, queries) = (member.pending.beside(), BTreeMap::new());
        let part = Caching { pending, queries, tick_due: now + TICK };
        Endpoint::new(member, Some(Cache::new(max_bytes, rng)), part)
    }

    pub fn stats(&self) -> CacheStats {
        self.seat.transport.as_ref().map_or_else(CacheStats::default, Cache::stats)
    }
}

impl Caching {
    fn on_delegated(&mut self, now: Nanos, cache: &mut Cache, delegated: &Delegated) {
        let &Delegated { session, source, mode, policy, window, max_bytes, rate, ref shares, .. } = delegated;
        let key = (session, source);
        let terms = Terms { mode, policy, window, max_bytes, rate };
        if !delegated.active {
            cache.forget(key);
        } else if !cache.delegate(now, key, terms, shares) {
            return;
        }
        self.settle(key);
    }

    /// Nothing more is to be asked about a stream.
    fn settle(&mut self, key: StreamKey) {
        if let Some(queried) = self.queries.remove(&key) {
            self.pending.answered(queried.request);
        }
    }

    fn query(&mut self, now: Nanos, member: MemberId, key: StreamKey) {
        self.settle(key);
        let request = self.pending.send(now, header(member, key), Request::Query);
        self.queries.insert(key, Queried { request, again_at: now + QUERY_ANEW });
    }
}

/// The header of a request about a stream, but for its kind.
fn header(member: MemberId, (session, source): StreamKey) -> Header {
    Header { member, ..Header::new(Kind::Query, session, source) }
}

impl Part for Caching {
    type Transport = Cache;
    type Event = MemberEvent;

    fn on_member(&mut self, _now: Nanos, seat: &mut Seat<Caching>, event: MemberEvent) {
        match event {
            MemberEvent::Joined { joined, .. } => {
                if let Some(cache) = &mut seat.transport {
                    cache.set_member(joined.member);
                }
            }
            // An agent is of no session: notices are none of its owner's business.
            MemberEvent::Notice(_) | MemberEvent::Alive { .. } => return,
            _ => {}
        }
        seat.push_event(event);
    }

    fn on_reply(&mut self, now: Nanos, seat: &mut Seat<Caching>, reply: &Reply) -> bool {
        let ours = self.pending.answered(reply.request);
        match &reply.answer {
            Answer::Delegated(delegated) => {
                if let Some(cache) = &mut seat.transport {
                    self.on_delegated(now, cache, delegated);
                }
                self.on_transport(now, seat);
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

    /// Reports the cache's events to the controller.
    fn on_transport(&mut self, now: Nanos, seat: &mut Seat<Caching>) {
        let Some(cache) = seat.transport.as_mut() else { return };
        let (member, kib) = (seat.member.id, u32::try_from(cache.promised / 1024).unwrap_or(u32::MAX));
        while let Some(event) = cache.poll_event() {
            let (key, kind, about, value) = match event {
                CacheEvent::New(key) => {
                    self.query(now, member, key);
                    continue;
                }
                CacheEvent::Full(key) => (key, ReportKind::CacheFull, MemberId::NONE, kib),
                CacheEvent::Room(key) => (key, ReportKind::CacheRoom, MemberId::NONE, kib),
                CacheEvent::Lag(key, change) => {
                    let kind = if change.slow { ReportKind::SlowBranch } else { ReportKind::CaughtUp };
                    (key, kind, change.member, change.behind)
                }
            };
            let report = |request| Request::Report(Report { kind, about, value, request });
            self.pending.send(now, header(member, key), report);
        }
    }

    fn expire(&mut self, now: Nanos, seat: &mut Seat<Caching>) {
        let Some(cache) = seat.transport.as_mut().filter(|_| now >= self.tick_due) else { return };
        self.tick_due = now + TICK;
        let due = self.queries.iter().filter(|(_, queried)| queried.again_at <= now);
        let again: Vec<StreamKey> = due.map(|(&key, _)| key).collect();
        again.into_iter().for_each(|key| self.query(now, seat.member.id, key));
        cache.forget_strays(now).into_iter().for_each(|key| self.settle(key));
        let stats = cache.stats();
        let repairs = stats.counters.repairs_unicast + stats.counters.repairs_multicast;
        let kib = u32::try_from(stats.stored_bytes / 1024).unwrap_or(u32::MAX);
        seat.member.set_position(kib, u32::try_from(repairs).unwrap_or(u32::MAX));
    }

    fn poll_request(&mut self, now: Nanos) -> Option<Transmit> {
        self.pending.poll_transmit(now)
    }

    fn next_deadline(&self, _seat: &Seat<Caching>) -> Option<Nanos> {
        [Some(self.tick_due), self.pending.next_deadline()].into_iter().flatten().min()
    }
}

/// A request is repeated this long after it was sent.
pub const RETRY: Nanos = Nanos::from_millis(200);
/// The most requests that wait for an answer; further ones push the oldest out.
const BOUND: usize = 64;

#[derive(Debug)]
struct Pending {
    id: RequestId,
    packet: Transmit,
    due: Nanos,
}

/// The requests without an answer. Every repetition is byte-identical.
#[derive(Debug)]
pub struct PendingRequests {
    pending: VecDeque<Pending>,
    next_id: u32,
}

impl PendingRequests {
    /// Request ids count from `first_id`: random, so that a restarted host does not repeat them.
    pub fn new(first_id: u32) -> PendingRequests {
        PendingRequests { pending: VecDeque::new(), next_id: first_id }
    }

    /// No requests yet, and request ids that never meet these: they are half the number space away.
    pub fn beside(&self) -> PendingRequests {
        PendingRequests::new(self.next_id ^ 0x8000_0000)
    }

    /// Sends a request with a fresh id, never 0, from `now` on until it is answered. `header` is complete but
    /// for its kind.
    pub fn send(
        &mut self, now: Nanos, header: Header, request: impl FnOnce(RequestId) -> Request,
    ) -> RequestId {
        if self.pending.len() == BOUND {
            self.pending.pop_front();
        }
        self.next_id = self.next_id.wrapping_add(1).max(1);
        let id = RequestId(self.next_id);
        let request = request(id);
        let packet = Header { kind: request.kind(), ..header }.to_group(&request.encode());
        self.pending.push_back(Pending { id, packet, due: now });
        id
    }

    pub fn awaits(&self, id: RequestId) -> bool {
        self.pending.iter().any(|p| p.id == id)
    }

    /// Ends the request that was answered. False: no request has this id (any more).
    pub fn answered(&mut self, id: RequestId) -> bool {
        let before = self.pending.len();
        self.pending.retain(|p| p.id != id);
        self.pending.len() < before
    }

    pub fn clear(&mut self) {
        self.pending.clear();
    }

    pub fn poll_transmit(&mut self, now: Nanos) -> Option<Transmit> {
        let pending = self.pending.iter_mut().find(|p| p.due <= now)?;
        pending.due = now + RETRY;
        Some(pending.packet.clone())
    }

    pub fn next_deadline(&self) -> Option<Nanos> {
        self.pending.iter().map(|p| p.due).min()
    }
}
