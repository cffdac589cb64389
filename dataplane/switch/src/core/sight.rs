//! The frames that pass the switch's ports, each with its end, for captures; the words for both captures and
//! traces.
//!
//! A port lies between its emulated link and the program: a frame that comes in is seen when the program gets
//! it, a frame that leaves when the link does.

use groupflow_base::Nanos;
use groupflow_pipeline::{DropReason, Instance, Port};

use super::switch::Switch;
use super::tracer::TraceHandle;

/// A frame at a port.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SeenFrame {
    /// When the frame passed the port.
    pub time: Nanos,
    /// The port.
    pub port: Port,
    /// Whether the frame came in.
    pub inbound: bool,
    /// The frame.
    pub bytes: Vec<u8>,
    /// The end of a frame that came in, as far as it was known at once; the origin of one that left.
    pub verdict: String,
}

/// The frames that were seen and not taken yet.
#[derive(Debug, Default)]
pub(super) struct Sight {
    /// Whether anybody looks.
    pub on: bool,
    pub frames: Vec<SeenFrame>,
    /// The place of the frame that is in ingress.
    noted: Option<usize>,
    /// The origin of the frame that is in egress.
    origin: String,
}

impl Sight {
    /// Whether anybody looks; nobody does in a build that measures what this costs.
    #[inline]
    pub fn is_on(&self) -> bool {
        !cfg!(feature = "no-hooks") && self.on
    }

    /// A frame comes to ingress.
    #[cold]
    pub fn arrives(&mut self, time: Nanos, port: Port, bytes: &[u8]) {
        self.noted = Some(self.frames.len());
        let verdict = format!("in {port}");
        self.frames.push(SeenFrame { time, port, inbound: true, bytes: bytes.to_vec(), verdict });
    }

    /// Whether a frame that was seen is in ingress.
    pub fn notes(&self) -> bool {
        self.noted.is_some()
    }

    /// Adds to the verdict of the frame in ingress.
    pub fn note(&mut self, text: impl FnOnce() -> String) {
        if let Some(frame) = self.noted.and_then(|place| self.frames.get_mut(place)) {
            let sign = if frame.verdict.contains(": ") { "; " } else { ": " };
            frame.verdict += &format!("{sign}{}", text());
        }
    }

    /// Adds what became of the frame, or of a copy of it, at a port.
    pub fn note_at(&mut self, port: Option<Port>, text: impl FnOnce() -> String) {
        let Some(port) = port.filter(|_| self.notes()) else { return self.note(text) };
        let of = self.origin.strip_prefix(": ").map_or_else(String::new, |copy| format!("{copy} "));
        self.note(|| format!("{of}at {port} {}", text()));
    }

    /// Ends the notes about a frame, or puts them off; gives what [`Sight::resume`] takes.
    #[inline]
    pub fn pause(&mut self) -> Option<usize> {
        self.noted.take()
    }

    /// Goes on with the notes.
    pub fn resume(&mut self, noted: Option<usize>) {
        self.noted = noted;
    }

    /// Says from where the frame comes that leaves next. `group` is its multicast group.
    #[inline]
    pub fn comes_from(&mut self, instance: Instance, rid: u16, group: u16) {
        if self.is_on() {
            self.set_origin(instance, rid, group);
        }
    }

    fn set_origin(&mut self, instance: Instance, rid: u16, group: u16) {
        self.origin = match instance {
            Instance::Replication => format!(": copy {rid} of multicast group {group}"),
            Instance::CloneIngress | Instance::CloneEgress => format!(": clone {rid}"),
            _ => String::new(),
        };
    }

    /// A frame leaves.
    pub fn leaves(&mut self, time: Nanos, port: Port, bytes: &[u8]) {
        if !self.on {
            return;
        }
        let verdict = format!("out {port}{}", self.origin);
        self.frames.push(SeenFrame { time, port, inbound: false, bytes: bytes.to_vec(), verdict });
    }

    /// The link did not carry the frame that left last.
    pub fn lost(&mut self, why: &str) {
        if let (true, Some(frame)) = (self.on, self.frames.last_mut()) {
            frame.verdict += &format!("; {why}");
        }
    }
}

impl Switch {
    /// Tells trace and capture what became of a packet.
    pub(super) fn tell(&mut self, trace: Option<TraceHandle>, dropped: bool, verdict: impl Fn() -> String) {
        self.tell_at(trace, dropped, None, verdict);
    }

    /// Does the same for a packet in egress at a port, which may be one copy of several.
    pub(super) fn tell_at(
        &mut self, trace: Option<TraceHandle>, dropped: bool, port: Option<Port>,
        verdict: impl Fn() -> String,
    ) {
        self.tracer.verdict(trace, dropped, &verdict);
        self.sight.note_at(port, verdict);
    }

    /// The reason why the program dropped the packet that the pipeline had last, if anybody asks for it.
    pub(super) fn drop_text(&self, trace: Option<TraceHandle>, reason: DropReason) -> Option<String> {
        let asked = trace.is_some() || self.sight.notes();
        let forwarding = self.forwarding.as_ref().filter(|_| asked)?;
        Some(forwarding.pipeline.drop_text(reason))
    }

    /// Tells that the program dropped a packet, and why.
    pub(super) fn tell_drop(&mut self, trace: Option<TraceHandle>, port: Option<Port>, why: Option<String>) {
        if let Some(why) = why {
            self.tell_at(trace, true, port, || format!("dropped: {why}"));
        }
    }

    /// Tells the end of a packet at its outbound link.
    #[inline]
    pub(super) fn tell_link(&mut self, place: u16, trace: Option<TraceHandle>, sent: bool) {
        if sent && trace.is_none() {
            return;
        }
        let why = match self.ports[usize::from(place)].out_wire.is_up() {
            _ if sent => "sent",
            true => "dropped: the link lost it",
            false => "dropped: the link is down",
        };
        self.tracer.verdict(trace, !sent, || why.into());
        if !sent {
            self.sight.lost(why);
        }
    }
}
