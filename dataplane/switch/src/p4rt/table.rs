//! Table entries: insert, modify, delete.
//!
//! P4Runtime specification, section "TableEntry".

use groupflow_base::Nanos;
use groupflow_pipeline::{ActionCall, EntryKey, Pipeline, TableError};
use std::collections::BTreeMap;

use super::binding::{absent_table, ActionScope, BoundAction, BoundTable};
use super::direct;
use super::idle;
use super::matching;
use super::restriction::Subject;
use super::state::{ControlState, EntryNote};
use super::status::{Code, Status};
use super::update::{Purpose, Setting, UpdateKind};
use crate::core::Forwarding;
use crate::proto::p4::v1::{action::Param, table_action, Action, TableAction, TableEntry};

/// The most bytes of `metadata` that an entry or a multicast group may keep for the controller.
pub const METADATA_LIMIT: usize = 4096;

pub fn write(
    state: &mut ControlState, forwarding: &mut Forwarding, kind: UpdateKind, entry: &TableEntry,
    setting: Setting,
) -> Result<(), Status> {
    let config = state.config.clone();
    if let Some(name) = config.binding.absent.get(&entry.table_id) {
        return Err(Status::invalid(absent_table(name)));
    }
    let table = find(&config.binding.tables, entry.table_id)?;
    let result = match (entry.is_default_action, kind) {
        (true, kind) => write_default(state, &mut forwarding.pipeline, kind, table, entry, setting.purpose),
        (false, UpdateKind::Delete) => delete(state, &mut forwarding.pipeline, table, entry),
        (false, kind) => insert_or_modify(state, &mut forwarding.pipeline, kind, table, entry, setting),
    };
    result.map_err(|refusal| table.within(refusal))
}

pub fn find(tables: &BTreeMap<u32, BoundTable>, id: u32) -> Result<&BoundTable, Status> {
    tables.get(&id).ok_or_else(|| Status::invalid(format!("table_id: the program has no table {id}")))
}

pub fn refusal(error: TableError) -> Status {
    let code = match error {
        TableError::ConstEntries | TableError::ConstDefault => Code::PermissionDenied,
        TableError::AlreadyExists => Code::AlreadyExists,
        TableError::NotFound => Code::NotFound,
        TableError::Full(_) | TableError::GroupsFull(_) => Code::ResourceExhausted,
        _ => Code::InvalidArgument,
    };
    Status::new(code, error.to_string())
}

fn insert_or_modify(
    state: &mut ControlState, pipeline: &mut Pipeline, kind: UpdateKind, table: &BoundTable,
    entry: &TableEntry, Setting { purpose, now, .. }: Setting,
) -> Result<(), Status> {
    check_common(table, entry)?;
    let inserts = kind == UpdateKind::Insert;
    refuse_if!(inserts && table.fields.is_empty(), "it has no key, so only its default entry can be set");
    let acts = inserts || entry.action.is_some();
    refuse_if!(table.is_const && acts, Status::denied, "its entries are constant");
    let key = matching::key(table, &entry.r#match, entry.priority)?;
    if let Some(restriction) = table.restriction.as_ref().filter(|_| purpose != Purpose::Undo) {
        restriction.check(Subject { matches: &key.matches, arguments: &[], priority: key.priority })?;
    }
    let resources = direct::DirectResources::of(table, entry, purpose)?;
    let (call, used) = match &entry.action {
        Some(action) if table.profile != 0 => {
            let (call, used) = state.profiles.resolve(pipeline, table, action)?;
            (Some(call), Some(used))
        }
        Some(action) => (Some(call(table, action, ActionScope::DefaultOnly, purpose)?), None),
        None => (None, None),
    };
    let done = match (kind, &call) {
        (UpdateKind::Insert, None) => return Err(Status::invalid("action: it is missing")),
        (UpdateKind::Insert, Some(call)) => pipeline.table_insert(table.table, &key, call),
        (_, Some(call)) => pipeline.table_modify(table.table, &key, call),
        (_, None) => pipeline.table_get(table.table, &key).map(drop),
    };
    match (done, used) {
        (Ok(()), None) => {}
        (Ok(()), used) => state.profiles.note(pipeline, table, &key, used),
        (Err(error), used) => {
            if let Some(used) = &used {
                state.profiles.undo(pipeline, table, used);
            }
            return Err(refusal(error));
        }
    }
    // Everything is checked, so these cannot fail and leave half an update behind.
    resources.apply(pipeline, table, Some(&key))?;
    if table.idle_timeout && inserts {
        pipeline.table_touch(table.table, &key, now).map_err(refusal)?;
    }
    remember(state, table, key, entry, now);
    Ok(())
}

fn delete(
    state: &mut ControlState, pipeline: &mut Pipeline, table: &BoundTable, entry: &TableEntry,
) -> Result<(), Status> {
    check_not_const(entry)?;
    refuse_if!(table.is_const, Status::denied, "its entries are constant");
    let key = matching::key(table, &entry.r#match, entry.priority)?;
    pipeline.table_delete(table.table, &key).map_err(refusal)?;
    if table.profile != 0 {
        state.profiles.note(pipeline, table, &key, None);
    }
    forget(state, table, &key);
    Ok(())
}

fn write_default(
    state: &mut ControlState, pipeline: &mut Pipeline, kind: UpdateKind, table: &BoundTable,
    entry: &TableEntry, purpose: Purpose,
) -> Result<(), Status> {
    refuse_if!(kind != UpdateKind::Modify, "the default entry is always there: it can only be modified");
    refuse_if!(!entry.r#match.is_empty(), "match: the default entry has none");
    refuse_if!(entry.priority != 0, "priority: the default entry has none");
    check_common(table, entry)?;
    let resources = direct::DirectResources::of(table, entry, purpose)?;
    refuse_if!(table.const_default, Status::denied, "its default action is constant");
    let call = |action| call(table, action, ActionScope::TableOnly, purpose);
    let call = entry.action.as_ref().map(call).transpose()?;
    let reset = call.is_none();
    pipeline.table_set_default(table.table, call).map_err(refusal)?;
    if reset {
        state.default_notes.remove(&table.table);
    } else {
        state.default_notes.insert(table.table, note(entry));
    }
    match (reset, purpose) {
        (true, Purpose::Client) => direct::DirectResources::default().apply(pipeline, table, None),
        _ => resources.apply(pipeline, table, None),
    }
}

fn check_common(table: &BoundTable, entry: &TableEntry) -> Result<(), Status> {
    refuse_if!(entry.metadata.len() > METADATA_LIMIT, "metadata: it is longer than {METADATA_LIMIT} bytes");
    check_not_const(entry)?;
    refuse_if!(entry.time_since_last_hit.is_some(), "time_since_last_hit: it can only be read");
    idle::check(table, entry)
}

fn check_not_const(entry: &TableEntry) -> Result<(), Status> {
    refuse_if!(entry.is_const, "is_const: only the program can make entries constant");
    Ok(())
}

fn call(
    table: &BoundTable, action: &TableAction, forbidden: ActionScope, purpose: Purpose,
) -> Result<ActionCall, Status> {
    match &action.r#type {
        Some(table_action::Type::Action(action)) => call_of(table, action, forbidden, purpose),
        Some(_) => Err(Status::invalid("action: the table has no action profile")),
        None => Err(Status::invalid("action: it is missing")),
    }
}

/// The action of a member or of a one-shot group as the pipeline takes it.
pub fn action_call(table: &BoundTable, action: &Action) -> Result<ActionCall, Status> {
    call_of(table, action, ActionScope::DefaultOnly, Purpose::Client)
}

fn call_of(
    table: &BoundTable, action: &Action, forbidden: ActionScope, purpose: Purpose,
) -> Result<ActionCall, Status> {
    let unknown = || Status::invalid(format!("action_id: the table has no action {}", action.action_id));
    let known = table.actions.get(&action.action_id).ok_or_else(unknown)?;
    if known.scope == forbidden {
        let is_default = forbidden == ActionScope::TableOnly;
        let place = if is_default { "the default entry" } else { "entries with a key" };
        return Err(Status::denied(format!("action {}: not for {place}", known.name)));
    }
    let arguments = arguments(known, action).map_err(|e| e.within(&format!("action {}", known.name)))?;
    if let Some(restriction) = known.restriction.as_ref().filter(|_| purpose != Purpose::Undo) {
        let checked = restriction.check(Subject { matches: &[], arguments: &arguments, priority: 0 });
        checked.map_err(|refusal| refusal.within(&format!("action {}", known.name)))?;
    }
    Ok(ActionCall { action: known.action, arguments })
}

fn arguments(known: &BoundAction, action: &Action) -> Result<Vec<u128>, Status> {
    let is_known = |given: &&Param| known.params.iter().any(|param| param.id == given.param_id);
    if let Some(given) = action.params.iter().find(|given| !is_known(given)) {
        return Err(Status::invalid(format!("it has no parameter {}", given.param_id)));
    }
    let arguments = known.params.iter().map(|param| {
        matching::part(&action.params, |given| given.param_id == param.id)
            .and_then(|given| given.ok_or_else(|| Status::invalid("it is missing")))
            .and_then(|given| param.decode(&given.value))
            .map_err(|refusal| refusal.within(&format!("parameter {}", param.name)))
    });
    Ok(arguments.collect::<Result<Vec<_>, Status>>()?.concat())
}

fn remember(state: &mut ControlState, table: &BoundTable, key: EntryKey, entry: &TableEntry, now: Nanos) {
    forget(state, table, &key);
    let mut note = note(entry);
    if note != EntryNote::default() {
        state.idle.start(&mut note, table.table, &key, now);
        state.notes.insert((table.table, key), note);
    }
}

fn forget(state: &mut ControlState, table: &BoundTable, key: &EntryKey) {
    // Most entries have no note.
    if !state.notes.is_empty() {
        if let Some(note) = state.notes.remove(&(table.table, key.clone())) {
            state.idle.stop(&note, table.table, key);
        }
    }
}

fn note(entry: &TableEntry) -> EntryNote {
    let idle_timeout = Nanos(u64::try_from(entry.idle_timeout_ns).unwrap_or(0));
    #[allow(deprecated)]
    let cookie = entry.controller_metadata;
    EntryNote { cookie, metadata: entry.metadata.clone(), idle_timeout, due: Nanos::ZERO }
}
