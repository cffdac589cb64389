//! Entities of any kind, handed to the part of the server that an update or a request is for.

use super::state::ControlState;
use super::status::Refusal;
use super::{arrays, digest, direct, pre, table, table_read};
use crate::core::Forwarding;
use crate::proto::p4::v1::entity::Entity as Kinds;
use crate::proto::p4::v1::{update, Entity, ExternEntry, Update};

/// The operation of an update.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum UpdateKind {
    /// Adds a new entity.
    Insert,
    /// Changes an existing entity.
    Modify,
    /// Removes an existing entity.
    Delete,
}

impl UpdateKind {
    /// The operation of an update.
    pub fn of(update: &Update) -> Result<UpdateKind, Refusal> {
        match update::Type::try_from(update.r#type) {
            Ok(update::Type::Insert) => Ok(UpdateKind::Insert),
            Ok(update::Type::Modify) => Ok(UpdateKind::Modify),
            Ok(update::Type::Delete) => Ok(UpdateKind::Delete),
            _ => Err(Refusal::invalid(format!("type: {} is not INSERT, MODIFY or DELETE", update.r#type))),
        }
    }
}

/// The ExternEntry that an entity is, if it is one: these are the switch's, not the program's.
pub fn extern_entry(entity: Option<&Entity>) -> Option<&ExternEntry> {
    match entity.and_then(|entity| entity.entity.as_ref()) {
        Some(Kinds::ExternEntry(entry)) => Some(entry),
        _ => None,
    }
}

/// Whether the time at which an update is carried out matters, so that the switch must catch up before.
pub fn takes_effect_in_time(update: &Update) -> bool {
    let entity = update.entity.as_ref().and_then(|entity| entity.entity.as_ref());
    matches!(entity, Some(Kinds::ExternEntry(_) | Kinds::RegisterEntry(_)))
}

/// Carries out one update of anything but an ExternEntry. `priorities` is the number of queues a port.
pub fn write(
    state: &mut ControlState, forwarding: &mut Forwarding, update: &Update, priorities: u8,
) -> Result<(), Refusal> {
    let kind = UpdateKind::of(update)?;
    let entity = update.entity.as_ref().and_then(|entity| entity.entity.as_ref());
    match entity.ok_or_else(|| Refusal::invalid("entity: it is missing"))? {
        Kinds::TableEntry(entry) => table::write(state, forwarding, kind, entry),
        Kinds::PacketReplicationEngineEntry(entry) => pre::write(state, forwarding, kind, entry, priorities),
        Kinds::RegisterEntry(entry) => arrays::write_register(state, forwarding, kind, entry),
        Kinds::CounterEntry(entry) => arrays::write_counter(state, forwarding, kind, entry),
        Kinds::MeterEntry(entry) => arrays::write_meter(state, forwarding, kind, entry),
        Kinds::DirectCounterEntry(entry) => direct::write_counter(state, forwarding, kind, entry),
        Kinds::DirectMeterEntry(entry) => direct::write_meter(state, forwarding, kind, entry),
        Kinds::DigestEntry(entry) => digest::write(state, kind, entry),
        other => Err(unsupported(other)),
    }
}

/// Adds the entities that a request asks for, of any kind but ExternEntry.
pub fn read(
    state: &ControlState, forwarding: &Forwarding, request: &Entity, found: &mut Vec<Entity>,
) -> Result<(), Refusal> {
    match request.entity.as_ref().ok_or_else(|| Refusal::invalid("entity: it is missing"))? {
        Kinds::TableEntry(filter) => table_read::read(state, forwarding, filter, found),
        Kinds::PacketReplicationEngineEntry(filter) => pre::read(state, filter, found),
        Kinds::RegisterEntry(filter) => arrays::read_register(state, forwarding, filter, found),
        Kinds::CounterEntry(filter) => arrays::read_counter(state, forwarding, filter, found),
        Kinds::MeterEntry(filter) => arrays::read_meter(state, forwarding, filter, found),
        Kinds::DirectCounterEntry(filter) => direct::read_counter(state, forwarding, filter, found),
        Kinds::DirectMeterEntry(filter) => direct::read_meter(state, forwarding, filter, found),
        Kinds::DigestEntry(filter) => digest::read(state, filter, found),
        // A read of entities of a kind that no program has here finds none: clients ask for all kinds to
        // clean up.
        other if is_wildcard(other) => Ok(()),
        other => Err(unsupported(other)),
    }
}

fn is_wildcard(entity: &Kinds) -> bool {
    match entity {
        Kinds::ActionProfileMember(member) => member.action_profile_id == 0,
        Kinds::ActionProfileGroup(group) => group.action_profile_id == 0,
        Kinds::ValueSetEntry(entry) => entry.value_set_id == 0,
        _ => false,
    }
}

fn unsupported(entity: &Kinds) -> Refusal {
    let name = match entity {
        Kinds::ActionProfileMember(_) => "action_profile_member",
        Kinds::ActionProfileGroup(_) => "action_profile_group",
        Kinds::ValueSetEntry(_) => "value_set_entry",
        _ => "this entity",
    };
    Refusal::unimplemented(format!("{name}: not supported"))
}
