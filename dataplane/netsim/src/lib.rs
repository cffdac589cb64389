//! Networks in virtual time.

pub mod tcp;
