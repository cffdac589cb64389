//! Parser and deparser from JSON.

use std::collections::HashMap;

use num_bigint::BigInt;

use super::action::{single, target};
use super::expr::expression;
use super::json::Json;
use super::scope::Scope;
use crate::error::LoadError;
use crate::program::expr::{Binary, Expr};
use crate::program::field::{low, mask, Field, Wide};
use crate::program::info::{ValueSetId, ValueSetInfo};
use crate::program::parser::{
    Deparser, ErrorCodes, KeyPart, Parser, ParserCase, ParserOp, ParserState, Pattern, MAX_KEY_PARTS,
};

/// Reads `parse_vsets`. Their parts are those of the first key that is compared with them.
fn value_sets(root: &Json<'_>) -> Result<Vec<ValueSetInfo>, LoadError> {
    let mut sets = Vec::new();
    for node in root.list("parse_vsets")? {
        let id = ValueSetId(sets.len() as u32);
        let max_size = node.opt("max_size").map_or(Ok(usize::MAX), |size| size.int())?;
        let name = node.get("name")?.str()?.to_owned();
        sets.push(ValueSetInfo { id, name, max_size, widths: Vec::new() });
    }
    Ok(sets)
}

/// Reads the one parser of `parsers`, and the value sets.
pub(crate) fn parser(root: &Json<'_>, scope: &Scope) -> Result<(Parser, Vec<ValueSetInfo>), LoadError> {
    let parsers = root.get("parsers")?;
    let [node] = parsers.array::<1>()?;
    let states = node.get("parse_states")?.items()?;
    let mut names = HashMap::new();
    for (i, state) in states.iter().enumerate() {
        names.insert(state.get("name")?.str()?.to_owned(), i as u32);
    }
    let mut value_sets = value_sets(root)?;
    let start = next_state(&node.get("init_state")?, &names)?;
    let mut loaded = Vec::new();
    for node in &states {
        loaded.push(state(node, scope, &names, &mut value_sets)?);
    }
    Ok((Parser { states: loaded, start, errors: error_codes(root)? }, value_sets))
}

fn next_state(node: &Json<'_>, names: &HashMap<String, u32>) -> Result<Option<u32>, LoadError> {
    if node.is_null() {
        return Ok(None);
    }
    node.named(names, "parser state").copied().map(Some)
}

/// The numbers of the core library's errors; those the program does not know get unused ones.
fn error_codes(root: &Json<'_>) -> Result<ErrorCodes, LoadError> {
    let mut codes = HashMap::new();
    for node in root.list("errors")? {
        let [name, code] = node.array()?;
        codes.insert(name.str()?.to_owned(), code.int::<u32>()?);
    }
    let mut unused = codes.values().max().map_or(0, |&highest| highest.saturating_add(1));
    let mut code = |name: &str| {
        codes.get(name).copied().unwrap_or_else(|| {
            let own = unused;
            unused = unused.saturating_add(1);
            own
        })
    };
    Ok(ErrorCodes {
        no_error: code("NoError"),
        packet_too_short: code("PacketTooShort"),
        stack_out_of_bounds: code("StackOutOfBounds"),
        parser_timeout: code("ParserTimeout"),
        parser_invalid_argument: code("ParserInvalidArgument"),
        header_too_short: code("HeaderTooShort"),
    })
}

fn state(
    node: &Json<'_>, scope: &Scope, names: &HashMap<String, u32>, value_sets: &mut [ValueSetInfo],
) -> Result<ParserState, LoadError> {
    let ops = node.list("parser_ops")?.iter().map(|op| parser_op(op, scope)).collect::<Result<_, _>>()?;
    let (mut key, mut widths, mut fields) = (Vec::new(), Vec::new(), Vec::new());
    for field in node.list("transition_key")? {
        let parts = key_parts(&field, scope)?;
        fields.push(parts.iter().map(|(_, width)| u32::from(*width)).sum());
        for (part, width) in parts {
            key.push(part);
            widths.push(width);
        }
    }
    if key.len() > MAX_KEY_PARTS {
        return Err(node
            .get("transition_key")?
            .unsupported(format!("a key of more than {MAX_KEY_PARTS} parts")));
    }
    let (mut cases, mut default) = (Vec::new(), None);
    for transition in node.get("transitions")?.items()? {
        let next = transition.opt("next_state").map_or(Ok(None), |next| next_state(&next, names))?;
        match pattern(&transition, &widths, &fields, value_sets)? {
            Some(pattern) => cases.push(ParserCase { pattern, next }),
            None => {
                default = next;
                // Cases after the default are never reached.
                break;
            }
        }
    }
    Ok(ParserState { ops, key, cases, default })
}

/// A part of a key with its width, or several where it has more than 128 bits.
fn key_parts(node: &Json<'_>, scope: &Scope) -> Result<Vec<(KeyPart, u8)>, LoadError> {
    let value = node.get("value")?;
    let parts: Vec<(u8, Expr)> = match node.get("type")?.str()? {
        "lookahead" => {
            let (bit, width) = lookahead(&value)?;
            let parts = Wide { bit, width, signed: false, length: None }.parts(width);
            let part = |part: Field| {
                (KeyPart::Lookahead { offset: part.location.bit(), width: part.width }, part.width)
            };
            return Ok(parts.map(part).collect());
        }
        "field" => {
            let parts = scope.place(&value)?.parts().into_iter();
            parts.map(|part| (part.width, Expr::Field(part))).collect()
        }
        kind @ ("stack_field" | "union_stack_field") => {
            let union = kind != "stack_field";
            let found = if union { scope.union_stack_field(&value)? } else { scope.stack_field(&value)? };
            let (stack, offset, place) = found;
            let part = |(offset, field): (u32, Field)| {
                (field.width, Expr::StackField { stack, index: Box::new(scope.last_index(stack)), offset })
            };
            (offset..).zip(place.parts()).map(part).collect()
        }
        other => return Err(node.unsupported(format!("a transition key of type {other:?}"))),
    };
    // Patterns are bits; a sign does not matter.
    let bits = |(width, expr)| {
        let bits = Expr::Binary(Binary::And, Box::new((expr, Expr::Const(mask(width)))));
        (KeyPart::Value(bits), width)
    };
    Ok(parts.into_iter().map(bits).collect())
}

fn lookahead(node: &Json<'_>) -> Result<(u32, u32), LoadError> {
    let [offset, width] = node.array()?;
    Ok((offset.int::<u16>()?.into(), width.int::<u16>()?.into()))
}

/// The pattern of a transition; none is the default.
fn pattern(
    node: &Json<'_>, widths: &[u8], fields: &[u32], value_sets: &mut [ValueSetInfo],
) -> Result<Option<Pattern>, LoadError> {
    let value = node.get("value")?;
    // Older compilers write `"value": "default"` without a type.
    let kind = match node.opt("type") {
        Some(kind) => kind.str()?,
        None if value.str() == Ok("default") => "default",
        None => "hexstr",
    };
    match kind {
        "default" => Ok(None),
        "hexstr" => {
            let values = split(&value, widths)?;
            let masks = match node.opt("mask") {
                Some(masks) => split(&masks, widths)?,
                None => widths.iter().map(|&width| mask(width)).collect(),
            };
            let parts = values.into_iter().zip(masks).map(|(value, mask)| (value & mask, mask));
            Ok(Some(Pattern::Bits(parts.collect())))
        }
        "parse_vset" => {
            if let Some(masks) = node.opt("mask") {
                return Err(masks.unsupported("a value set with a mask"));
            }
            let name = value.str()?;
            let set = value_sets.iter_mut().find(|set| set.name == name);
            let set = set.ok_or_else(|| value.dangling("value set", name))?;
            if !set.widths.is_empty() && set.widths != fields {
                return Err(value.unsupported("a value set for keys of different parts"));
            }
            set.widths = fields.to_vec();
            Ok(Some(Pattern::Set(set.id.0)))
        }
        other => Err(node.unsupported(format!("a transition of type {other:?}"))),
    }
}

/// The parts of a pattern: BMv2 pads each to whole bytes and puts them after one another.
fn split(node: &Json<'_>, widths: &[u8]) -> Result<Vec<u128>, LoadError> {
    let (negative, magnitude) = node.number()?;
    let mut rest = BigInt::from(magnitude);
    let mut part = |&width: &u8| {
        let own = low(&rest) & mask(width);
        rest >>= width.next_multiple_of(8);
        own
    };
    let mut parts: Vec<u128> = widths.iter().rev().map(&mut part).collect();
    parts.reverse();
    match negative || rest != BigInt::default() {
        true => Err(node.invalid("the value does not fit the key")),
        false => Ok(parts),
    }
}

fn parser_op(node: &Json<'_>, scope: &Scope) -> Result<ParserOp, LoadError> {
    let name = node.get("op")?;
    let parameters = node.get("parameters")?;
    match name.str()? {
        "extract" => {
            let [header] = parameters.array()?;
            extraction(&header, scope)
        }
        "extract_VL" => {
            let [header, bits] = parameters.array()?;
            let extract = Box::new(extraction(&header, scope)?);
            Ok(ParserOp::Variable(extract, expression(&bits, scope, &[])?))
        }
        "set" => {
            let [to, from] = parameters.array()?;
            let target = target(&to, scope, &[])?;
            if from.get("type")?.str()? == "lookahead" {
                let (offset, width) = lookahead(&from.get("value")?)?;
                return Ok(ParserOp::SetLookahead { target, offset, width });
            }
            Ok(ParserOp::Set { target, value: expression(&from, scope, &[])? })
        }
        "verify" => {
            let [condition, error] = parameters.array()?;
            let (condition, error) = (expression(&condition, scope, &[])?, expression(&error, scope, &[])?);
            Ok(ParserOp::Verify { condition, error })
        }
        "shift" => {
            let [bytes] = parameters.array()?;
            Ok(ParserOp::Advance(Expr::Const(8 * u128::from(bytes.int::<u32>()?))))
        }
        "advance" => {
            let [bits] = parameters.array()?;
            Ok(ParserOp::Advance(expression(&bits, scope, &[])?))
        }
        "primitive" => {
            let [primitive] = parameters.array()?;
            Ok(ParserOp::Primitive(single(&primitive, scope)?))
        }
        other => Err(name.unsupported(format!("the parser operation {other:?}"))),
    }
}

fn extraction(node: &Json<'_>, scope: &Scope) -> Result<ParserOp, LoadError> {
    let value = node.get("value")?;
    match node.get("type")?.str()? {
        "regular" => Ok(ParserOp::Extract(extractable(&value, scope)?)),
        "stack" => Ok(ParserOp::ExtractNext(scope.stack(&value)?)),
        "union_stack" => {
            let [stack, kind] = value.array()?;
            Ok(ParserOp::ExtractNext(scope.kind(&stack, &kind)?))
        }
        other => Err(node.unsupported(format!("extraction to {other:?}"))),
    }
}

fn extractable(node: &Json<'_>, scope: &Scope) -> Result<u32, LoadError> {
    let header = scope.header(node)?;
    if scope.layout.header(header).metadata {
        return Err(node.invalid("metadata is not in the packet"));
    }
    Ok(header)
}

/// Reads the one deparser of `deparsers`.
pub(crate) fn deparser(root: &Json<'_>, scope: &Scope) -> Result<Deparser, LoadError> {
    let deparsers = root.get("deparsers")?;
    let [node] = deparsers.array::<1>()?;
    let order = node
        .get("order")?
        .items()?
        .iter()
        .map(|header| extractable(header, scope))
        .collect::<Result<_, _>>()?;
    let ops = node.list("primitives")?.iter().map(|op| single(op, scope)).collect::<Result<_, _>>()?;
    Ok(Deparser { order, ops })
}
