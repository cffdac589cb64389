//! `@refers_to(table, field)` on key fields and parameters, with the semantics of P4's PINS; the P4Runtime
//! specification does not define it.
//!
//! An entry's fields and the parameters of its action that refer to one table refer to one entry of it together.
//! An optional field that the entry leaves out is left out of the reference.

use std::collections::BTreeSet;

use groupflow_base::SortedMap;

use crate::proto::p4::config::v1::match_field::{Match, MatchType};
use crate::proto::p4::config::v1::{MatchField, P4Info, Preamble};
use crate::proto::p4::v1::entity::Entity as Kinds;
use crate::proto::p4::v1::field_match::FieldMatchType;
use crate::proto::p4::v1::packet_replication_engine_entry::Type as Replication;
use crate::proto::p4::v1::{table_action, Action, PacketReplicationEngineEntry, TableEntry};

/// The replication engine's tables, as annotations name them, with their only field.
const BUILT_IN: [(Place, &str, &str); 2] = [
    (Place::Groups, "builtin::multicast_group_table", "multicast_group_id"),
    (Place::Sessions, "builtin::clone_session_table", "clone_session_id"),
];
/// The most bytes of annotations of an object: each is looked at for each entry.
pub const LIMIT: usize = 16 << 10;
/// The most sets of fields with which a table is referred to: each entry is counted for each.
pub const TARGETS: usize = 64;
/// The characters of annotations that an error shows.
const SHOWN: usize = 200;
const TOO_MANY: &str = "with optional fields, more than 64 sets of fields of the table are referred to";

/// The references that a program's annotations demand.
#[derive(Debug, Clone, Default)]
pub struct References {
    /// The sets of fields, of each table, that are referred to together.
    targets: Targets,
    /// The rules of a table's fields, or of an action's parameters, by its id.
    rules: SortedMap<u32, Vec<Rule>>,
    /// The names of tables and action profiles.
    names: SortedMap<u32, String>,
}

type Targets = SortedMap<Place, BTreeSet<Vec<u32>>>;

/// A table that may be referred to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Place {
    /// The program's table with this id.
    Table(u32),
    /// The multicast groups.
    Groups,
    /// The clone sessions.
    Sessions,
}

/// A key field or parameter that refers to a field of a table.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Rule {
    source: Source,
    place: Place,
    field: u32,
    /// The object and its annotation.
    text: String,
}

/// The part of an entry that holds the referring value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Source {
    /// The entry's field with this id.
    Field(u32),
    /// The entry's field with this id, which it may leave out.
    Optional(u32),
    /// The parameter with this id of the entry's action.
    Param(u32),
}

/// The rules that lead to one entry, by its fields.
type Joined<'a> = SortedMap<u32, &'a Rule>;

/// A table with values of its fields, without leading zeros.
pub type Key = (Place, Vec<(u32, Vec<u8>)>);

/// The key of an entry that must be there, with what says so.
pub struct Need<'a>(pub Key, Joined<'a>);

impl Need<'_> {
    /// The annotations, shortened.
    pub fn text(&self) -> String {
        let texts: Vec<_> = self.1.values().map(|rule| rule.text.as_str()).collect();
        texts.join("; ").chars().take(SHOWN).collect()
    }
}

impl References {
    /// The references in P4Info; the error names an annotation that cannot be kept.
    pub fn of(p4info: &P4Info) -> Result<References, String> {
        let mut references = References::default();
        for table in &p4info.tables {
            let mut rules = Reader::new(p4info, "table", &table.preamble)?;
            for field in &table.match_fields {
                let source = source_of(field);
                rules.read(&field.name, &field.annotations, source)?;
            }
            references.rules.insert(rules.id, rules.found);
            references.names.insert(rules.id, rules.owner);
        }
        for action in &p4info.actions {
            let mut rules = Reader::new(p4info, "action", &action.preamble)?;
            for param in &action.params {
                rules.read(&param.name, &param.annotations, Some(Source::Param(param.id)))?;
            }
            references.rules.insert(rules.id, rules.found);
        }
        for profile in &p4info.action_profiles {
            let (id, name) = named(&profile.preamble);
            references.names.insert(id, format!("action profile {name}"));
        }
        references.targets = references.targets_in(p4info)?;
        Ok(references)
    }

    fn targets_in(&self, p4info: &P4Info) -> Result<Targets, String> {
        let refers = |id: &u32| self.rules.get(id).is_some_and(|rules| !rules.is_empty());
        let alone = self.rules.keys().map(|id| [*id, 0]);
        let together = p4info.tables.iter().map(|table| (named(&table.preamble).0, &table.action_refs));
        let together = together.filter(|(table, _)| refers(table)).flat_map(|(table, actions)| {
            actions.iter().map(|action| action.id).filter(refers).map(move |action| [table, action])
        });
        let mut targets = Targets::new();
        for ids in alone.chain(together) {
            for (place, rules) in self.joined(ids) {
                let known = targets.entry(place).or_default();
                if !add_sets(known, &rules) {
                    return Err(format!("{}: {TOO_MANY}", Need((place, Vec::new()), rules).text()));
                }
            }
        }
        Ok(targets)
    }

    /// The references of a table and an action together. A second source for one field leads to another entry.
    fn joined(&self, ids: [u32; 2]) -> Vec<(Place, Joined<'_>)> {
        let mut joined: Vec<(Place, Joined<'_>)> = Vec::new();
        for rule in ids.iter().filter_map(|id| self.rules.get(id)).flatten() {
            let fits = |(place, rules): &&mut (Place, Joined<'_>)| {
                *place == rule.place && !rules.contains_key(&rule.field)
            };
            match joined.iter_mut().find(fits) {
                Some((_, rules)) => drop(rules.insert(rule.field, rule)),
                None => joined.push((rule.place, [(rule.field, rule)].into())),
            }
        }
        joined
    }

    /// The keys that an entity offers to references.
    pub fn offers(&self, entity: &Kinds) -> Vec<Key> {
        let of = |place: Place, value: &dyn Fn(u32) -> Option<Vec<u8>>| {
            let values = |fields: &Vec<u32>| {
                fields.iter().map(|id| Some((*id, value(*id)?))).collect::<Option<Vec<_>>>()
            };
            let sets = self.targets.get(&place).into_iter().flatten();
            sets.filter_map(|fields| Some((place, values(fields)?))).collect()
        };
        match entity {
            Kinds::TableEntry(entry) if !entry.is_default_action => {
                of(Place::Table(entry.table_id), &|field| field_value(entry, field))
            }
            Kinds::PacketReplicationEngineEntry(entry) => match replicated(entry) {
                Some((place, id)) => of(place, &|_| Some(shortest(&id.to_be_bytes()))),
                None => Vec::new(),
            },
            _ => Vec::new(),
        }
    }

    /// The keys that an entity needs.
    pub fn needs(&self, entity: &Kinds) -> Vec<Need<'_>> {
        let entry = match entity {
            Kinds::TableEntry(entry) if !entry.is_default_action => Some(entry),
            _ => None,
        };
        let mut actions: Vec<_> = actions(entity).into_iter().map(Some).collect();
        if actions.is_empty() {
            actions.push(None);
        }
        actions.into_iter().flat_map(|action| self.needs_of(entry, action)).collect()
    }

    fn needs_of(&self, entry: Option<&TableEntry>, action: Option<&Action>) -> Vec<Need<'_>> {
        let ids = [entry.map_or(0, |of| of.table_id), action.map_or(0, |of| of.action_id)];
        let value = |source: Source| match source {
            Source::Field(id) | Source::Optional(id) => field_value(entry?, id),
            Source::Param(id) => {
                let param = action?.params.iter().find(|param| param.param_id == id)?;
                Some(shortest(&param.value))
            }
        };
        let needs = self.joined(ids).into_iter().filter_map(|(place, rules)| {
            let values = rules.iter().filter_map(|(field, rule)| Some((*field, value(rule.source)?)));
            let values: Vec<_> = values.collect();
            (!values.is_empty()).then_some(Need((place, values), rules))
        });
        needs.collect()
    }

    /// The name of a table or action profile.
    pub fn name(&self, id: u32) -> &str {
        self.names.get(&id).map_or("", String::as_str)
    }
}

/// A reader of the annotations of one table or action.
struct Reader<'a> {
    p4info: &'a P4Info,
    id: u32,
    owner: String,
    found: Vec<Rule>,
    /// The bytes of annotations that may follow.
    left: usize,
}

impl Reader<'_> {
    fn new<'a>(p4info: &'a P4Info, kind: &str, preamble: &Option<Preamble>) -> Result<Reader<'a>, String> {
        let (id, name) = named(preamble);
        let mut reader =
            Reader { p4info, id, owner: format!("{kind} {name}"), found: Vec::new(), left: LIMIT };
        if let Some(preamble) = preamble {
            // A whole table refers to nothing.
            reader.read("annotations", &preamble.annotations, None)?;
        }
        Ok(reader)
    }

    /// Adds the rules of a field or parameter; without a source, it cannot have any.
    fn read(&mut self, name: &str, annotations: &[String], source: Option<Source>) -> Result<(), String> {
        for text in annotations {
            let kind = text.trim().split('(').next().unwrap_or_default().trim();
            if !["@refers_to", "@referenced_by"].contains(&kind) {
                continue;
            }
            let shown: String = text.trim().chars().take(SHOWN).collect();
            let wrong = |fault: &str| format!("{}: {name}: {shown}: {fault}", self.owner);
            if kind == "@referenced_by" {
                return Err(wrong("references from replicas are not checked: leave --check-references out"));
            }
            let rest = self.left.checked_sub(text.len());
            self.left = rest.ok_or_else(|| wrong(&format!("there are more than {LIMIT} bytes of them")))?;
            let text: String = text.chars().filter(|c| !c.is_whitespace() && *c != '"').collect();
            let pair = text.strip_prefix("@refers_to(").and_then(|rest| rest.strip_suffix(')'));
            let pair = pair.and_then(|pair| pair.split_once(','));
            let (table, field) = pair.ok_or_else(|| wrong("it is not @refers_to(table, field)"))?;
            let source =
                source.ok_or_else(|| wrong("only exact and optional fields and parameters refer"))?;
            let (place, field) = target(self.p4info, table, field).map_err(|fault| wrong(&fault))?;
            let rule = Rule { source, place, field, text: format!("{}: {text}", self.owner) };
            if !self.found.contains(&rule) {
                self.found.push(rule);
            }
        }
        Ok(())
    }
}

/// Adds the sets of fields that a reference may have; false if there are too many.
fn add_sets(known: &mut BTreeSet<Vec<u32>>, rules: &Joined<'_>) -> bool {
    let mut sets = vec![Vec::new()];
    for (field, rule) in rules {
        let without = sets.clone();
        sets.iter_mut().for_each(|set| set.push(*field));
        if matches!(rule.source, Source::Optional(_)) {
            sets.extend(without);
        }
        if sets.len() > TARGETS {
            return false;
        }
    }
    known.extend(sets.into_iter().filter(|set| !set.is_empty()));
    known.len() <= TARGETS
}

/// The ids that an annotation's names stand for.
fn target(p4info: &P4Info, table: &str, field: &str) -> Result<(Place, u32), String> {
    if let Some((place, ..)) = BUILT_IN.into_iter().find(|(_, name, only)| (*name, *only) == (table, field)) {
        return Ok((place, 0));
    }
    let preambles = || p4info.tables.iter().filter_map(|found| Some((found, found.preamble.as_ref()?)));
    let is_end = |name: &str| name.strip_suffix(table).is_some_and(|rest| rest.ends_with('.'));
    let exact: Vec<_> = preambles().filter(|(_, of)| of.name == table || of.alias == table).collect();
    let found =
        if exact.is_empty() { preambles().filter(|(_, of)| is_end(&of.name)).collect() } else { exact };
    let found = match found[..] {
        [] => return Err(format!("there is no table {table}")),
        [(found, _)] => found,
        [(_, one), (_, other), ..] => {
            return Err(format!(
                "both {} and {} are named {table}: write the whole name",
                one.name, other.name
            ))
        }
    };
    let known = found.match_fields.iter().find(|known| known.name == field);
    let known = known.ok_or_else(|| format!("the key of table {table} has no field {field}"))?;
    source_of(known).ok_or("only exact and optional fields can be referred to")?;
    Ok((Place::Table(named(&found.preamble).0), known.id))
}

fn named(preamble: &Option<Preamble>) -> (u32, &str) {
    preamble.as_ref().map_or((0, ""), |preamble| (preamble.id, &preamble.name))
}

/// A key field as a source, if it has one value.
fn source_of(field: &MatchField) -> Option<Source> {
    match field.r#match {
        Some(Match::MatchType(kind)) if kind == MatchType::Exact as i32 => Some(Source::Field(field.id)),
        Some(Match::MatchType(kind)) if kind == MatchType::Optional as i32 => {
            Some(Source::Optional(field.id))
        }
        _ => None,
    }
}

/// The actions of an entry or a member.
fn actions(entity: &Kinds) -> Vec<&Action> {
    match entity {
        Kinds::TableEntry(entry) => match entry.action.as_ref().and_then(|action| action.r#type.as_ref()) {
            Some(table_action::Type::Action(action)) => vec![action],
            Some(table_action::Type::ActionProfileActionSet(set)) => {
                set.action_profile_actions.iter().filter_map(|of| of.action.as_ref()).collect()
            }
            _ => Vec::new(),
        },
        Kinds::ActionProfileMember(member) => member.action.iter().collect(),
        _ => Vec::new(),
    }
}

/// The table of the replication engine that an entry is in, with its id there.
pub fn replicated(entry: &PacketReplicationEngineEntry) -> Option<(Place, u32)> {
    match entry.r#type.as_ref()? {
        Replication::MulticastGroupEntry(group) => Some((Place::Groups, group.multicast_group_id)),
        Replication::CloneSessionEntry(session) => Some((Place::Sessions, session.session_id)),
    }
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
