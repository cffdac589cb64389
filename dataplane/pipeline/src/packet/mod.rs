//! A packet between the two pipelines, with the input and output of each.

pub(crate) mod pool;

use groupflow_base::Nanos;

use crate::packet::pool::PacketBody;
use crate::port::Port;
use crate::program::expr::Env;
use crate::program::field::{mask, Field};
use crate::program::info::DigestId;
use crate::program::Program;

/// `standard_metadata.instance_type`, with BMv2's numbers.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum Instance {
    /// Received on a port.
    #[default]
    Normal = 0,
    /// Cloned at the end of ingress.
    CloneIngress = 1,
    /// Cloned at the end of egress.
    CloneEgress = 2,
    /// Sent round again after egress.
    Recirculated = 4,
    /// A copy made by the replication engine.
    Replication = 5,
    /// Sent round again after ingress.
    Resubmit = 6,
}

/// The fields that a resubmitted, recirculated or cloned packet keeps.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Preserved(pub(crate) Vec<(Field, u128)>);

/// A frame: its first bytes, and the number of further ones that no code reads.
///
/// A frame from a wire has no tail. A simulator gives all headers as bytes and the rest as a tail: lengths
/// and counters include it, no parser can read it, and checksums and hashes over the payload leave it out.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Frame {
    pub bytes: Vec<u8>,
    /// The number of further bytes.
    pub tail: u32,
}

impl Frame {
    pub fn wire_len(&self) -> usize {
        self.bytes.len() + self.tail as usize
    }

    /// Keeps the first `length` bytes of the wire.
    pub fn truncate(&mut self, length: usize) {
        self.bytes.truncate(length);
        let room = u32::try_from(length - self.bytes.len()).unwrap_or(u32::MAX);
        self.tail = self.tail.min(room);
    }
}

impl From<Vec<u8>> for Frame {
    fn from(bytes: Vec<u8>) -> Frame {
        Frame { bytes, tail: 0 }
    }
}

/// The metadata with which a packet comes to ingress.
#[derive(Debug, Clone, Default)]
pub struct Arrival {
    /// `ingress_port`.
    pub port: Port,
    /// `Normal`, `Recirculated` or `Resubmit`.
    pub instance: Instance,
    /// The packet that [`Verdict::Resubmit`] or [`Fate::Recirculate`] handed out.
    pub restored: Option<Box<Preserved>>,
    /// Bytes behind the given ones that exist only as a length; see [`Frame`].
    pub tail: u32,
}

impl Arrival {
    pub fn on(port: Port) -> Arrival {
        Arrival { port, ..Arrival::default() }
    }
}

/// The metadata with which a packet comes to egress.
#[derive(Debug, Clone, Copy, Default)]
pub struct Departure {
    /// `egress_port`.
    pub port: Port,
    /// `egress_rid`: which copy of a multicast group.
    pub rid: u16,
    /// `instance_type`.
    pub instance: Instance,
    /// When the packet was queued; P4 sees microseconds.
    pub enq_timestamp: Nanos,
    /// Packets in the queue when this one joined.
    pub enq_qdepth: u32,
    /// Packets in the queue when this one left.
    pub deq_qdepth: u32,
    /// How long it was queued; P4 sees microseconds.
    pub deq_timedelta: Nanos,
}

/// The reason why a pipeline dropped a packet.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, thiserror::Error)]
pub enum DropReason {
    /// The program marked it: `egress_spec` is the drop port.
    #[error("the program marked the packet to drop")]
    Marked,
    /// The program marked it too, and it is no loss: the packet did its work. The word of the program's last
    /// count says so.
    #[error("absorbed")]
    Absorbed,
    /// An `assert` or `assume` of the program was false. (BMv2 stops there.)
    #[error("an assertion of the program is false")]
    Assertion,
    /// The actions ran more steps than one packet may take: a loop.
    #[error("the program ran too many steps")]
    StepLimit,
    /// The packet is of another pipeline, whose fields lie elsewhere.
    #[error("the packet is of another program")]
    Foreign,
}

/// The way of a packet after ingress. Multicast goes before unicast and drop, as in BMv2.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Verdict {
    /// Nothing more.
    Drop(DropReason),
    /// To one port. It may be one the switch does not have.
    Unicast(Port),
    /// To every port of a multicast group, by its id (never 0).
    Multicast(u16),
    /// The same bytes to ingress once more, with these fields kept.
    Resubmit(Box<Preserved>),
}

#[derive(Debug, Clone)]
pub struct Ingress {
    pub verdict: Verdict,
    /// The packet, unless it is dropped or resubmitted.
    pub packet: Option<Packet>,
    /// A clone to make: the packet as it arrived, parsed anew, through a clone session.
    pub clone: Option<CloneRequest>,
    /// Messages for the control plane.
    pub digests: Box<[Digest]>,
}

impl Ingress {
    /// Without a packet, a clone or messages.
    pub(crate) fn nothing(verdict: Verdict) -> Ingress {
        Ingress { verdict, packet: None, clone: None, digests: Box::default() }
    }
}

/// A packet that ingress sends to one port, as the switch's queues see it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Unicast {
    /// The egress port. It may be a port the switch does not have.
    pub port: Port,
    /// `standard_metadata.priority`: the queue at the port, 0 the lowest.
    pub priority: u8,
    /// Bytes of the frame that will leave if egress neither adds nor removes headers.
    pub bytes: u32,
}

/// The result of egress for a packet whose frame is in a buffer of the caller.
#[derive(Debug, Clone)]
pub struct EgressOutcome {
    pub fate: Fate,
    /// A clone to make, through a clone session, of the packet as it is after egress.
    pub clone: Option<CloneRequest>,
}

/// The way of a frame after egress.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Fate {
    /// There is none.
    Drop(DropReason),
    /// The packet leaves at the port.
    Send,
    /// The packet goes to ingress again, with these fields kept, for [`Arrival::restored`].
    Recirculate(Box<Preserved>),
}

/// A packet to be sent through a clone session. An unknown session makes no clone.
#[derive(Debug, Clone)]
pub struct CloneRequest {
    pub session: u32,
    /// The packet, ready for egress.
    pub packet: Packet,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Digest {
    /// The digest's number; see [`crate::Program::digests`].
    pub digest: DigestId,
    /// The digest's members; of one of more than 128 bits its parts ([`part_widths`](crate::part_widths)).
    pub values: Vec<u128>,
}

/// A parsed packet on its way from ingress to egress. Cloning copies the fields and shares the payload.
///
/// Only the pipeline that made it can use it.
#[derive(Debug, Clone)]
pub struct Packet(pub(crate) Box<PacketBody>);

impl Packet {
    /// Bytes of the frame that will leave if egress neither adds nor removes headers.
    pub fn wire_len(&self) -> usize {
        self.0.wire as usize
    }

    /// `standard_metadata.priority`: the queue at the port, 0 the lowest.
    pub fn priority(&self) -> u8 {
        self.0.priority
    }
}

pub(crate) fn wire_length(bytes: &[u8], tail: u32) -> u32 {
    u32::try_from(bytes.len()).unwrap_or(u32::MAX).saturating_add(tail)
}

/// Clears all metadata but the fields that the clone keeps.
pub(crate) fn become_clone(program: &Program, phv: &mut [u8], preserved: &Preserved, instance: Instance) {
    program.layout.clear_metadata(phv);
    preserved.restore(phv);
    program.standard.instance_type.write(phv, instance as u128);
}

impl Preserved {
    /// The values of a field list.
    pub(crate) fn of(program: &Program, list: u32, phv: &[u8]) -> Preserved {
        let fields = program.field_lists[list as usize].iter();
        Preserved(fields.map(|field| (*field, field.bits(phv))).collect())
    }

    /// Sets the fields. Those of another program may not be there.
    pub(crate) fn restore(&self, phv: &mut [u8]) {
        for (field, value) in &self.0 {
            if field.is_within(phv) {
                field.write(phv, *value);
            }
        }
    }
}

impl Digest {
    /// A digest's members.
    pub(crate) fn of(program: &Program, list: u32, phv: &[u8]) -> Digest {
        let env = Env { layout: &program.layout, phv, locals: &[] };
        let members = program.learn_lists[list as usize].iter().zip(&program.digests[list as usize].widths);
        let values = members.map(|(expr, &width)| expr.eval(env) & mask(width as u8)).collect();
        Digest { digest: DigestId(list), values }
    }
}
