//! Clustered trees: dispatchers with hosts that carry out what they are told, late and in any order; and
//! hosts that pass a stream on.

mod between;
mod delays;
mod dialogue;
mod dispatchers;
mod edges;
mod ends;
mod forest;
mod grove;
mod handover;
mod hostile;
mod one_node;
mod placing;
mod slow_children;
mod streaming;
