//! Controls: tables and conditions, one after another.

use crate::program::expr::Expr;
use crate::program::table::Next;

/// A step of a control. The loader refuses cycles, so every control ends.
#[derive(Debug)]
pub(crate) enum ControlNode {
    Table(u32),
    Condition { condition: Expr, on_true: Next, on_false: Next },
    Call { action: u32, next: Next },
}
