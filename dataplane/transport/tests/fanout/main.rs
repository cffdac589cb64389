//! A stream at one agent: cases that can be read, and properties over random interleavings.

mod cases;
mod properties;
