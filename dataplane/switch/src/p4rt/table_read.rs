//! Reading table entries.
//!
//! P4Runtime specification, section "Wildcard Reads".

use groupflow_pipeline::{ActionCall, EntryView};

use super::binding::BoundTable;
use super::bytestring::encode;
use super::direct;
use super::matching;
use super::state::{ControlState, EntryNote};
use super::status::Refusal;
use super::table;
use super::update::Found;
use crate::core::Forwarding;
use crate::proto::p4::v1::action::Param;
use crate::proto::p4::v1::{table_action, Action, Entity, TableAction, TableEntry};

/// Adds the entries that a request asks for.
pub fn read(
    state: &ControlState, forwarding: &Forwarding, filter: &TableEntry, found: &mut dyn Found,
) -> Result<(), Refusal> {
    let tables = &state.config.binding.tables;
    if filter.table_id == 0 {
        if !is_bare(filter) {
            return Err(Refusal::invalid("table_id: it is zero, so nothing else can be asked for"));
        }
        return tables
            .iter()
            .try_for_each(|(id, table)| read_table(state, forwarding, *id, table, filter, found));
    }
    let table = table::find(tables, filter.table_id)?;
    let result = if filter.is_default_action {
        read_default(state, forwarding, table, filter, found)
    } else {
        read_table(state, forwarding, filter.table_id, table, filter, found)
    };
    result.map_err(|refusal| refusal.within(&format!("table {}", table.name)))
}

#[allow(deprecated)]
fn is_bare(filter: &TableEntry) -> bool {
    let no_key = filter.r#match.is_empty() && filter.priority == 0 && !filter.is_default_action;
    no_key && filter.action.is_none() && filter.controller_metadata == 0 && filter.metadata.is_empty()
}

#[allow(deprecated)]
fn read_table(
    state: &ControlState, forwarding: &Forwarding, id: u32, table: &BoundTable, filter: &TableEntry,
    found: &mut dyn Found,
) -> Result<(), Refusal> {
    table::check_idle_timeout(table, filter)?;
    let key = (!filter.r#match.is_empty()).then(|| matching::matches(table, &filter.r#match)).transpose()?;
    let action = filter.action.as_ref().map(|action| wanted_action(table, action)).transpose()?;
    let priority =
        u32::try_from(filter.priority).map_err(|_| Refusal::invalid("priority: it is negative"))?;
    for view in forwarding.pipeline.table_entries(table.table).map_err(table::refusal)? {
        let entry = view.entry;
        let note = state.notes.get(&(table.table, entry.key.clone()));
        let cookie = note.map_or(0, |note| note.cookie);
        let metadata = note.map_or(&[][..], |note| &note.metadata);
        let wanted = key.as_ref().map_or(true, |key| *key == entry.key.matches)
            && (priority == 0 || priority == entry.key.priority)
            && action.map_or(true, |id| action_id(table, &entry.call) == Some(id))
            && (filter.controller_metadata == 0 || filter.controller_metadata == cookie)
            && (filter.metadata.is_empty() || filter.metadata == metadata);
        if wanted {
            let mut message = to_message(id, table, &view, note, filter);
            if table.profile != 0 {
                message.action = state.profiles.action(table, &entry.key);
            }
            found.push(Entity { entity: Some(message.into()) });
        }
    }
    Ok(())
}

fn read_default(
    state: &ControlState, forwarding: &Forwarding, table: &BoundTable, filter: &TableEntry,
    found: &mut dyn Found,
) -> Result<(), Refusal> {
    if !filter.r#match.is_empty() || filter.priority != 0 {
        return Err(Refusal::invalid("match, priority: the default entry has none"));
    }
    table::check_idle_timeout(table, filter)?;
    let call = forwarding.pipeline.table_default(table.table).map_err(table::refusal)?;
    let note = state.default_notes.get(&table.table);
    #[allow(deprecated)]
    let entry = TableEntry {
        table_id: filter.table_id,
        action: call.and_then(|call| action(table, call)),
        is_default_action: true,
        controller_metadata: note.map_or(0, |note| note.cookie),
        metadata: note.map_or(Vec::new(), |note| note.metadata.clone()),
        ..TableEntry::default()
    };
    found.push(Entity { entity: Some(entry.into()) });
    Ok(())
}

/// P4Runtime's form of an entry, with the direct resources that `filter` asks for.
pub fn to_message(
    id: u32, table: &BoundTable, view: &EntryView<'_>, note: Option<&EntryNote>, filter: &TableEntry,
) -> TableEntry {
    let entry = view.entry;
    let counter = view.counter.filter(|_| filter.counter_data.is_some());
    let meter = view.meter.filter(|_| filter.meter_config.is_some());
    #[allow(deprecated)]
    TableEntry {
        table_id: id,
        r#match: matching::fields(table, &entry.key),
        action: action(table, &entry.call),
        priority: i32::try_from(entry.key.priority).unwrap_or(i32::MAX),
        controller_metadata: note.map_or(0, |note| note.cookie),
        metadata: note.map_or(Vec::new(), |note| note.metadata.clone()),
        counter_data: counter.map(direct::counter_data),
        meter_config: meter.map(direct::meter_config),
        is_const: view.is_const,
        ..TableEntry::default()
    }
}

fn wanted_action(table: &BoundTable, action: &TableAction) -> Result<u32, Refusal> {
    match &action.r#type {
        Some(table_action::Type::Action(action)) if !action.params.is_empty() => {
            Err(Refusal::invalid("action: entries can be asked for by action, not by its parameters"))
        }
        Some(table_action::Type::Action(action)) if table.actions.contains_key(&action.action_id) => {
            Ok(action.action_id)
        }
        Some(table_action::Type::Action(action)) => {
            Err(Refusal::invalid(format!("action_id: the table has no action {}", action.action_id)))
        }
        _ => Err(Refusal::invalid("action: the table has no action profile")),
    }
}

fn action_id(table: &BoundTable, call: &ActionCall) -> Option<u32> {
    table.actions.iter().find(|(_, known)| known.action == call.action).map(|(id, _)| *id)
}

fn action(table: &BoundTable, call: &ActionCall) -> Option<TableAction> {
    let id = action_id(table, call)?;
    let params = table.actions.get(&id)?.params.iter().zip(&call.arguments);
    let params = params.map(|((id, _, _), value)| Param { param_id: *id, value: encode(*value) });
    let action = Action { action_id: id, params: params.collect() };
    Some(TableAction { r#type: Some(table_action::Type::Action(action)) })
}
