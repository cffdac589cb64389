//! The native engine: a program as machine code, made by Cranelift when the program is first used.
//!
//! [`compile`] turns parser, controls and deparser into three functions. Fields live in a packet's words
//! ([`layout`]), tables in arrays of rows ([`table`]); entries of tables are looked up at run time, so the
//! control plane's writes need no new code. Rare or wide operations are left to the interpreter, one by one
//! ([`helpers`]). No access of generated code is compiled that could leave its memory ([`bounds`]).

mod bounds;
mod checksum;
mod code;
mod compile;
mod context;
mod control;
mod expr;
mod gen;
mod helpers;
mod layout;
mod op;
mod parser;
mod run;
mod table;

pub(crate) use run::Native;
