//! Actions from JSON.

use std::collections::HashMap;

use super::expr::{accessed, expression, header_ref, operator, union_of, Params};
use super::json::Json;
use super::names::place;
use super::scope::{Place, Scope};
use crate::error::LoadError;
use crate::program::action::{Action, AssignTarget, HeaderRef, Op};
use crate::program::expr::Expr;
use crate::program::info::{ActionId, ActionInfo, ParamInfo};

/// Reads `actions`: the declarations and, in the same order, the bodies.
pub(crate) fn actions(
    root: &Json<'_>, scope: &mut Scope,
) -> Result<(Vec<ActionInfo>, Vec<Action>), LoadError> {
    let (mut infos, mut bodies) = (Vec::new(), Vec::new());
    for node in root.get("actions")?.items()? {
        let id = infos.len() as u32;
        let (mut params, mut widths) = (Vec::new(), Vec::new());
        for param in node.get("runtime_data")?.items()? {
            let width = param.get("bitwidth")?.width()?;
            params.push(ParamInfo { name: param.get("name")?.str()?.to_owned(), width });
            widths.push(width);
        }
        let ops = body(&node.get("primitives")?, scope, &widths)?;
        scope.actions.insert(node.get("id")?.int()?, id);
        infos.push(ActionInfo { id: ActionId(id), name: node.get("name")?.str()?.to_owned(), params });
        bodies.push(Action { ops });
    }
    Ok((infos, bodies))
}

/// A list of primitives, in which jumps go by position.
fn body(node: &Json<'_>, scope: &Scope, params: Params<'_>) -> Result<Vec<Op>, LoadError> {
    let primitives = node.items()?;
    let length = primitives.len();
    primitives.iter().map(|primitive| op(primitive, scope, params, length)).collect()
}

/// One primitive outside of an action: in a parser state or in the deparser.
pub(crate) fn single(node: &Json<'_>, scope: &Scope) -> Result<Op, LoadError> {
    op(node, scope, &[], 0)
}

struct Call<'n, 's> {
    parameters: Vec<Json<'n>>,
    node: &'s Json<'n>,
    scope: &'s Scope,
    params: Params<'s>,
}

impl<'n> Call<'n, '_> {
    fn parameter(&self, i: usize) -> Result<&Json<'n>, LoadError> {
        let missing = || self.node.invalid(format!("parameter {i} is missing"));
        self.parameters.get(i).ok_or_else(missing)
    }

    fn value(&self, i: usize) -> Result<Expr, LoadError> {
        expression(self.parameter(i)?, self.scope, self.params)
    }

    fn target(&self, i: usize) -> Result<AssignTarget, LoadError> {
        target(self.parameter(i)?, self.scope, self.params)
    }

    fn header(&self, i: usize) -> Result<HeaderRef, LoadError> {
        header_ref(self.parameter(i)?, self.scope, self.params)
    }

    /// The type of a header, and whether it is metadata.
    fn kind(&self, header: &HeaderRef) -> (usize, bool) {
        let layout = &self.scope.layout;
        let header = match header {
            HeaderRef::Fixed(header) => layout.header(*header),
            HeaderRef::Element { stack, .. } => layout.header(layout.stack(*stack).headers[0]),
        };
        (header.kind, header.metadata)
    }

    fn stack(&self, i: usize) -> Result<u32, LoadError> {
        self.scope.stack(&self.parameter(i)?.get("value")?)
    }

    /// The array or calculation that a parameter names.
    fn named(&self, i: usize, kind: &'static str, map: &HashMap<String, u32>) -> Result<u32, LoadError> {
        self.parameter(i)?.get("value")?.named(map, kind).copied()
    }

    fn register(&self, i: usize) -> Result<u32, LoadError> {
        self.named(i, "register", &self.scope.registers)
    }

    fn field_list(&self, i: usize) -> Result<u32, LoadError> {
        self.listed(i, "field list", &self.scope.field_lists)
    }

    fn listed(&self, i: usize, kind: &'static str, map: &HashMap<u128, u32>) -> Result<u32, LoadError> {
        let value = self.parameter(i)?.get("value")?;
        let id = value.unsigned_hex()?;
        map.get(&id).copied().ok_or_else(|| value.dangling(kind, id.to_string()))
    }

    /// The index of a primitive within the action; its length is the end.
    fn jump(&self, i: usize, length: usize) -> Result<u32, LoadError> {
        let value = self.parameter(i)?.get("value")?;
        let to = value.unsigned_hex()?;
        if to > length as u128 {
            return Err(value.invalid(format!("a jump to {to} in an action of {length} primitives")));
        }
        Ok(to as u32)
    }
}

/// The target of an assignment: a field, or a field of a stack's element.
pub(crate) fn target(node: &Json<'_>, scope: &Scope, params: Params<'_>) -> Result<AssignTarget, LoadError> {
    let value = node.get("value")?;
    match node.get("type")?.str()? {
        "field" => {
            let place = scope.place(&value)?;
            if matches!(place, Place::Narrow(field) if scope.is_of_union(field)) {
                return Err(value.unsupported("an assignment to the validity of a union's header"));
            }
            Ok(assigned(place))
        }
        "stack_field" => {
            let (stack, offset, place) = scope.stack_field(&value)?;
            Ok(AssignTarget::Element { stack, index: scope.last_index(stack), offset, parts: place.count() })
        }
        "expression" if value.opt("op").is_none() => target(&value, scope, params),
        "expression" if value.get("op")?.str()? == "access_field" => match accessed(&value, scope, params)? {
            (HeaderRef::Fixed(_), place) => Ok(assigned(place)),
            (HeaderRef::Element { stack, index }, place) => {
                let offset = scope.offset(&value.get("right")?, stack, place)?;
                Ok(AssignTarget::Element { stack, index, offset, parts: place.count() })
            }
        },
        other => Err(node.unsupported(format!("an assignment to {other:?}"))),
    }
}

fn assigned(place: Place) -> AssignTarget {
    match place {
        Place::Narrow(field) => AssignTarget::Field(field),
        Place::Wide(field) => AssignTarget::Wide(field),
    }
}

/// The operators of P4_14's arithmetic primitives, which older compilers write, and whether in place.
fn arithmetic(name: &str) -> Option<(&'static str, bool)> {
    Some(match name {
        "add_to_field" => ("+", true),
        "subtract_from_field" => ("-", true),
        "add" => ("+", false),
        "subtract" => ("-", false),
        "bit_and" => ("&", false),
        "bit_or" => ("|", false),
        "bit_xor" => ("^", false),
        "shift_left" => ("<<", false),
        "shift_right" => (">>", false),
        _ => return None,
    })
}

fn op(node: &Json<'_>, scope: &Scope, params: Params<'_>, length: usize) -> Result<Op, LoadError> {
    let name = node.get("op")?;
    let call = Call { parameters: node.list("parameters")?, node, scope, params };
    if let Some((op, in_place)) = arithmetic(name.str()?) {
        let first = usize::from(!in_place);
        let sides = [call.parameter(first)?, call.parameter(first + 1)?];
        let value = operator(node, op, sides, scope, params)?;
        return Ok(Op::Assign { target: call.target(0)?, value });
    }
    Ok(match name.str()? {
        "assign" | "set" | "modify_field" => Op::Assign { target: call.target(0)?, value: call.value(1)? },
        "add_header" => Op::AddHeader(call.header(0)?),
        "remove_header" => Op::RemoveHeader(call.header(0)?),
        "assign_header" | "copy_header" => copy_header(&call)?,
        "assign_header_stack" => copy_stacks(&call, &[call.stack(0)?], &[call.stack(1)?])?,
        "assign_union_stack" => {
            let stacks = |i| scope.union_stack(&call.parameter(i)?.get("value")?);
            copy_stacks(&call, stacks(0)?, stacks(1)?)?
        }
        "assign_union" => {
            let union = |i| union_of(call.parameter(i)?, scope, params);
            let (targets, sources) = (union(0)?, union(1)?);
            if !targets.iter().map(|to| call.kind(to)).eq(sources.iter().map(|from| call.kind(from))) {
                return Err(node.invalid("the header unions have different types"));
            }
            Op::CopyHeaders { pairs: targets.into_iter().zip(sources).collect(), next: None }
        }
        "assign_VL" => match (call.target(0)?, call.target(1)?) {
            (AssignTarget::Wide(target), AssignTarget::Wide(source)) if source.width <= target.width => {
                Op::CopyVariable { target, source }
            }
            _ => return Err(node.invalid("the fields are not of variable length, or one is too short")),
        },
        name @ ("push" | "pop") => {
            Op::Shift { stack: call.stack(0)?, count: call.value(1)?, push: name == "push" }
        }
        "mark_to_drop" | "drop" => mark_to_drop(&call)?,
        "register_read" => {
            Op::RegisterRead { target: call.target(0)?, register: call.register(1)?, index: call.value(2)? }
        }
        "register_write" => {
            Op::RegisterWrite { register: call.register(0)?, index: call.value(1)?, value: call.value(2)? }
        }
        "count" => Op::Count { counter: call.named(0, "counter", &scope.counters)?, index: call.value(1)? },
        "execute_meter" => Op::ExecuteMeter {
            meter: call.named(0, "meter", &scope.meters)?,
            index: call.value(1)?,
            target: call.target(2)?,
        },
        "clone_ingress_pkt_to_egress" | "clone_egress_pkt_to_egress" => {
            Op::Clone { session: call.value(0)?, list: call.field_list(1)? }
        }
        "generate_digest" => Op::Digest(call.listed(1, "learn list", &scope.learn_lists)?),
        "resubmit" => Op::Resubmit(call.field_list(0)?),
        "recirculate" => Op::Recirculate(call.field_list(0)?),
        "modify_field_with_hash_based_offset" => Op::Hash {
            target: call.target(0)?,
            base: call.value(1)?,
            calculation: call.named(2, "calculation", &scope.calculations)?,
            max: call.value(3)?,
        },
        "modify_field_rng_uniform" => {
            Op::Random { target: call.target(0)?, low: call.value(1)?, high: call.value(2)? }
        }
        "truncate" => Op::Truncate(call.value(0)?),
        "assert" | "assume" => Op::Assert { condition: call.value(0)?, place: 0 },
        "exit" => Op::Exit,
        // Log messages of a program have no reader.
        "log_msg" | "no_op" => Op::Nothing,
        "_jump" => Op::Jump(call.jump(0, length)?),
        "_jump_if_zero" => Op::JumpIfZero { condition: call.value(0)?, to: call.jump(1, length)? },
        other => return Err(name.unsupported(format!("the primitive {other:?}{}", placed(node)))),
    })
}

/// The place in the source, for an error's text.
pub(crate) fn placed(node: &Json<'_>) -> String {
    match &*place(node) {
        "" => String::new(),
        place => format!(" ({place})"),
    }
}

/// The argument is metadata of the standard type: the packet's own, or a copy that an action works on.
/// P4_14's
/// `drop` has none.
fn mark_to_drop(call: &Call<'_, '_>) -> Result<Op, LoadError> {
    let scope = call.scope;
    let Some(argument) = call.parameters.first() else {
        let (egress_spec, mcast_grp) = ("egress_spec", "mcast_grp");
        let spec = scope.standard("standard_metadata", egress_spec);
        let egress_spec = spec.ok_or_else(|| call.node.dangling("field", egress_spec))?;
        return Ok(Op::MarkToDrop {
            egress_spec,
            mcast_grp: scope.standard("intrinsic_metadata", mcast_grp),
            place: 0,
        });
    };
    let header = argument.get("value")?;
    let name = header.str()?;
    let spec = scope.own(name, "egress_spec");
    let egress_spec = spec.ok_or_else(|| header.invalid(format!("{name:?} has no field egress_spec")))?;
    Ok(Op::MarkToDrop { egress_spec, mcast_grp: scope.own(name, "mcast_grp"), place: 0 })
}

fn copy_header(call: &Call<'_, '_>) -> Result<Op, LoadError> {
    let (target, source) = (call.header(0)?, call.header(1)?);
    if call.kind(&target) != call.kind(&source) {
        return Err(call.node.invalid("the headers have different types"));
    }
    Ok(Op::CopyHeaders { pairs: vec![(target, source)], next: None })
}

/// Of a stack of unions, the stacks of each kind of header.
fn copy_stacks(call: &Call<'_, '_>, targets: &[u32], sources: &[u32]) -> Result<Op, LoadError> {
    let layout = &call.scope.layout;
    let shape = |stack: &u32| {
        let headers = &layout.stack(*stack).headers;
        (layout.header(headers[0]).kind, headers.len())
    };
    if !targets.iter().map(shape).eq(sources.iter().map(shape)) {
        return Err(call.node.invalid("the header stacks have different types"));
    }
    let headers = |stacks: &[u32]| -> Vec<u32> {
        stacks.iter().flat_map(|&stack| layout.stack(stack).headers.iter().copied()).collect()
    };
    let pairs = headers(targets).into_iter().zip(headers(sources));
    let pairs = pairs.map(|(to, from)| (HeaderRef::Fixed(to), HeaderRef::Fixed(from))).collect();
    Ok(Op::CopyHeaders { pairs, next: Some((layout.stack(targets[0]).next, layout.stack(sources[0]).next)) })
}
