//! Studies of trees in virtual time.

mod large;
mod wires;
