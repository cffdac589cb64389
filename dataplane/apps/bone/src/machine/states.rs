//! The states of hub and rim, and the steps between them: the paper's flowcharts.
//!
//! Both machines follow these tables; a step that is not in them is a bug, and debug builds panic. The
//! drawings docs/img/bone-hub.png and bone-rim.png are made from them.

/// The state before, the condition, the state after.
pub type FlowchartStep<S> = (S, &'static str, S);

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

use HubState as H;
use RimState as R;

/// All steps that a hub may take.
pub const HUB: &[FlowchartStep<HubState>] = &[
    (H::Idle, "scheduled: a file is queued", H::Joining),
    (H::Idle, "unscheduled, unicast: a file is queued", H::Describing),
    (H::Joining, "timeout, nobody joined: again", H::Joining),
    (H::Joining, "nobody joined again and again", H::Idle),
    (H::Joining, "timeout: the rims are known", H::Describing),
    (H::Describing, "scheduled", H::Announcing),
    (H::Describing, "fixed size", H::Sending),
    (H::Describing, "the file is empty", H::Asking),
    (H::Announcing, "", H::Sending),
    (H::Sending, "the round's packets are sent", H::Gathering),
    (H::Sending, "the file cannot be read", H::Idle),
    (H::Gathering, "all answered, or timeout", H::Sizing),
    (H::Gathering, "some are silent", H::Asking),
    (H::Gathering, "all complete; unscheduled: silence", H::Idle),
    (H::Gathering, "unicast: the next rim", H::Describing),
    (H::Sizing, "scheduled", H::Announcing),
    (H::Sizing, "a rim lacks the control parameters", H::Describing),
    (H::Sizing, "fixed size", H::Sending),
    (H::Asking, "something is lacking", H::Sizing),
    (H::Asking, "some are silent", H::Asking),
    (H::Asking, "all complete, or given up", H::Idle),
    (H::Asking, "unicast: the next rim", H::Describing),
];

/// All steps that a rim may take.
pub const RIM: &[FlowchartStep<RimState>] = &[
    (R::Waiting, "IPM_SEND; late: anything of an unknown multicast", R::Joining),
    (R::Waiting, "control parameters", R::Receiving),
    (R::Joining, "IPM_SEND of the next", R::Joining),
    (R::Joining, "JOIN_MESSAGE sent", R::Joined),
    (R::Joining, "control parameters", R::Receiving),
    (R::Joined, "control parameters", R::Receiving),
    (R::Joined, "still unknown: again", R::Joining),
    (R::Receiving, "the round's last packet, or timeout; asked", R::Reporting),
    (R::Reporting, "reported, or others asked for the same", R::Receiving),
    (R::Receiving, "packet 0: the whole file", R::Complete),
    (R::Reporting, "the whole file", R::Complete),
    (R::Complete, "END", R::Waiting),
    (R::Joining, "END", R::Waiting),
    (R::Joined, "END", R::Waiting),
    (R::Receiving, "END: given up", R::Waiting),
    (R::Reporting, "END: given up", R::Waiting),
    (R::Complete, "IPM_SEND of the next", R::Joining),
    (R::Complete, "control parameters of the next", R::Receiving),
    (R::Receiving, "control parameters of the next", R::Receiving),
    (R::Reporting, "control parameters of the next", R::Receiving),
    (R::Joined, "IPM_SEND", R::Joining),
    (R::Receiving, "IPM_SEND of the next", R::Joining),
    (R::Reporting, "IPM_SEND of the next", R::Joining),
];

pub fn allowed<S: PartialEq>(table: &[FlowchartStep<S>], from: &S, to: &S) -> bool {
    table.iter().any(|(before, _, after)| before == from && after == to)
}
