//! `@refers_to(table, field)` on key fields and parameters: the entries that an entry needs are there.
//!
//! The fields of one key that refer to one table refer to one entry of it together, and so do the parameters
//! of one action. Nothing is checked for an optional field that matches everything.

use std::collections::{BTreeMap, HashMap};

use groupflow_base::Nanos;

use super::state::ControlState;
use super::status::{Code, Refusal};
use super::table_read;
use super::update::{self, Found, Purpose, UpdateKind};
use crate::core::Forwarding;
use crate::proto::p4::config::v1::match_field::{Match, MatchType};
use crate::proto::p4::config::v1::{MatchField, P4Info, Preamble};
use crate::proto::p4::v1::entity::Entity as Kinds;
use crate::proto::p4::v1::field_match::FieldMatchType;
use crate::proto::p4::v1::packet_replication_engine_entry::Type as Replication;
use crate::proto::p4::v1::{
    table_action, Action, ActionProfileMember, Entity, PacketReplicationEngineEntry, TableEntry, Update,
};

/// The replication engine's tables, as annotations name them, with their only field.
const MULTICAST: (&str, &str) = ("builtin::multicast_group_table", "multicast_group_id");
const CLONE: (&str, &str) = ("builtin::clone_session_table", "clone_session_id");

/// What a program's annotations demand.
#[derive(Debug, Clone, Default)]
pub struct References {
    targets: Vec<Target>,
    /// Rules by the id of the table with the key fields.
    of_tables: BTreeMap<u32, Vec<Rule>>,
    /// Rules by the id of the action with the parameters.
    of_actions: BTreeMap<u32, Vec<Rule>>,
}

/// P4Info's id of a table, or the name of one of the replication engine.
type Place = Result<u32, &'static str>;

/// The fields of a table that are referred to together.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Target {
    table: Place,
    fields: Vec<u32>,
}

/// A reference, by ids of key fields or parameters in the order of the target's fields.
#[derive(Debug, Clone)]
struct Rule {
    target: usize,
    sources: Vec<u32>,
    /// The object and its annotations.
    text: String,
}

/// A rule while its annotations are read: pairs of a target's field and its source.
struct Draft {
    table: Place,
    pairs: BTreeMap<u32, u32>,
    text: String,
}

/// The values of an entry's fields, by their ids.
type Values<'a> = Box<dyn Fn(u32) -> Option<Vec<u8>> + 'a>;

/// The place of a target with the values of its fields, without leading zeros.
pub type Key = (usize, Vec<Vec<u8>>);

/// The numbers of entries that have such values, and of those that refer to them.
pub type Counts = HashMap<Key, (u32, u32)>;

impl References {
    /// The references in P4Info; the error names an annotation that cannot be kept.
    pub fn of(p4info: &P4Info) -> Result<References, String> {
        let mut references = References::default();
        for table in &p4info.tables {
            let (id, name) = named(&table.preamble);
            let fields = table.match_fields.iter();
            let fields = fields.map(|field| (field.id, &field.name, &field.annotations, is_one_value(field)));
            let rules = references.rules(p4info, &format!("table {name}"), fields)?;
            references.of_tables.insert(id, rules);
        }
        for action in &p4info.actions {
            let (id, name) = named(&action.preamble);
            let params = action.params.iter();
            let params = params.map(|param| (param.id, &param.name, &param.annotations, true));
            let rules = references.rules(p4info, &format!("action {name}"), params)?;
            references.of_actions.insert(id, rules);
        }
        Ok(references)
    }

    fn rules<'a>(
        &mut self, p4info: &P4Info, place: &str,
        sources: impl Iterator<Item = (u32, &'a String, &'a Vec<String>, bool)>,
    ) -> Result<Vec<Rule>, String> {
        let mut rules: Vec<Draft> = Vec::new();
        for (source, name, annotations, is_one_value) in sources {
            for text in annotations {
                let text: String = text.chars().filter(|c| !c.is_whitespace() && *c != '"').collect();
                let Some(arguments) = text.strip_prefix("@refers_to(") else { continue };
                let wrong = |fault: &str| format!("{place}: {name}: {text}: {fault}");
                let (table, field) = arguments
                    .strip_suffix(')')
                    .and_then(|pair| pair.split_once(','))
                    .ok_or_else(|| wrong("it is not @refers_to(table, field)"))?;
                let (table, field) = target(p4info, table, field).map_err(|fault| wrong(&fault))?;
                if !is_one_value {
                    return Err(wrong("only exact and optional fields can refer"));
                }
                let same = |rule: &&mut Draft| rule.table == table && !rule.pairs.contains_key(&field);
                match rules.iter_mut().find(same) {
                    Some(rule) => {
                        rule.pairs.insert(field, source);
                        rule.text.push_str(&format!(" {text}"));
                    }
                    None => {
                        let (pairs, text) = ([(field, source)].into(), format!("{place}: {text}"));
                        rules.push(Draft { table, pairs, text });
                    }
                }
            }
        }
        let rules = rules.into_iter().map(|Draft { table, pairs, text }| {
            let (fields, sources) = pairs.into_iter().unzip();
            Rule { target: self.target(Target { table, fields }), sources, text }
        });
        Ok(rules.collect())
    }

    fn target(&mut self, target: Target) -> usize {
        self.targets.iter().position(|known| *known == target).unwrap_or_else(|| {
            self.targets.push(target);
            self.targets.len() - 1
        })
    }

    /// What an entity is for those that refer to it.
    fn offers(&self, entity: &Kinds) -> Vec<Key> {
        let (table, value): (Place, Values<'_>) = match entity {
            Kinds::TableEntry(entry) if !entry.is_default_action => {
                (Ok(entry.table_id), Box::new(|field| field_value(entry, field)))
            }
            Kinds::PacketReplicationEngineEntry(entry) => {
                let (name, id) = match &entry.r#type {
                    Some(Replication::MulticastGroupEntry(group)) => (MULTICAST.0, group.multicast_group_id),
                    Some(Replication::CloneSessionEntry(session)) => (CLONE.0, session.session_id),
                    None => return Vec::new(),
                };
                (Err(name), Box::new(move |_| Some(shortest(&id.to_be_bytes()))))
            }
            _ => return Vec::new(),
        };
        let of_table = self.targets.iter().enumerate().filter(|(_, target)| target.table == table);
        let values = |target: &Target| target.fields.iter().map(|field| value(*field)).collect::<Option<_>>();
        of_table.filter_map(|(place, target)| Some((place, values(target)?))).collect()
    }

    /// What an entity refers to, with the rule that says so.
    fn needs<'a>(&'a self, entity: &Kinds) -> Vec<(Key, &'a Rule)> {
        let mut needs = Vec::new();
        let mut add = |rules: Option<&'a Vec<Rule>>, value: &dyn Fn(u32) -> Option<Vec<u8>>| {
            for rule in rules.into_iter().flatten() {
                let values: Option<Vec<_>> = rule.sources.iter().map(|source| value(*source)).collect();
                needs.extend(values.map(|values| ((rule.target, values), rule)));
            }
        };
        let actions: Vec<&Action> = match entity {
            Kinds::TableEntry(entry) => {
                add(self.of_tables.get(&entry.table_id), &|field| field_value(entry, field));
                match entry.action.as_ref().and_then(|action| action.r#type.as_ref()) {
                    Some(table_action::Type::Action(action)) => vec![action],
                    Some(table_action::Type::ActionProfileActionSet(set)) => {
                        set.action_profile_actions.iter().filter_map(|of| of.action.as_ref()).collect()
                    }
                    _ => Vec::new(),
                }
            }
            Kinds::ActionProfileMember(member) => member.action.iter().collect(),
            _ => Vec::new(),
        };
        for action in actions {
            let param = |id| action.params.iter().find(|param| param.param_id == id);
            add(self.of_actions.get(&action.action_id), &|id| Some(shortest(&param(id)?.value)));
        }
        needs
    }
}

/// Refuses an update that would leave a reference to nothing, with the rule that says so. `old` is the entity
/// as it is.
fn check(
    references: &References, counts: &Counts, kind: UpdateKind, wanted: &Kinds, old: Option<&Kinds>,
) -> Result<(), Refusal> {
    let refuse = |message: String| Err(Refusal::new(Code::FailedPrecondition, message));
    if kind != UpdateKind::Delete {
        let own = references.offers(wanted);
        let is_there =
            |key: &Key| own.contains(key) || counts.get(key).is_some_and(|(offered, _)| *offered > 0);
        return match references.needs(wanted).into_iter().find(|(key, _)| !is_there(key)) {
            Some((_, rule)) => refuse(format!("{}: there is no such entry", rule.text)),
            None => Ok(()),
        };
    }
    let Some(old) = old else { return Ok(()) };
    let own = references.needs(old);
    let is_last = |key: &Key| {
        let of_itself = own.iter().filter(|(needed, _)| needed == key).count();
        counts.get(key).is_some_and(|(offered, needed)| *offered == 1 && *needed as usize > of_itself)
    };
    let Some((target, _)) = references.offers(old).into_iter().find(is_last) else { return Ok(()) };
    let rules = references.of_tables.values().chain(references.of_actions.values()).flatten();
    let texts: Vec<_> = rules.filter(|rule| rule.target == target).map(|rule| rule.text.as_str()).collect();
    refuse(format!("it is still referred to, by {}", texts.join("; ")))
}

/// Carries out an update, of which a client's is checked before.
pub fn checked(
    state: &mut ControlState, forwarding: &mut Forwarding, update: &Update, purpose: Purpose,
    write: impl FnOnce(&mut ControlState, &mut Forwarding) -> Result<(), Refusal>,
) -> Result<(), Refusal> {
    let config = state.config.clone();
    let wanted = update.entity.as_ref().and_then(|entity| entity.entity.as_ref());
    let (Some(references), Some(wanted)) = (&config.references, wanted) else {
        return write(state, forwarding);
    };
    let old = present(state, forwarding, wanted);
    if purpose == Purpose::Client {
        let counts = match state.referred.take() {
            Some(counts) => counts,
            None => count_all(references, state, forwarding)?,
        };
        let result = check(references, &counts, UpdateKind::of(update)?, wanted, old.as_ref());
        state.referred = Some(counts);
        result?;
    }
    write(state, forwarding)?;
    let new = present(state, forwarding, wanted);
    if let Some(counts) = &mut state.referred {
        old.iter().for_each(|entity| count(references, counts, entity, false));
        new.iter().for_each(|entity| count(references, counts, entity, true));
    }
    Ok(())
}

/// An entity as it is now.
fn present(state: &ControlState, forwarding: &Forwarding, wanted: &Kinds) -> Option<Kinds> {
    let filter = match wanted {
        Kinds::TableEntry(entry) if !entry.is_default_action => {
            return table_read::to_write(state, forwarding, entry, (false, false)).map(Kinds::from);
        }
        Kinds::TableEntry(entry) => default_of(entry.table_id),
        Kinds::ActionProfileMember(member) => ActionProfileMember { action: None, ..member.clone() }.into(),
        Kinds::PacketReplicationEngineEntry(_) => wanted.clone(),
        _ => return None,
    };
    let mut found = Vec::new();
    // An entity that cannot be read is not there.
    let _ = update::read(state, forwarding, &Entity { entity: Some(filter) }, Nanos::ZERO, &mut found);
    found.pop().and_then(|entity| entity.entity)
}

fn default_of(table_id: u32) -> Kinds {
    TableEntry { table_id, is_default_action: true, ..TableEntry::default() }.into()
}

/// Counts all entities.
fn count_all(
    references: &References, state: &ControlState, forwarding: &Forwarding,
) -> Result<Counts, Refusal> {
    let engine = |of| Kinds::from(PacketReplicationEngineEntry { r#type: Some(of) });
    let filters = [
        TableEntry::default().into(),
        ActionProfileMember::default().into(),
        engine(Replication::MulticastGroupEntry(Default::default())),
        engine(Replication::CloneSessionEntry(Default::default())),
    ];
    let defaults = state.config.binding.tables.keys().map(|table| default_of(*table));
    let mut counting = Counting { references, counts: Counts::new() };
    for filter in filters.into_iter().chain(defaults) {
        update::read(state, forwarding, &Entity { entity: Some(filter) }, Nanos::ZERO, &mut counting)?;
    }
    Ok(counting.counts)
}

struct Counting<'a> {
    references: &'a References,
    counts: Counts,
}

impl Found for Counting<'_> {
    fn push(&mut self, entity: Entity) {
        entity.entity.iter().for_each(|entity| count(self.references, &mut self.counts, entity, true));
    }
}

/// Counts an entity, or counts it no more.
fn count(references: &References, counts: &mut Counts, entity: &Kinds, is_there: bool) {
    let offers = references.offers(entity).into_iter().map(|key| (key, true));
    let needs = references.needs(entity).into_iter().map(|(key, _)| (key, false));
    for (key, offered) in offers.chain(needs) {
        let place = counts.entry(key.clone()).or_default();
        let number = if offered { &mut place.0 } else { &mut place.1 };
        *number = if is_there { *number + 1 } else { number.saturating_sub(1) };
        if *place == (0, 0) {
            counts.remove(&key);
        }
    }
}

/// The ids that an annotation's names stand for.
fn target(p4info: &P4Info, table: &str, field: &str) -> Result<(Place, u32), String> {
    if let Some((name, _)) = [MULTICAST, CLONE].into_iter().find(|builtin| *builtin == (table, field)) {
        return Ok((Err(name), 0));
    }
    let is_named = |preamble: &Preamble| {
        preamble.alias == table
            || preamble.name.strip_suffix(table).is_some_and(|rest| rest.is_empty() || rest.ends_with('.'))
    };
    let found = p4info.tables.iter().find(|found| found.preamble.as_ref().is_some_and(is_named));
    let found = found.ok_or_else(|| format!("there is no table {table}"))?;
    let known = found.match_fields.iter().find(|known| known.name == field);
    let known = known.ok_or_else(|| format!("the key of table {table} has no field {field}"))?;
    if !is_one_value(known) {
        return Err("only exact and optional fields can be referred to".into());
    }
    Ok((Ok(named(&found.preamble).0), known.id))
}

fn named(preamble: &Option<Preamble>) -> (u32, &str) {
    preamble.as_ref().map_or((0, ""), |preamble| (preamble.id, &preamble.name))
}

fn is_one_value(field: &MatchField) -> bool {
    let kinds = [MatchType::Exact, MatchType::Optional].map(|kind| Match::MatchType(kind.into()));
    field.r#match.as_ref().is_some_and(|kind| kinds.contains(kind))
}

/// The value of a key field, if the entry has one there.
fn field_value(entry: &TableEntry, field: u32) -> Option<Vec<u8>> {
    let found = entry.r#match.iter().find(|found| found.field_id == field)?;
    match found.field_match_type.as_ref()? {
        FieldMatchType::Exact(exact) => Some(shortest(&exact.value)),
        FieldMatchType::Optional(optional) => Some(shortest(&optional.value)),
        _ => None,
    }
}

/// A number or a string without the zeros in front of it, which mean nothing.
fn shortest(value: &[u8]) -> Vec<u8> {
    value.iter().copied().skip_while(|byte| *byte == 0).collect()
}
