//! Action profiles: members, groups of members, and the actions of the entries that use them.
//!
//! P4Runtime specification, sections "ActionProfileMember & ActionProfileGroup" and "One Shot Action Selector
//! Programming". An entry with a member has the member's action; one with a group has the table's action that
//! selects.

use std::collections::{BTreeMap, HashMap};

use groupflow_pipeline::{ActionCall, EntryKey, Pipeline, Port, TableId, Weighted};

use super::binding::{Binding, BoundProfile, BoundTable, GroupBounds};
use super::bytestring::{decode, encode};
use super::state::ControlState;
use super::status::{Code, Status};
use super::update::{Found, UpdateKind};
use super::{table, table_read};
use crate::core::Forwarding;
use crate::proto::p4::v1::action_profile_action::WatchKind as PartWatch;
use crate::proto::p4::v1::action_profile_action_set::{ActionSelectionMode as Mode, SizeSemantics as Sizes};
use crate::proto::p4::v1::action_profile_group::member::WatchKind as MemberWatch;
use crate::proto::p4::v1::entity::Entity as Kinds;
use crate::proto::p4::v1::table_action::Type;
use crate::proto::p4::v1::{Action, ActionProfileGroup, ActionProfileMember, TableAction};

/// The first handle of groups that an entry brings along.
const FIRST_ONE_SHOT: u64 = 1 << 63;

/// The action of an entry as its writer named it.
#[derive(Debug, Clone)]
pub struct Use {
    pub action: TableAction,
    /// The handle of the group that the entry brought along.
    one_shot: Option<u64>,
}

#[derive(Debug, Default)]
pub struct Profiles {
    /// The ports that may be watched.
    pub ports: Vec<Port>,
    members: BTreeMap<(u32, u32), ActionProfileMember>,
    groups: BTreeMap<(u32, u32), ActionProfileGroup>,
    uses: HashMap<(TableId, EntryKey), Use>,
    /// Groups that entries brought along, ever: the next one's handle.
    one_shots: u64,
    one_shot_uses: BTreeMap<u32, usize>,
}

impl Profiles {
    pub fn action(&self, table: &BoundTable, key: &EntryKey) -> Option<TableAction> {
        Some(self.uses.get(&(table.table, key.clone()))?.action.clone())
    }

    /// Notes the action of an entry, or that the entry is gone, and frees what it had before.
    pub fn note(&mut self, pipeline: &mut Pipeline, table: &BoundTable, key: &EntryKey, now: Option<Use>) {
        let key = (table.table, key.clone());
        let count = self.one_shot_uses.entry(table.profile).or_default();
        *count += usize::from(now.as_ref().is_some_and(|now| now.one_shot.is_some()));
        let before = match now {
            Some(now) => self.uses.insert(key, now),
            None => self.uses.remove(&key),
        };
        if let Some(Use { one_shot: Some(handle), .. }) = before {
            *count -= 1;
            // Removing a group cannot fail.
            drop(pipeline.set_group(table.table, handle, Vec::new()));
        }
    }

    /// The call that an entry's action amounts to. A group that comes with it is made at once.
    pub fn resolve(
        &mut self, pipeline: &mut Pipeline, table: &BoundTable, action: &TableAction,
    ) -> Result<(ActionCall, Use), Status> {
        let select = || table.select.ok_or_else(|| Status::invalid("action: the profile has no selector"));
        let named = || Use { action: action.clone(), one_shot: None };
        match &action.r#type {
            Some(Type::ActionProfileMemberId(id)) => {
                let member = find(&self.members, table.profile, *id, "member")?;
                Ok((call(table, member)?, named()))
            }
            Some(Type::ActionProfileGroupId(id)) => {
                let (action, arguments) = (select()?, vec![handle(table, *id).into()]);
                find(&self.groups, table.profile, *id, "group")?;
                Ok((ActionCall { action, arguments }, named()))
            }
            Some(Type::ActionProfileActionSet(set)) => {
                let action = select()?;
                let named_parts = count(&self.members, table.profile) + count(&self.groups, table.profile);
                refuse_if!(
                    named_parts > 0,
                    "action: the profile has members or groups, so entries name them"
                );
                let sizes = if table.group.by_members { Sizes::SumOfMembers } else { Sizes::SumOfWeights };
                let usual = [0, Mode::Hash as i32].contains(&set.action_selection_mode)
                    && [0, sizes as i32].contains(&set.size_semantics);
                let other = "action_selection_mode, size_semantics: they are not those of the profile";
                refuse_if!(!usual, Status::unimplemented, "{other}");
                let (mut weighted, mut set) = (Vec::new(), set.clone());
                for part in &mut set.action_profile_actions {
                    #[allow(deprecated)]
                    let watched = match &mut part.watch_kind {
                        None | Some(PartWatch::Watch(0)) => None,
                        Some(PartWatch::WatchPort(port)) => self.watched(port)?,
                        Some(PartWatch::Watch(number)) => self.watched(&mut number.to_be_bytes().to_vec())?,
                    };
                    let missing = || Status::invalid("action: missing");
                    let call = table::action_call(table, part.action.as_ref().ok_or_else(missing)?)?;
                    part.action = table_read::action(table, &call);
                    weighted.push((call, part.weight, watched));
                }
                let handle = FIRST_ONE_SHOT | self.one_shots;
                let calls = weighed(weighted, table.group).map_err(|e| Status::invalid(e.message))?;
                pipeline.set_group(table.table, handle, calls).map_err(table::refusal)?;
                self.one_shots += 1;
                let written = TableAction { r#type: Some(Type::ActionProfileActionSet(set)) };
                let used = Use { action: written, one_shot: Some(handle) };
                Ok((ActionCall { action, arguments: vec![handle.into()] }, used))
            }
            _ => Err(Status::invalid("action: the table has an action profile, name a member or group")),
        }
    }

    /// Undoes [`Profiles::resolve`] for an entry that was refused.
    pub fn undo(&mut self, pipeline: &mut Pipeline, table: &BoundTable, made: &Use) {
        if let Some(handle) = made.one_shot {
            drop(pipeline.set_group(table.table, handle, Vec::new()));
        }
    }

    fn is_used(&self, tables: &[&BoundTable], wanted: &Type) -> bool {
        let of = |table: &TableId| tables.iter().any(|known| known.table == *table);
        self.uses.iter().any(|((table, _), used)| of(table) && used.action.r#type.as_ref() == Some(wanted))
    }

    fn check_kind<T>(
        &self, kind: UpdateKind, known: &BTreeMap<(u32, u32), T>, key: (u32, u32), what: &str, size: usize,
    ) -> Result<(), Status> {
        if kind != UpdateKind::Insert {
            return find(known, key.0, key.1, what).map(drop);
        }
        refuse_if!(key.1 == 0, "{what}_id: it is zero");
        refuse_if!(known.contains_key(&key), Status::exists, "there is a {what} {} already", key.1);
        let one_shots = self.one_shot_uses.get(&key.0).is_some_and(|uses| *uses > 0);
        refuse_if!(one_shots, "entries have groups of their own, so the profile has no {what}s");
        let full = count(known, key.0) >= size;
        refuse_if!(full, Status::exhausted, "the profile is full ({size} {what}s)");
        Ok(())
    }

    /// The port that an action watches, which gets its shortest form; an empty one is none.
    fn watched(&self, written: &mut Vec<u8>) -> Result<Option<Port>, Status> {
        if written.is_empty() {
            return Ok(None);
        }
        let number = decode(written, 32).map_err(|refusal| refusal.within("watch_port"))?;
        *written = encode(number);
        let port = self.ports.iter().find(|port| u128::from(port.0) == number).copied();
        port.map(Some).ok_or_else(|| Status::invalid(format!("watch_port: there is no port {number}")))
    }

    /// Gives the pipeline a group's actions, for each table with its profile.
    fn set_group(
        &self, pipeline: &mut Pipeline, tables: &[&BoundTable], group: &mut ActionProfileGroup,
    ) -> Result<(), Status> {
        let mut ready = Vec::new();
        for table in tables {
            let mut weighted = Vec::new();
            let mut members: Vec<_> = group.members.iter_mut().collect();
            members.sort_by_key(|member| member.member_id);
            let twice = members.windows(2).any(|pair| pair[0].member_id == pair[1].member_id);
            refuse_if!(twice, "members: one is there twice");
            for member in members {
                #[allow(deprecated)]
                let watched = match &mut member.watch_kind {
                    None | Some(MemberWatch::Watch(0)) => None,
                    Some(MemberWatch::WatchPort(port)) => self.watched(port)?,
                    Some(MemberWatch::Watch(number)) => self.watched(&mut number.to_be_bytes().to_vec())?,
                };
                let known = find(&self.members, group.action_profile_id, member.member_id, "member")?;
                weighted.push((call(table, known)?, member.weight, watched));
            }
            ready.push((table, weighed(weighted, bounds_of(table, group)?)?));
        }
        for (table, calls) in ready {
            pipeline.set_group(table.table, handle(table, group.group_id), calls).map_err(table::refusal)?;
        }
        Ok(())
    }
}

pub fn write_member(
    state: &mut ControlState, forwarding: &mut Forwarding, kind: UpdateKind, member: &ActionProfileMember,
) -> Result<(), Status> {
    let config = state.config.clone();
    let (profile, tables) = profile(&config.binding, member.action_profile_id)?;
    let (profiles, pipeline) = (&mut state.profiles, &mut forwarding.pipeline);
    let key = (member.action_profile_id, member.member_id);
    let uses = |group: &&ActionProfileGroup| {
        group.action_profile_id == key.0 && group.members.iter().any(|m| m.member_id == key.1)
    };
    let named = Type::ActionProfileMemberId(key.1);
    profiles.check_kind(kind, &profiles.members, key, "member", profile.size)?;
    if kind == UpdateKind::Delete {
        if profiles.groups.values().any(|group| uses(&group)) || profiles.is_used(&tables, &named) {
            return Err(Status::new(Code::FailedPrecondition, format!("member {} is in use", key.1)));
        }
        profiles.members.remove(&key);
        return Ok(());
    }
    let calls = tables.iter().map(|table| call(table, member)).collect::<Result<Vec<_>, _>>()?;
    let action = tables.first().zip(calls.first()).and_then(|(table, call)| table_read::action(table, call));
    let action = action.or_else(|| member.action.clone());
    profiles.members.insert(key, ActionProfileMember { action, ..*member });
    for group in profiles.groups.values().filter(uses) {
        profiles.set_group(pipeline, &tables, &mut group.clone())?;
    }
    for (table, call) in tables.iter().zip(calls) {
        let has =
            |id: &TableId, used: &Use| *id == table.table && used.action.r#type.as_ref() == Some(&named);
        for ((_, key), _) in profiles.uses.iter().filter(|((id, _), used)| has(id, used)) {
            pipeline.table_modify(table.table, key, &call).map_err(table::refusal)?;
        }
    }
    Ok(())
}

pub fn write_group(
    state: &mut ControlState, forwarding: &mut Forwarding, kind: UpdateKind, group: &ActionProfileGroup,
) -> Result<(), Status> {
    let config = state.config.clone();
    let (profile, tables) = profile(&config.binding, group.action_profile_id)?;
    refuse_if!(!profile.selector, "action profile {} has no selector", profile.name);
    let (profiles, pipeline) = (&mut state.profiles, &mut forwarding.pipeline);
    let key = (group.action_profile_id, group.group_id);
    profiles.check_kind(kind, &profiles.groups, key, "group", profile.size)?;
    if kind == UpdateKind::Delete {
        if profiles.is_used(&tables, &Type::ActionProfileGroupId(key.1)) {
            return Err(Status::new(Code::FailedPrecondition, format!("group {} is in use", key.1)));
        }
        profiles.groups.remove(&key);
        let mut empty = ActionProfileGroup { members: Vec::new(), max_size: 0, ..group.clone() };
        return profiles.set_group(pipeline, &tables, &mut empty);
    }
    let resized = profiles.groups.get(&key).is_some_and(|before| before.max_size != group.max_size);
    refuse_if!(resized, "max_size: it is the one that the group was inserted with");
    let mut group = group.clone();
    profiles.set_group(pipeline, &tables, &mut group)?;
    profiles.groups.insert(key, group);
    Ok(())
}

pub fn read_members(
    state: &ControlState, filter: &ActionProfileMember, found: &mut Found<'_>,
) -> Result<(), Status> {
    read(state, &state.profiles.members, (filter.action_profile_id, filter.member_id), found)
}

pub fn read_groups(
    state: &ControlState, filter: &ActionProfileGroup, found: &mut Found<'_>,
) -> Result<(), Status> {
    read(state, &state.profiles.groups, (filter.action_profile_id, filter.group_id), found)
}

/// Zero stands for all profiles, and all of their members or groups.
fn read<T: Clone + Into<Kinds>>(
    state: &ControlState, known: &BTreeMap<(u32, u32), T>, (of, id): (u32, u32), found: &mut Found<'_>,
) -> Result<(), Status> {
    if of != 0 {
        profile(&state.config.binding, of)?;
    }
    let wanted = known.iter().filter(|(key, _)| (of == 0 || of == key.0) && (id == 0 || id == key.1));
    wanted.for_each(|(_, part)| found(part.clone().into()));
    Ok(())
}

fn profile(binding: &Binding, id: u32) -> Result<(&BoundProfile, Vec<&BoundTable>), Status> {
    let unknown = || Status::invalid(format!("action_profile_id: the program has no profile {id}"));
    let profile = binding.profiles.get(&id).ok_or_else(unknown)?;
    Ok((profile, binding.tables.values().filter(|table| table.profile == id).collect()))
}

fn count<T>(known: &BTreeMap<(u32, u32), T>, profile: u32) -> usize {
    known.range((profile, 0)..=(profile, u32::MAX)).count()
}

fn find<'a, T>(
    known: &'a BTreeMap<(u32, u32), T>, profile: u32, id: u32, what: &str,
) -> Result<&'a T, Status> {
    known.get(&(profile, id)).ok_or_else(|| Status::not_found(format!("the profile has no {what} {id}")))
}

fn call(table: &BoundTable, member: &ActionProfileMember) -> Result<ActionCall, Status> {
    let action: &Action = member.action.as_ref().ok_or_else(|| Status::invalid("action: it is missing"))?;
    table::action_call(table, action)
}

/// The bounds of a group, which may have a size of its own.
fn bounds_of(table: &BoundTable, group: &ActionProfileGroup) -> Result<GroupBounds, Status> {
    let most = table.group.size;
    match u64::try_from(group.max_size) {
        Ok(0) => Ok(table.group),
        Ok(size) if size <= most => Ok(GroupBounds { size, ..table.group }),
        _ => Err(Status::invalid(format!("max_size: it is not within 0 and the profile's, {most}"))),
    }
}

/// An action, its weight as written, and the port that it watches.
type Written = (ActionCall, i32, Option<Port>);

/// The calls with their weights, if the group is within its bounds.
fn weighed(weighted: Vec<Written>, bounds: GroupBounds) -> Result<Vec<Weighted>, Status> {
    let mut size = 0;
    let weighted = weighted.into_iter().map(|(call, weight, watched)| {
        let (least, most) = (bounds.weight.min(1), bounds.weight);
        let weight = u32::try_from(weight).ok().filter(|weight| (least..=most).contains(weight));
        let wrong = || Status::invalid(format!("weight: it is not within {least} and {most}"));
        let weight = weight.ok_or_else(wrong)?.max(1);
        size += if bounds.by_members { 1 } else { u64::from(weight) };
        Ok((call, weight, watched))
    });
    let weighted = weighted.collect::<Result<Vec<Weighted>, Status>>()?;
    let (of, most) = (if bounds.by_members { "members" } else { "the sum of weights" }, bounds.size);
    let large = size > most;
    refuse_if!(large, Status::exhausted, "the group's size is {size} ({of}), its max_group_size {most}");
    Ok(weighted)
}

fn handle(table: &BoundTable, group: u32) -> u64 {
    (table.table.index() as u64) << 32 | u64::from(group)
}
