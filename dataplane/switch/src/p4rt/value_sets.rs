//! Value sets of the parser.
//!
//! P4Runtime specification, section "ValueSetEntry".

use groupflow_pipeline::{Match, StateError};

use super::binding::BoundValueSet;
use super::bytestring::ones;
use super::matching;
use super::state::ControlState;
use super::status::{Code, Status};
use super::update::{Found, UpdateKind};
use crate::core::Forwarding;
use crate::proto::p4::v1::ValueSetEntry;

/// Sets the members of a value set.
pub fn write(
    state: &mut ControlState, forwarding: &mut Forwarding, kind: UpdateKind, entry: &ValueSetEntry,
) -> Result<(), Status> {
    let set = find(state, entry.value_set_id)?;
    kind.only_modify().map_err(|refusal| refusal.within("value_set_entry"))?;
    let members = entry.members.iter().map(|member| {
        let matches = matching::of_fields(&set.fields, &member.r#match)?;
        matches.iter().zip(&set.fields).map(|(part, field)| bits(part, field.width)).collect()
    });
    let members: Vec<Vec<_>> = members.collect::<Result<_, Status>>().map_err(|e| e.within(&set.name))?;
    if let Some(twice) = (1..members.len()).find(|i| members[..*i].contains(&members[*i])) {
        return Err(Status::new(Code::AlreadyExists, format!("members: {twice} is there already")));
    }
    forwarding.pipeline.value_set_write(set.set, members).map_err(|error| {
        let full = matches!(error, StateError::Full { .. });
        Status::new(if full { Code::ResourceExhausted } else { Code::InvalidArgument }, error.to_string())
    })?;
    state.value_sets.insert(entry.value_set_id, entry.clone());
    Ok(())
}

/// Adds the value sets that a request asks for.
pub fn read(state: &ControlState, filter: &ValueSetEntry, found: &mut Found<'_>) -> Result<(), Status> {
    if filter.value_set_id != 0 {
        find(state, filter.value_set_id)?;
    }
    for id in state.config.binding.value_sets.keys() {
        if filter.value_set_id == 0 || filter.value_set_id == *id {
            let empty = || ValueSetEntry { value_set_id: *id, members: Vec::new() };
            let entry = state.value_sets.get(id).cloned().unwrap_or_else(empty);
            found(entry.into());
        }
    }
    Ok(())
}

fn find(state: &ControlState, id: u32) -> Result<BoundValueSet, Status> {
    let set = state.config.binding.value_sets.get(&id).cloned();
    set.ok_or_else(|| Status::invalid(format!("value_set_id: the program has no value set {id}")))
}

/// A part of a member as the parser compares it: value and mask.
fn bits(part: &Match, width: u32) -> Result<(u128, u128), Status> {
    match *part {
        Match::Exact(value) | Match::Optional(Some(value)) => Ok((value, ones(width))),
        Match::Optional(None) => Ok((0, 0)),
        Match::Lpm { value, prefix } => Ok((value, ones(width) & !ones(width - u32::from(prefix)))),
        Match::Ternary { value, mask } => Ok((value, mask)),
        Match::Range { .. } => Err(Status::unimplemented("match: a range in a value set is not supported")),
    }
}
