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
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub port: Option<u16>,
    /// Only packets of this session: `group.session=ID` of groupflow's program.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub session: Option<u32>,
    /// Only packets with these fields, as [`groupflow_pipeline::Pipeline::field_match`] reads them.
    #[serde(default, rename = "match")]
    pub fields: Vec<String>,
    #[serde(default)]
    pub dropped: bool,
    #[serde(default = "one")]
    pub next: u64,
    /// See [`TraceFilter::patient`].
    #[serde(skip)]
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
    /// The pass through ingress, and all that follows.
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
