//! Traces and captured frames, as they are asked for and read.

use groupflow_base::Nanos;
use groupflow_pipeline::{FieldMatch, FieldMatchError, Port, Step};
use serde::{Deserialize, Serialize};
use thiserror::Error;

use super::tracer::FILTER_LIMIT;

/// The packets to trace, in the form in which they are asked for.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TraceRequest {
    /// Only packets that arrive at this port.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub port: Option<u16>,
    /// Only packets of this session: `group.session=ID` of groupflow's program.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session: Option<u32>,
    /// Only packets with these fields, as [`groupflow_pipeline::Pipeline::field_match`] reads them.
    #[serde(default, rename = "match")]
    pub fields: Vec<String>,
    /// Only packets of which a copy is dropped.
    #[serde(default)]
    pub dropped: bool,
    /// The number of packets.
    #[serde(default = "one")]
    pub next: u64,
    /// See [`TraceFilter::patient`].
    #[serde(skip)]
    pub patient: bool,
}

fn one() -> u64 {
    1
}

/// The reason why no packets can be traced.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum TraceError {
    /// The switch has no program.
    #[error("the switch has no program yet; set one over P4Runtime")]
    NoProgram,
    /// A field that the program does not have.
    #[error(transparent)]
    Field(#[from] FieldMatchError),
    /// A port that the switch does not have.
    #[error("port: there is no port {0}; there are {1}")]
    Port(u16, String),
    /// Too many filters.
    #[error("{FILTER_LIMIT} traces run already; end one of them")]
    Full,
}

/// The packets that are to be traced.
#[derive(Debug, Clone, Default)]
pub struct TraceFilter {
    /// Only packets that arrive at this port.
    pub port: Option<Port>,
    /// Only packets whose fields have these values.
    pub fields: Vec<FieldMatch>,
    /// Only packets of which a copy was dropped.
    pub dropped: bool,
    /// Whether time is virtual: then a trace holds nobody up, and the reader takes all in the end.
    pub patient: bool,
}

/// One pass of a packet through ingress or egress.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct Branch {
    /// `ingress` or `egress`.
    pub pass: &'static str,
    /// The origin of the packet: `arrival`, `unicast`, `multicast`, `clone`, `resubmit` or `recirculate`.
    pub cause: &'static str,
    /// When the pass began.
    pub time: Nanos,
    /// The queue from which the packet came to egress.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub queue: Option<QueuePass>,
    /// The steps in parser, controls and deparser.
    pub steps: Vec<Step>,
    /// The end of the pass, such as `sent` or `dropped`, with the reason of a drop.
    pub verdict: String,
    /// Whether the packet was dropped here.
    pub dropped: bool,
    /// Bytes of the frame that was sent; 0: none was.
    pub sent_bytes: usize,
    /// The passes of the packet, or of its copies, that follow.
    pub copies: Vec<Branch>,
    /// Further copies, for which the trace had no room.
    #[serde(skip_serializing_if = "is_zero")]
    pub copies_cut: u32,
}

#[allow(clippy::trivially_copy_pass_by_ref)] // serde's form
fn is_zero(number: &u32) -> bool {
    *number == 0
}

/// A packet's stay in a queue.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct QueuePass {
    /// The port.
    pub port: u16,
    /// The queue at the port.
    pub queue: u8,
    /// The instance of the copy in its multicast group or clone session.
    pub rid: u16,
    /// Packets in the queue when this one joined.
    pub depth: u32,
    /// Nanoseconds that the packet waited.
    pub waited: Nanos,
}

/// The trace of one packet.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Trace {
    /// The number of the traced packet at this switch, from 0.
    pub id: u64,
    /// When the packet came to ingress.
    pub time: Nanos,
    /// The port by which the packet came.
    pub port: u16,
    /// The packet's length in bytes.
    pub length: usize,
    /// The packet's first bytes, in hexadecimal digits.
    pub packet: String,
    /// Packets that the filter chose since the trace before, and that were not traced.
    pub missed: u64,
    /// The pass through ingress, and all that follows.
    #[serde(flatten)]
    pub root: Branch,
}

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
