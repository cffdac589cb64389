//! From words to a tree (P4_16 specification, appendix G: grammar).
//!
//! The parser goes down from rule to rule. P4's grammar needs to know which names are types: the parser keeps
//! them. After a mistake it goes on behind the statement or declaration, so that one run finds several.

mod cure;
mod cursor;
mod declaration;
mod expression;
pub mod number;
mod program;
mod statement;
pub mod tree;
mod types;
mod walk;

use crate::diagnostic::Diagnostics;
use crate::token::Token;

/// The declarations of a program. Words that cannot be read are told to `diagnostics` and left out.
pub fn parse(words: Vec<Token>, diagnostics: &mut Diagnostics) -> Vec<tree::Declaration> {
    cursor::Parser::new(words, diagnostics).program()
}
