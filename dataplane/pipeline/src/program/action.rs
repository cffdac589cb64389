//! Actions: lists of primitives.

use crate::program::expr::Expr;
use crate::program::field::{Field, Wide};

/// The target of an assignment.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum AssignTarget {
    Field(Field),
    /// The value counts as a whole.
    Wide(Wide),
    /// A field of a stack's element; past the end nothing is written.
    Element {
        stack: u32,
        index: Expr,
        offset: u32,
    },
}

/// A header that an operation works on.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum HeaderRef {
    Fixed(u32),
    /// A stack's element; past the end nothing happens.
    Element {
        stack: u32,
        index: Expr,
    },
}

/// A primitive.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Op {
    Assign {
        target: AssignTarget,
        value: Expr,
    },
    AddHeader(HeaderRef),
    RemoveHeader(HeaderRef),
    /// Headers one after another, to and from, as those of stacks or unions; then a stack's count.
    CopyHeaders {
        pairs: Vec<(HeaderRef, HeaderRef)>,
        next: Option<(Field, Field)>,
    },
    /// A field of variable length, with its length.
    CopyVariable {
        target: Wide,
        source: Wide,
    },
    /// P4's `push_front`, or `pop_front`.
    Shift {
        stack: u32,
        count: Expr,
        push: bool,
    },
    /// The fields of the intrinsic metadata, or of a copy, that say where the packet goes.
    MarkToDrop {
        egress_spec: Field,
        mcast_grp: Option<Field>,
        /// The number of its place in [`Names::drops`](super::names::Names::drops), plus one.
        place: u32,
    },
    RegisterRead {
        target: AssignTarget,
        register: u32,
        index: Expr,
    },
    RegisterWrite {
        register: u32,
        index: Expr,
        value: Expr,
    },
    Count {
        counter: u32,
        index: Expr,
    },
    ExecuteMeter {
        meter: u32,
        index: Expr,
        target: AssignTarget,
    },
    Clone {
        session: Expr,
        list: u32,
    },
    Digest(u32),
    Resubmit(u32),
    Recirculate(u32),
    /// `target = base + hash % max`; a `max` of 0 counts as 1, as in BMv2.
    Hash {
        target: AssignTarget,
        base: Expr,
        calculation: u32,
        max: Expr,
    },
    /// Uniform in `low..=high`; nothing is written where `low > high`, as in BMv2.
    Random {
        target: AssignTarget,
        low: Expr,
        high: Expr,
    },
    /// One of a group's actions, by a hash: the action of a selector table's entries, with the group's
    /// handle.
    Select {
        calculation: u32,
    },
    Truncate(Expr),
    Assert {
        condition: Expr,
        /// As that of `MarkToDrop`.
        place: u32,
    },
    Exit,
    Nothing,
    Jump(u32),
    JumpIfZero {
        condition: Expr,
        to: u32,
    },
}

/// An action's body.
#[derive(Debug)]
pub(crate) struct Action {
    pub ops: Vec<Op>,
}
