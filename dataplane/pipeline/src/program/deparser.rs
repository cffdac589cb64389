//! The deparser: headers back to bytes.

use crate::program::action::Op;
use crate::program::phv::{Header, Layout};

/// The program's deparser.
#[derive(Debug, Default)]
pub(crate) struct Deparser {
    /// The headers in the order they go on the wire; invalid ones are left out.
    pub order: Vec<u32>,
    /// Run before, after the checksums' update.
    pub ops: Vec<Op>,
}

impl Deparser {
    /// The valid headers in their order.
    pub fn valid<'a>(&'a self, layout: &'a Layout, phv: &'a [u8]) -> impl Iterator<Item = &'a Header> {
        self.order.iter().map(|&header| layout.header(header)).filter(|header| header.is_valid(phv))
    }
}
