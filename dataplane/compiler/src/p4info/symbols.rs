//! Ids and aliases of the objects (P4Runtime specification, sections 6.3 and 6.3.1).

use std::collections::{BTreeMap, HashMap, HashSet};

/// The kinds of objects: the first byte of their ids, and the field of P4Info that has them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Kind(u32, pub &'static str);

impl Kind {
    pub const ACTION: Kind = Kind(0x01, "actions");
    pub const TABLE: Kind = Kind(0x02, "tables");
    pub const VALUE_SET: Kind = Kind(0x03, "value_sets");
    pub const CONTROLLER_HEADER: Kind = Kind(0x04, "controller_packet_metadata");
    pub const ACTION_PROFILE: Kind = Kind(0x11, "action_profiles");
    pub const COUNTER: Kind = Kind(0x12, "counters");
    pub const DIRECT_COUNTER: Kind = Kind(0x13, "direct_counters");
    pub const METER: Kind = Kind(0x14, "meters");
    pub const DIRECT_METER: Kind = Kind(0x15, "direct_meters");
    pub const REGISTER: Kind = Kind(0x16, "registers");
    pub const DIGEST: Kind = Kind(0x17, "digests");
}

/// All names of a program.
#[derive(Default)]
pub struct Symbols {
    /// The id that the program wrote, or 0 until one is made.
    ids: BTreeMap<(Kind, String), u32>,
    taken: HashSet<u32>,
    /// How many names end with these words.
    suffixes: HashMap<String, usize>,
    names: HashSet<String>,
}

impl Symbols {
    /// Adds a name, with the id that `@id` gives it, or says what is wrong with them.
    pub fn add(&mut self, kind: Kind, name: &str, id: Option<u32>) -> Result<(), String> {
        let id = id.map_or(0, |id| if id >> 24 == 0 { id | kind.0 << 24 } else { id });
        let first = self.ids.insert((kind, name.to_owned()), id).is_none() || kind == Kind::DIGEST;
        if self.names.insert(name.to_owned()) {
            for suffix in suffixes(name) {
                *self.suffixes.entry(suffix.to_owned()).or_default() += 1;
            }
        }
        match id {
            _ if !first => Err(format!("the control plane has two {} `{name}`", kind.1.replace('_', " "))),
            0 => Ok(()),
            _ if id >> 24 != kind.0 => {
                Err(format!("the first byte of the `@id` of `{name}` is that of other objects"))
            }
            _ if !self.taken.insert(id) => Err(format!("`{name}` has the `@id` of another object")),
            _ => Ok(()),
        }
    }

    /// Gives an id to all names that have none: the hash of the name, or the next number that is free. Names
    /// come in their order, so that the ids do not depend on the order of the program.
    pub fn assign(&mut self) {
        for ((kind, name), id) in &mut self.ids {
            if *id == 0 {
                let mut hash = jenkins(name.as_bytes());
                loop {
                    *id = kind.0 << 24 | hash & 0x00ff_ffff;
                    if self.taken.insert(*id) {
                        break;
                    }
                    hash = hash.wrapping_add(1);
                }
            }
        }
    }

    pub fn id(&self, kind: Kind, name: &str) -> u32 {
        self.ids.get(&(kind, name.to_owned())).copied().unwrap_or(0)
    }

    /// The last words of a name by which it differs from all others.
    pub fn alias<'n>(&self, name: &'n str) -> &'n str {
        suffixes(name).find(|&suffix| self.suffixes.get(suffix).copied() == Some(1)).unwrap_or(name)
    }
}

/// `c`, `b.c`, `a.b.c`
fn suffixes(name: &str) -> impl Iterator<Item = &str> {
    let dots = name.rmatch_indices('.').map(|(place, _)| &name[place + 1..]);
    dots.chain(std::iter::once(name))
}

/// Jenkins's one-at-a-time hash.
fn jenkins(bytes: &[u8]) -> u32 {
    let mut hash: u32 = 0;
    for &byte in bytes {
        hash = hash.wrapping_add(byte.into());
        hash = hash.wrapping_add(hash << 10);
        hash ^= hash >> 6;
    }
    hash = hash.wrapping_add(hash << 3);
    hash ^= hash >> 11;
    hash.wrapping_add(hash << 15)
}

#[cfg(test)]
#[path = "tests/symbols.rs"]
mod tests;
