//! Compares P4Info with a program, object by object, and pairs their ids.

use std::collections::BTreeMap;

use groupflow_pipeline::{DigestInfo, MatchKind, Program, RegisterId, TableInfo};

use super::annotations;
use super::binding::{
    ActionScope, Binding, BindingError, BoundAction, BoundArray, BoundDigest, BoundField, BoundProfile,
    BoundTable, BoundValueSet,
};
use crate::proto::p4::config::v1 as info;
use info::match_field::{Match, MatchType};

/// The size of an action profile that has none of its own.
const PROFILE_SIZE: usize = 1024;

impl Binding {
    /// Binds P4Info to a program; the error names the first difference.
    pub fn new(p4info: &info::P4Info, program: &Program) -> Result<Binding, BindingError> {
        let mut binding = Binding::default();
        let actions = actions_by_id(p4info)?;
        for table in &p4info.tables {
            let named = preamble(&table.preamble, "a table")?;
            // p4c leaves out the tables and digests that no packet can come to.
            let Some(found) = program.table(&named.name) else { continue };
            let bound = bind_table(table, found, &actions, p4info, program)?;
            unique(&mut binding.tables, named.id, "table", bound)?;
        }
        for set in &p4info.value_sets {
            let bound = bind_value_set(set, program)?;
            unique(&mut binding.value_sets, preamble(&set.preamble, "a value set")?.id, "value set", bound)?;
        }
        for profile in &p4info.action_profiles {
            let named = preamble(&profile.preamble, "an action profile")?;
            let size = usize::try_from(profile.size).unwrap_or(0);
            let size = if size == 0 { PROFILE_SIZE } else { size };
            let bound = BoundProfile { name: named.name.clone(), selector: profile.with_selector, size };
            unique(&mut binding.profiles, named.id, "action profile", bound)?;
        }
        for register in &p4info.registers {
            let (id, array) = bind_register(register, program)?;
            let annotations = &preamble(&register.preamble, "a register")?.annotations;
            annotations::bind(&mut binding.queues, &array, annotations)?;
            unique(&mut binding.registers, id, "register", array)?;
        }
        for counter in &p4info.counters {
            let named = preamble(&counter.preamble, "a counter")?;
            let found = program.counter(&named.name).ok_or_else(|| absent("counter", &named.name))?;
            same_size("counter", &named.name, counter.size, found.size)?;
            let array = array(found.id, &found.name, found.size, 0, false);
            unique(&mut binding.counters, named.id, "counter", array)?;
        }
        for meter in &p4info.meters {
            let named = preamble(&meter.preamble, "a meter")?;
            let found = program.meter(&named.name).ok_or_else(|| absent("meter", &named.name))?;
            same_size("meter", &named.name, meter.size, found.size)?;
            let array = array(found.id, &found.name, found.size, 0, false);
            unique(&mut binding.meters, named.id, "meter", array)?;
        }
        for digest in &p4info.digests {
            if let Some(bound) = bind_digest(digest, p4info, program)? {
                unique(&mut binding.digests, bound.id, "digest", bound)?;
            }
        }
        for header in &p4info.controller_packet_metadata {
            bind_header(&mut binding, header)?;
        }
        all_tables_are_bound(&binding, program)?;
        Ok(binding)
    }
}

type Actions<'a> = BTreeMap<u32, &'a info::Action>;

fn actions_by_id(p4info: &info::P4Info) -> Result<Actions<'_>, BindingError> {
    let mut actions = BTreeMap::new();
    for action in &p4info.actions {
        unique(&mut actions, preamble(&action.preamble, "an action")?.id, "action", action)?;
    }
    Ok(actions)
}

fn bind_table(
    table: &info::Table, found: &TableInfo, actions: &Actions<'_>, p4info: &info::P4Info, program: &Program,
) -> Result<BoundTable, BindingError> {
    let name = &found.name;
    if table.match_fields.len() != found.key.len() {
        let (info, program) = (table.match_fields.len(), found.key.len());
        return Err(BindingError(format!(
            "table {name} has {info} key fields in P4Info, {program} in the program"
        )));
    }
    let fields = table.match_fields.iter().zip(&found.key);
    let fields: Vec<BoundField> =
        fields.map(|(field, key)| bind_field(name, field, key)).collect::<Result<_, _>>()?;
    let mut bound_actions = BTreeMap::new();
    for reference in &table.action_refs {
        let action = actions.get(&reference.id);
        let action =
            action.ok_or_else(|| BindingError(format!("table {name}: no action {}", reference.id)))?;
        let bound = bind_action(found, action, reference, program)?;
        unique(&mut bound_actions, reference.id, "action", bound)?;
    }
    let refers_to = |id: &Option<info::Preamble>| {
        id.as_ref().is_some_and(|preamble| table.direct_resource_ids.contains(&preamble.id))
    };
    let priority_kinds = [MatchKind::Ternary, MatchKind::Range, MatchKind::Optional];
    Ok(BoundTable {
        table: found.id,
        profile: table.implementation_id,
        select: found.select,
        name: name.clone(),
        with_priority: fields.iter().any(|field| priority_kinds.contains(&field.kind)),
        fields,
        actions: bound_actions,
        is_const: table.is_const_table || found.const_entries,
        const_default: table.const_default_action_id != 0 || found.const_default,
        idle_timeout: table.idle_timeout_behavior != 0,
        direct_counter: found.direct_counter && p4info.direct_counters.iter().any(|c| refers_to(&c.preamble)),
        direct_meter: found.direct_meter.is_some()
            && p4info.direct_meters.iter().any(|m| refers_to(&m.preamble)),
    })
}

fn bind_field(
    table: &str, field: &info::MatchField, key: &groupflow_pipeline::KeyInfo,
) -> Result<BoundField, BindingError> {
    let place = format!("table {table}, key field {}", field.name);
    if field.name != key.name && !key.name.is_empty() {
        return Err(BindingError(format!("{place} is {} in the program", key.name)));
    }
    let kind = match &field.r#match {
        Some(Match::MatchType(kind)) => match_kind(*kind),
        _ => None,
    };
    let kind = kind.ok_or_else(|| BindingError(format!("{place}: its match type is not supported")))?;
    let same_kind = kind == key.kind || (kind == MatchKind::Optional && key.kind == MatchKind::Ternary);
    if !same_kind {
        let (info, program) = (kind_name(kind), kind_name(key.kind));
        return Err(BindingError(format!("{place} is {info} in P4Info, {program} in the program")));
    }
    // In P4Info, a translated type has the controller's width, an enum or error none: the program's counts.
    let width_is_said = field.type_name.is_none() && field.bitwidth != 0;
    if width_is_said && u32::try_from(field.bitwidth) != Ok(key.width) {
        let (info, program) = (field.bitwidth, key.width);
        return Err(BindingError(format!("{place} has {info} bits in P4Info, {program} in the program")));
    }
    Ok(BoundField { id: field.id, name: field.name.clone(), width: key.width, kind, program_kind: key.kind })
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

fn match_kind(kind: i32) -> Option<MatchKind> {
    match MatchType::try_from(kind).ok()? {
        MatchType::Exact => Some(MatchKind::Exact),
        MatchType::Lpm => Some(MatchKind::Lpm),
        MatchType::Ternary => Some(MatchKind::Ternary),
        MatchType::Range => Some(MatchKind::Range),
        MatchType::Optional => Some(MatchKind::Optional),
        MatchType::Unspecified => None,
    }
}

fn bind_value_set(set: &info::ValueSet, program: &Program) -> Result<BoundValueSet, BindingError> {
    let name = &preamble(&set.preamble, "a value set")?.name;
    let found = program.value_sets().iter().find(|known| known.name == *name);
    let found = found.ok_or_else(|| absent("value set", name))?;
    // A set that no state uses has no parts in the program.
    if !found.widths.is_empty() && found.widths.len() != set.r#match.len() {
        let (info, program) = (set.r#match.len(), found.widths.len());
        return Err(BindingError(format!(
            "value set {name} has {info} parts in P4Info, {program} in the program"
        )));
    }
    let fields = set.r#match.iter().enumerate().map(|(at, field)| {
        let kind = match &field.r#match {
            Some(Match::MatchType(kind)) => match_kind(*kind),
            _ => None,
        };
        let place = format!("value set {name}, part {}", field.name);
        let kind = kind.ok_or_else(|| BindingError(format!("{place}: its match type is not supported")))?;
        let said = u32::try_from(field.bitwidth).unwrap_or(0);
        let width = found.widths.get(at).copied().unwrap_or(said).clamp(1, 128);
        Ok(BoundField { id: field.id, name: field.name.clone(), width, kind, program_kind: kind })
    });
    Ok(BoundValueSet { set: found.id, name: name.clone(), fields: fields.collect::<Result<_, _>>()? })
}

fn bind_action(
    table: &TableInfo, action: &info::Action, reference: &info::ActionRef, program: &Program,
) -> Result<BoundAction, BindingError> {
    let name = &preamble(&action.preamble, "an action")?.name;
    let found = program
        .table_action(table.id, name)
        .ok_or_else(|| BindingError(format!("table {} has no action {name} in the program", table.name)))?;
    if found.params.len() != action.params.len() {
        let (info, program) = (action.params.len(), found.params.len());
        let message = format!("action {name} has {info} parameters in P4Info, {program} in the program");
        return Err(BindingError(message));
    }
    let mut params = Vec::new();
    for (known, same_place) in found.params.iter().zip(&action.params) {
        let param = action.params.iter().find(|param| param.name == known.name).unwrap_or(same_place);
        if param.type_name.is_none() && u32::try_from(param.bitwidth) != Ok(known.width) {
            let (info, program) = (param.bitwidth, known.width);
            let place = format!("action {name}, parameter {}", param.name);
            return Err(BindingError(format!("{place} has {info} bits in P4Info, {program} in the program")));
        }
        params.push((param.id, param.name.clone(), known.width));
    }
    let scope = match reference.scope {
        1 => ActionScope::TableOnly,
        2 => ActionScope::DefaultOnly,
        _ => ActionScope::Any,
    };
    Ok(BoundAction { action: found.id, name: name.clone(), scope, params })
}

fn bind_register(
    register: &info::Register, program: &Program,
) -> Result<(u32, BoundArray<RegisterId>), BindingError> {
    use info::p4_bitstring_like_type_spec::TypeSpec as Bits;
    use info::p4_data_type_spec::TypeSpec;
    let named = preamble(&register.preamble, "a register")?;
    let found = program.register(&named.name).ok_or_else(|| absent("register", &named.name))?;
    same_size("register", &named.name, register.size.into(), found.size)?;
    let spec = register.type_spec.as_ref().and_then(|spec| spec.type_spec.as_ref());
    let (width, signed) = match spec {
        Some(TypeSpec::Bitstring(bits)) => match &bits.type_spec {
            Some(Bits::Bit(bit)) => (Some(bit.bitwidth), false),
            Some(Bits::Int(int)) => (Some(int.bitwidth), true),
            _ => (None, false),
        },
        _ => (None, false),
    };
    let differs = |width: &i32| u32::try_from(*width) != Ok(found.width);
    if let Some(width) = width.filter(differs) {
        let message = format!(
            "register {} has cells of {width} bits in P4Info, {} in the program",
            named.name, found.width
        );
        return Err(BindingError(message));
    }
    Ok((named.id, array(found.id, &found.name, found.size, found.width, signed)))
}

/// A digest without a type of its own is called `digest_0` in P4Info and `tuple_0` in the program: the only ones
/// that have no partner are partners.
fn bind_digest(
    digest: &info::Digest, p4info: &info::P4Info, program: &Program,
) -> Result<Option<BoundDigest>, BindingError> {
    use info::p4_data_type_spec::TypeSpec;
    let named = preamble(&digest.preamble, "a digest")?;
    let has_name =
        |digest: &info::Digest, name: &str| digest.preamble.as_ref().is_some_and(|p| p.name == name);
    let known = |digest: &info::Digest| program.digests().iter().any(|known| has_name(digest, &known.name));
    let mut left =
        program.digests().iter().filter(|known| !p4info.digests.iter().any(|d| has_name(d, &known.name)));
    let found = if known(digest) {
        program.digests().iter().find(|known| known.name == named.name)
    } else if p4info.digests.iter().filter(|digest| !known(digest)).count() == 1 {
        left.next().filter(|_| left.next().is_none())
    } else {
        None
    };
    let spec = digest.type_spec.as_ref().and_then(|spec| spec.type_spec.as_ref());
    let scalar = matches!(spec, Some(TypeSpec::Bitstring(_) | TypeSpec::Bool(_)));
    let bound =
        |known: &DigestInfo| BoundDigest { id: named.id, digest: known.id, name: named.name.clone(), scalar };
    Ok(found.map(bound))
}

fn bind_header(binding: &mut Binding, header: &info::ControllerPacketMetadata) -> Result<(), BindingError> {
    let named = preamble(&header.preamble, "a controller header")?;
    let mut fields = Vec::new();
    for field in &header.metadata {
        let width = u32::try_from(field.bitwidth).ok().filter(|width| (1..=128).contains(width));
        let width = width.ok_or_else(|| {
            BindingError(format!("{}.{}: {} bits are not supported", named.name, field.name, field.bitwidth))
        })?;
        fields.push((field.id, field.name.clone(), width));
    }
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
    let to_fill = program.tables().iter().filter(|table| !table.key.is_empty() && !table.const_entries);
    match to_fill.into_iter().find(|table| !bound(table)) {
        Some(table) => Err(BindingError(format!("table {} of the program is not in P4Info", table.name))),
        None => Ok(()),
    }
}

fn array<Id>(array: Id, name: &str, size: usize, width: u32, signed: bool) -> BoundArray<Id> {
    BoundArray { array, name: name.into(), size, width, signed }
}

fn preamble<'a>(
    preamble: &'a Option<info::Preamble>, what: &str,
) -> Result<&'a info::Preamble, BindingError> {
    let preamble = preamble.as_ref().ok_or_else(|| BindingError(format!("{what} has no preamble")))?;
    if preamble.id == 0 {
        return Err(BindingError(format!("{what} {:?} has no id", preamble.name)));
    }
    Ok(preamble)
}

fn unique<T>(map: &mut BTreeMap<u32, T>, id: u32, what: &str, value: T) -> Result<(), BindingError> {
    match map.insert(id, value) {
        Some(_) => Err(BindingError(format!("{what} {id} is there twice"))),
        None => Ok(()),
    }
}

fn absent(what: &str, name: &str) -> BindingError {
    BindingError(format!("{what} {name} is not in the program"))
}

fn same_size(what: &str, name: &str, info: i64, program: usize) -> Result<(), BindingError> {
    if i64::try_from(program) == Ok(info) {
        return Ok(());
    }
    Err(BindingError(format!("{what} {name} has {info} cells in P4Info, {program} in the program")))
}
