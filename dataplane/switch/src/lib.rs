//! gfswitch: a v1model switch as a value, its P4Runtime logic, and the shell that gives both sockets
//! and a clock.
//!
//! [`core`] is the switch: packets and the time go in, packets and the next deadline come out. [`p4rt`]
//! is the controller's side of it: messages in, messages out. Only the shell (feature `shell`) does I/O.

pub mod core;
pub mod p4rt;
pub mod proto;
#[cfg(feature = "shell")]
pub mod shell;
