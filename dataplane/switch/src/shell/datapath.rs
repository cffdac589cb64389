//! The thread that moves packets: reads them in batches, lets the switch run, sends in batches.
//!
//! The switch keeps exact times; only when frames physically move is coalesced to the quantum. A frame's
//! time of arrival is the kernel's, so that reading it late does not lengthen an emulated link.

use std::io;
use std::os::fd::RawFd;
use std::sync::atomic::Ordering;
use std::sync::Arc;

use groupflow_pipeline::units::{Nanos, Port};
use tokio::sync::mpsc::Sender;

use super::pcap::Capture;
use super::rx::{Arena, Receiver, BATCH};
use super::shared::{Shared, ToControlPlane};
use super::tx::Transmitter;
use crate::core::{Emitted, Output, MAX_FRAME};

/// How often counters of the kernel are looked at, and windows closed.
const HOUSEKEEPING: Nanos = Nanos::from_millis(200);
/// A kernel time stamp further back than this is not believed: the wall clock was set.
const OLDEST: Nanos = Nanos::from_secs(1);

/// A port with its interface.
pub struct PortInterface {
    /// The port.
    pub port: Port,
    /// Where its frames come from.
    pub receiver: Receiver,
    /// Files for what comes in and goes out.
    pub captures: Option<(Capture, Capture)>,
}

/// The data path.
pub struct Datapath {
    /// Shared with the control plane.
    pub shared: Arc<Shared>,
    /// In the order of port numbers.
    pub ports: Vec<PortInterface>,
    /// Sends to all interfaces; absent where there are no ports.
    pub transmitter: Option<Transmitter>,
    /// Takes packets and digests for the controller.
    pub control_plane: Sender<ToControlPlane>,
    /// Frames move at most this often.
    pub quantum: Nanos,
}

/// State of the loop.
struct Loop {
    datapath: Datapath,
    arena: Arena,
    emitted: Emitted,
    polls: Vec<libc::pollfd>,
    /// The place of each port number.
    places: Vec<Option<usize>>,
    /// The wall clock's reading at the switch's zero.
    wall_offset: u64,
    next_housekeeping: Nanos,
    down: Vec<bool>,
    /// Which port is read first in the next turn.
    first_port: usize,
}

impl Datapath {
    /// Runs until the shared state says stop.
    pub fn run(self) {
        let highest = self.ports.iter().map(|p| usize::from(p.port.0)).max().unwrap_or(0);
        let mut places = vec![None; highest + 1];
        for (place, interface) in self.ports.iter().enumerate() {
            places[usize::from(interface.port.0)] = Some(place);
        }
        let waker = std::iter::once(self.shared.waker.fd());
        let polls = waker.chain(self.ports.iter().map(|p| p.receiver.fd())).map(poll_entry).collect();
        let mut state = Loop {
            arena: Arena::default(),
            emitted: Emitted::default(),
            polls,
            places,
            wall_offset: self.shared.clock.wall_offset(),
            next_housekeeping: Nanos::ZERO,
            down: vec![false; self.ports.len()],
            first_port: 0,
            datapath: self,
        };
        while !state.datapath.shared.stop.load(Ordering::Acquire) {
            state.turn();
        }
        state.flush_captures();
    }
}

impl Loop {
    /// One turn: read, run, send, sleep.
    fn turn(&mut self) {
        let shared = Arc::clone(&self.datapath.shared);
        let began = shared.clock.now();
        shared.waker.clear();
        let more = self.read_all();
        let now = shared.clock.now();
        let deadline = self.run_switch(now);
        self.send_all();
        let busy = !self.arena.is_empty();
        self.arena.clear();
        if now >= self.next_housekeeping {
            self.keep_house(now);
        }
        if more {
            return;
        }
        // While packets flow, the sockets are looked at once a quantum; otherwise they wake us at once.
        let next_turn = began + self.datapath.quantum;
        let limit = if busy { next_turn } else { self.next_housekeeping.max(next_turn) };
        let until = deadline.map_or(limit, |deadline| deadline.max(next_turn).min(limit));
        self.sleep(until, !busy);
    }

    /// Reads what is there, as far as the arena has room; says whether there may be more. Ports take turns,
    /// a batch each, so that a busy one does not starve the others.
    fn read_all(&mut self) -> bool {
        let ports = self.datapath.ports.len();
        let mut pending: Vec<usize> = (0..ports).map(|n| (n + self.first_port) % ports).collect();
        self.first_port = (self.first_port + 1) % ports.max(1);
        while !pending.is_empty() && self.arena.has_room() {
            let mut next = Vec::new();
            for place in pending {
                if !self.arena.has_room() || self.read_batch(place) {
                    next.push(place);
                }
            }
            pending = next;
        }
        !pending.is_empty()
    }

    /// Reads a batch from one port; says whether there may be more.
    fn read_batch(&mut self, place: usize) -> bool {
        let (name, counters) = &self.datapath.shared.interfaces[place];
        match self.datapath.ports[place].receiver.read(place, &mut self.arena) {
            Ok(read) => {
                self.down[place] = false;
                let before = counters.oversize.fetch_add(read.oversize as u64, Ordering::Relaxed);
                if before == 0 && read.oversize > 0 {
                    tracing::warn!(
                        interface = name,
                        "frames longer than {MAX_FRAME} bytes are dropped: turn the sender's offloads off \
                         (ethtool -K <its interface> tso off gso off)"
                    );
                }
                read.frames == BATCH
            }
            Err(error) => read_failed(name, &mut self.down[place], &error),
        }
    }

    /// Gives the switch what arrived and lets it run; says when it has to run next.
    fn run_switch(&mut self, now: Nanos) -> Option<Nanos> {
        let offset = self.wall_offset;
        self.arena.in_order();
        let arena = &self.arena;
        let ports = &mut self.datapath.ports;
        let mut switch = self.datapath.shared.switch();
        for frame in arena.frames() {
            let interface = &mut ports[frame.source];
            let bytes = arena.bytes(frame);
            let arrived = Nanos(frame.received_at.saturating_sub(offset));
            let believable = arrived <= now && arrived + OLDEST >= now;
            switch.inject(if believable { arrived } else { now }, interface.port, bytes);
            if let Some((capture, _)) = &mut interface.captures {
                capture.write(frame.received_at, bytes);
            }
        }
        switch.advance(now, &mut self.emitted)
    }

    fn send_all(&mut self) {
        self.pass_to_control_plane();
        let outputs = &self.emitted.outputs;
        if outputs.is_empty() {
            return;
        }
        let shared = &self.datapath.shared;
        let (ports, places) = (&self.datapath.ports, &self.places);
        let place = |output: &Output| places.get(usize::from(output.port.0)).copied().flatten();
        // The switch only emits on ports that it has, and these have an interface.
        let frames = outputs.iter().map(|output| {
            let index = place(output).map_or(0, |place| ports[place].receiver.index());
            (index, &output.bytes[..])
        });
        let now = shared.clock.now();
        if let Some(transmitter) = &mut self.datapath.transmitter {
            transmitter.send(frames, |n, error| {
                if let Some(place) = place(&outputs[n]) {
                    let (interface, counters) = &shared.interfaces[place];
                    if counters.refused.fetch_add(1, Ordering::Relaxed) == 0 {
                        let bytes = outputs[n].bytes.len();
                        tracing::warn!(interface, bytes, %error, "interface refused a frame; more are only counted");
                    }
                }
            });
        }
        let mut lateness = shared.lateness();
        outputs.iter().for_each(|output| lateness.record(now - output.time));
        drop(lateness);
        self.capture_outputs();
        self.emitted.outputs.clear();
    }

    fn pass_to_control_plane(&mut self) {
        let shared = &self.datapath.shared;
        let packets = self.emitted.packet_ins.drain(..).map(|packet| ToControlPlane::Packet(packet.bytes));
        let digests =
            self.emitted.digests.drain(..).map(|(time, digest)| ToControlPlane::Digest(time, digest));
        for message in packets.chain(digests) {
            if self.datapath.control_plane.try_send(message).is_err() {
                shared.control_plane_full.fetch_add(1, Ordering::Relaxed);
            }
        }
    }

    fn capture_outputs(&mut self) {
        for output in &self.emitted.outputs {
            let place = self.places.get(usize::from(output.port.0)).copied().flatten();
            let captures = place.and_then(|place| self.datapath.ports[place].captures.as_mut());
            if let Some((_, capture)) = captures {
                capture.write(self.wall_offset + output.time.0, &output.bytes);
            }
        }
    }

    fn keep_house(&mut self, now: Nanos) {
        self.next_housekeeping = now + HOUSEKEEPING;
        let shared = &self.datapath.shared;
        let mut total = 0;
        for (interface, (_, counters)) in self.datapath.ports.iter().zip(&shared.interfaces) {
            let drops = interface.receiver.take_kernel_drops();
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
        self.flush_captures();
    }

    fn flush_captures(&mut self) {
        for (input, output) in self.datapath.ports.iter_mut().filter_map(|p| p.captures.as_mut()) {
            input.flush();
            output.flush();
        }
    }

    /// Sleeps until a time, a wake, or (if `for_frames`) a frame.
    fn sleep(&mut self, until: Nanos, for_frames: bool) {
        let left = until - self.datapath.shared.clock.now();
        if left == Nanos::ZERO {
            return;
        }
        let timeout = libc::timespec {
            tv_sec: (left.0 / 1_000_000_000) as libc::time_t,
            tv_nsec: (left.0 % 1_000_000_000) as _,
        };
        let count = if for_frames { self.polls.len() } else { 1 };
        // SAFETY: polls has at least `count` entries (the waker's is always there), and the pointers
        // outlive the call. Being interrupted only means an early turn.
        unsafe { libc::ppoll(self.polls.as_mut_ptr(), count as libc::nfds_t, &timeout, std::ptr::null()) };
    }
}

fn poll_entry(fd: RawFd) -> libc::pollfd {
    libc::pollfd { fd, events: libc::POLLIN, revents: 0 }
}

/// Notes why a read failed; says whether to try again at once.
fn read_failed(interface: &str, down: &mut bool, error: &io::Error) -> bool {
    match error.raw_os_error() {
        Some(libc::EAGAIN) => false,
        // A frame whose offload the kernel cannot describe; it is gone, the next may be fine.
        Some(libc::EINVAL) => true,
        Some(libc::ENETDOWN) => {
            if !std::mem::replace(down, true) {
                tracing::warn!(interface, "interface is down; it is used again when it comes up");
            }
            // The error is reported once, then the socket is quiet.
            false
        }
        _ => {
            tracing::warn!(interface, %error, "reading failed");
            false
        }
    }
}
