//! Whether an entry fits its table: the same rules for constant entries and for those of the control plane.

use crate::error::TableError;
use crate::program::entry::{ActionCall, EntryKey, Match};
use crate::program::field::{mask, part_widths, prefix_mask};
use crate::program::info::{ActionInfo, KeyInfo, MatchKind, TableInfo};

pub(crate) fn key(table: &TableInfo, key: &EntryKey) -> Result<(), TableError> {
    if table.key.is_empty() {
        return Err(TableError::NoKey);
    }
    if key.matches.len() != table.key.len() {
        let (expected, got) = (table.key.len(), key.matches.len());
        return Err(TableError::KeyLength { expected, got });
    }
    match (table.with_priority, key.priority) {
        (true, 0) => return Err(TableError::Invalid("entries need a priority of at least 1")),
        (false, 1..) => return Err(TableError::Invalid("entries have no priority")),
        _ => {}
    }
    table.key.iter().zip(&key.matches).try_for_each(|(field, m)| {
        let error = |reason| TableError::Key { field: field.name.clone(), reason };
        fits(field, m.parts()).map_err(error)
    })
}

fn fits(field: &KeyInfo, parts: &[Match]) -> Result<(), &'static str> {
    if parts.len() != part_widths(field.width).count() {
        return Err("the value does not have the field's width");
    }
    let mut prefix_goes_on = true;
    for (width, part) in part_widths(field.width).zip(parts) {
        part_fits(field.kind, width, part)?;
        if let Match::Lpm { prefix, .. } = *part {
            if prefix > 0 && !prefix_goes_on {
                return Err("the prefix has a gap");
            }
            prefix_goes_on = prefix == width;
        }
    }
    let ends = parts.iter().filter_map(|part| match part {
        Match::Range { low, high } => Some((*low, *high)),
        _ => None,
    });
    let (low, high): (Vec<u128>, Vec<u128>) = ends.unzip();
    (low <= high).then_some(()).ok_or("the range is empty")
}

fn part_fits(kind: MatchKind, width: u8, m: &Match) -> Result<(), &'static str> {
    let all = mask(width);
    let fits = |value: u128| value & !all == 0;
    let ok = |good: bool, reason| if good { Ok(()) } else { Err(reason) };
    match (kind, m) {
        (MatchKind::Exact, Match::Exact(value)) => ok(fits(*value), "the value does not fit the field"),
        (MatchKind::Lpm, Match::Lpm { value, prefix }) => {
            ok(*prefix <= width, "the prefix is longer than the field")?;
            ok(value & !prefix_mask(width, *prefix) == 0, "the value has bits outside its prefix")
        }
        (MatchKind::Ternary, Match::Ternary { value, mask }) => {
            ok(fits(*mask), "the mask does not fit the field")?;
            ok(value & !mask == 0, "the value has bits outside its mask")
        }
        (MatchKind::Range, Match::Range { low, high }) => {
            ok(fits(*low | *high), "the value does not fit the field")
        }
        (MatchKind::Ternary | MatchKind::Optional, Match::Optional(value)) => {
            ok(fits(value.unwrap_or(0)), "the value does not fit the field")
        }
        (MatchKind::Exact, _) => Err("an exact match is expected"),
        (MatchKind::Lpm, _) => Err("a longest prefix match is expected"),
        (MatchKind::Ternary, _) => Err("a ternary match is expected"),
        (MatchKind::Range, _) => Err("a range match is expected"),
        (MatchKind::Optional, _) => Err("an optional match is expected"),
    }
}

/// The position of the call's action in the table's list, if action and arguments fit.
pub(crate) fn call(
    table: &TableInfo, actions: &[ActionInfo], call: &ActionCall,
) -> Result<usize, TableError> {
    let position = table.actions.iter().position(|action| *action == call.action);
    let (Some(position), Some(action)) = (position, actions.get(call.action.index())) else {
        return Err(TableError::Action);
    };
    let argument =
        |parameter: String, reason| TableError::Argument { action: action.name.clone(), parameter, reason };
    let mut given = call.arguments.iter();
    for param in &action.params {
        for width in part_widths(param.width) {
            let value = given.next().ok_or_else(|| argument(param.name.clone(), "missing"))?;
            if value & !mask(width) != 0 {
                return Err(argument(param.name.clone(), "the value does not fit the parameter"));
            }
        }
    }
    match given.next() {
        Some(_) => Err(argument(action.params.len().to_string(), "there is no such parameter")),
        None => Ok(position),
    }
}
