//! The external node of diffusion-type flow control (Takano et al., eq. 9): a host adjusts the rate of each
//! of its flows to the one that its switch reports.
//!
//! The kernel does the shaping, in a queueing discipline that is in common kernels (HTB): so the programs
//! that send are any programs, and no packet passes through this one.

pub mod rates; // the machine: the rate of each flow, from reports; no I/O, no clock

#[cfg(feature = "agent")]
pub mod agent; // the loop and the socket of reports
#[cfg(feature = "agent")]
pub mod args; // options, and the flows in them
#[cfg(feature = "agent")]
pub mod htb; // the kernel's classes, set with `tc`
