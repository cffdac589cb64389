//! The thread that moves packets: it takes frames from rings, lets the switch run, and sends in batches.
//!
//! The switch keeps exact times; only the physical movement of frames is coalesced to the quantum. A frame's
//! time of arrival is the kernel's, so that a frame that is read late does not lengthen an emulated link.

use std::os::fd::{AsFd, AsRawFd, RawFd};
use std::sync::atomic::Ordering;
use std::sync::Arc;

use groupflow_base::Nanos;
use groupflow_pipeline::Port;
use tokio::sync::mpsc::Sender;

use super::attachment::{Attachment, Reopening};
use super::error::ShellError;
use super::pcapng::Capture;
use super::rx::{ReceivedFrame, RingRead};
use super::shared::{Shared, ToControlPlane};
use crate::core::{Emitted, MAX_FRAME, MAX_PORT};

/// Frames taken from one port before the next port's turn.
const BATCH: usize = 64;
/// Frames taken in one turn of the loop. More frames would not fit the processor's cache.
const TURN: usize = 128;
/// Time between two readings of the kernel's counters, and between two checks of the window's end.
const HOUSEKEEPING: Nanos = Nanos::from_millis(200);
/// A kernel time stamp further back than this is not believed: the wall clock was set.
const OLDEST: Nanos = Nanos::from_secs(1);

pub struct PortInterface {
    pub port: Port,
    pub attachment: Attachment,
    pub reopening: Reopening,
    pub capture: Option<Capture>,
}

pub struct Datapath {
    shared: Arc<Shared>,
    /// In the order of their numbers.
    ports: Vec<PortInterface>,
    control_plane: Sender<ToControlPlane>,
    /// The least time between two movements of frames.
    quantum: Nanos,
    frames: Vec<ReceivedFrame>,
    emitted: Emitted,
    /// Positions in `emitted` of the frames that each port sends.
    outgoing: Vec<Vec<usize>>,
    polls: Vec<libc::pollfd>,
    places: Vec<Option<usize>>,
    /// The wall clock at the switch's zero, in ns since 1970.
    wall_offset: u64,
    next_housekeeping: Nanos,
    down: Vec<bool>,
    first_port: usize,
}

impl Datapath {
    /// The data path between ports, in the order of their numbers, and the control plane.
    pub fn new(
        shared: Arc<Shared>, ports: Vec<PortInterface>, control_plane: Sender<ToControlPlane>, quantum: Nanos,
    ) -> Datapath {
        let mut places = vec![None; usize::from(MAX_PORT) + 1];
        for (place, interface) in ports.iter().enumerate() {
            places[usize::from(interface.port.0)] = Some(place);
        }
        let receivers = ports.iter().map(|port| port.attachment.receiver.fd());
        let polls =
            std::iter::once(shared.waker.as_fd().as_raw_fd()).chain(receivers).map(poll_entry).collect();
        Datapath {
            frames: Vec::with_capacity(TURN),
            emitted: Emitted::default(),
            outgoing: vec![Vec::new(); ports.len()],
            polls,
            places,
            wall_offset: shared.clock.wall_offset(),
            next_housekeeping: Nanos::ZERO,
            down: vec![false; ports.len()],
            first_port: 0,
            shared,
            ports,
            control_plane,
            quantum,
        }
    }

    /// Runs until the shared state says that the data path must end.
    pub fn run(mut self) {
        while !self.shared.stop.load(Ordering::Acquire) {
            self.turn();
        }
        self.flush_captures();
    }

    /// Makes one turn: reads, lets the switch run, sends, sleeps.
    fn turn(&mut self) {
        let began = self.shared.clock.now();
        let more = self.read_all();
        let deadline = self.run_switch(began);
        self.send_all();
        self.capture_frames();
        let busy = !self.frames.is_empty();
        self.frames.clear();
        if began >= self.next_housekeeping {
            self.keep_house(began);
        }
        if more {
            return;
        }
        // While packets flow, the rings are looked at once a quantum; otherwise they wake us at once.
        let next_turn = began + self.quantum;
        let limit = if busy { next_turn } else { self.next_housekeeping.max(next_turn) };
        let until = deadline.map_or(limit, |deadline| deadline.max(next_turn).min(limit));
        self.sleep(until, !busy);
    }

    /// Takes at most [`TURN`] of the frames that have arrived; returns whether there may be more. Ports take
    /// turns, a batch each, so that a busy port does not starve the others.
    fn read_all(&mut self) -> bool {
        let ports = self.ports.len();
        self.first_port = (self.first_port + 1) % ports.max(1);
        loop {
            let mut more = false;
            for n in 0..ports {
                more |= self.read_batch((n + self.first_port) % ports);
            }
            if !more || self.frames.len() >= TURN {
                return more;
            }
        }
    }

    /// Takes a batch from one port; returns whether there may be more.
    fn read_batch(&mut self, place: usize) -> bool {
        let most = BATCH.min(TURN.saturating_sub(self.frames.len()));
        let read = self.ports[place].attachment.receiver.read(place, most, &mut self.frames);
        if read.frames > 0 {
            self.down[place] = false;
        }
        if read.oversize + read.lost > 0 {
            self.note_left_out(place, read);
        }
        read.frames == most
    }

    fn note_left_out(&self, place: usize, read: RingRead) {
        let shared = &self.shared;
        let (name, counters) = &shared.interfaces[place];
        let before = counters.oversize.fetch_add(read.oversize, Ordering::Relaxed);
        if before == 0 && read.oversize > 0 {
            tracing::warn!(
                interface = name,
                "frames longer than {MAX_FRAME} bytes are dropped: turn the sender's offloads off \
                 (ethtool -K <its interface> tso off gso off)"
            );
        }
        counters.kernel_drops.fetch_add(read.lost, Ordering::Relaxed);
        shared.lateness().kernel_dropped(read.lost);
    }

    /// Gives the switch the arrivals and lets it run; returns when it has to run next.
    fn run_switch(&mut self, began: Nanos) -> Option<Nanos> {
        let offset = self.wall_offset;
        // Frames of one port are in order already; a stable sort merges the ports.
        self.frames.sort_by_key(|frame| frame.received_at);
        let shared = &self.shared;
        let ports = &mut self.ports;
        let mut switch = shared.switch();
        // The time is read only now: the thread that held the switch may have run it beyond the turn's
        // beginning.
        let now = if self.frames.is_empty() { began } else { shared.clock.now() };
        switch.reuse(&mut self.emitted.outputs);
        for frame in &self.frames {
            let interface = &mut ports[frame.source];
            let bytes = interface.attachment.receiver.bytes(frame);
            let arrived = Nanos(frame.received_at.saturating_sub(offset));
            let believable = arrived <= now && arrived + OLDEST >= now;
            switch.inject(if believable { arrived } else { now }, interface.port, bytes);
        }
        let deadline = switch.advance(now, &mut self.emitted);
        drop(switch);
        ports.iter_mut().for_each(|interface| interface.attachment.receiver.release());
        deadline
    }

    fn send_all(&mut self) {
        self.pass_to_control_plane();
        let outputs = &self.emitted.outputs;
        if outputs.is_empty() {
            return;
        }
        for (n, output) in outputs.iter().enumerate() {
            // The switch only emits on ports that it has, and these have an interface.
            if let Some(place) = self.places.get(usize::from(output.port.0)).copied().flatten() {
                self.outgoing[place].push(n);
            }
        }
        let shared = &self.shared;
        let now = shared.clock.now();
        for (place, numbers) in self.outgoing.iter_mut().enumerate().filter(|(_, n)| !n.is_empty()) {
            let frames = numbers.iter().map(|n| &outputs[*n].bytes[..]);
            self.ports[place].attachment.transmitter.send(frames, |bytes, error| {
                let (interface, counters) = &shared.interfaces[place];
                if counters.refused.fetch_add(1, Ordering::Relaxed) == 0 {
                    let note = "interface refused a frame; more are only counted";
                    tracing::warn!(interface, bytes, %error, "{note}");
                }
            });
            numbers.clear();
        }
        let mut lateness = shared.lateness();
        outputs.iter().for_each(|output| lateness.record(now - output.time));
    }

    fn pass_to_control_plane(&mut self) {
        let shared = &self.shared;
        let Emitted { packet_ins, digests, .. } = &mut self.emitted;
        let packets = packet_ins.drain(..).map(|packet| ToControlPlane::Packet(packet.bytes));
        let digests = digests.drain(..).map(|(time, digest)| ToControlPlane::Digest(time, digest));
        for message in packets.chain(digests) {
            if self.control_plane.try_send(message).is_err() {
                shared.control_plane_full.fetch_add(1, Ordering::Relaxed);
            }
        }
    }

    fn capture_frames(&mut self) {
        for frame in self.emitted.seen.drain(..) {
            let place = self.places.get(usize::from(frame.port.0)).copied().flatten();
            if let Some(capture) = place.and_then(|place| self.ports[place].capture.as_mut()) {
                note_written(&self.shared, capture.write(self.wall_offset, &frame));
            }
        }
    }

    fn keep_house(&mut self, now: Nanos) {
        self.next_housekeeping = now + HOUSEKEEPING;
        let shared = &self.shared;
        let mut total = 0;
        for (interface, (_, counters)) in self.ports.iter().zip(&shared.interfaces) {
            let drops = interface.attachment.receiver.take_kernel_drops();
            counters.kernel_drops.fetch_add(drops, Ordering::Relaxed);
            total += drops;
        }
        let mut lateness = shared.lateness();
        if total > 0 {
            lateness.kernel_dropped(total);
        }
        lateness.tick(now);
        drop(lateness);
        // The wall clock may be adjusted while we run.
        self.wall_offset = shared.clock.wall_offset();
        let ports = self.ports.iter_mut().zip(&shared.interfaces).zip(&mut self.polls[1..]);
        for ((port, (interface, _)), poll) in ports {
            if port.reopening.renew(interface, &mut port.attachment) {
                *poll = poll_entry(port.attachment.receiver.fd());
            }
        }
        self.flush_captures();
    }

    fn flush_captures(&mut self) {
        for capture in self.ports.iter_mut().filter_map(|port| port.capture.as_mut()) {
            note_written(&self.shared, capture.flush());
        }
    }

    /// Sleeps until a time, a wake, or (if `for_frames`) a frame.
    fn sleep(&mut self, until: Nanos, for_frames: bool) {
        let remaining = until - self.shared.clock.now();
        if remaining == Nanos::ZERO {
            return;
        }
        let timeout = libc::timespec {
            tv_sec: (remaining.0 / 1_000_000_000) as libc::time_t,
            tv_nsec: (remaining.0 % 1_000_000_000) as _,
        };
        let count = if for_frames { self.polls.len() } else { 1 };
        // SAFETY: polls has at least `count` entries (the waker's is always there), and the pointers
        // outlive the call. Being interrupted only means an early turn.
        let woken = unsafe {
            libc::ppoll(self.polls.as_mut_ptr(), count as libc::nfds_t, &timeout, std::ptr::null())
        };
        if woken <= 0 {
            return;
        }
        if self.polls[0].revents != 0 {
            self.shared.waker.clear();
        }
        for place in 0..count - 1 {
            if self.polls[place + 1].revents & libc::POLLERR != 0 {
                self.note_error(place);
            }
        }
    }

    /// Logs why poll reports an error, once for an interface that is down.
    fn note_error(&mut self, place: usize) {
        let (interface, _) = &self.shared.interfaces[place];
        let Some(error) = self.ports[place].attachment.receiver.take_error() else { return };
        if error.raw_os_error() != Some(libc::ENETDOWN) {
            tracing::warn!(interface, %error, "reading failed");
        } else if !std::mem::replace(&mut self.down[place], true) {
            tracing::warn!(interface, "interface is down or gone; it is used again when it is there and up");
        }
    }
}

/// A capture that ends early does not stop the switch. The switch says so, now and at its end.
fn note_written(shared: &Shared, result: Result<(), ShellError>) {
    if let Err(error) = result {
        tracing::error!("{error}");
        // The first one counts.
        let _ = shared.problem.set(error.to_string());
    }
}

fn poll_entry(fd: RawFd) -> libc::pollfd {
    libc::pollfd { fd, events: libc::POLLIN, revents: 0 }
}
