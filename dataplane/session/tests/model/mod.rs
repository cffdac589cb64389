//! Models of a switch and of the controller for tests, of this crate and of those above it.

pub mod controller;
pub mod switch;
