//! Names and places of a program's source, for traces. No engine needs them.

use crate::program::info::shown;
use crate::program::phv::Header;

/// A place in the source, such as `stages/acl.p4:31`; empty where p4c names none.
pub(crate) type Place = Box<str>;

/// The names that a program's representation leaves out.
#[derive(Debug, Default)]
pub(crate) struct Names {
    /// Parser states, in their order.
    pub states: Vec<String>,
    /// Headers with their fields, in their order.
    pub headers: Vec<(String, Vec<String>)>,
    /// The text of a condition and the place of a condition or table, by node.
    pub nodes: Vec<(String, Place)>,
    /// The place of each primitive, by action.
    pub primitives: Vec<Vec<Place>>,
    /// The places where packets are marked to drop.
    pub drops: Vec<Place>,
    /// Names of parser errors by number.
    pub errors: Vec<(u32, String)>,
}

impl Names {
    pub fn error(&self, code: u32) -> String {
        let known = self.errors.iter().find(|(number, _)| *number == code);
        known.map_or_else(|| format!("error {code}"), |(_, name)| name.clone())
    }

    /// A header's fields with their values.
    pub fn values(&self, header: u32, place: &Header, phv: &[u8]) -> Vec<(String, String)> {
        let names = &self.headers[header as usize].1;
        let fields = names.iter().zip(&place.fields);
        fields
            .map(|(name, field)| (name.clone(), shown(name, field.width.into(), &[field.bits(phv)])))
            .collect()
    }

    /// The header and the field within it that `header.field` names.
    pub fn field(&self, name: &str) -> Option<(usize, usize)> {
        let (header, field) = name.rsplit_once('.')?;
        let header = self.headers.iter().position(|(name, _)| name == header)?;
        let field = self.headers[header].1.iter().position(|name| name == field)?;
        Some((header, field))
    }
}
