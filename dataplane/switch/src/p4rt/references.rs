//! References between entries: the entries that an entry needs are there, and stay while it does.

use std::collections::HashMap;

use groupflow_base::Nanos;

use super::batch;
use super::reference_rules::{replicated, Key, References};
use super::state::ControlState;
use super::status::{Code, Refusal};
use super::table_read;
use super::update::{self, Found, Purpose, Setting, UpdateKind};
use crate::core::Forwarding;
use crate::proto::p4::v1::entity::Entity as Kinds;
use crate::proto::p4::v1::packet_replication_engine_entry::Type as Replication;
use crate::proto::p4::v1::{ActionProfileMember, Entity, PacketReplicationEngineEntry, TableEntry, Update};

/// The entries that have such values, and those that refer to them.
pub type Counts = HashMap<Key, Count>;

/// The numbers of entries that are about one key.
#[derive(Debug, Default)]
pub struct Count {
    /// Of those that have it.
    offered: u32,
    /// Of those that refer to it, by the id of their table or action profile.
    needed: Vec<(u32, u32)>,
}

/// Refuses an update that would leave a reference to nothing, with the annotations or entries that say so. `old`
/// is the entity as it is.
fn check(
    references: &References, counts: &Counts, kind: UpdateKind, wanted: &Kinds, old: Option<&Kinds>,
) -> Option<Refusal> {
    let refuse = |message: String| Some(Refusal::new(Code::FailedPrecondition, message));
    if kind != UpdateKind::Delete {
        let own = references.offers(wanted);
        let is_there =
            |key: &Key| own.contains(key) || counts.get(key).is_some_and(|count| count.offered > 0);
        let missing = references.needs(wanted).into_iter().find(|need| !is_there(&need.0));
        return missing.and_then(|need| refuse(format!("{}: there is no such entry", need.text())));
    }
    let old = old?;
    let own = references.needs(old);
    references.offers(old).into_iter().find_map(|key| {
        let count = counts.get(&key).filter(|count| count.offered == 1)?;
        let of_itself = own.iter().filter(|need| need.0 == key).count();
        let others = |(owner, number): &(u32, u32)| {
            let own = if *owner == owner_of(old) { of_itself } else { 0 };
            Some((*owner, (*number as usize).checked_sub(own)?)).filter(|(_, number)| *number > 0)
        };
        let (owner, number) = count.needed.iter().find_map(others)?;
        let entries = if number == 1 { "entry" } else { "entries" };
        refuse(format!("it is still referred to, by {number} {entries} of {}", references.name(owner)))
    })
}

/// Carries out an update by `write`, of which a client's is checked. An update that `write` refuses by itself gets
/// that refusal.
pub fn checked(
    state: &mut ControlState, forwarding: &mut Forwarding, update: &Update, setting: Setting,
    write: fn(&mut ControlState, &mut Forwarding, &Update, Setting) -> Result<(), Refusal>,
) -> Result<(), Refusal> {
    let config = state.config.clone();
    let wanted = update.entity.as_ref().and_then(|entity| entity.entity.as_ref());
    let (Some(references), Some(wanted), Ok(kind)) = (&config.references, wanted, UpdateKind::of(update))
    else {
        return write(state, forwarding, update, setting);
    };
    let old = present(state, forwarding, wanted);
    // Only an absent entity can be inserted, and only a present one modified or deleted.
    let can_be = (kind == UpdateKind::Insert) == old.is_none();
    let mut fault = None;
    if setting.purpose == Purpose::Client && can_be {
        if state.referred.is_none() {
            state.referred = Some(count_all(references, state, forwarding)?);
        }
        fault = state.referred.as_ref().and_then(|of| check(references, of, kind, wanted, old.as_ref()));
    }
    match fault {
        Some(fault) if kind == UpdateKind::Delete => return Err(fault),
        Some(fault) => {
            let steps = batch::inverse(state, forwarding, update)?;
            write(state, forwarding, update, setting)?;
            let back = Setting { purpose: Purpose::Undo, ..setting };
            batch::undo(steps, state, forwarding, |state, forwarding, update| {
                write(state, forwarding, update, back)
            });
            return Err(fault);
        }
        None => write(state, forwarding, update, setting)?,
    }
    let new = present(state, forwarding, wanted);
    if let Some(counts) = &mut state.referred {
        old.iter().for_each(|entity| count(references, counts, entity, false));
        new.iter().for_each(|entity| count(references, counts, entity, true));
    }
    Ok(())
}

/// An entry as it is now, if it can change. An id of 0 is none.
fn present(state: &ControlState, forwarding: &Forwarding, wanted: &Kinds) -> Option<Kinds> {
    let filter = match wanted {
        Kinds::TableEntry(entry) if state.config.binding.tables.get(&entry.table_id)?.is_const => {
            entry.is_default_action.then(|| default_of(entry.table_id))?
        }
        Kinds::TableEntry(entry) if !entry.is_default_action => {
            return table_read::to_write(state, forwarding, entry, (false, false)).map(Kinds::from);
        }
        Kinds::TableEntry(entry) => default_of(entry.table_id),
        Kinds::ActionProfileMember(member) if member.action_profile_id != 0 && member.member_id != 0 => {
            ActionProfileMember { action: None, ..member.clone() }.into()
        }
        Kinds::PacketReplicationEngineEntry(entry) if replicated(entry)?.1 != 0 => wanted.clone(),
        _ => return None,
    };
    let mut found = Vec::new();
    // An entity that cannot be read is not there.
    let _ = update::read(state, forwarding, &Entity { entity: Some(filter) }, Nanos::ZERO, &mut found);
    found.pop().and_then(|entity| entity.entity)
}

fn default_of(table_id: u32) -> Kinds {
    TableEntry { table_id, is_default_action: true, ..TableEntry::default() }.into()
}

/// Counts all entities.
fn count_all(
    references: &References, state: &ControlState, forwarding: &Forwarding,
) -> Result<Counts, Refusal> {
    let engine = |of| Kinds::from(PacketReplicationEngineEntry { r#type: Some(of) });
    let filters = [
        TableEntry::default().into(),
        ActionProfileMember::default().into(),
        engine(Replication::MulticastGroupEntry(Default::default())),
        engine(Replication::CloneSessionEntry(Default::default())),
    ];
    let defaults = state.config.binding.tables.keys().map(|table| default_of(*table));
    let mut counting = Counting { references, counts: Counts::new() };
    for filter in filters.into_iter().chain(defaults) {
        update::read(state, forwarding, &Entity { entity: Some(filter) }, Nanos::ZERO, &mut counting)?;
    }
    Ok(counting.counts)
}

struct Counting<'a> {
    references: &'a References,
    counts: Counts,
}

impl Found for Counting<'_> {
    fn push(&mut self, entity: Entity) {
        entity.entity.iter().for_each(|entity| count(self.references, &mut self.counts, entity, true));
    }
}

/// Counts an entity, or counts it no more.
fn count(references: &References, counts: &mut Counts, entity: &Kinds, is_there: bool) {
    let owner = owner_of(entity);
    let offers = references.offers(entity).into_iter().map(|key| (key, true));
    let needs = references.needs(entity).into_iter().map(|need| (need.0, false));
    for (key, offered) in offers.chain(needs) {
        let count = counts.entry(key.clone()).or_default();
        let number = match (offered, count.needed.iter().position(|(known, _)| *known == owner)) {
            (true, _) => &mut count.offered,
            (false, Some(place)) => &mut count.needed[place].1,
            (false, None) => {
                count.needed.push((owner, 0));
                let last = count.needed.len() - 1;
                &mut count.needed[last].1
            }
        };
        *number = if is_there { *number + 1 } else { number.saturating_sub(1) };
        count.needed.retain(|(_, number)| *number > 0);
        if count.offered == 0 && count.needed.is_empty() {
            counts.remove(&key);
        }
    }
}

/// The id of the table or action profile that an entity is in.
fn owner_of(entity: &Kinds) -> u32 {
    match entity {
        Kinds::TableEntry(entry) => entry.table_id,
        Kinds::ActionProfileMember(member) => member.action_profile_id,
        _ => 0,
    }
}
