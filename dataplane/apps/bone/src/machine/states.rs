//! The states of hub and rim, and the steps between them: the paper's flowcharts.
//!
//! Both machines follow these tables; a step that is not in them is a bug, and debug builds panic. The
//! drawings docs/img/bone-hub.png and bone-rim.png are made from them.

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FlowchartStep<S> {
    pub from: S,
    pub when: &'static str,
    pub to: S,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum HubState {
    /// Nothing is queued.
    Idle,
    /// The hub has announced a multicast, and gathers the rims that take part.
    Joining,
    /// The hub sends the control parameters.
    Describing,
    Announcing,
    /// The hub sends the packets of a round.
    Sending,
    /// The hub gathers reception results.
    Gathering,
    /// The hub goes back to the bytes asked for, and computes the packet size.
    Sizing,
    /// The hub asks the rims that have not said that they are complete.
    Asking,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum RimState {
    /// The rim waits for a multicast to begin.
    Waiting,
    /// The rim is about to say that it takes part.
    Joining,
    /// The rim has joined, and waits for the control parameters.
    Joined,
    Receiving,
    /// The rim is about to report which bytes it received.
    Reporting,
    /// The rim has the whole file.
    Complete,
}

const fn step<S: Copy>(from: S, when: &'static str, to: S) -> FlowchartStep<S> {
    FlowchartStep { from, when, to }
}

use HubState as H;
use RimState as R;

/// All steps that a hub may take.
pub const HUB: &[FlowchartStep<HubState>] = &[
    step(H::Idle, "scheduled: a file is queued", H::Joining),
    step(H::Idle, "unscheduled, unicast: a file is queued", H::Describing),
    step(H::Joining, "timeout, nobody joined: again", H::Joining),
    step(H::Joining, "nobody joined again and again", H::Idle),
    step(H::Joining, "timeout: the rims are known", H::Describing),
    step(H::Describing, "scheduled", H::Announcing),
    step(H::Describing, "fixed size", H::Sending),
    step(H::Describing, "the file is empty", H::Asking),
    step(H::Announcing, "", H::Sending),
    step(H::Sending, "the round's packets are sent", H::Gathering),
    step(H::Sending, "the file cannot be read", H::Idle),
    step(H::Gathering, "all answered, or timeout", H::Sizing),
    step(H::Gathering, "some are silent", H::Asking),
    step(H::Gathering, "all complete; unscheduled: silence", H::Idle),
    step(H::Gathering, "unicast: the next rim", H::Describing),
    step(H::Sizing, "scheduled", H::Announcing),
    step(H::Sizing, "a rim lacks the control parameters", H::Describing),
    step(H::Sizing, "fixed size", H::Sending),
    step(H::Asking, "something is lacking", H::Sizing),
    step(H::Asking, "some are silent", H::Asking),
    step(H::Asking, "all complete, or given up", H::Idle),
    step(H::Asking, "unicast: the next rim", H::Describing),
];

/// All steps that a rim may take.
pub const RIM: &[FlowchartStep<RimState>] = &[
    step(R::Waiting, "IPM_SEND; late: anything of an unknown multicast", R::Joining),
    step(R::Waiting, "control parameters", R::Receiving),
    step(R::Joining, "IPM_SEND of the next", R::Joining),
    step(R::Joining, "JOIN_MESSAGE sent", R::Joined),
    step(R::Joining, "control parameters", R::Receiving),
    step(R::Joined, "control parameters", R::Receiving),
    step(R::Joined, "still unknown: again", R::Joining),
    step(R::Receiving, "the round's last packet, or timeout; asked", R::Reporting),
    step(R::Reporting, "reported, or others asked for the same", R::Receiving),
    step(R::Receiving, "packet 0: the whole file", R::Complete),
    step(R::Reporting, "the whole file", R::Complete),
    step(R::Complete, "END", R::Waiting),
    step(R::Joining, "END", R::Waiting),
    step(R::Joined, "END", R::Waiting),
    step(R::Receiving, "END: given up", R::Waiting),
    step(R::Reporting, "END: given up", R::Waiting),
    step(R::Complete, "IPM_SEND of the next", R::Joining),
    step(R::Complete, "control parameters of the next", R::Receiving),
    step(R::Receiving, "control parameters of the next", R::Receiving),
    step(R::Reporting, "control parameters of the next", R::Receiving),
    step(R::Joined, "IPM_SEND", R::Joining),
    step(R::Receiving, "IPM_SEND of the next", R::Joining),
    step(R::Reporting, "IPM_SEND of the next", R::Joining),
];

pub fn allowed<S: PartialEq>(table: &[FlowchartStep<S>], from: &S, to: &S) -> bool {
    table.iter().any(|step| step.from == *from && step.to == *to)
}
