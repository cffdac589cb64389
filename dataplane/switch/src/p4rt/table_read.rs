//! Reading table entries.
//!
//! P4Runtime specification, section "Wildcard Reads".

use groupflow_base::Nanos;
use groupflow_pipeline::{part_widths, ActionCall, EntryKey, EntryResources, EntryView, TableError};

use super::binding::{BoundField, BoundTable};
use super::direct;
use super::idle;
use super::matching;
use super::state::{ControlState, EntryNote};
use super::status::Status;
use super::table;
use super::update::Found;
use crate::core::Forwarding;
use crate::proto::p4::v1::action::Param;
use crate::proto::p4::v1::{table_action, table_entry, Action, TableAction, TableEntry};

pub fn read(
    state: &ControlState, forwarding: &Forwarding, filter: &TableEntry, now: Nanos, found: &mut Found<'_>,
) -> Result<(), Status> {
    let tables = &state.config.binding.tables;
    if filter.table_id == 0 {
        refuse_if!(!is_bare(filter), "table_id: it is zero, so nothing else can be asked for");
        let mut read =
            |(id, table): (&u32, _)| read_table(state, forwarding, (*id, table), filter, now, found);
        return tables.iter().try_for_each(&mut read);
    }
    let table = table::find(tables, filter.table_id)?;
    let result = if filter.is_default_action {
        read_default(state, forwarding, table, filter, found)
    } else {
        read_table(state, forwarding, (filter.table_id, table), filter, now, found)
    };
    result.map_err(|refusal| table.within(refusal))
}

#[allow(deprecated)]
fn is_bare(filter: &TableEntry) -> bool {
    let no_key = filter.r#match.is_empty() && filter.priority == 0 && !filter.is_default_action;
    no_key && filter.action.is_none() && filter.controller_metadata == 0 && filter.metadata.is_empty()
}

fn read_table(
    state: &ControlState, forwarding: &Forwarding, (id, table): (u32, &BoundTable), filter: &TableEntry,
    now: Nanos, found: &mut Found<'_>,
) -> Result<(), Status> {
    if filter.table_id != 0 {
        idle::check(table, filter)?;
    }
    let matches = (!filter.r#match.is_empty())
        .then(|| matching::of_fields(&table.fields, &filter.r#match))
        .transpose()?;
    let action = wanted_action(table, filter)?;
    let priority = u32::try_from(filter.priority).map_err(|_| Status::invalid("priority: it is negative"))?;
    let mut visit = |view: EntryView| {
        let entry = &view.entry;
        let wanted = matches.as_ref().map_or(true, |matches| *matches == entry.key.matches)
            && (priority == 0 || priority == entry.key.priority)
            && action.map_or(true, |id| action_id(table, &entry.call) == Some(id));
        if !wanted {
            return;
        }
        let since = filter.time_since_last_hit.as_ref().filter(|_| table.idle_timeout);
        let elapsed_ns = i64::try_from((now - view.hit).0).unwrap_or(i64::MAX);
        let time_since_last_hit = since.map(|_| table_entry::IdleTimeout { elapsed_ns });
        let message = TableEntry { time_since_last_hit, ..to_message(state, id, table, &view, filter) };
        if is_noted(filter, &message) {
            found(message.into());
        }
    };
    if let (Some(matches), true) = (&matches, table.with_priority == (priority != 0)) {
        let key = EntryKey { matches: matches.clone(), priority };
        match forwarding.pipeline.table_get(table.table, &key) {
            Err(TableError::NotFound) => {}
            view => visit(view.map_err(table::refusal)?),
        }
        return Ok(());
    }
    forwarding.pipeline.table_entries(table.table).map_err(table::refusal)?.for_each(visit);
    Ok(())
}

fn read_default(
    state: &ControlState, forwarding: &Forwarding, table: &BoundTable, filter: &TableEntry,
    found: &mut Found<'_>,
) -> Result<(), Status> {
    let keyed = !filter.r#match.is_empty() || filter.priority != 0;
    refuse_if!(keyed, "match, priority: the default entry has none");
    idle::check(table, filter)?;
    let wanted = wanted_action(table, filter)?;
    let call = forwarding.pipeline.table_default(table.table).map_err(table::refusal)?;
    let call = call.or_else(|| no_action(table));
    let resources = forwarding.pipeline.default_resources(table.table).map_err(table::refusal)?;
    if wanted.is_some() && wanted != call.as_ref().and_then(|call| action_id(table, call)) {
        return Ok(());
    }
    let entry = TableEntry {
        table_id: filter.table_id,
        action: call.and_then(|call| table_action(table, &call)),
        is_default_action: true,
        is_const: table.const_default,
        ..TableEntry::default()
    };
    let entry = EntryNote::add_to(state.default_notes.get(&table.table), entry);
    let counter = resources.counter.filter(|_| table.direct_counter);
    if is_noted(filter, &entry) {
        found(with_resources(entry, table, filter, EntryResources { counter, ..resources }).into());
    }
    Ok(())
}

/// P4's action of a miss where none is declared; programs in JSON name it for no table with a profile.
fn no_action(table: &BoundTable) -> Option<ActionCall> {
    let found = table.actions.values().find(|known| known.name == "NoAction");
    found.map(|known| ActionCall { action: known.action, arguments: Vec::new() })
}

/// An entry as it would be written to be as it is, if it is there and can change.
pub fn to_write(
    state: &ControlState, forwarding: &Forwarding, entry: &TableEntry, (counted, coloured): (bool, bool),
) -> Option<TableEntry> {
    let table = state.config.binding.tables.get(&entry.table_id)?;
    let key = matching::key(table, &entry.r#match, entry.priority).ok()?;
    let view = forwarding.pipeline.table_get(table.table, &key).ok()?;
    let filter = TableEntry {
        counter_data: counted.then(Default::default),
        meter_counter_data: coloured.then(Default::default),
        meter_config: Some(Default::default()),
        ..TableEntry::default()
    };
    let message = to_message(state, entry.table_id, table, &view, &filter);
    let action = message.action.filter(|_| !view.is_const);
    Some(TableEntry { action, is_const: false, ..message })
}

/// P4Runtime's form of an entry, with the direct resources that `filter` asks for.
fn to_message(
    state: &ControlState, id: u32, table: &BoundTable, view: &EntryView, filter: &TableEntry,
) -> TableEntry {
    let entry = &view.entry;
    let note = (!state.notes.is_empty()).then(|| state.notes.get(&(table.table, entry.key.clone())));
    let key = key_message(id, table, &entry.key);
    let message = TableEntry {
        action: match table.profile {
            0 => table_action(table, &entry.call),
            _ => state.profiles.action(table, &entry.key),
        },
        is_const: view.is_const,
        ..EntryNote::add_to(note.flatten(), key)
    };
    with_resources(message, table, filter, view.resources)
}

pub fn key_message(id: u32, table: &BoundTable, key: &EntryKey) -> TableEntry {
    TableEntry {
        table_id: id,
        r#match: matching::fields(&table.fields, &key.matches),
        priority: i32::try_from(key.priority).unwrap_or(i32::MAX),
        ..TableEntry::default()
    }
}

fn with_resources(
    entry: TableEntry, table: &BoundTable, filter: &TableEntry, resources: EntryResources,
) -> TableEntry {
    let coloured = table.direct_meter.and(filter.meter_counter_data.as_ref());
    TableEntry {
        counter_data: resources.counter.filter(|_| filter.counter_data.is_some()).map(direct::counter_data),
        meter_config: resources.meter.filter(|_| filter.meter_config.is_some()).map(direct::meter_config),
        meter_counter_data: coloured.map(|_| direct::colour_counts(resources.colours)),
        ..entry
    }
}

/// The action whose entries are asked for. Its parameters do not count, nor the named member or group of a
/// profile: a client may ask for an entry as it has written it.
fn wanted_action(table: &BoundTable, filter: &TableEntry) -> Result<Option<u32>, Status> {
    match filter.action.as_ref().and_then(|action| action.r#type.as_ref()) {
        Some(table_action::Type::Action(Action { action_id: id, .. })) if *id != 0 => {
            let unknown = || Status::invalid(format!("action_id: the table has no action {id}"));
            table.actions.contains_key(id).then_some(Some(*id)).ok_or_else(unknown)
        }
        _ => Ok(None),
    }
}

#[allow(deprecated)]
fn is_noted(filter: &TableEntry, entry: &TableEntry) -> bool {
    (filter.controller_metadata == 0 || filter.controller_metadata == entry.controller_metadata)
        && (filter.metadata.is_empty() || filter.metadata == entry.metadata)
}

fn action_id(table: &BoundTable, call: &ActionCall) -> Option<u32> {
    table.actions.iter().find(|(_, known)| known.action == call.action).map(|(id, _)| *id)
}

fn table_action(table: &BoundTable, call: &ActionCall) -> Option<TableAction> {
    Some(TableAction { r#type: Some(table_action::Type::Action(action(table, call)?)) })
}

/// P4Runtime's form of an action.
pub fn action(table: &BoundTable, call: &ActionCall) -> Option<Action> {
    let id = action_id(table, call)?;
    let mut rest = call.arguments.as_slice();
    let mut param = |param: &BoundField| {
        let (own, others) = rest.split_at(part_widths(param.width).count().min(rest.len()));
        rest = others;
        Param { param_id: param.id, value: param.encode(own) }
    };
    let params = table.actions.get(&id)?.params.iter().map(&mut param).collect();
    Some(Action { action_id: id, params })
}
