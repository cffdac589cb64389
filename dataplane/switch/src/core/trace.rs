//! Traces and captured frames, as they are asked for and read.

use groupflow_base::Nanos;
use groupflow_pipeline::{FieldMatch, FieldMatchError, Port, Step};
use serde::{Deserialize, Serialize};
use thiserror::Error;

use super::tracer::FILTER_LIMIT;

/// The packets to trace, in the form in which they are asked for.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "shell", derive(clap::Args))]
#[serde(default, deny_unknown_fields)]
pub struct TraceRequest {
    /// Only packets that arrive at this port
    #[cfg_attr(feature = "shell", arg(long, value_name = "PORT"))]
    pub port: Option<u16>,
    /// Only packets of this session
    #[cfg_attr(feature = "shell", arg(long, value_name = "ID"))]
    pub session: Option<u32>,
    /// Only packets with this field: ipv4.dst=10.0.0.1, ipv4.src=10.0.0.0/8, ethernet.type=0x800 (repeat)
    #[cfg_attr(feature = "shell", arg(long = "match", value_name = "HEADER.FIELD=VALUE"))]
    #[serde(rename = "match")]
    pub fields: Vec<String>,
    /// Only packets of which a copy is dropped (of fast traffic: a sample)
    #[cfg_attr(feature = "shell", arg(long))]
    pub dropped: bool,
    /// Add each outcome that the program allows where chance or a selector's hash decides
    #[cfg_attr(feature = "shell", arg(long))]
    pub all: bool,
    /// The number of packets
    #[cfg_attr(feature = "shell", arg(long, value_name = "N", default_value_t = 1,
        value_parser = clap::value_parser!(u64).range(1..)))]
    #[serde(default = "one")]
    pub next: u64,
    /// See [`TraceFilter::patient`].
    #[serde(skip)]
    #[cfg_attr(feature = "shell", arg(skip))]
    pub patient: bool,
}

fn one() -> u64 {
    1
}

#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum TraceError {
    #[error("the switch has no program yet; set one over P4Runtime")]
    NoProgram,
    #[error(transparent)]
    Field(#[from] FieldMatchError),
    #[error("port: there is no port {0}; there are {1}")]
    Port(u16, String),
    #[error("{FILTER_LIMIT} traces run already; end one of them")]
    Full,
}

#[derive(Debug, Clone, Default)]
pub struct TraceFilter {
    pub port: Option<Port>,
    pub fields: Vec<FieldMatch>,
    pub dropped: bool,
    pub all: bool,
    /// Whether time is virtual: then a trace holds nobody up, and the reader takes all in the end.
    pub patient: bool,
}

#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct Branch {
    /// `ingress` or `egress`.
    pub pass: &'static str,
    /// The origin of the packet: `arrival`, `unicast`, `multicast`, `clone`, `resubmit` or `recirculate`.
    pub cause: &'static str,
    pub time: Nanos,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub queue: Option<QueuePass>,
    pub steps: Vec<Step>,
    /// The end of the pass, such as `sent` or `dropped`, with the reason of a drop.
    pub verdict: String,
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

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct QueuePass {
    pub port: u16,
    pub queue: u8,
    /// The instance of the copy in its multicast group or clone session.
    pub rid: u16,
    /// Packets in the queue when this one joined.
    pub depth: u32,
    pub waited: Nanos,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Trace {
    /// The number of the traced packet at this switch, from 0.
    pub id: u64,
    pub time: Nanos,
    pub port: u16,
    /// The packet's bytes.
    pub length: usize,
    /// The packet's first bytes, in hexadecimal digits.
    pub packet: String,
    /// Packets that the filter chose since the trace before, and that were not traced.
    pub missed: u64,
    #[serde(flatten)]
    pub all: Outcomes,
    /// The pass through ingress, and all that follows.
    #[serde(flatten)]
    pub root: Branch,
}

/// All possible outcomes of a packet, where a filter asks for them.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct Outcomes {
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub outcomes: Vec<Outcome>,
    /// Whether there are further ways, which were not tried.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub outcomes_cut: bool,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Outcome {
    /// The ways that end so, each by its decisions.
    pub ways: Vec<Vec<String>>,
    /// The port, length and bytes of each frame that leaves.
    pub sent: Vec<(u16, usize, String)>,
    /// The trace of the first way.
    #[serde(flatten)]
    pub root: Branch,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SeenFrame {
    pub time: Nanos,
    pub port: Port,
    pub inbound: bool,
    pub bytes: Vec<u8>,
    /// The end of a frame that came in, as far as it was known at once; the origin of one that left.
    pub verdict: String,
}
