//! Actions: lists of primitives.

use crate::program::expr::Expr;
use crate::program::field::{Field, Wide};

#[derive(Debug, Clone, PartialEq)]
pub(crate) enum AssignTarget {
    /// Of at most 128 bits.
    Field(Field),
    /// The value counts as a whole.
    Wide(Wide),
    /// A field of a stack's element, or the parts of a wide one; past the end nothing is written.
    Element { stack: u32, index: Expr, offset: u32, parts: u32 },
}

/// A header that an operation works on.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum HeaderRef {
    /// A header of the layout.
    Fixed(u32),
    /// A stack's element; past the end nothing happens.
    Element { stack: u32, index: Expr },
}

/// A primitive. A `place` is a number in [`Names::drops`](super::names::Names::drops), plus one.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Op {
    /// Assignments of all kinds, P4_14's arithmetic among them.
    Assign { target: AssignTarget, value: Expr },
    /// P4's `setValid`.
    AddHeader(HeaderRef),
    /// P4's `setInvalid`.
    RemoveHeader(HeaderRef),
    /// Headers one after another, to and from, as those of stacks or unions; then a stack's count.
    CopyHeaders { pairs: Vec<(HeaderRef, HeaderRef)>, next: Option<(Field, Field)> },
    /// A field of variable length, with its length.
    CopyVariable { target: Wide, source: Wide },
    /// P4's `push_front`, or `pop_front`.
    Shift { stack: u32, count: Expr, push: bool },
    /// The fields of the intrinsic metadata, or of a copy, that say where the packet goes.
    MarkToDrop { egress_spec: Field, mcast_grp: Option<Field>, place: u32 },
    /// Past the end the target stays as it was.
    RegisterRead { target: AssignTarget, register: u32, index: Expr },
    /// Past the end nothing is written.
    RegisterWrite { register: u32, index: Expr, value: Expr },
    /// Past the end nothing is counted.
    Count { counter: u32, index: Expr },
    /// Past the end the target stays as it was.
    ExecuteMeter { meter: u32, index: Expr, target: AssignTarget },
    /// At the end of the control, with the fields of a list.
    Clone { session: Expr, list: u32 },
    /// A learn list.
    Digest(u32),
    /// At the end of ingress, with the fields of a list.
    Resubmit(u32),
    /// At the end of egress, with the fields of a list.
    Recirculate(u32),
    /// `target = base + hash % max`; a `max` of 0 counts as 1, as in BMv2.
    Hash { target: AssignTarget, base: Expr, calculation: u32, max: Expr },
    /// Uniform in `low..=high`; nothing is written where `low > high`, as in BMv2.
    Random { target: AssignTarget, low: Expr, high: Expr },
    /// One of a group's actions, by a hash: the action of a selector table's entries, with a group's handle.
    Select { calculation: u32 },
    /// Bytes to keep.
    Truncate(Expr),
    /// Drops the packet where the condition is false.
    Assert { condition: Expr, place: u32 },
    /// Ends the control.
    Exit,
    /// Log messages, which have no reader.
    Nothing,
    /// To the primitive of this number.
    Jump(u32),
    /// To a primitive, where the condition is false.
    JumpIfZero { condition: Expr, to: u32 },
}

#[derive(Debug)]
pub(crate) struct Action {
    pub ops: Vec<Op>,
}
