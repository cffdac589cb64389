//! Runs islands side by side: each for one lookahead at a time, then they hand over frames.
//!
//! The lookahead is the least delay of a link between islands: nothing that happens in a window can
//! reach another island within it, so islands need not know of each other until it ends. Neither
//! the events nor their order depend on windows or threads.

use std::ops::{ControlFlow, Range};
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::Mutex;

use groupflow_base::Nanos;

use crate::barrier::{Barrier, Guard};
use crate::error::RunError;
use crate::ids::NodeId;
use crate::island::Island;
use crate::mail::{lock, Half, Mailbox};
use crate::outlet::LinkTarget;
use crate::sample::{FlowSample, Sample};
use crate::trace::TraceRecord;

/// The longest window, so that progress is told and memory for traces stays bounded.
const LONGEST_WINDOW: Nanos = Nanos::from_millis(10);
/// Windows between two looks at how the work is spread over threads.
const REBALANCE: u64 = 512;

/// An observer of a run. One thread makes all calls, between windows.
pub trait Observer {
    fn sample(&mut self, _sample: &Sample) {}

    /// The events since the last call, in total order.
    fn trace(&mut self, _records: &[TraceRecord]) {}

    /// Notes that time has come to `now`. `Break` ends the run with the window that follows; the run can be
    /// taken up again.
    fn progress(&mut self, _now: Nanos) -> ControlFlow<()> {
        ControlFlow::Continue(())
    }
}

impl Observer for () {}

/// An island with its inlets' mailboxes.
#[derive(Debug)]
pub struct Cell {
    pub island: Island,
    /// Inlets that other islands feed, each with its mailbox.
    pub feeds: Vec<(usize, usize)>,
}

/// A network in virtual time.
#[derive(Debug)]
pub struct Simulation {
    cells: Vec<Mutex<Cell>>,
    mail: Vec<Mailbox>,
    lookahead: Nanos,
    sample_every: Nanos,
    flows: usize,
    threads: usize,
    now: Nanos,
    parity: Half,
    next_sample: Nanos,
    traced: bool,
    /// The island and place of each node.
    places: Vec<(usize, usize)>,
}

/// The state that the threads of a run share.
struct RunState<'a> {
    simulation: &'a Simulation,
    barrier: Barrier,
    /// For each half, the time of the next event of each thread's islands.
    next: [Vec<AtomicU64>; 2],
    /// The first island of each thread; one more for the end.
    bounds: Vec<AtomicUsize>,
    /// For each half, whether this window is the last.
    halt: [AtomicBool; 2],
    failure: Mutex<Option<RunError>>,
}

impl Simulation {
    /// Islands, mailboxes between them, and how far they may run ahead.
    pub(crate) fn new(
        cells: Vec<Cell>, mailboxes: usize, lookahead: Nanos, sample_every: Nanos, flows: usize,
        places: Vec<(usize, usize)>,
    ) -> Simulation {
        Simulation {
            cells: cells.into_iter().map(Mutex::new).collect(),
            mail: std::iter::repeat_with(Mailbox::default).take(mailboxes).collect(),
            lookahead,
            sample_every,
            flows,
            threads: 1,
            now: Nanos::ZERO,
            parity: 0,
            next_sample: sample_every,
            traced: false,
            places,
        }
    }

    /// Sets the number of threads, at most one for each island. It does not change results.
    pub fn set_threads(&mut self, threads: usize) {
        self.threads = threads.clamp(1, self.cells.len().max(1));
    }

    /// Whether to record events.
    pub fn set_trace(&mut self, traced: bool) {
        self.traced = traced;
        for cell in &mut self.cells {
            let island = &mut cell.get_mut().unwrap_or_else(std::sync::PoisonError::into_inner).island;
            island.wiring.tracer = traced.then(|| crate::trace::Tracer::new(island.slots.len()));
        }
    }

    /// The virtual time: every event before this time has happened.
    pub fn now(&self) -> Nanos {
        self.now
    }

    pub fn islands(&self) -> usize {
        self.cells.len()
    }

    /// The time for which islands run by themselves; [`Nanos::MAX`] if there is only one.
    pub fn lookahead(&self) -> Nanos {
        self.lookahead
    }

    /// Frames that switches and routers took so far.
    pub fn hops(&self) -> u64 {
        self.cells.iter().map(|cell| lock(cell).island.hops).sum()
    }

    /// Calls a function on a node, which may change what the node does next.
    pub(crate) fn with_node<R>(
        &mut self, node: NodeId, act: impl FnOnce(&mut crate::node::SimNode) -> R,
    ) -> R {
        let (island, place) = self.places[node.index()];
        let mut cell = lock(&self.cells[island]);
        let result = act(&mut cell.island.slots[place].node);
        cell.island.touched(place);
        result
    }

    /// The near end of the link at a node's port.
    pub(crate) fn outlet(&mut self, node: NodeId, port: u16) -> Option<&mut crate::outlet::Outlet> {
        let &(island, place) = self.places.get(node.index())?;
        let cell = self.cells[island].get_mut().unwrap_or_else(std::sync::PoisonError::into_inner);
        let outlet = *cell.island.slots[place].outlets.get(usize::from(port))?;
        cell.island.wiring.outlets.get_mut(outlet as usize)
    }

    /// Runs until `until`, or until the observer breaks the run off. Events at `until` itself have then
    /// not happened yet.
    pub fn run(&mut self, until: Nanos, observer: &mut dyn Observer) -> Result<(), RunError> {
        let shared = RunState {
            barrier: Barrier::new(self.threads),
            next: [(); 2].map(|()| (0..self.threads).map(|_| AtomicU64::new(0)).collect()),
            bounds: spread(&vec![1; self.cells.len()], self.threads)
                .into_iter()
                .map(AtomicUsize::new)
                .collect(),
            halt: [AtomicBool::new(false), AtomicBool::new(false)],
            failure: Mutex::new(None),
            simulation: self,
        };
        let (now, parity, next_sample) = (self.now, self.parity, self.next_sample);
        let mut sample = Sample::default();
        let ended = std::thread::scope(|scope| {
            for thread in 1..self.threads {
                let shared = &shared;
                scope.spawn(move || {
                    RunThread { shared, thread, now, parity, next_sample, until }.work(None);
                });
            }
            let mut main =
                Main { observer, sample: &mut sample, records: Vec::new(), windows: 0, hops: Vec::new() };
            RunThread { shared: &shared, thread: 0, now, parity, next_sample, until }.work(Some(&mut main))
        });
        let failure = lock(&shared.failure).take();
        (self.now, self.parity, self.next_sample) = ended;
        failure.map_or(Ok(()), Err)
    }

    fn take_sample(&self, now: Nanos, sample: &mut Sample) {
        sample.time = now;
        sample.hops = 0;
        sample.flows.clear();
        sample.flows.resize(self.flows, FlowSample::default());
        sample.queues.clear();
        sample.links.clear();
        sample.caches.clear();
        sample.drops.clear();
        sample.signals.clear();
        for cell in &self.cells {
            lock(cell).island.sample(now, sample);
        }
        sample.queues.sort_by_key(|queue| (queue.node, queue.port, queue.queue));
        sample.caches.sort_by_key(|cache| cache.node);
        sample.links.sort_by_key(|link| (link.node, link.port));
    }
}

/// The state that only the first thread has.
struct Main<'a> {
    observer: &'a mut dyn Observer,
    sample: &'a mut Sample,
    records: Vec<TraceRecord>,
    windows: u64,
    hops: Vec<u64>,
}

/// One thread's part in a run. All threads go through the same windows.
struct RunThread<'a> {
    shared: &'a RunState<'a>,
    thread: usize,
    now: Nanos,
    parity: Half,
    next_sample: Nanos,
    until: Nanos,
}

impl RunThread<'_> {
    /// Works until the end; returns the time, the half and the time of the next sample.
    fn work(mut self, mut main: Option<&mut Main<'_>>) -> (Nanos, Half, Nanos) {
        let shared = self.shared;
        let _guard = Guard(&shared.barrier);
        let simulation = shared.simulation;
        // If there is nothing to do, time goes on to the next event.
        let mut next = self.now;
        while self.now < self.until {
            let reach = next.max(self.now).saturating_add(simulation.lookahead.min(LONGEST_WINDOW));
            let end = reach.min(self.next_sample).min(self.until);
            if main.as_deref_mut().is_some_and(|main| main.observer.progress(self.now).is_break()) {
                shared.halt[self.parity].store(true, Ordering::Release);
            }
            self.window(end);
            if !shared.barrier.wait() {
                let mut failure = lock(&shared.failure);
                failure.get_or_insert(RunError::Thread);
                break;
            }
            next = self.earliest();
            self.parity = 1 - self.parity;
            self.now = end;
            let sampled = end == self.next_sample;
            if sampled {
                self.next_sample += simulation.sample_every;
            }
            if let Some(main) = main.as_deref_mut() {
                main.after_window(shared, end, sampled);
            }
            // The first thread needs the islands for itself.
            if (sampled || simulation.traced) && !shared.barrier.wait() {
                break;
            }
            // A request within a window counts for all threads from the window's end.
            if shared.halt[1 - self.parity].load(Ordering::Acquire) {
                break;
            }
        }
        (self.now, self.parity, self.next_sample)
    }

    /// Runs this thread's islands up to `end`.
    fn window(&self, end: Nanos) {
        let shared = self.shared;
        let mut next = Nanos::MAX;
        for cell in &shared.simulation.cells[shared.range(self.thread)] {
            let Cell { island, feeds } = &mut *lock(cell);
            for &(inlet, mailbox) in feeds.iter() {
                let mailbox = &shared.simulation.mail[mailbox];
                mailbox.collect(self.parity, |batch| island.wiring.take(inlet, batch));
            }
            if island.next() < end {
                if let Err(error) = island.run(end) {
                    lock(&shared.failure).get_or_insert(error);
                    shared.halt[self.parity].store(true, Ordering::Release);
                }
                for outlet in &mut island.wiring.outlets {
                    if let (LinkTarget::Mailbox(to), false) = (outlet.destination, outlet.batch.is_empty()) {
                        shared.simulation.mail[to].put(self.parity, &mut outlet.batch);
                    }
                }
                next = next.min(std::mem::replace(&mut island.wiring.earliest, Nanos::MAX));
            }
            next = next.min(island.next());
        }
        shared.next[self.parity][self.thread].store(next.0, Ordering::Release);
    }

    /// The time of the next event of all islands.
    fn earliest(&self) -> Nanos {
        let threads = self.shared.next[self.parity].iter();
        Nanos(threads.map(|next| next.load(Ordering::Acquire)).min().unwrap_or(u64::MAX))
    }
}

impl Main<'_> {
    /// The work of the first thread while the others wait (if they must) or run on.
    fn after_window(&mut self, shared: &RunState<'_>, now: Nanos, sampled: bool) {
        let simulation = shared.simulation;
        if simulation.traced {
            for cell in &simulation.cells {
                if let Some(tracer) = &mut lock(cell).island.wiring.tracer {
                    tracer.take(&mut self.records);
                }
            }
            self.records.sort_unstable();
            self.observer.trace(&self.records);
            self.records.clear();
        }
        if sampled {
            simulation.take_sample(now, self.sample);
            self.observer.sample(self.sample);
            if simulation.threads > 1 && self.windows >= REBALANCE {
                self.windows = 0;
                self.rebalance(shared);
            }
        }
        self.windows += 1;
    }

    /// Spreads the islands over the threads by the work of each since the last time. Neighbours stay
    /// together, because they share frames.
    fn rebalance(&mut self, shared: &RunState<'_>) {
        let hops: Vec<u64> = shared.simulation.cells.iter().map(|cell| lock(cell).island.hops).collect();
        self.hops.resize(hops.len(), 0);
        let work: Vec<u64> = hops.iter().zip(&self.hops).map(|(now, before)| now - before + 1).collect();
        self.hops = hops;
        for (bound, value) in shared.bounds.iter().zip(spread(&work, shared.simulation.threads)) {
            bound.store(value, Ordering::Release);
        }
    }
}

impl RunState<'_> {
    fn range(&self, thread: usize) -> Range<usize> {
        self.bounds[thread].load(Ordering::Acquire)..self.bounds[thread + 1].load(Ordering::Acquire)
    }
}

/// Cuts a row of islands into `threads` pieces of about the same work.
fn spread(work: &[u64], threads: usize) -> Vec<usize> {
    let total: u64 = work.iter().sum();
    let mut bounds = vec![0];
    let mut done = 0;
    for (place, share) in work.iter().enumerate() {
        // An island goes to the piece in which its middle lies.
        while bounds.len() < threads && (2 * done + share) * threads as u64 >= 2 * total * bounds.len() as u64
        {
            bounds.push(place);
        }
        done += share;
    }
    bounds.resize(threads, work.len());
    bounds.push(work.len());
    bounds
}

#[cfg(test)]
#[path = "tests/engine.rs"]
mod tests;
