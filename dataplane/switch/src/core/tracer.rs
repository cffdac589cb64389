//! The record of packets: traces, which are the way of chosen packets through the switch with copies as
//! branches of a tree, and the frames at the ports for captures, each with its end.
//!
//! A recorded packet carries a [`TraceHandle`] through queues and loops. A trace is complete when the last of
//! its branches has ended. Memory is bounded: a filter whose reader is slow, or that chooses more packets
//! than can be traced at once, misses packets and says how many. Filters share traces, and no bounds.
//!
//! A port lies between its emulated link and the program: a frame that comes in is seen when the program gets
//! it, a frame that leaves when the link does. What a capture says of a frame that came in is what happened
//! to it at once.

use std::collections::{BTreeMap, VecDeque};
use std::num::NonZeroU64;

use groupflow_base::Nanos;
use groupflow_pipeline::{Arrival, Instance, Port, Step};

use super::switch::{Forwarding, Switch};
use super::trace::{Branch, Outcomes, SeenFrame, Trace, TraceFilter};
use super::traffic_manager::Origin;

pub(super) const FILTER_LIMIT: usize = 8;
const OPEN_LIMIT: usize = 64;
const KEPT_LIMIT: usize = 64;
/// The most branches of one trace: a [`TraceHandle`] has a byte for them.
const BRANCH_LIMIT: usize = 256;
/// The most passes in a row: readers of JSON stop at 128 levels, of which each pass takes two.
const DEPTH_LIMIT: usize = 50;
const STEP_LIMIT: usize = 8_192;
/// The time between two traces, in the mean, which filters share: a traced packet takes a hundred times as
/// long as others.
const INTERVAL: Nanos = Nanos::from_millis(1);
/// The most traces that begin at one time, which filters share, too.
const BURST: u64 = 64;
const SHOWN_BYTES: usize = 256;

/// The branch of a trace that a packet is on: the trace's number plus one, and the branch in the last byte.
/// So packets without a trace carry one word more.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TraceHandle(NonZeroU64);

impl TraceHandle {
    fn new(trace: u64, branch: usize) -> Option<TraceHandle> {
        NonZeroU64::new((trace + 1) << 8 | branch as u64).map(TraceHandle)
    }

    fn trace(self) -> u64 {
        (self.0.get() >> 8) - 1
    }

    fn branch(self) -> usize {
        (self.0.get() & 0xff) as usize
    }
}

#[derive(Debug, Default)]
struct Armed {
    filter: TraceFilter,
    packets_left: u64,
    missed: u64,
    open: usize,
    /// When the next trace may begin, were all of them the filter's share of time apart.
    due: Nanos,
    done: VecDeque<Trace>,
}

#[derive(Debug)]
struct Open {
    filters: Vec<u64>,
    trace: Trace,
    /// Each branch with the branch from which it came.
    branches: Vec<(usize, Branch)>,
    live: u32,
    room: usize,
}

/// The filters of a switch, its traces, and the frames at its ports.
#[derive(Debug, Default)]
pub struct Tracer {
    armed: BTreeMap<u64, Armed>,
    open: BTreeMap<u64, Open>,
    /// The number of filters, and of recorded packets, so far.
    filters: u64,
    traces: u64,
    pub(super) captures: bool,
    pub(super) frames: Vec<SeenFrame>,
    /// The frame that is in ingress: its number as a recorded packet, and its place in `frames`.
    noted: Option<(u64, usize)>,
}

impl Tracer {
    /// Whether no packet has to be looked at.
    #[inline]
    pub fn is_idle(&self) -> bool {
        self.armed.is_empty() && !self.captures
    }

    /// A frame that comes to a port: what happens to it is noted until [`Tracer::arrived`].
    pub(super) fn arrives(&mut self, time: Nanos, port: Port, bytes: &[u8]) {
        self.noted = Some((self.traces, self.frames.len()));
        let verdict = format!("in {port}");
        self.frames.push(SeenFrame { time, port, inbound: true, bytes: bytes.to_vec(), verdict });
    }

    /// Nothing more is noted of the frame that came last.
    pub(super) fn arrived(&mut self) {
        self.noted = None;
    }

    pub(super) fn leaves(&mut self, time: Nanos, port: Port, origin: Origin, bytes: &[u8]) {
        if self.captures {
            let from = origin_text(origin).map_or_else(String::new, |from| format!(": {from}"));
            let verdict = format!("out {port}{from}");
            self.frames.push(SeenFrame { time, port, inbound: false, bytes: bytes.to_vec(), verdict });
        }
    }

    pub(super) fn is_traced(&self, handle: Option<TraceHandle>) -> bool {
        handle.is_some_and(|handle| self.open.contains_key(&handle.trace()))
    }

    /// Traces the next `count` packets that a filter chooses; `None`: there are too many filters.
    pub fn arm(&mut self, filter: TraceFilter, count: u64) -> Option<u64> {
        if self.armed.len() >= FILTER_LIMIT {
            return None;
        }
        self.filters += 1;
        self.armed.insert(self.filters, Armed { filter, packets_left: count, ..Armed::default() });
        Some(self.filters)
    }

    pub fn disarm(&mut self, filter: u64) {
        self.armed.remove(&filter);
        self.open.retain(|_, open| {
            open.filters.retain(|other| *other != filter);
            !open.filters.is_empty()
        });
    }

    /// Forgets all filters: they are of another program.
    pub fn clear(&mut self) {
        self.armed.clear();
        self.open.clear();
    }

    /// The traces of a filter that are complete; `None`: no more will come.
    pub fn take(&mut self, filter: u64) -> Option<Vec<Trace>> {
        let armed = self.armed.get_mut(&filter)?;
        let done: Vec<Trace> = armed.done.drain(..).collect();
        if armed.packets_left == 0 && done.is_empty() && armed.open == 0 {
            self.armed.remove(&filter);
            return None;
        }
        Some(done)
    }

    /// Begins a trace of a packet at ingress, if filters want one. `switch` has no tracer meanwhile.
    pub(super) fn begin(
        &mut self, now: Nanos, arrival: &Arrival, bytes: &[u8], switch: &mut Switch,
    ) -> Option<TraceHandle> {
        let (mut filters, mut all) = (Vec::new(), Outcomes::default());
        let (interval, clock) = (INTERVAL.0 * self.armed.len() as u64, switch.clock);
        for (number, armed) in &mut self.armed {
            let (filter, program) = (&armed.filter, switch.forwarding.as_mut());
            let wanted = armed.packets_left > 0 && filter.port.map_or(true, |wanted| wanted == arrival.port);
            let matches =
                |f: &mut Forwarding| f.pipeline.packet_matches(clock, arrival, bytes, &filter.fields);
            if !wanted || !program.is_some_and(matches) {
                continue;
            }
            let late = armed.done.len() >= KEPT_LIMIT || armed.due > now + Nanos(INTERVAL.0 * (BURST - 1));
            if armed.open >= OPEN_LIMIT || (late && !filter.patient) {
                armed.missed += 1;
                continue;
            }
            armed.packets_left -= u64::from(!filter.dropped);
            armed.open += 1;
            let mut traces = 1;
            if filter.all {
                all = switch.outcomes(now, arrival, bytes);
                traces += all.outcomes.iter().map(|outcome| outcome.ways.len() as u64).sum::<u64>();
            }
            armed.due = armed.due.max(now) + Nanos(interval * traces);
            filters.push(*number);
        }
        let id = self.traces;
        if filters.is_empty() {
            let noted = self.noted.is_some_and(|(number, _)| number == id);
            self.traces += u64::from(noted);
            return TraceHandle::new(id, 0).filter(|_| noted);
        }
        let (port, length) = (arrival.port.0, bytes.len() + arrival.tail as usize);
        let (packet, root) = (hex::encode(&bytes[..bytes.len().min(SHOWN_BYTES)]), Branch::default());
        let trace = Trace { id, time: now, port, length, packet, missed: 0, all, root };
        let root = Branch { pass: "ingress", cause: "arrival", time: now, ..Branch::default() };
        self.open.insert(id, Open { filters, trace, branches: vec![(0, root)], live: 1, room: STEP_LIMIT });
        self.traces += 1;
        TraceHandle::new(id, 0)
    }

    /// A branch for a packet that goes on; `None` where its trace is full.
    pub fn branch(
        &mut self, from: Option<TraceHandle>, cause: &'static str, time: Nanos,
    ) -> Option<TraceHandle> {
        let from = from?;
        let Some(open) = self.open.get_mut(&from.trace()) else { return Some(from) };
        let before = |branch: &usize| (*branch > 0).then(|| open.branches[*branch].0);
        let depth = std::iter::successors(Some(from.branch()), before).count();
        if open.branches.len() >= BRANCH_LIMIT || depth >= DEPTH_LIMIT {
            if let Some((_, from)) = open.branches.get_mut(from.branch()) {
                from.copies_cut += 1;
            }
            return None;
        }
        let branch = open.branches.len();
        let pass = if matches!(cause, "resubmit" | "recirculate") { "ingress" } else { "egress" };
        open.branches.push((from.branch(), Branch { pass, cause, time, ..Branch::default() }));
        open.live += 1;
        TraceHandle::new(from.trace(), branch)
    }

    pub fn of(&mut self, handle: Option<TraceHandle>) -> Option<&mut Branch> {
        let handle = handle?;
        let open = self.open.get_mut(&handle.trace())?;
        open.branches.get_mut(handle.branch()).map(|(_, branch)| branch)
    }

    /// Adds the steps of a branch that begins, as far as the trace has room.
    pub fn record(&mut self, handle: Option<TraceHandle>, time: Nanos, mut steps: Vec<Step>) {
        let Some(open) = handle.and_then(|handle| self.open.get_mut(&handle.trace())) else { return };
        if steps.len() > open.room {
            steps.truncate(open.room);
            steps.push(Step::Cut);
        }
        open.room -= steps.len().min(open.room);
        if let Some(branch) = self.of(handle) {
            (branch.time, branch.steps) = (time, steps);
        }
    }

    /// Says what became of a packet, in egress at `place` or else in ingress.
    pub fn verdict(
        &mut self, handle: Option<TraceHandle>, place: Option<(Port, Origin)>, dropped: bool,
        verdict: impl FnOnce() -> String,
    ) {
        let Some(number) = handle.map(TraceHandle::trace) else { return };
        let noted = self.noted.filter(|(noted, _)| *noted == number);
        if noted.is_none() && !self.open.contains_key(&number) {
            return;
        }
        let verdict = verdict();
        if let Some(frame) = noted.and_then(|(_, frame)| self.frames.get_mut(frame)) {
            frame.verdict += if frame.verdict.contains(": ") { "; " } else { ": " };
            if let Some((port, origin)) = place {
                let from = origin_text(origin).map_or_else(String::new, |from| format!("{from} "));
                frame.verdict += &format!("{from}at {port} ");
            }
            frame.verdict += &verdict;
        }
        if let Some(branch) = self.of(handle) {
            (branch.verdict, branch.dropped) = (verdict, dropped);
        }
    }

    /// Says why a packet was dropped, and ends its branch.
    pub fn drop(
        &mut self, handle: Option<TraceHandle>, place: Option<(Port, Origin)>, reason: impl std::fmt::Display,
    ) {
        self.verdict(handle, place, true, || format!("dropped: {reason}"));
        self.end(handle);
    }

    /// Says whether the link carried the frame that left last, and if not, why.
    pub(super) fn crossed(&mut self, handle: Option<TraceHandle>, sent: bool, is_up: bool) {
        let end = match is_up {
            _ if sent => "sent",
            true => "dropped: the link lost it",
            false => "dropped: the link is down",
        };
        if let Some(branch) = self.of(handle) {
            (branch.verdict, branch.dropped) = (end.into(), !sent);
        }
        if let (true, false, Some(frame)) = (self.captures, sent, self.frames.last_mut()) {
            frame.verdict += &format!("; {end}");
        }
    }

    pub fn end(&mut self, handle: Option<TraceHandle>) {
        let Some(handle) = handle else { return };
        let Some(open) = self.open.get_mut(&handle.trace()) else { return };
        open.live = open.live.saturating_sub(1);
        if open.live > 0 {
            return;
        }
        let Some(Open { mut filters, mut trace, branches, .. }) = self.open.remove(&handle.trace()) else {
            return;
        };
        let dropped = branches.iter().any(|(_, branch)| branch.dropped);
        trace.root = nested(branches);
        filters.retain(|filter| {
            let Some(armed) = self.armed.get_mut(filter) else { return false };
            armed.open -= 1;
            let wanted = !armed.filter.dropped || (dropped && armed.packets_left > 0);
            armed.packets_left -= u64::from(armed.filter.dropped && wanted);
            wanted
        });
        // A trace may be long: the last filter's is no copy.
        for (filter, trace) in filters.iter().zip(vec![trace; filters.len()]) {
            let Some(armed) = self.armed.get_mut(filter) else { continue };
            let missed = std::mem::take(&mut armed.missed);
            let all = if armed.filter.all { trace.all } else { Outcomes::default() };
            armed.done.push_back(Trace { missed, all, ..trace });
        }
    }
}

/// The tree of branches, each of which stands behind the one from which it came.
fn nested(mut branches: Vec<(usize, Branch)>) -> Branch {
    while branches.len() > 1 {
        if let Some((parent, branch)) = branches.pop() {
            branches[parent].1.copies.insert(0, branch);
        }
    }
    branches.pop().map(|(_, branch)| branch).unwrap_or_default()
}

/// The origin of a copy, in words; `None`: the packet is no copy.
fn origin_text(Origin { instance, rid, group }: Origin) -> Option<String> {
    match instance {
        Instance::Replication => Some(format!("copy {rid} of multicast group {group}")),
        Instance::CloneIngress | Instance::CloneEgress => Some(format!("clone {rid}")),
        _ => None,
    }
}

pub fn cause(instance: Instance) -> &'static str {
    match instance {
        Instance::Normal => "unicast",
        Instance::Replication => "multicast",
        Instance::CloneIngress | Instance::CloneEgress => "clone",
        Instance::Recirculated => "recirculate",
        Instance::Resubmit => "resubmit",
    }
}
