//! A pipeline with programs, tables and packets.

#![allow(clippy::unwrap_used)] // A test fails by panicking.

mod arrows;
mod checksums;
mod common;
mod expressions;
mod externs;
mod groupflow;
mod hostile;
mod loading;
mod packets;
mod parsing;
mod table_entries;
mod tables;
mod wide;
