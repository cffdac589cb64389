//! Studies of trees in virtual time.

mod large;
mod slow;
mod wires;
