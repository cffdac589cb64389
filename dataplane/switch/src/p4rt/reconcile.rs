//! RECONCILE_AND_COMMIT: the state of one configuration, written to another.
//!
//! The entities are read from the old state, and written to the new one by the same ids. State that the new
//! configuration has no place for is an error, unless it is as it was when the old configuration was set.

use super::state::ControlState;
use super::status::{Code, Status};
use super::table_read::key_message;
use super::update::{self, Setting, UpdateKind};
use super::{direct, table};
use crate::core::Forwarding;
use crate::proto::p4::v1::entity::Entity as Kinds;
use crate::proto::p4::v1::packet_replication_engine_entry::Type;
use crate::proto::p4::v1::{
    p4_data, ActionProfileGroup, ActionProfileMember, CounterData, CounterEntry, DigestEntry,
    DirectCounterEntry, DirectMeterEntry, Entity, MeterEntry, PacketReplicationEngineEntry, RegisterEntry,
    TableEntry, ValueSetEntry,
};

/// Writes the state of `old` to `new`, which was just made.
pub fn move_state(
    old: (&ControlState, &Forwarding), new: (&mut ControlState, &mut Forwarding), setting: Setting,
) -> Result<(), Status> {
    let ((old, old_forwarding), (state, forwarding)) = (old, new);
    for (uri, names) in &state.config.binding.strings {
        if let Some(known) = old.config.binding.strings.get(uri) {
            names.adopt(known);
        }
    }
    forget_initial_entries(old, state, forwarding, setting)?;
    let all = TableEntry {
        counter_data: Some(Default::default()),
        meter_config: Some(Default::default()),
        meter_counter_data: Some(Default::default()),
        ..TableEntry::default()
    };
    let engine = |of| PacketReplicationEngineEntry { r#type: Some(of) };
    let tables = &old.config.binding.tables;
    let defaults = tables.iter().filter(|(_, table)| old.default_notes.contains_key(&table.table));
    let default = || TableEntry { is_default_action: true, ..all.clone() };
    let defaults = defaults.map(|(id, _)| TableEntry { table_id: *id, ..default() }.into());
    let inserts: [Kinds; 6] = [
        ActionProfileMember::default().into(),
        ActionProfileGroup::default().into(),
        all.clone().into(),
        engine(Type::MulticastGroupEntry(Default::default())).into(),
        engine(Type::CloneSessionEntry(Default::default())).into(),
        DigestEntry::default().into(),
    ];
    let table_entry = || Some(TableEntry { is_default_action: true, ..TableEntry::default() });
    let counter_data = Some(Default::default());
    let resources: [Kinds; 2] = [
        DirectCounterEntry { table_entry: table_entry(), data: None }.into(),
        DirectMeterEntry { table_entry: table_entry(), config: None, counter_data }.into(),
    ];
    let changes: [Kinds; 4] = [
        ValueSetEntry::default().into(),
        RegisterEntry::default().into(),
        CounterEntry::default().into(),
        MeterEntry { counter_data, ..MeterEntry::default() }.into(),
    ];
    let inserts = inserts.into_iter().map(|filter| (UpdateKind::Insert, filter));
    let changes = changes.into_iter().chain(defaults).chain(resources);
    for (kind, filter) in inserts.chain(changes.map(|filter| (UpdateKind::Modify, filter))) {
        let mut outcome = Ok(());
        let mut write = |entity| {
            if outcome.is_ok() {
                outcome = write_again(state, forwarding, kind, entity, setting);
            }
        };
        let request = Entity { entity: Some(filter) };
        let found = update::read(old, old_forwarding, &request, setting.now, &mut write);
        found.and(outcome).map_err(|refusal| {
            let place = "RECONCILE_AND_COMMIT: the new configuration has no place for this";
            Status::invalid(refusal.within(place).message)
        })?;
    }
    forwarding.generators = old_forwarding.generators.clone();
    Ok(())
}

/// The new program brings entries that the controller may have removed from the old one, if it could.
fn forget_initial_entries(
    old: &ControlState, state: &mut ControlState, forwarding: &mut Forwarding, setting: Setting,
) -> Result<(), Status> {
    let config = state.config.clone();
    let old_tables = &old.config.binding.tables;
    let was_open = |id: &u32| old_tables.get(id).is_some_and(|old| !old.is_const);
    for (id, table) in config.binding.tables.iter().filter(|(id, table)| !table.is_const && was_open(id)) {
        let entries = forwarding.pipeline.table_entries(table.table).map_err(table::refusal)?;
        let entries = entries.map(|view| key_message(*id, table, &view.entry.key));
        for entry in entries.collect::<Vec<TableEntry>>() {
            table::write(state, forwarding, UpdateKind::Delete, &entry, setting)?;
        }
    }
    Ok(())
}

/// Writes an entity that was read from the old state.
fn write_again(
    state: &mut ControlState, forwarding: &mut Forwarding, mut kind: UpdateKind, entity: Kinds,
    setting: Setting,
) -> Result<(), Status> {
    let mut entity = without_zeros(entity);
    if is_untouched(&entity) {
        return Ok(());
    }
    let mut is_const = false;
    if let Kinds::TableEntry(entry) = &mut entity {
        is_const = std::mem::take(&mut entry.is_const);
        if is_const {
            (kind, entry.action) = (UpdateKind::Modify, None);
        }
    }
    match update::write(state, forwarding, &update::of(kind, entity), setting) {
        // The new program may lack constant entries of the old one.
        Err(refusal) if refusal.code == Code::NotFound && is_const => Ok(()),
        outcome => outcome,
    }
}

/// An entity without counts that are zero, as they are in the new program anyway.
fn without_zeros(mut entity: Kinds) -> Kinds {
    let counts = match &mut entity {
        Kinds::TableEntry(entry) => {
            entry.counter_data = entry.counter_data.filter(|data| *data != CounterData::default());
            &mut entry.meter_counter_data
        }
        Kinds::MeterEntry(entry) => &mut entry.counter_data,
        Kinds::DirectMeterEntry(entry) => &mut entry.counter_data,
        _ => return entity,
    };
    *counts = counts.filter(|data| !direct::is_zero(data));
    entity
}

/// Whether an entity is as it is when its program starts.
fn is_untouched(entity: &Kinds) -> bool {
    let zero = |bytes: &[u8]| bytes.iter().all(|byte| *byte == 0);
    match entity {
        #[allow(deprecated)]
        Kinds::TableEntry(entry) => {
            let noted = entry.controller_metadata != 0 || !entry.metadata.is_empty();
            let counted = entry.counter_data.is_some() || entry.meter_counter_data.is_some();
            let metered = entry.meter_config.is_some() || entry.idle_timeout_ns != 0;
            entry.is_const && !noted && !counted && !metered
        }
        Kinds::DirectCounterEntry(counter) => counter.data == Some(CounterData::default()),
        Kinds::DirectMeterEntry(meter) => meter.config.is_none() && meter.counter_data.is_none(),
        Kinds::ValueSetEntry(set) => set.members.is_empty(),
        Kinds::CounterEntry(counter) => counter.data == Some(CounterData::default()),
        Kinds::MeterEntry(meter) => meter.config.is_none() && meter.counter_data.is_none(),
        Kinds::RegisterEntry(register) => match register.data.as_ref().and_then(|data| data.data.as_ref()) {
            Some(p4_data::Data::Bitstring(bytes)) => zero(bytes),
            _ => false,
        },
        _ => false,
    }
}
