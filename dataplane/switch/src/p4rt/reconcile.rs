//! RECONCILE_AND_COMMIT: the state of one configuration, written to another.
//!
//! The entities are read from the old state, and written to the new one by the same ids. State that the new
//! configuration has no place for is an error, unless it is as it was when the old configuration was set.

use super::state::ControlState;
use super::status::{Refusal, Status};
use super::update::{self, Found, Setting, UpdateKind};
use super::{matching, table};
use crate::core::Forwarding;
use crate::proto::p4::v1::entity::Entity as Kinds;
use crate::proto::p4::v1::packet_replication_engine_entry::Type;
use crate::proto::p4::v1::{
    p4_data, ActionProfileGroup, ActionProfileMember, CounterData, CounterEntry, DigestEntry, Entity,
    MeterEntry, PacketReplicationEngineEntry, RegisterEntry, TableEntry, ValueSetEntry,
};

/// Writes the state of `old` to `new`, which was just made.
pub fn move_state(
    old: (&ControlState, &Forwarding), new: (&mut ControlState, &mut Forwarding), setting: Setting,
) -> Result<(), Status> {
    let (state, forwarding) = new;
    for (uri, names) in &state.config.binding.strings {
        old.0.config.binding.strings.get(uri).into_iter().for_each(|known| names.adopt(known));
    }
    forget_initial_entries(old.0, state, forwarding, setting)?;
    let mut replay = Replay { state, forwarding, setting, kind: UpdateKind::Modify, outcome: Ok(()) };
    let all = TableEntry { counter_data: Some(CounterData::default()), ..with_meter() };
    let engine = |of| PacketReplicationEngineEntry { r#type: Some(of) };
    let defaults = old
        .0
        .config
        .binding
        .tables
        .iter()
        .filter(|(_, table)| old.0.default_notes.contains_key(&table.table));
    let defaults =
        defaults.map(|(id, _)| TableEntry { table_id: *id, is_default_action: true, ..all.clone() });
    let inserts: [Kinds; 6] = [
        ActionProfileMember::default().into(),
        ActionProfileGroup::default().into(),
        all.clone().into(),
        engine(Type::MulticastGroupEntry(Default::default())).into(),
        engine(Type::CloneSessionEntry(Default::default())).into(),
        DigestEntry::default().into(),
    ];
    let changes: [Kinds; 4] = [
        ValueSetEntry::default().into(),
        RegisterEntry::default().into(),
        CounterEntry::default().into(),
        MeterEntry::default().into(),
    ];
    let inserts = inserts.into_iter().map(|filter| (UpdateKind::Insert, filter));
    let changes = changes.into_iter().chain(defaults.map(Kinds::from));
    for (kind, filter) in inserts.chain(changes.map(|filter| (UpdateKind::Modify, filter))) {
        replay.kind = kind;
        let found = update::read(old.0, old.1, &Entity { entity: Some(filter) }, setting.now, &mut replay);
        let moved = found.and_then(|()| std::mem::replace(&mut replay.outcome, Ok(())));
        moved.map_err(|refusal| {
            let refusal = refusal.within("RECONCILE_AND_COMMIT: the new configuration has no place for this");
            Status::from(Refusal::invalid(refusal.message))
        })?;
    }
    replay.forwarding.generators = old.1.generators.clone();
    Ok(())
}

fn with_meter() -> TableEntry {
    TableEntry { meter_config: Some(Default::default()), ..TableEntry::default() }
}

/// The new program brings entries that the controller may have removed from the old one.
fn forget_initial_entries(
    old: &ControlState, state: &mut ControlState, forwarding: &mut Forwarding, setting: Setting,
) -> Result<(), Status> {
    let config = state.config.clone();
    let kept = config
        .binding
        .tables
        .iter()
        .filter(|(id, table)| !table.is_const && old.config.binding.tables.contains_key(*id));
    for (id, table) in kept {
        let entries = forwarding.pipeline.table_entries(table.table).map_err(table::refusal)?;
        let entries: Vec<TableEntry> = entries
            .map(|view| TableEntry {
                table_id: *id,
                r#match: matching::fields(table, &view.entry.key),
                priority: i32::try_from(view.entry.key.priority).unwrap_or(i32::MAX),
                ..TableEntry::default()
            })
            .collect();
        for entry in entries {
            table::write(state, forwarding, UpdateKind::Delete, &entry, setting)?;
        }
    }
    Ok(())
}

/// Writes what is read.
struct Replay<'a> {
    state: &'a mut ControlState,
    forwarding: &'a mut Forwarding,
    setting: Setting,
    kind: UpdateKind,
    outcome: Result<(), Refusal>,
}

impl Found for Replay<'_> {
    fn push(&mut self, entity: Entity) {
        let Some(entity) = entity.entity.filter(|entity| self.outcome.is_ok() && !is_untouched(entity))
        else {
            return;
        };
        let update = update::of(self.kind, entity);
        self.outcome = update::write(self.state, self.forwarding, &update, self.setting);
    }
}

/// Whether an entity is as it is when its program starts.
fn is_untouched(entity: &Kinds) -> bool {
    let zero = |bytes: &[u8]| bytes.iter().all(|byte| *byte == 0);
    match entity {
        Kinds::TableEntry(entry) => entry.is_const,
        Kinds::ValueSetEntry(set) => set.members.is_empty(),
        Kinds::CounterEntry(counter) => counter.data == Some(CounterData::default()),
        Kinds::MeterEntry(meter) => meter.config.is_none(),
        Kinds::RegisterEntry(register) => match register.data.as_ref().and_then(|data| data.data.as_ref()) {
            Some(p4_data::Data::Bitstring(bytes)) => zero(bytes),
            _ => false,
        },
        _ => false,
    }
}
