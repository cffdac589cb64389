//! Tables from JSON.

use std::collections::HashMap;

use super::entries::{action_id, call, entries, named_action, TableScope};
use super::expr::accessed;
use super::json::Json;
use super::scope::{Place, Scope};
use crate::error::LoadError;
use crate::program::action::{AssignTarget, HeaderRef, Op};
use crate::program::expr::Expr;
use crate::program::field::{mask, Field, Wide};
use crate::program::info::{ActionId, KeyInfo, MatchKind, TableId, TableInfo};
use crate::program::table::{with_priority, KeyField, Next, Table, MAX_KEY_FIELDS};

/// Nodes of one control by name.
pub(crate) type Names = HashMap<String, u32>;

/// The node that `key` names; the end where it is null or missing.
pub(crate) fn next(node: &Json<'_>, key: &str, names: &Names) -> Result<Next, LoadError> {
    node.opt(key).map(|name| named(&name, names)).transpose()
}

fn named(node: &Json<'_>, names: &Names) -> Result<u32, LoadError> {
    node.named(names, "table or condition").copied()
}

/// Reads a table in both forms: that of the control plane, and that of packets.
pub(crate) fn table(
    node: &Json<'_>, id: TableId, context: &TableScope<'_>, names: &Names,
) -> Result<(TableInfo, Table), LoadError> {
    let name = node.get("name")?.str()?.to_owned();
    if let Some(kind) = node.opt("type") {
        if !["simple", "indirect", "indirect_ws"].contains(&kind.str()?) {
            return Err(kind.unsupported(format!("the type of table {name:?}")));
        }
    }
    let (key, fields, before) = key(node, &name, context.scope)?;
    let listed: Result<Vec<_>, _> = match node.opt("action_ids") {
        Some(ids) => ids.items()?.iter().map(|id| action_id(id, context.scope)).collect(),
        None => node.get("actions")?.items()?.iter().map(|name| named_action(name, context)).collect(),
    };
    let mut actions = listed?;
    let mut ways = ways(node, &actions, context, names)?;
    let select = context.scope.selects.get(&name).map(|action| ActionId(*action));
    let follows = select.is_some() && ways.by_action.iter().any(|way| *way != ways.by_action[0]);
    if let Some(select) = select {
        let same = ways.by_action.first().filter(|_| !follows);
        ways.by_action.push(same.copied().unwrap_or(ways.default));
        actions.push(select);
    }
    let metered = node.opt("direct_meters");
    let metered = metered.map(|meter| meter.named(context.direct_meters, "direct meter").copied());
    let metered = metered.transpose()?;
    let counted = node.flag("with_counters", false)?;
    let timed = node.flag("support_timeout", false)?;
    let declared_default = node.opt("default_entry");
    let flag = |key| declared_default.as_ref().map_or(Ok(false), |entry| entry.flag(key, false));
    let mut info = TableInfo {
        id,
        name,
        key,
        actions,
        select,
        max_size: node.get("max_size")?.int()?,
        const_entries: node.opt("entries").is_some(),
        const_default: flag("action_const")? || flag("action_entry_const")?,
        with_priority: false,
        direct_counter: counted,
        direct_meter: metered.map(|(unit, _)| unit),
        timed,
    };
    info.with_priority = with_priority(&info);
    let default = declared_default.map(|entry| call(&entry, &info, context)).transpose()?;
    let bare = default.as_ref().filter(|_| fields.is_empty() && info.const_default && !counted);
    let bare = bare.filter(|_| metered.is_none()).map(|call| {
        let position = info.actions.iter().position(|action| *action == call.action);
        ways.miss.unwrap_or(position.map_or(ways.default, |position| ways.by_action[position]))
    });
    let table = Table {
        key: fields,
        before,
        next: ways.by_action,
        follows,
        next_hit: ways.hit,
        next_miss: ways.miss,
        next_default: ways.default,
        default,
        bare,
        entries: entries(node, &info, context)?,
        counted,
        timed,
        metered,
    };
    Ok((info, table))
}

/// Gives a field to each part of a key that has none of its own: of an element that a variable chooses.
pub(crate) fn computed_keys(root: &Json<'_>, scope: &mut Scope) -> Result<(), LoadError> {
    for control in root.get("pipelines")?.items()? {
        for table in control.list("tables")? {
            for (at, part) in table.list("key")?.iter().enumerate() {
                let target = part.get("target")?;
                let Some(value) = target.opt("value") else { continue };
                let (HeaderRef::Element { stack, index }, place) = accessed(&value, scope, &[])? else {
                    return Err(target.unsupported("a key of this form"));
                };
                let offset = scope.offset(&target, stack, place)?;
                let index = Box::new(index);
                let mut parts = Vec::new();
                for (offset, part) in (offset..).zip(place.parts()) {
                    let valid = Expr::StackValid { stack, index: index.clone() };
                    let value = Expr::StackField { stack, index: index.clone(), offset };
                    let value = Expr::Select(Box::new((valid, value, Expr::Const(0))));
                    let field = scope.hidden(part.width);
                    parts.push((field, Op::Assign { target: AssignTarget::Field(field), value }));
                }
                scope.computed.insert((table.get("name")?.str()?.to_owned(), at), parts);
            }
        }
    }
    Ok(())
}

type Key = (Vec<KeyInfo>, Vec<KeyField>, Vec<Op>);

fn key(node: &Json<'_>, table: &str, scope: &Scope) -> Result<Key, LoadError> {
    let (mut infos, mut fields, mut before) = (Vec::new(), Vec::new(), Vec::new());
    let parts = node.get("key")?;
    for (at, part) in parts.items()?.into_iter().enumerate() {
        let kind_node = part.get("match_type")?;
        let target = part.get("target")?;
        let own: Vec<Field> = match scope.computed.get(&(table.to_owned(), at)) {
            Some(computed) => {
                before.extend(computed.iter().map(|(_, set)| set.clone()));
                computed.iter().map(|(field, _)| *field).collect()
            }
            None => match scope.place(&target)? {
                Place::Wide(Wide { length: Some(_), .. }) => {
                    return Err(target.unsupported(format!("a key of table {table:?} of variable length")));
                }
                place => place.parts(),
            },
        };
        let width = own.iter().map(|part| u32::from(part.width)).sum();
        let kind = match kind_node.str()? {
            "exact" => MatchKind::Exact,
            "lpm" => MatchKind::Lpm,
            "ternary" => MatchKind::Ternary,
            "range" => MatchKind::Range,
            "optional" => MatchKind::Optional,
            other => return Err(kind_node.unsupported(format!("the match kind {other:?}"))),
        };
        let masks = match part.opt("mask") {
            Some(mask) => mask.parts(width)?,
            None => own.iter().map(|part| mask(part.width)).collect(),
        };
        let name = match part.opt("name") {
            Some(name) => name.str()?.to_owned(),
            None => target.items()?.iter().map(|part| part.str()).collect::<Result<Vec<_>, _>>()?.join("."),
        };
        infos.push(KeyInfo { name, kind, width });
        let parts = own.into_iter().zip(masks);
        fields.extend(parts.map(|(field, mask)| KeyField { field, valid: scope.validity(field), mask }));
    }
    if fields.len().max(infos.len()) > MAX_KEY_FIELDS {
        return Err(parts.unsupported(format!("a key of more than {MAX_KEY_FIELDS} fields")));
    }
    let prefixes = infos.iter().filter(|field| field.kind == MatchKind::Lpm).count();
    let ordered = infos.iter().any(|field| !matches!(field.kind, MatchKind::Exact | MatchKind::Lpm));
    if prefixes > 1 && !ordered {
        return Err(parts.unsupported("a key with two lpm fields"));
    }
    Ok((infos, fields, before))
}

/// The continuation of the control after a table.
struct Ways {
    by_action: Vec<Next>,
    hit: Option<Next>,
    miss: Option<Next>,
    default: Next,
}

fn ways(
    node: &Json<'_>, actions: &[ActionId], context: &TableScope<'_>, names: &Names,
) -> Result<Ways, LoadError> {
    let default = next(node, "base_default_next", names)?;
    let mut ways = Ways { by_action: vec![default; actions.len()], hit: None, miss: None, default };
    for (label, target) in node.get("next_tables")?.members()? {
        let to = if target.is_null() { None } else { Some(named(&target, names)?) };
        match label {
            "__HIT__" => ways.hit = Some(to),
            "__MISS__" => ways.miss = Some(to),
            action => {
                let mut known = false;
                for (way, id) in ways.by_action.iter_mut().zip(actions) {
                    if context.actions[id.index()].name == action {
                        *way = to;
                        known = true;
                    }
                }
                if !known {
                    return Err(target.dangling("action of the table", action));
                }
            }
        }
    }
    Ok(ways)
}
