//! The lowered program in BMv2's JSON (p4lang/behavioral-model, JSON_format.md).

mod action;
mod control;
mod parser;
mod table;

use num_bigint::{BigInt, Sign};
use serde_json::{json, Value};

use crate::diagnostic::Diagnostics;
use crate::lower::assign::ones;
use crate::lower::ir::{
    calculation_name, ArrayKind, Expr, FieldList, FieldRef, HeaderField, HeaderRef, HeaderType, Program,
};
use crate::lower::storage::{SCALARS, STANDARD};
use crate::source::{Sources, Span};

/// The version of BMv2's JSON that is written.
const VERSION: [u32; 2] = [2, 23];

/// Fields of `standard_metadata` that BMv2 also knows as those of other headers.
const ALIASES: [(&str, &str); 2] = [
    ("queueing_metadata", "enq_timestamp enq_qdepth deq_timedelta deq_qdepth"),
    ("intrinsic_metadata", "ingress_global_timestamp egress_global_timestamp mcast_grp egress_rid priority"),
];

/// BMv2's JSON of a program; tells `diagnostics` what the target does not have.
pub fn json(program: &Program, name: &str, sources: &Sources, diagnostics: &mut Diagnostics) -> Value {
    let mut writer = Writer { program, sources, diagnostics, actions: Vec::new(), nodes: 0 };
    writer.program(name)
}

struct Writer<'a> {
    program: &'a Program,
    sources: &'a Sources,
    diagnostics: &'a mut Diagnostics,
    /// The JSON of all actions: those of the program, then those made of statements of controls.
    actions: Vec<Value>,
    /// Tables and conditions so far. BMv2 knows those of both pipelines by one set of numbers and names.
    nodes: usize,
}

impl Writer<'_> {
    fn program(&mut self, name: &str) -> Value {
        let program = self.program;
        for action in &program.actions {
            let value = self.action(action);
            self.actions.push(value);
        }
        let parser = self.parser();
        let pipelines =
            numbered([self.pipeline("ingress", &program.ingress), self.pipeline("egress", &program.egress)]);
        json!({
            "program": name,
            "__meta__": {"version": VERSION, "compiler": "https://github.com/groupflow"},
            "header_types": numbered(program.header_types.iter().enumerate().map(header_type)),
            "headers": self.headers(),
            "header_stacks": self.stacks(false),
            "header_union_types": self.union_types(),
            "header_unions": self.unions(),
            "header_union_stacks": self.stacks(true),
            "field_lists": self.lists(&program.field_lists),
            "learn_lists": self.lists(&program.digests),
            "errors": (0..).zip(&program.errors).map(|(id, name)| json!([&**name, id])).collect::<Value>(),
            "enums": [],
            "parsers": numbered([parser]),
            "parse_vsets": numbered(program.value_sets.iter().map(|set| {
                json!({"name": set.head.name, "compressed_bitwidth": set.of.width(), "max_size": set.size})
            })),
            "deparsers": self.deparsers(),
            "counter_arrays": self.arrays(|kind| *kind == ArrayKind::Counter),
            "meter_arrays": self.arrays(|kind| *kind == ArrayKind::Meter),
            "register_arrays": self.arrays(|kind| *kind == ArrayKind::Register),
            "calculations": self.calculations(),
            "checksums": self.checksums(),
            "actions": numbered(std::mem::take(&mut self.actions)),
            "pipelines": pipelines,
            "force_arith": self.union_fields(),
            "extern_instances": [],
            "field_aliases": self.aliases(),
        })
    }

    /// A table or a condition, with its number and its place in the source.
    fn node(&mut self, mut object: Value, span: Span) -> Value {
        object["id"] = self.nodes.into();
        self.nodes += 1;
        self.placed(object, span)
    }

    /// An object with its place in the source.
    fn placed(&self, mut object: Value, span: Span) -> Value {
        if span != Span::default() {
            let place = self.sources.position(span);
            let fragment: String = self.sources.text(span).split_whitespace().collect::<Vec<_>>().join(" ");
            object["source_info"] = json!({
                "filename": self.sources.file(span.file).path,
                "line": place.line,
                "column": place.column - 1,
                "source_fragment": fragment.chars().take(120).collect::<String>(),
            });
        }
        object
    }

    fn type_name(&self, header_type: usize) -> &str {
        &self.program.header_types[header_type].name
    }

    fn headers(&self) -> Value {
        numbered(self.program.headers.iter().map(|header| {
            let of = self.type_name(header.of);
            let metadata = header.of <= STANDARD;
            json!({"name": header.name, "header_type": of, "metadata": metadata, "pi_omit": true})
        }))
    }

    fn stacks(&self, of_unions: bool) -> Value {
        let program = self.program;
        numbered(program.stacks.iter().filter(|stack| stack.of_unions == of_unions).map(|stack| {
            let (ids, first) = (&stack.elements, stack.elements[0]);
            if of_unions {
                let of = &program.unions[first].type_name;
                json!({"name": stack.name, "union_type": of, "size": ids.len(), "header_union_ids": ids})
            } else {
                let of = self.type_name(program.headers[first].of);
                json!({"name": stack.name, "header_type": of, "size": ids.len(), "header_ids": ids})
            }
        }))
    }

    fn union_types(&self) -> Value {
        let mut types: Vec<Value> = Vec::new();
        for union in &self.program.unions {
            if types.iter().all(|known| known["name"] != union.type_name) {
                let kind = |id: usize| self.type_name(self.program.headers[id].of);
                let headers = union.members.iter().map(|(name, id)| json!([&**name, kind(*id)]));
                types.push(json!({"name": union.type_name, "headers": headers.collect::<Value>()}));
            }
        }
        numbered(types)
    }

    fn unions(&self) -> Value {
        numbered(self.program.unions.iter().map(|union| {
            let ids: Vec<usize> = union.members.iter().map(|(_, id)| *id).collect();
            json!({"name": union.name, "union_type": union.type_name, "header_ids": ids, "pi_omit": true})
        }))
    }

    /// BMv2 assigns unions as numbers, but makes numbers only of fields that it computes with or finds here.
    fn union_fields(&self) -> Value {
        let Program { unions, headers, header_types, .. } = self.program;
        let members = unions.iter().flat_map(|union| &union.members).map(|(_, id)| &headers[*id]);
        let fields = |of: usize| header_types[of].fields.iter();
        members.flat_map(|one| fields(one.of).map(|field| json!([one.name, field.name]))).collect()
    }

    /// Field lists and digests: their ids are those that primitives name, from 1 on.
    fn lists(&mut self, lists: &[FieldList]) -> Value {
        let list = |(place, list): (usize, &FieldList)| {
            let value = json!({"name": list.name, "id": place + 1, "elements": self.inputs(&list.values)});
            self.placed(value, list.span)
        };
        lists.iter().enumerate().map(list).collect()
    }

    /// Fields, and constants with their widths: the input of checksums, hashes and digests.
    fn inputs(&mut self, values: &[(Expr, u32)]) -> Vec<Value> {
        let input = |(value, width): &(Expr, u32)| match value {
            Expr::Number(number) => {
                json!({"type": "hexstr", "value": bytes([(number, *width)]), "bitwidth": width})
            }
            other => self.parameter(other),
        };
        values.iter().map(input).collect()
    }

    fn deparsers(&mut self) -> Value {
        let program = self.program;
        let primitives = self.primitives(&program.deparser.body);
        let order: Vec<&str> = program.emitted.iter().map(|&header| &*program.headers[header].name).collect();
        let deparser = json!({"name": "deparser", "order": order, "primitives": primitives});
        numbered([self.placed(deparser, program.deparser.span)])
    }

    fn aliases(&self) -> Value {
        let standard = &self.program.header_types[STANDARD].fields;
        let all = ALIASES.iter().flat_map(|(header, fields)| fields.split(' ').map(move |one| (header, one)));
        let known = all.filter(|(_, field)| standard.iter().any(|known| known.name == *field));
        known.map(|(header, one)| json!([format!("{header}.{one}"), ["standard_metadata", one]])).collect()
    }

    fn arrays(&mut self, wanted: impl Fn(&ArrayKind) -> bool) -> Value {
        let program = self.program;
        let arrays = program.arrays.iter().filter(|array| wanted(&array.kind));
        let meters = arrays.clone().filter(|array| array.direct && array.kind == ArrayKind::Meter);
        for half in meters.filter(|meter| meter.table.is_some() != meter.result.is_some()) {
            let message = "a direct meter is in `meters` of a table, and an action of the table reads it";
            self.diagnostics.error(half.head.span, message);
        }
        // A direct one that no table has does nothing.
        numbered(arrays.filter(|array| !array.direct || array.table.is_some()).map(|array| {
            let mut value = json!({"name": array.head.name, "size": array.size});
            match array.kind {
                ArrayKind::Register => value["bitwidth"] = json!(array.element.width()),
                ArrayKind::Counter => value["is_direct"] = json!(array.direct),
                ArrayKind::Meter => {
                    value["is_direct"] = json!(array.direct);
                    value["rate_count"] = json!(2);
                    value["type"] = json!(array.unit);
                    if let Some(result) = &array.result {
                        value["result_target"] = self.names(result);
                    }
                }
            }
            if let Some(table) = array.table {
                value["binding"] = json!(program.tables[table].head.name);
            }
            self.placed(value, array.head.span)
        }))
    }

    fn calculations(&mut self) -> Value {
        numbered(self.program.calculations.iter().enumerate().map(|(id, calculation)| {
            let mut input = self.inputs(&calculation.input);
            if calculation.with_payload {
                input.push(typed("payload", Value::Null));
            }
            let algorithm = calculation.algorithm;
            let value = json!({"name": calculation_name(id), "algo": algorithm, "input": input});
            self.placed(value, calculation.span)
        }))
    }

    fn checksums(&mut self) -> Value {
        numbered(self.program.checksums.iter().enumerate().map(|(id, checksum)| {
            let value = json!({
                "name": format!("cksum_{id}"), "target": self.names(&checksum.target), "type": "generic",
                "calculation": calculation_name(checksum.calculation), "verify": checksum.verify,
                "update": !checksum.verify, "if_cond": self.expression(&checksum.condition),
            });
            self.placed(value, checksum.span)
        }))
    }

    /// `["header", "field"]` of a field in a fixed header.
    fn names(&mut self, field: &FieldRef) -> Value {
        let HeaderRef::Fixed(id) = field.header else {
            self.diagnostics.error(Span::default(), "the target takes a field of a fixed header here");
            return Value::Null;
        };
        let header = &self.program.headers[id];
        json!([header.name, self.program.header_types[header.of].fields[field.field].name])
    }
}

fn header_type((id, kind): (usize, &HeaderType)) -> Value {
    let bits = |varbit: bool| -> u32 {
        kind.fields.iter().filter(|field| field.varbit == varbit).map(|field| field.width).sum()
    };
    let field = |field: &HeaderField| match field.varbit {
        true => json!([field.name, "*"]),
        false => json!([field.name, field.width, field.signed]),
    };
    let mut fields: Vec<Value> = kind.fields.iter().map(field).collect();
    if id == SCALARS && bits(false) % 8 != 0 {
        fields.push(json!(["_padding", 8 - bits(false) % 8, false]));
    }
    let mut value = json!({"name": kind.name, "fields": fields});
    if kind.fields.iter().any(|field| field.varbit) {
        value["max_length"] = json!((bits(true) + bits(false)).div_ceil(8));
    }
    value
}

/// Objects with their numbers.
fn numbered(objects: impl IntoIterator<Item = Value>) -> Value {
    let number = |(id, mut object): (usize, Value)| {
        object["id"] = id.into();
        object
    };
    objects.into_iter().enumerate().map(number).collect()
}

/// An operand: the kind of its value, and the value.
fn typed(kind: &str, value: impl Into<Value>) -> Value {
    json!({"type": kind, "value": value.into()})
}

fn number(number: &BigInt) -> Value {
    typed("hexstr", hex(number))
}

/// Numbers one after the other with their widths: BMv2 takes as many bytes as the text has.
fn bytes<'n>(numbers: impl IntoIterator<Item = (&'n BigInt, u32)>) -> String {
    let number = |(number, width): (&BigInt, u32)| {
        format!("{:0>digits$x}", number & ones(width), digits = 2 * width.div_ceil(8) as usize)
    };
    "0x".to_owned() + &numbers.into_iter().map(number).collect::<String>()
}

/// `0x2a`
fn hex(number: &BigInt) -> String {
    let sign = if number.sign() == Sign::Minus { "-" } else { "" };
    format!("{sign}0x{:x}", number.magnitude())
}
