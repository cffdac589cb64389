//! Entities of any kind, handed to the part of the server that an update or a request is for.

use groupflow_base::Nanos;

use super::state::ControlState;
use super::status::Status;
use super::{arrays, digest, direct, pre, profiles, table, table_read, value_sets};
use crate::core::{Forwarding, Switch};
use crate::proto::p4::v1::entity::Entity as Kinds;
pub use crate::proto::p4::v1::update::Type as UpdateKind;
use crate::proto::p4::v1::{Entity, ExternEntry, Update};

/// A receiver of the entities that a read finds, one by one.
pub type Found<'a> = dyn FnMut(Kinds) + 'a;

impl UpdateKind {
    /// The operation of an update, which is never `Unspecified`.
    pub fn of(update: &Update) -> Result<UpdateKind, Status> {
        let kind = UpdateKind::try_from(update.r#type).ok().filter(|kind| *kind != UpdateKind::Unspecified);
        let text = || format!("type: {} is not INSERT, MODIFY or DELETE", update.r#type);
        kind.ok_or_else(|| Status::invalid(text()))
    }

    /// Refuses to add an entity that exists, and to change or remove one that does not.
    pub fn check(self, exists: bool) -> Result<(), Status> {
        match (self, exists) {
            (UpdateKind::Insert, true) => Err(Status::exists("it exists already")),
            (UpdateKind::Modify | UpdateKind::Delete, false) => Err(Status::not_found("it does not exist")),
            _ => Ok(()),
        }
    }

    /// Refuses operations on an entity that is always there.
    pub fn only_modify(self) -> Result<(), Status> {
        refuse_if!(self != UpdateKind::Modify, "it can only be modified");
        Ok(())
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Purpose {
    Client,
    /// The update is of another configuration's state: the counts of a meter by colour may be set.
    Move,
    /// The update takes another back: the former state may break rules of entries and actions, too.
    Undo,
}

#[derive(Debug, Clone, Copy)]
pub struct Setting {
    pub purpose: Purpose,
    pub priorities: u8,
    pub now: Nanos,
}

impl Setting {
    pub fn of(switch: &Switch, purpose: Purpose) -> Setting {
        Setting { purpose, priorities: switch.config().priorities, now: switch.reached() }
    }
}

pub fn of(kind: UpdateKind, entity: Kinds) -> Update {
    Update { r#type: kind.into(), entity: Some(Entity { entity: Some(entity) }) }
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
    let entity = update.entity.as_ref();
    let kind = entity.and_then(|entity| entity.entity.as_ref());
    matches!(kind, Some(Kinds::ExternEntry(_) | Kinds::RegisterEntry(_))) || entity.is_some_and(is_timed)
}

/// Whether an entity is about the time since an entry's last packet.
pub fn is_timed(entity: &Entity) -> bool {
    let Some(Kinds::TableEntry(entry)) = &entity.entity else { return false };
    entry.idle_timeout_ns != 0 || entry.time_since_last_hit.is_some()
}

/// Carries out one update of anything but an ExternEntry. Strings of a refused one are forgotten.
pub fn write(
    state: &mut ControlState, forwarding: &mut Forwarding, update: &Update, setting: Setting,
) -> Result<(), Status> {
    let kind = UpdateKind::of(update)?;
    let entity = update.entity.as_ref().and_then(|entity| entity.entity.as_ref());
    let result = match entity.ok_or_else(|| Status::invalid("entity: it is missing"))? {
        Kinds::TableEntry(entry) => table::write(state, forwarding, kind, entry, setting),
        Kinds::PacketReplicationEngineEntry(entry) => pre::write(state, forwarding, kind, entry, setting),
        Kinds::RegisterEntry(entry) => arrays::write_register(state, forwarding, kind, entry),
        Kinds::CounterEntry(entry) => arrays::write_counter(state, forwarding, kind, entry),
        Kinds::MeterEntry(entry) => arrays::write_meter(state, forwarding, kind, entry, setting),
        Kinds::DirectCounterEntry(entry) => direct::write_counter(state, forwarding, kind, entry),
        Kinds::DirectMeterEntry(entry) => direct::write_meter(state, forwarding, kind, entry, setting),
        Kinds::DigestEntry(entry) => digest::write(state, kind, entry),
        Kinds::ActionProfileMember(member) => profiles::write_member(state, forwarding, kind, member),
        Kinds::ActionProfileGroup(group) => profiles::write_group(state, forwarding, kind, group),
        Kinds::ValueSetEntry(entry) => value_sets::write(state, forwarding, kind, entry),
        Kinds::ExternEntry(_) => Err(Status::unimplemented("this entity: not supported")),
    };
    state.config.binding.settle(result.is_ok());
    result
}

/// Adds the entities that a request asks for at a time, of any kind but ExternEntry.
pub fn read(
    state: &ControlState, forwarding: &Forwarding, request: &Entity, now: Nanos, found: &mut Found<'_>,
) -> Result<(), Status> {
    let result = match request.entity.as_ref().ok_or_else(|| Status::invalid("entity: it is missing"))? {
        Kinds::TableEntry(filter) => table_read::read(state, forwarding, filter, now, found),
        Kinds::PacketReplicationEngineEntry(filter) => pre::read(state, filter, found),
        Kinds::RegisterEntry(filter) => arrays::read_register(state, forwarding, filter, found),
        Kinds::CounterEntry(filter) => arrays::read_counter(state, forwarding, filter, found),
        Kinds::MeterEntry(filter) => arrays::read_meter(state, forwarding, filter, found),
        Kinds::DirectCounterEntry(filter) => direct::read_counter(state, forwarding, filter, found),
        Kinds::DirectMeterEntry(filter) => direct::read_meter(state, forwarding, filter, found),
        Kinds::DigestEntry(filter) => digest::read(state, filter, found),
        Kinds::ActionProfileMember(filter) => profiles::read_members(state, filter, found),
        Kinds::ActionProfileGroup(filter) => profiles::read_groups(state, filter, found),
        Kinds::ValueSetEntry(filter) => value_sets::read(state, filter, found),
        Kinds::ExternEntry(_) => Err(Status::unimplemented("this entity: not supported")),
    };
    state.config.binding.settle(false);
    result
}
