//! Default and declared entries of tables from JSON.

use std::collections::HashSet;

use super::externs::DirectMeters;
use super::json::Json;
use super::scope::Scope;
use crate::error::LoadError;
use crate::program::check;
use crate::program::entry::{ActionCall, Entry, EntryKey, Match};
use crate::program::field::{part_prefixes, prefix_mask};
use crate::program::info::{ActionId, ActionInfo, KeyInfo, TableInfo};

/// The names that tables and their entries refer to.
pub(crate) struct TableScope<'a> {
    pub scope: &'a Scope,
    pub actions: &'a [ActionInfo],
    pub direct_meters: &'a DirectMeters,
}

pub(crate) fn action_id(node: &Json<'_>, scope: &Scope) -> Result<ActionId, LoadError> {
    node.by_id(&scope.actions, "action").copied().map(ActionId)
}

/// The first action of a name: compilers before 2016 gave tables no ids of actions.
pub(crate) fn named_action(node: &Json<'_>, context: &TableScope<'_>) -> Result<ActionId, LoadError> {
    let name = node.str()?;
    let found = context.actions.iter().position(|action| action.name == name);
    found.map(|index| ActionId(index as u32)).ok_or_else(|| node.dangling("action", name))
}

/// The action and arguments of a default or declared entry.
pub(crate) fn call(
    node: &Json<'_>, info: &TableInfo, context: &TableScope<'_>,
) -> Result<ActionCall, LoadError> {
    let action = action_id(&node.get("action_id")?, context.scope)?;
    let params = &context.actions[action.index()].params;
    let mut arguments = Vec::new();
    for (i, argument) in node.list("action_data")?.iter().enumerate() {
        // Arguments of signed parameters may be negative.
        arguments.extend(argument.parts(params.get(i).map_or(128, |param| param.width))?);
    }
    let call = ActionCall { action, arguments };
    check::call(info, context.actions, &call).map_err(|error| node.invalid(error.to_string()))?;
    Ok(call)
}

/// The entries P4 declares.
pub(crate) fn entries(
    node: &Json<'_>, info: &TableInfo, context: &TableScope<'_>,
) -> Result<Vec<Entry>, LoadError> {
    let nodes = node.list("entries")?;
    // The lowest number wins in BMv2, the highest here.
    let mut priorities = Vec::new();
    for (i, node) in nodes.iter().enumerate() {
        priorities.push(node.opt("priority").map_or(Ok(i as u32), |priority| priority.int::<u32>())?);
    }
    let last = priorities.iter().max().copied().unwrap_or(0);
    let (mut entries, mut seen) = (Vec::new(), HashSet::new());
    for (node, priority) in nodes.iter().zip(priorities) {
        let mut matches = Vec::new();
        for (part, field) in node.get("match_key")?.items()?.iter().zip(&info.key) {
            matches.push(declared_match(part, field)?);
        }
        let priority = if info.with_priority { (last - priority).saturating_add(1) } else { 0 };
        let key = EntryKey { matches, priority };
        check::key(info, &key).map_err(|error| node.invalid(error.to_string()))?;
        if !seen.insert(key.clone()) {
            return Err(node.invalid("a second entry with this key"));
        }
        entries.push(Entry { key, call: call(&node.get("action_entry")?, info, context)? });
    }
    Ok(entries)
}

fn declared_match(node: &Json<'_>, field: &KeyInfo) -> Result<Match, LoadError> {
    let value = |key| node.get(key)?.parts(field.width);
    let pairs = |first, second| Ok(value(first)?.into_iter().zip(value(second)?));
    Ok(Match::of_parts(match node.get("match_type")?.str()? {
        "exact" => value("key")?.into_iter().map(Match::Exact).collect(),
        "lpm" => {
            let prefix_node = node.get("prefix_length")?;
            let prefix: u32 = prefix_node.int()?;
            if prefix > field.width {
                return Err(prefix_node.invalid("the prefix is longer than the field"));
            }
            let parts = value("key")?.into_iter().zip(part_prefixes(field.width, prefix));
            // p4c leaves the bits after the prefix as they are written.
            let part =
                |(value, (width, prefix))| Match::Lpm { value: value & prefix_mask(width, prefix), prefix };
            parts.map(part).collect()
        }
        "ternary" | "optional" => {
            let part = |(value, mask)| Match::Ternary { value: value & mask, mask };
            pairs("key", "mask")?.map(part).collect()
        }
        "range" => pairs("start", "end")?.map(|(low, high)| Match::Range { low, high }).collect(),
        other => return Err(node.unsupported(format!("the match kind {other:?}"))),
    }))
}
