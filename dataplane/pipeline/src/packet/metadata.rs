//! The fields that packets keep on another round, or that digests tell.

use crate::packet::{Digest, Instance, Preserved};
use crate::program::expr::Env;
use crate::program::field::mask;
use crate::program::info::DigestId;
use crate::program::Program;

/// Clears all metadata but the fields that the clone keeps.
pub(crate) fn become_clone(program: &Program, phv: &mut [u8], preserved: &Preserved, instance: Instance) {
    program.layout.clear_metadata(phv);
    preserved.restore(phv);
    program.standard.instance_type.write(phv, instance as u128);
}

impl Preserved {
    /// The values of a field list.
    pub(crate) fn of(program: &Program, list: u32, phv: &[u8]) -> Preserved {
        let fields = program.field_lists[list as usize].iter();
        Preserved(fields.map(|field| (*field, field.bits(phv))).collect())
    }

    /// Sets the fields. Those of another program may not be there.
    pub(crate) fn restore(&self, phv: &mut [u8]) {
        for (field, value) in &self.0 {
            if field.is_within(phv) {
                field.write(phv, *value);
            }
        }
    }
}

impl Digest {
    /// A digest's members.
    pub(crate) fn of(program: &Program, list: u32, phv: &[u8]) -> Digest {
        let env = Env { layout: &program.layout, phv, locals: &[] };
        let members = program.learn_lists[list as usize].iter().zip(&program.digests[list as usize].widths);
        let values = members.map(|(expr, &width)| expr.eval(env) & mask(width as u8)).collect();
        Digest { digest: DigestId(list), values }
    }
}
