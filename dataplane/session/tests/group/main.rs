//! Whole groups in virtual time: a sender, cache agents, receivers, a small model of the switches
//! and of the controller, and links that lose, delay, reorder and duplicate, all from a seed.

mod delivery;
mod ends;
mod faults;
mod isolation;
mod link;
#[path = "../model/mod.rs"]
mod model;
mod scenario;
mod sources;
mod world;
