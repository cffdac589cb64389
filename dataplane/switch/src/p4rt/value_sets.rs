//! Value sets of the parser.
//!
//! P4Runtime specification, section "ValueSetEntry".

use groupflow_pipeline::{part_widths, Match, StateError};

use super::binding::BoundValueSet;
use super::bytestring::ones;
use super::matching;
use super::state::ControlState;
use super::status::{Code, Status};
use super::update::{Found, UpdateKind};
use crate::core::Forwarding;
use crate::proto::p4::v1::{ValueSetEntry, ValueSetMember};

pub fn write(
    state: &mut ControlState, forwarding: &mut Forwarding, kind: UpdateKind, entry: &ValueSetEntry,
) -> Result<(), Status> {
    let set = find(state, entry.value_set_id)?;
    kind.only_modify().map_err(|refusal| refusal.within("value_set_entry"))?;
    let members = entry.members.iter().map(|member| {
        let matches = matching::of_fields(&set.fields, &member.r#match)?;
        let parts = matches.iter().zip(&set.fields);
        let parts = parts.flat_map(|(found, field)| found.parts().iter().zip(part_widths(field.width)));
        let bits = parts.map(|(part, width)| bits(part, width.into())).collect::<Result<Vec<_>, _>>()?;
        Ok((bits, ValueSetMember { r#match: matching::fields(&set.fields, &matches) }))
    });
    let members: Vec<_> = members.collect::<Result<_, Status>>().map_err(|e| e.within(&set.name))?;
    let (members, written): (Vec<_>, _) = members.into_iter().unzip();
    if let Some(twice) = (1..members.len()).find(|i| members[..*i].contains(&members[*i])) {
        return Err(Status::exists(format!("members: {twice} is there already")));
    }
    forwarding.pipeline.value_set_write(set.set, members).map_err(|error| {
        let full = matches!(error, StateError::Full(..));
        Status::new(if full { Code::ResourceExhausted } else { Code::InvalidArgument }, error.to_string())
    })?;
    state.value_sets.insert(entry.value_set_id, ValueSetEntry { members: written, ..*entry });
    Ok(())
}

pub fn read(state: &ControlState, filter: &ValueSetEntry, found: &mut Found<'_>) -> Result<(), Status> {
    if filter.value_set_id != 0 {
        find(state, filter.value_set_id)?;
    }
    let asked = filter.value_set_id;
    for id in state.config.binding.value_sets.keys().filter(|id| asked == 0 || asked == **id) {
        let empty = || ValueSetEntry { value_set_id: *id, members: Vec::new() };
        found(state.value_sets.get(id).cloned().unwrap_or_else(empty).into());
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
        Match::Range { .. } | Match::Wide(_) => {
            Err(Status::unimplemented("match: a range in a value set is not supported"))
        }
    }
}
