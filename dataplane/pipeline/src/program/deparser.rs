//! The deparser: headers back to bytes.

use crate::program::action::Op;
use crate::program::bits::write_bits;
use crate::program::phv::Layout;

/// The program's deparser.
#[derive(Debug, Default)]
pub(crate) struct Deparser {
    /// The headers in the order they go on the wire; invalid ones are left out.
    pub order: Vec<u32>,
    /// Run before, after the checksums' update.
    pub ops: Vec<Op>,
}

impl Deparser {
    /// Bytes the valid headers take.
    pub fn header_bytes(&self, layout: &Layout, phv: &[u128]) -> usize {
        let valid = self.order.iter().map(|&h| layout.header(h)).filter(|h| h.is_valid(phv));
        valid.map(|header| header.size(phv)).sum()
    }

    /// Replaces `bytes` by the frame: valid headers, then the payload.
    pub fn emit(&self, layout: &Layout, phv: &[u128], payload: &[u8], bytes: &mut Vec<u8>) {
        let headers = self.header_bytes(layout, phv);
        bytes.clear();
        bytes.reserve(headers + payload.len());
        bytes.resize(headers, 0);
        let mut offset = 0;
        for header in self.order.iter().map(|&h| layout.header(h)).filter(|h| h.is_valid(phv)) {
            for field in header.wire(phv) {
                write_bits(bytes, offset, field.width as usize, field.bits(phv));
                offset += field.width as usize;
            }
        }
        bytes.extend_from_slice(payload);
    }
}
