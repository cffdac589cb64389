//! The lowered program in BMv2's JSON (p4lang/behavioral-model, JSON_format.md).

mod action;
mod control;
mod expression;
mod parser;
mod table;

use num_bigint::BigInt;
use serde_json::{json, Value};

use crate::diagnostic::Diagnostics;
use crate::lower::ir::{Array, ArrayKind, FieldRef, HeaderField, HeaderRef, Program};
use crate::source::{Sources, Span};

/// The version of BMv2's JSON that is written.
const VERSION: [u32; 2] = [2, 23];

/// Fields of `standard_metadata` that BMv2 knows by other names.
const ALIASES: [(&str, &str); 9] = [
    ("queueing_metadata.enq_timestamp", "enq_timestamp"),
    ("queueing_metadata.enq_qdepth", "enq_qdepth"),
    ("queueing_metadata.deq_timedelta", "deq_timedelta"),
    ("queueing_metadata.deq_qdepth", "deq_qdepth"),
    ("intrinsic_metadata.ingress_global_timestamp", "ingress_global_timestamp"),
    ("intrinsic_metadata.egress_global_timestamp", "egress_global_timestamp"),
    ("intrinsic_metadata.mcast_grp", "mcast_grp"),
    ("intrinsic_metadata.egress_rid", "egress_rid"),
    ("intrinsic_metadata.priority", "priority"),
];

/// BMv2's JSON of a program; tells `diagnostics` what the target does not have.
pub fn json(program: &Program, name: &str, sources: &Sources, diagnostics: &mut Diagnostics) -> Value {
    let mut writer = Writer { program, sources, diagnostics, actions: Vec::new() };
    writer.program(name)
}

struct Writer<'a> {
    program: &'a Program,
    sources: &'a Sources,
    diagnostics: &'a mut Diagnostics,
    /// The JSON of all actions: those of the program, then those made of statements of controls.
    actions: Vec<Value>,
}

/// `0x2a`
fn hex(number: &BigInt) -> String {
    if *number < BigInt::from(0) {
        format!("-0x{:x}", -number)
    } else {
        format!("0x{number:x}")
    }
}

impl Writer<'_> {
    fn program(&mut self, name: &str) -> Value {
        for action in &self.program.actions {
            let id = self.actions.len();
            let value = self.action(id, action);
            self.actions.push(value);
        }
        let parser = self.parser();
        let pipelines = [
            self.pipeline("ingress", 0, &self.program.ingress),
            self.pipeline("egress", 1, &self.program.egress),
        ];
        let program = self.program;
        let order: Vec<&str> =
            program.deparser.iter().map(|&header| &*program.headers[header].name).collect();
        let mut deparser = json!({"name": "deparser", "id": 0, "order": order, "primitives": []});
        self.place(&mut deparser, program.deparser_span.unwrap_or_default());
        let errors: Vec<Value> =
            program.errors.iter().enumerate().map(|(id, name)| json!([&**name, id])).collect();
        let vsets: Vec<Value> = program
            .value_sets
            .iter()
            .enumerate()
            .map(|(id, set)| {
                json!({"name": set.name, "id": id, "compressed_bitwidth": set.of.width(), "max_size": set.size})
            })
            .collect();
        let standard = &program.header_types[1].fields;
        let aliases: Vec<Value> = ALIASES
            .iter()
            .filter(|(_, field)| standard.iter().any(|known| known.name == *field))
            .map(|(alias, field)| json!([alias, ["standard_metadata", field]]))
            .collect();
        json!({
            "program": name,
            "__meta__": {"version": VERSION, "compiler": "https://github.com/groupflow"},
            "header_types": self.header_types(),
            "headers": self.headers(),
            "header_stacks": self.stacks(),
            "header_union_types": self.union_types(),
            "header_unions": self.unions(),
            "header_union_stacks": self.union_stacks(),
            "field_lists": self.lists(&program.field_lists),
            "learn_lists": self.lists(&program.digests),
            "errors": errors,
            "enums": [],
            "parsers": [parser],
            "parse_vsets": vsets,
            "deparsers": [deparser],
            "counter_arrays": self.arrays(&|kind| *kind == ArrayKind::Counter),
            "meter_arrays": self.arrays(&|kind| *kind == ArrayKind::Meter),
            "register_arrays": self.arrays(&|kind| matches!(kind, ArrayKind::Register { .. })),
            "calculations": self.calculations(),
            "checksums": self.checksums(),
            "actions": std::mem::take(&mut self.actions),
            "pipelines": pipelines,
            "force_arith": [],
            "extern_instances": [],
            "field_aliases": aliases,
        })
    }

    /// Adds the place in the source to an object.
    fn place(&self, object: &mut Value, span: Span) {
        if span == Span::default() {
            return;
        }
        let place = self.sources.position(span);
        let fragment: String = self.sources.text(span).split_whitespace().collect::<Vec<_>>().join(" ");
        object["source_info"] = json!({
            "filename": self.sources.file(span.file).path,
            "line": place.line,
            "column": place.column - 1,
            "source_fragment": fragment.chars().take(120).collect::<String>(),
        });
    }

    fn header_types(&self) -> Value {
        let field = |field: &HeaderField| match field.varbit {
            true => json!([field.name, "*"]),
            false => json!([field.name, field.width, field.signed]),
        };
        let types = self.program.header_types.iter().enumerate().map(|(id, kind)| {
            let mut fields: Vec<Value> = kind.fields.iter().map(field).collect();
            let metadata = id == 0;
            let bits: u32 = kind.fields.iter().map(|field| field.width).sum();
            if metadata && bits % 8 != 0 {
                fields.push(json!(["_padding", 8 - bits % 8, false]));
            }
            let mut value = json!({"name": kind.name, "id": id, "fields": fields});
            if let Some(varbit) = kind.fields.iter().find(|field| field.varbit) {
                let others: u32 =
                    kind.fields.iter().filter(|field| !field.varbit).map(|field| field.width).sum();
                value["max_length"] = json!((varbit.width + others).div_ceil(8));
            }
            value
        });
        types.collect()
    }

    fn headers(&self) -> Value {
        let program = self.program;
        let headers = program.headers.iter().enumerate().map(|(id, header)| {
            json!({
                "name": header.name, "id": id, "header_type": program.header_types[header.of].name,
                "metadata": header.metadata, "pi_omit": true,
            })
        });
        headers.collect()
    }

    fn stacks(&self) -> Value {
        let program = self.program;
        let stacks = program.stacks.iter().enumerate().map(|(id, stack)| {
            json!({
                "name": stack.name, "id": id, "header_type": program.header_types[stack.of].name,
                "size": stack.headers.len(), "header_ids": stack.headers,
            })
        });
        stacks.collect()
    }

    fn union_types(&self) -> Value {
        let mut types: Vec<Value> = Vec::new();
        for union in &self.program.unions {
            if types.iter().any(|known| known["name"] == union.type_name) {
                continue;
            }
            let headers: Vec<Value> = union
                .members
                .iter()
                .map(|(name, id)| {
                    let kind = self.program.headers[*id].of;
                    json!([&**name, self.program.header_types[kind].name])
                })
                .collect();
            types.push(json!({"name": union.type_name, "id": types.len(), "headers": headers}));
        }
        types.into()
    }

    fn unions(&self) -> Value {
        let unions = self.program.unions.iter().enumerate().map(|(id, union)| {
            let ids: Vec<usize> = union.members.iter().map(|(_, id)| *id).collect();
            json!({"name": union.name, "id": id, "union_type": union.type_name, "header_ids": ids, "pi_omit": true})
        });
        unions.collect()
    }

    fn union_stacks(&self) -> Value {
        let stacks = self.program.union_stacks.iter().enumerate().map(|(id, stack)| {
            json!({
                "name": stack.name, "id": id, "union_type": stack.type_name, "size": stack.unions.len(),
                "header_union_ids": stack.unions,
            })
        });
        stacks.collect()
    }

    fn lists(&mut self, lists: &[crate::lower::ir::FieldList]) -> Value {
        let mut made = Vec::new();
        for (place, list) in lists.iter().enumerate() {
            let elements: Vec<Value> =
                list.values.iter().map(|(value, width)| self.input(value, *width)).collect();
            let mut value = json!({"name": list.name, "id": place + 1, "elements": elements});
            self.place(&mut value, list.span);
            made.push(value);
        }
        made.into()
    }

    /// A field or a constant with its width: what checksums, hashes and digests are made of.
    fn input(&mut self, value: &crate::lower::ir::Expr, width: u32) -> Value {
        match value {
            crate::lower::ir::Expr::Number(number) => {
                json!({"type": "hexstr", "value": hex(number), "bitwidth": width})
            }
            other => self.parameter(other),
        }
    }

    fn arrays(&mut self, wanted: &dyn Fn(&ArrayKind) -> bool) -> Value {
        let program = self.program;
        let mut made = Vec::new();
        // A direct one that no table has, or whose colour nobody reads, does nothing.
        let used = |array: &&Array| {
            !array.direct
                || array.table.is_some() && (array.kind != ArrayKind::Meter || array.result.is_some())
        };
        for array in program.arrays.iter().filter(|array| wanted(&array.kind)).filter(used) {
            let mut value = json!({"name": array.name, "id": made.len(), "size": array.size});
            match array.kind {
                ArrayKind::Register { width, .. } => value["bitwidth"] = json!(width),
                ArrayKind::Counter => value["is_direct"] = json!(array.direct),
                ArrayKind::Meter => {
                    value["is_direct"] = json!(array.direct);
                    value["rate_count"] = json!(2);
                    value["type"] = json!(&*array.unit);
                    if let Some(result) = &array.result {
                        value["result_target"] = self.names(result);
                    }
                }
            }
            if let Some(table) = array.table {
                value["binding"] = json!(program.tables[table].name);
            }
            self.place(&mut value, array.span);
            made.push(value);
        }
        made.into()
    }

    fn calculations(&mut self) -> Value {
        let mut made = Vec::new();
        for (id, calculation) in self.program.calculations.iter().enumerate() {
            let mut input: Vec<Value> =
                calculation.input.iter().map(|(value, width)| self.input(value, *width)).collect();
            if calculation.with_payload {
                input.push(json!({"type": "payload", "value": null}));
            }
            let (name, algorithm) = (calculation_name(id), &*calculation.algorithm);
            let mut value = json!({"name": name, "id": id, "algo": algorithm, "input": input});
            self.place(&mut value, calculation.span);
            made.push(value);
        }
        made.into()
    }

    fn checksums(&mut self) -> Value {
        let mut made = Vec::new();
        for (id, checksum) in self.program.checksums.iter().enumerate() {
            let condition = self.condition(&checksum.condition);
            let mut value = json!({
                "name": format!("cksum_{id}"), "id": id, "target": self.names(&checksum.target), "type": "generic",
                "calculation": calculation_name(checksum.calculation), "verify": checksum.verify,
                "update": !checksum.verify, "if_cond": condition,
            });
            self.place(&mut value, checksum.span);
            made.push(value);
        }
        made.into()
    }

    /// `["header", "field"]` of a field in a fixed header.
    fn names(&mut self, field: &FieldRef) -> Value {
        match &field.header {
            HeaderRef::Fixed(id) => {
                let header = &self.program.headers[*id];
                json!([header.name, self.program.header_types[header.of].fields[field.field].name])
            }
            _ => {
                self.diagnostics.error(Span::default(), "the target takes a field of a fixed header here");
                json!(null)
            }
        }
    }
}

fn calculation_name(id: usize) -> String {
    format!("calc_{id}")
}
