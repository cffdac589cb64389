//! Registers, counters, meters, calculations, checksums, field lists, digests.

use std::collections::HashMap;

use super::expr::expression;
use super::json::Json;
use super::scope::{Place, Scope};
use crate::error::LoadError;
use crate::program::action::{Action, Op};
use crate::program::calculation::{Calculation, Checksum, InputPart};
use crate::program::expr::Expr;
use crate::program::field::{part_widths, Field, Wide};
use crate::program::hash::Algorithm;
use crate::program::info::{
    ActionId, ActionInfo, CounterId, CounterInfo, DigestId, DigestInfo, MeterId, MeterInfo, MeterUnit,
    ParamInfo, RegisterId, RegisterInfo,
};

/// The most cells all arrays of a kind may have together: bounds the memory a file can ask for to 256 MiB,
/// 64 MiB and about 64 MiB.
const REGISTER_LIMIT: usize = 1 << 24;
const COUNTER_LIMIT: usize = 1 << 22;
const METER_LIMIT: usize = 1 << 18;

/// The size of an array whose cells count as many, with the total so far.
fn size(node: &Json<'_>, each: usize, total: &mut usize, limit: usize) -> Result<usize, LoadError> {
    let size_node = node.get("size")?;
    let size: usize = size_node.int()?;
    *total = total.saturating_add(size.saturating_mul(each));
    if *total > limit {
        return Err(size_node.unsupported(format!("more than {limit} cells in total")));
    }
    Ok(size)
}

pub(crate) fn registers(root: &Json<'_>, scope: &mut Scope) -> Result<Vec<RegisterInfo>, LoadError> {
    let (mut registers, mut total) = (Vec::new(), 0);
    for node in root.list("register_arrays")? {
        let id = registers.len() as u32;
        let name = node.get("name")?.str()?.to_owned();
        let width = node.get("bitwidth")?.width()?;
        let size = size(&node, width.div_ceil(128).max(1) as usize, &mut total, REGISTER_LIMIT)?;
        scope.registers.insert(name.clone(), id);
        registers.push(RegisterInfo { id: RegisterId(id), name, size, width });
    }
    Ok(registers)
}

pub(crate) fn counters(root: &Json<'_>, scope: &mut Scope) -> Result<Vec<CounterInfo>, LoadError> {
    let (mut counters, mut total) = (Vec::new(), 0);
    for node in root.list("counter_arrays")? {
        if node.flag("is_direct", false)? {
            continue;
        }
        let id = counters.len() as u32;
        let name = node.get("name")?.str()?.to_owned();
        let size = size(&node, 1, &mut total, COUNTER_LIMIT)?;
        scope.counters.insert(name.clone(), id);
        counters.push(CounterInfo { id: CounterId(id), name, size, reasons: Vec::new() });
    }
    Ok(counters)
}

/// The unit of each direct meter and where it writes the colour, by name.
pub(crate) type DirectMeters = HashMap<String, (MeterUnit, Field)>;

pub(crate) fn meters(
    root: &Json<'_>, scope: &mut Scope,
) -> Result<(Vec<MeterInfo>, DirectMeters), LoadError> {
    let (mut meters, mut direct, mut total) = (Vec::new(), HashMap::new(), 0);
    for node in root.list("meter_arrays")? {
        let name = node.get("name")?.str()?.to_owned();
        let unit_node = node.get("type")?;
        let unit = match unit_node.str()? {
            "packets" => MeterUnit::Packets,
            "bytes" => MeterUnit::Bytes,
            other => return Err(unit_node.unsupported(format!("a meter of {other:?}"))),
        };
        if node.flag("is_direct", false)? {
            direct.insert(name, (unit, scope.field(&node.get("result_target")?)?));
            continue;
        }
        let id = meters.len() as u32;
        let size = size(&node, 1, &mut total, METER_LIMIT)?;
        scope.meters.insert(name.clone(), id);
        meters.push(MeterInfo { id: MeterId(id), name, size, unit });
    }
    Ok((meters, direct))
}

pub(crate) fn calculations(root: &Json<'_>, scope: &mut Scope) -> Result<Vec<Calculation>, LoadError> {
    let mut calculations = Vec::new();
    for node in root.list("calculations")? {
        let calculation = calculation(&node, scope)?;
        scope.calculations.insert(node.get("name")?.str()?.to_owned(), calculations.len() as u32);
        calculations.push(calculation);
    }
    Ok(calculations)
}

fn calculation(node: &Json<'_>, scope: &Scope) -> Result<Calculation, LoadError> {
    let algorithm_node = node.get("algo")?;
    let name = algorithm_node.str()?;
    let unsupported = || algorithm_node.unsupported(format!("the algorithm {name:?}"));
    let algorithm = Algorithm::named(name).ok_or_else(unsupported)?;
    let mut parts = Vec::new();
    for part in node.get("input")?.items()? {
        parts.extend(parts_of(&part, scope)?);
    }
    Ok(Calculation { algorithm, parts })
}

/// For each table whose action profile has a selector: the action that selects, and the hash it uses.
pub(crate) fn selectors(
    root: &Json<'_>, scope: &mut Scope, actions: usize, calculations: usize,
) -> Result<Vec<(ActionInfo, Action, Calculation)>, LoadError> {
    let mut made = Vec::new();
    for pipeline in root.get("pipelines")?.items()? {
        let profiles = pipeline.list("action_profiles")?;
        for table in pipeline.list("tables")? {
            let selector = match table.opt("action_profile") {
                Some(name) => {
                    let named = |profile: &&Json<'_>| profile.get("name").and_then(|n| n.str()) == name.str();
                    let profile = profiles.iter().find(named);
                    let absent = || name.dangling("action profile", name.str().unwrap_or_default());
                    profile.ok_or_else(absent)?.opt("selector")
                }
                None => table.opt("selector"), // JSON of 2016
            };
            let Some(selector) = selector else { continue };
            let id = (actions + made.len()) as u32;
            scope.selects.insert(table.get("name")?.str()?.to_owned(), id);
            let group = ParamInfo { name: "group".to_owned(), width: 64 };
            let info = ActionInfo { id: ActionId(id), name: String::new(), params: vec![group] };
            let body = Action { ops: vec![Op::Select { calculation: (calculations + made.len()) as u32 }] };
            made.push((info, body, calculation(&selector, scope)?));
        }
    }
    Ok(made)
}

fn parts_of(node: &Json<'_>, scope: &Scope) -> Result<Vec<InputPart>, LoadError> {
    let value = || node.get("value");
    match node.get("type")?.str()? {
        "field" => {
            let place = scope.place(&value()?)?;
            let fields = place.parts();
            match (place, fields.first()) {
                (Place::Wide(field), Some(first)) if field.length.is_some() => {
                    Ok(vec![InputPart::Variable(field, scope.validity(*first))])
                }
                _ => {
                    let part = |field: Field| InputPart::Field { field, valid: scope.validity(field) };
                    Ok(fields.into_iter().map(part).collect())
                }
            }
        }
        "hexstr" => {
            let width = node.get("bitwidth")?.width()?;
            let parts = value()?.parts(width)?.into_iter().zip(part_widths(width));
            Ok(parts.map(|(value, width)| InputPart::Const { value, width }).collect())
        }
        "header" => Ok(vec![InputPart::Header(scope.header(&value()?)?)]),
        "payload" => Ok(vec![InputPart::Payload]),
        other => Err(node.unsupported(format!("a calculation over {other:?}"))),
    }
}

/// The checksums to verify and those to update.
pub(crate) fn checksums(root: &Json<'_>, scope: &Scope) -> Result<(Vec<Checksum>, Vec<Checksum>), LoadError> {
    let (mut verified, mut updated) = (Vec::new(), Vec::new());
    for node in root.list("checksums")? {
        let field = scope.field(&node.get("target")?)?;
        let calculation = *node.get("calculation")?.named(&scope.calculations, "calculation")?;
        let condition = node.opt("if_cond").map(|cond| expression(&cond, scope, &[])).transpose()?;
        let checksum = |condition| Checksum { field, valid: scope.validity(field), calculation, condition };
        if node.flag("verify", true)? {
            verified.push(checksum(condition.clone()));
        }
        if node.flag("update", true)? {
            updated.push(checksum(condition));
        }
    }
    Ok((verified, updated))
}

/// The lists of fields that clones, resubmitted and recirculated packets keep. The first is empty.
pub(crate) fn field_lists(root: &Json<'_>, scope: &mut Scope) -> Result<Vec<Vec<Field>>, LoadError> {
    let mut lists = vec![Vec::new()];
    // BMv2 numbers lists from 1; 0 stands for keeping nothing.
    scope.field_lists.insert(0, 0);
    for node in root.list("field_lists")? {
        let id = node.get("id")?.int::<u64>()?;
        let mut fields = Vec::new();
        for element in node.get("elements")?.items()? {
            match element.get("type")?.str()? {
                "field" => {
                    let place = scope.place(&element.get("value")?)?;
                    fields.extend(place.parts());
                    if let Place::Wide(Wide { length: Some(length), .. }) = place {
                        fields.push(length);
                    }
                }
                other => return Err(element.unsupported(format!("a field list with {other:?}"))),
            }
        }
        scope.field_lists.insert(u128::from(id), lists.len() as u32);
        lists.push(fields);
    }
    Ok(lists)
}

pub(crate) fn digests(
    root: &Json<'_>, scope: &mut Scope,
) -> Result<(Vec<DigestInfo>, Vec<Vec<Expr>>), LoadError> {
    let (mut digests, mut members) = (Vec::new(), Vec::new());
    for node in root.list("learn_lists")? {
        let id = digests.len() as u32;
        let (mut exprs, mut widths) = (Vec::new(), Vec::new());
        for element in node.get("elements")?.items()? {
            let expr = expression(&element, scope, &[])?;
            match expr {
                Expr::Wide(field @ Wide { length: None, .. }) => {
                    widths.extend(part_widths(field.width).map(u32::from));
                    exprs.extend(field.parts(field.width).map(Expr::Field));
                    continue;
                }
                Expr::Field(field) => widths.push(field.width.into()),
                Expr::Const(_) => {
                    widths.push(element.opt("bitwidth").map_or(Ok(128), |width| width.width())?)
                }
                _ => return Err(element.unsupported("a digest member that is an expression")),
            }
            exprs.push(expr);
        }
        scope.learn_lists.insert(u128::from(node.get("id")?.int::<u64>()?), id);
        digests.push(DigestInfo { id: DigestId(id), name: node.get("name")?.str()?.to_owned(), widths });
        members.push(exprs);
    }
    Ok((digests, members))
}
