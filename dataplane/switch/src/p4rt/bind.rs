//! Compares P4Info with a program, object by object, and pairs their ids.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::fmt::Display;

use groupflow_pipeline::{DigestInfo, MatchKind, MeterKind, Program, RegisterId, TableInfo};

use super::annotations;
use super::binding::{
    ActionScope, Binding, BindingError, BoundAction, BoundArray, BoundDigest, BoundField, BoundProfile,
    BoundTable, BoundValueSet, GroupBounds,
};
use super::digest_type::{self, DataType};
use super::restriction::Restriction;
use super::restriction_text::Parser;
use super::translation::{Names, Types};
use crate::proto::p4::config::v1 as info;
use info::action_profile::SelectorSizeSemantics;
use info::match_field::{Match, MatchType};

/// The size of an action profile that has none of its own.
const PROFILE_SIZE: usize = 1024;

impl Binding {
    /// Binds P4Info to a program; the error names the first difference.
    pub fn new(p4info: &info::P4Info, program: &Program) -> Result<Binding, BindingError> {
        let mut binding = Binding::default();
        ids_are_unique(p4info)?;
        let types = Types::of(p4info, &mut binding.strings);
        let context =
            Context { actions: actions_by_id(p4info)?, types, p4info, program, ignored: RefCell::default() };
        for table in &p4info.tables {
            let named = preamble(&table.preamble, "a table")?;
            // p4c leaves out the tables and digests that no packet can come to.
            let Some(found) = program.table(&named.name) else {
                binding.absent.insert(named.id, named.name.clone());
                continue;
            };
            binding.tables.insert(named.id, bind_table(table, found, &context)?);
        }
        for set in &p4info.value_sets {
            let bound = bind_value_set(set, &context)?;
            binding.value_sets.insert(preamble(&set.preamble, "a value set")?.id, bound);
        }
        for profile in &p4info.action_profiles {
            let named = preamble(&profile.preamble, "an action profile")?;
            let size = usize::try_from(profile.size).unwrap_or(0);
            let size = if size == 0 { PROFILE_SIZE } else { size };
            let bound = BoundProfile { name: named.name.clone(), selector: profile.with_selector, size };
            binding.profiles.insert(named.id, bound);
        }
        for register in &p4info.registers {
            let (id, array) = bind_register(register, program)?;
            let annotations = &preamble(&register.preamble, "a register")?.annotations;
            annotations::bind(&mut binding.queues, &array, annotations)?;
            binding.registers.insert(id, array);
        }
        for counter in &p4info.counters {
            let named = preamble(&counter.preamble, "a counter")?;
            let found = program.counter(&named.name).ok_or_else(|| absent("counter", &named.name))?;
            same_size("counter", &named.name, counter.size, found.size)?;
            let reasons = annotations::reasons(&named.name, found.size, &named.annotations)?;
            binding.reasons.push((found.id, reasons));
            let array = array(found.id, &found.name, found.size, 0, false);
            binding.counters.insert(named.id, array);
        }
        for meter in &p4info.meters {
            let named = preamble(&meter.preamble, "a meter")?;
            let found = program.meter(&named.name).ok_or_else(|| absent("meter", &named.name))?;
            same_size("meter", &named.name, meter.size, found.size)?;
            let meter = meter_kind(&meter.spec, &named.name)?;
            let array = BoundArray { meter, ..array(found.id, &found.name, found.size, 0, false) };
            binding.meters.insert(named.id, array);
        }
        for digest in &p4info.digests {
            if let Some(bound) = bind_digest(digest, &context)? {
                binding.digests.insert(bound.id, bound);
            }
        }
        for header in &p4info.controller_packet_metadata {
            bind_header(&mut binding, header, &context)?;
        }
        all_tables_are_bound(&binding, program)?;
        binding.ignored = context.ignored.into_inner();
        binding.ignored.dedup(); // An action is bound for each table.
        Ok(binding)
    }
}

struct Context<'a> {
    actions: HashMap<u32, &'a info::Action>,
    types: Types<'a>,
    p4info: &'a info::P4Info,
    program: &'a Program,
    ignored: RefCell<Vec<String>>,
}

impl Context<'_> {
    /// The rules in an object's annotations. Those that cannot be read are not kept.
    fn restriction(
        &self, object: &info::Preamble, annotation: &'static str, parser: Parser<'_>,
    ) -> Option<Restriction> {
        let found = Restriction::of(&object.annotations, annotation, parser);
        let ignore =
            |error| self.ignored.borrow_mut().push(format!("{}: {error}; it is not kept", object.name));
        found.map_err(ignore).unwrap_or_default()
    }
}

fn actions_by_id(p4info: &info::P4Info) -> Result<HashMap<u32, &info::Action>, BindingError> {
    let with_id = |action: &'_ info::Action| Ok(preamble(&action.preamble, "an action")?.id);
    p4info.actions.iter().map(|action| Ok((with_id(action)?, action))).collect()
}

/// Refuses an id that two objects have, or two fields of a key, or two parameters of an action.
fn ids_are_unique(p4info: &info::P4Info) -> Result<(), BindingError> {
    let mut seen = HashMap::new();
    macro_rules! preambles {
        ($($kind:ident)*) => {
            std::iter::empty()$(.chain(p4info.$kind.iter().map(|object| &object.preamble)))*
        };
    }
    let objects = preambles!(
        tables actions action_profiles counters direct_counters meters direct_meters
        controller_packet_metadata value_sets registers digests
    );
    for object in objects.flatten() {
        if let Some(other) = seen.insert(object.id, &object.name) {
            return Err(BindingError(format!("{other} and {} have the same id, {}", object.name, object.id)));
        }
    }
    Ok(())
}

fn bind_table(
    table: &info::Table, found: &TableInfo, context: &Context<'_>,
) -> Result<BoundTable, BindingError> {
    let Context { actions, p4info, .. } = context;
    let (named, name) = (preamble(&table.preamble, "a table")?, &found.name);
    if table.match_fields.len() != found.key.len() {
        let place = format!("table {name}");
        return Err(differs(&place, table.match_fields.len(), "key fields", found.key.len()));
    }
    let fields = table.match_fields.iter().zip(&found.key);
    let fields = fields.map(|(field, key)| bind_field(name, field, key, context));
    let fields: Vec<BoundField> = fields.collect::<Result<_, _>>()?;
    distinct(name, fields.iter().map(|field| field.id))?;
    distinct(name, table.action_refs.iter().map(|reference| reference.id))?;
    let mut bound = BTreeMap::new();
    for reference in &table.action_refs {
        match actions.get(&reference.id) {
            Some(action) => drop(bound.insert(reference.id, bind_action(found, action, reference, context)?)),
            // p4c refers to an action with `@hidden`, too, and no entry can name it.
            None if reference.id >> 24 == 1 => {}
            None => return Err(BindingError(format!("table {name}: no action {}", reference.id))),
        }
    }
    let restriction = context.restriction(named, "entry_restriction", Parser::new(&fields, true));
    let refers_to = |id: &Option<info::Preamble>| {
        id.as_ref().is_some_and(|preamble| table.direct_resource_ids.contains(&preamble.id))
    };
    let priority_kinds = [MatchKind::Ternary, MatchKind::Range, MatchKind::Optional];
    Ok(BoundTable {
        table: found.id,
        profile: table.implementation_id,
        group: group_bounds(table.implementation_id, p4info),
        select: found.select,
        name: name.clone(),
        with_priority: fields.iter().any(|field| priority_kinds.contains(&field.kind)),
        fields,
        actions: bound,
        restriction,
        is_const: table.is_const_table || found.const_entries,
        const_default: table.const_default_action_id | table.implementation_id != 0 || found.const_default,
        idle_timeout: table.idle_timeout_behavior != 0 && found.timed,
        direct_counter: found.direct_counter && p4info.direct_counters.iter().any(|c| refers_to(&c.preamble)),
        direct_meter: match p4info.direct_meters.iter().find(|meter| refers_to(&meter.preamble)) {
            Some(meter) if found.direct_meter.is_some() => Some(meter_kind(&meter.spec, name)?),
            _ => None,
        },
    })
}

fn bind_field(
    table: &str, field: &info::MatchField, key: &groupflow_pipeline::KeyInfo, context: &Context<'_>,
) -> Result<BoundField, BindingError> {
    let place = format!("table {table}, key field {}", field.name);
    if field.name != key.name && !key.name.is_empty() {
        return Err(BindingError(format!("{place} is {} in the program", key.name)));
    }
    let kind = match_kind(&field.r#match, &place)?;
    let same_kind = kind == key.kind || (kind == MatchKind::Optional && key.kind == MatchKind::Ternary);
    if !same_kind {
        let (info, program) = (kind_name(kind), kind_name(key.kind));
        return Err(BindingError(format!("{place} is {info} in P4Info, {program} in the program")));
    }
    // In P4Info, a translated type has the controller's width, an enum or error none: the program's counts.
    let width_is_said = field.type_name.is_none() && field.bitwidth != 0;
    if width_is_said && u32::try_from(field.bitwidth) != Ok(key.width) {
        return Err(differs(&place, field.bitwidth, "bits", key.width));
    }
    let names = context.types.names(&field.type_name);
    let name = field.name.clone();
    Ok(BoundField { id: field.id, name, width: key.width, kind, program_kind: key.kind, names })
}

/// A match kind as P4 spells it.
pub fn kind_name(kind: MatchKind) -> &'static str {
    match kind {
        MatchKind::Exact => "exact",
        MatchKind::Lpm => "lpm",
        MatchKind::Ternary => "ternary",
        MatchKind::Range => "range",
        MatchKind::Optional => "optional",
    }
}

fn match_kind(kind: &Option<Match>, place: &str) -> Result<MatchKind, BindingError> {
    let known = match kind {
        Some(Match::MatchType(kind)) => MatchType::try_from(*kind),
        _ => Ok(MatchType::Unspecified),
    };
    match known {
        Ok(MatchType::Exact) => Ok(MatchKind::Exact),
        Ok(MatchType::Lpm) => Ok(MatchKind::Lpm),
        Ok(MatchType::Ternary) => Ok(MatchKind::Ternary),
        Ok(MatchType::Range) => Ok(MatchKind::Range),
        Ok(MatchType::Optional) => Ok(MatchKind::Optional),
        Ok(MatchType::Unspecified) | Err(_) => {
            Err(BindingError(format!("{place}: its match type is not supported")))
        }
    }
}

/// The bounds of the groups of a profile; 0 is none.
fn group_bounds(profile: u32, p4info: &info::P4Info) -> GroupBounds {
    let of_id = |other: &&info::ActionProfile| other.preamble.as_ref().map_or(0, |p| p.id) == profile;
    let profile = p4info.action_profiles.iter().find(of_id).cloned().unwrap_or_default();
    let size = u64::try_from(profile.max_group_size).ok().filter(|size| *size > 0).unwrap_or(u64::MAX);
    let members = match profile.selector_size_semantics {
        Some(SelectorSizeSemantics::SumOfMembers(members)) => Some(members.max_member_weight),
        _ => None,
    };
    let weight = members.and_then(|most| u32::try_from(most).ok()).filter(|most| *most > 0);
    let weight = if profile.weights_disallowed { 0 } else { weight.unwrap_or(u32::MAX) };
    GroupBounds { size, by_members: members.is_some(), weight }
}

fn bind_value_set(set: &info::ValueSet, context: &Context<'_>) -> Result<BoundValueSet, BindingError> {
    let name = &preamble(&set.preamble, "a value set")?.name;
    let found = context.program.value_sets.iter().find(|known| known.name == *name);
    let found = found.ok_or_else(|| absent("value set", name))?;
    // A set that no state uses has no parts in the program.
    if !found.widths.is_empty() && found.widths.len() != set.r#match.len() {
        let place = format!("value set {name}");
        return Err(differs(&place, set.r#match.len(), "parts", found.widths.len()));
    }
    let fields = set.r#match.iter().enumerate().map(|(at, field)| {
        let kind = match_kind(&field.r#match, &format!("value set {name}, part {}", field.name))?;
        let said = u32::try_from(field.bitwidth).unwrap_or(0);
        let width = found.widths.get(at).copied().unwrap_or(said).max(1);
        let (name, names) = (field.name.clone(), context.types.names(&field.type_name));
        Ok(BoundField { id: field.id, name, width, kind, program_kind: kind, names })
    });
    Ok(BoundValueSet { set: found.id, name: name.clone(), fields: fields.collect::<Result<_, _>>()? })
}

fn bind_action(
    table: &TableInfo, action: &info::Action, reference: &info::ActionRef, context: &Context<'_>,
) -> Result<BoundAction, BindingError> {
    let named = preamble(&action.preamble, "an action")?;
    let name = &named.name;
    let absent = || BindingError(format!("table {} has no action {name} in the program", table.name));
    let found = context.program.table_action(table.id, name).ok_or_else(absent)?;
    if found.params.len() != action.params.len() {
        let place = format!("action {name}");
        return Err(differs(&place, action.params.len(), "parameters", found.params.len()));
    }
    let mut params = Vec::new();
    for (known, same_place) in found.params.iter().zip(&action.params) {
        let param = action.params.iter().find(|param| param.name == known.name).unwrap_or(same_place);
        if param.type_name.is_none() && u32::try_from(param.bitwidth) != Ok(known.width) {
            let place = format!("action {name}, parameter {}", param.name);
            return Err(differs(&place, param.bitwidth, "bits", known.width));
        }
        let names = context.types.names(&param.type_name);
        params.push(plain_field(param.id, &param.name, known.width, names));
    }
    distinct(name, params.iter().map(|param| param.id))?;
    let restriction = context.restriction(named, "action_restriction", Parser::new(&params, false));
    let scope = match reference.scope {
        1 => ActionScope::TableOnly,
        2 => ActionScope::DefaultOnly,
        _ => ActionScope::Any,
    };
    Ok(BoundAction { action: found.id, name: name.clone(), scope, params, restriction })
}

fn bind_register(
    register: &info::Register, program: &Program,
) -> Result<(u32, BoundArray<RegisterId>), BindingError> {
    use info::p4_bitstring_like_type_spec::TypeSpec as Bits;
    use info::p4_data_type_spec::TypeSpec;
    let named = preamble(&register.preamble, "a register")?;
    let found = program.register(&named.name).ok_or_else(|| absent("register", &named.name))?;
    same_size("register", &named.name, register.size.into(), found.size)?;
    let bits = match register.type_spec.as_ref().and_then(|spec| spec.type_spec.as_ref()) {
        Some(TypeSpec::Bitstring(bits)) => bits.type_spec.as_ref(),
        _ => None,
    };
    let (width, signed) = match bits {
        Some(Bits::Bit(bit)) => (Some(bit.bitwidth), false),
        Some(Bits::Int(int)) => (Some(int.bitwidth), true),
        _ => (None, false),
    };
    if let Some(width) = width.filter(|width| u32::try_from(*width) != Ok(found.width)) {
        let (place, info) = (format!("register {}", named.name), format!("cells of {width}"));
        return Err(differs(&place, info, "bits", found.width));
    }
    Ok((named.id, array(found.id, &found.name, found.size, found.width, signed)))
}

fn meter_kind(spec: &Option<info::MeterSpec>, name: &str) -> Result<MeterKind, BindingError> {
    match spec.as_ref().map_or(0, |spec| spec.r#type) {
        0 => Ok(MeterKind::TwoRates),
        1 => Ok(MeterKind::OneRate),
        2 => Ok(MeterKind::TwoColours),
        other => Err(BindingError(format!("the meter of {name} has a type that is not known, {other}"))),
    }
}

fn bind_digest(digest: &info::Digest, context: &Context<'_>) -> Result<Option<BoundDigest>, BindingError> {
    let Context { p4info, program, .. } = context;
    let named = preamble(&digest.preamble, "a digest")?;
    let names = |named: &info::P4NamedType| context.types.names(&Some(named.clone()));
    let types = digest_type::Types { info: p4info.type_info.as_ref(), names: &names };
    let bound = |found: &DigestInfo| BoundDigest {
        id: named.id,
        digest: found.id,
        name: named.name.clone(),
        data: DataType::of(digest.type_spec.as_ref(), &types, found.widths.len()),
    };
    Ok(digest_type::partner(digest, p4info, program, &types).map(bound))
}

fn bind_header(
    binding: &mut Binding, header: &info::ControllerPacketMetadata, context: &Context<'_>,
) -> Result<(), BindingError> {
    let named = preamble(&header.preamble, "a controller header")?;
    // P4Info has the controller's widths, which of a translated type are not those of the packet.
    let width =
        |field: &info::controller_packet_metadata::Metadata| u32::try_from(field.bitwidth).unwrap_or(0);
    let known = header
        .metadata
        .iter()
        .map(|field| (field.name.as_str(), field.type_name.is_none().then(|| width(field))));
    let widths = context.program.header_of(&known.collect::<Vec<_>>());
    let mut fields = Vec::new();
    for (place, field) in header.metadata.iter().enumerate() {
        let width = widths.as_ref().map_or_else(|| width(field), |widths| widths[place]);
        if width == 0 && field.bitwidth == 0 {
            let why = format!("{}.{}: no header of the program has it", named.name, field.name);
            context.ignored.borrow_mut().push(why);
        }
        let names = context.types.names(&field.type_name);
        fields.push(plain_field(field.id, &field.name, width, names));
    }
    distinct(&named.name, fields.iter().map(|field| field.id))?;
    match named.name.as_str() {
        "packet_in" => binding.packet_in = fields,
        "packet_out" => binding.packet_out = fields,
        other => {
            return Err(BindingError(format!("controller header {other} is not packet_in or packet_out")))
        }
    }
    Ok(())
}

/// A table that P4Info does not know could never be filled: the file is of another program. Tables with
/// constant entries or without a key may be hidden from the controller.
fn all_tables_are_bound(binding: &Binding, program: &Program) -> Result<(), BindingError> {
    let bound = |table: &TableInfo| binding.tables.values().any(|known| known.table == table.id);
    let mut to_fill = program.tables.iter().filter(|table| !table.key.is_empty() && !table.const_entries);
    let stray = |table: &TableInfo| format!("table {} of the program is not in P4Info", table.name);
    to_fill.find(|table| !bound(table)).map_or(Ok(()), |table| Err(BindingError(stray(table))))
}

/// A field that no table matches: of an action, or of a packet's metadata.
fn plain_field(id: u32, name: &str, width: u32, names: Option<Names>) -> BoundField {
    let kind = MatchKind::Exact;
    BoundField { id, name: name.into(), width, kind, program_kind: kind, names }
}

fn array<Id>(array: Id, name: &str, size: usize, width: u32, signed: bool) -> BoundArray<Id> {
    BoundArray { array, name: name.into(), size, width, signed, meter: MeterKind::default() }
}

fn preamble<'a>(
    preamble: &'a Option<info::Preamble>, what: &str,
) -> Result<&'a info::Preamble, BindingError> {
    let preamble = preamble.as_ref().ok_or_else(|| BindingError(format!("{what} has no preamble")))?;
    refuse_if!(preamble.id == 0, BindingError, "{what} {:?} has no id", preamble.name);
    Ok(preamble)
}

/// Refuses an id that two parts of an object have.
fn distinct(of: &str, mut ids: impl Iterator<Item = u32>) -> Result<(), BindingError> {
    let mut seen = BTreeSet::new();
    let fault = |id| BindingError(format!("{of}: two of its parts have the same id, {id}"));
    ids.find(|id| !seen.insert(*id)).map_or(Ok(()), |id| Err(fault(id)))
}

fn absent(what: &str, name: &str) -> BindingError {
    BindingError(format!("{what} {name} is not in the program"))
}

fn same_size(what: &str, name: &str, info: i64, program: usize) -> Result<(), BindingError> {
    if i64::try_from(program) == Ok(info) {
        return Ok(());
    }
    Err(differs(&format!("{what} {name}"), info, "cells", program))
}

fn differs(place: &str, info: impl Display, what: &str, program: impl Display) -> BindingError {
    BindingError(format!("{place} has {info} {what} in P4Info, {program} in the program"))
}
