//! Headers and fields for variables.

use super::ir::{
    Expr, FieldRef, Header, HeaderField, HeaderId, HeaderRef, HeaderType, Stack, Union, UnionRef, UnionStack,
};
use super::value::{index_name, Value};
use super::{Lowered, Lowering};
use crate::check::types::{Composite, Shape, Type};
use crate::source::{Name, Span};

/// The header of all variables that are numbers.
pub const SCALARS: HeaderId = 0;
/// The architecture's metadata.
pub const STANDARD: HeaderId = 1;

impl Lowering<'_, '_> {
    /// The headers that every program has.
    pub fn standard_headers(&mut self) {
        for (place, name) in ["scalars", "standard_metadata"].into_iter().enumerate() {
            self.program.header_types.push(HeaderType { name: format!("{name}_t"), fields: Vec::new() });
            self.program.headers.push(Header { name: name.to_owned(), of: place, metadata: true });
            self.names.insert(name.to_owned());
        }
        // Fields in which parsers keep the value of a condition.
        self.field(SCALARS, "condition", &Type::Bool);
        self.names.insert("scalars.condition".to_owned());
    }

    /// Fields of `standard_metadata` as places.
    pub fn standard_metadata(&mut self, of: &Composite) -> Value {
        let mut parts = Vec::new();
        for field in &of.fields {
            let place = self.field(STANDARD, &field.name, &field.of);
            parts.push((field.name.clone(), place));
        }
        // BMv2 keeps fields here that P4 does not see, and wants whole bytes.
        let bits: u32 = self.program.header_types[STANDARD].fields.iter().map(|field| field.width).sum();
        if bits % 8 != 0 {
            let padding = HeaderField {
                name: "_padding".to_owned(),
                width: 8 - bits % 8,
                signed: false,
                varbit: false,
            };
            self.program.header_types[STANDARD].fields.push(padding);
        }
        Value::Group(parts)
    }

    /// A new field of a header that holds variables.
    fn field(&mut self, header: HeaderId, name: &str, of: &Type) -> Value {
        let of = of.underlying();
        let (width, signed, varbit) = match of {
            Type::Bits { width, signed } => (*width, *signed, false),
            Type::Varbit(width) => (*width, false, true),
            Type::Bool => (1, false, false),
            _ => (32, false, false),
        };
        let fields = &mut self.program.header_types[header].fields;
        fields.push(HeaderField { name: name.to_owned(), width, signed, varbit });
        let field = FieldRef { header: HeaderRef::Fixed(header), field: fields.len() - 1 };
        let place = Expr::Field(field);
        Value::Scalar(if *of == Type::Bool { Expr::ToBool(Box::new(place)) } else { place })
    }

    /// A place for a variable of any type.
    pub fn allocate(&mut self, name: &str, of: &Type, span: Span) -> Lowered<Value> {
        Ok(match of.underlying() {
            Type::Composite(composite) => match composite.shape {
                Shape::Struct => {
                    let mut parts = Vec::new();
                    for field in &composite.fields {
                        let place = self.allocate(&format!("{name}.{}", field.name), &field.of, span)?;
                        parts.push((field.name.clone(), place));
                    }
                    Value::Group(parts)
                }
                Shape::Header => Value::Header(HeaderRef::Fixed(self.header(name, composite, of))),
                Shape::Union => Value::Union(UnionRef::Fixed(self.union(name, composite))),
            },
            Type::Tuple(types) => {
                let mut parts = Vec::new();
                for (place, one) in types.iter().enumerate() {
                    parts.push((index_name(place), self.allocate(&format!("{name}.{place}"), one, span)?));
                }
                Value::Group(parts)
            }
            Type::Array(element, size) => self.array(name, element, *size, span)?,
            Type::Varbit(_) => {
                let scalar = self.unique(&name.replace('.', "_"));
                self.varbit(&scalar, of)
            }
            Type::Bits { .. } | Type::Bool | Type::Error | Type::Enum(_) => {
                let scalar = self.unique(&format!("scalars.{name}"));
                self.field(SCALARS, &scalar["scalars.".len()..], of)
            }
            Type::Void | Type::Object(..) | Type::ActionRun | Type::Applied => Value::Nothing,
            other => {
                let message = format!("a variable of type {other} is not supported");
                return self.refuse(span, message);
            }
        })
    }

    /// A varbit variable is a header of its own: only headers have fields of changing length.
    fn varbit(&mut self, name: &str, of: &Type) -> Value {
        let id = self.program.headers.len();
        self.program.header_types.push(HeaderType { name: format!("{name}_t"), fields: Vec::new() });
        self.program.headers.push(Header {
            name: name.to_owned(),
            of: self.program.header_types.len() - 1,
            metadata: false,
        });
        let kind = self.program.headers[id].of;
        let width = of.width().unwrap_or(0);
        self.program.header_types[kind].fields.push(HeaderField {
            name: "field".to_owned(),
            width,
            signed: false,
            varbit: true,
        });
        Value::Scalar(Expr::Field(FieldRef { header: HeaderRef::Fixed(id), field: 0 }))
    }

    fn array(&mut self, name: &str, element: &Type, size: u32, span: Span) -> Lowered<Value> {
        let mut elements = Vec::new();
        for place in 0..size {
            elements.push(self.allocate(&format!("{name}[{place}]"), element, span)?);
        }
        let own = self.unique(&format!("stack {name}"))["stack ".len()..].to_owned();
        if element.is_header() {
            let headers: Vec<HeaderId> = elements
                .iter()
                .filter_map(|one| match one {
                    Value::Header(HeaderRef::Fixed(id)) => Some(*id),
                    _ => None,
                })
                .collect();
            let Some(first) = headers.first() else {
                return self.refuse(span, "a stack without elements is not supported");
            };
            let of = self.program.headers[*first].of;
            self.program.stacks.push(Stack { name: own, of, headers });
            return Ok(Value::Stack(self.program.stacks.len() - 1));
        }
        if element.is_union() {
            let unions: Vec<usize> = elements
                .iter()
                .filter_map(|one| match one {
                    Value::Union(UnionRef::Fixed(id)) => Some(*id),
                    _ => None,
                })
                .collect();
            let Some(first) = unions.first() else {
                return self.refuse(span, "a stack without elements is not supported");
            };
            let type_name = self.program.unions[*first].type_name.clone();
            self.program.union_stacks.push(UnionStack { name: own, type_name, unions });
            return Ok(Value::UnionStack(self.program.union_stacks.len() - 1));
        }
        Ok(Value::Group(
            elements.into_iter().enumerate().map(|(place, one)| (index_name(place), one)).collect(),
        ))
    }

    fn header(&mut self, name: &str, composite: &Composite, of: &Type) -> HeaderId {
        let kind = self.header_type(composite, of);
        let name = self.unique(name);
        self.program.headers.push(Header { name, of: kind, metadata: false });
        self.program.headers.len() - 1
    }

    /// The target's type of a header: structs in it are taken apart.
    fn header_type(&mut self, composite: &Composite, of: &Type) -> usize {
        if let Some(&kind) = self.header_types.get(of) {
            return kind;
        }
        let mut fields = Vec::new();
        for field in &composite.fields {
            flatten(&field.name, &field.of, &mut fields);
        }
        let bits: u32 = fields.iter().filter(|field| !field.varbit).map(|field| field.width).sum();
        if bits % 8 != 0 {
            let message = format!("header `{}` has {bits} bits, which are not whole bytes", composite.name);
            self.diagnostics.error(composite.span, message);
        }
        let name = self.unique(&format!("type {}", composite.name))["type ".len()..].to_owned();
        self.program.header_types.push(HeaderType { name, fields });
        let kind = self.program.header_types.len() - 1;
        self.header_types.insert(of.clone(), kind);
        kind
    }

    fn union(&mut self, name: &str, composite: &Composite) -> usize {
        let mut members: Vec<(Name, HeaderId)> = Vec::new();
        for field in &composite.fields {
            if let Type::Composite(inner) = &field.of {
                let id = self.header(&format!("{name}.{}", field.name), inner, &field.of);
                members.push((field.name.clone(), id));
            }
        }
        let name = self.unique(&format!("union {name}"))["union ".len()..].to_owned();
        self.program.unions.push(Union { name, type_name: composite.name.to_string(), members });
        self.program.unions.len() - 1
    }

    /// The field of a header by the names behind the dots; a struct in a header gives its parts.
    pub fn header_field(&self, header: &HeaderRef, path: &str, of: &Type) -> Value {
        let kind = self.kind_of_header(header);
        let fields = &self.program.header_types[kind].fields;
        if let Type::Composite(composite) = of.underlying() {
            let part = |field: &crate::check::types::Field| {
                (field.name.clone(), self.header_field(header, &format!("{path}.{}", field.name), &field.of))
            };
            return Value::Group(composite.fields.iter().map(part).collect());
        }
        if let Type::Array(element, size) = of.underlying() {
            let part = |place: usize| {
                (index_name(place), self.header_field(header, &format!("{path}.{place}"), element))
            };
            return Value::Group((0..*size as usize).map(part).collect());
        }
        let Some(field) = fields.iter().position(|field| field.name == path) else { return Value::Nothing };
        let place = Expr::Field(FieldRef { header: header.clone(), field });
        Value::Scalar(if *of.underlying() == Type::Bool { Expr::ToBool(Box::new(place)) } else { place })
    }

    pub fn kind_of_header(&self, header: &HeaderRef) -> usize {
        match header {
            HeaderRef::Fixed(id) => self.program.headers[*id].of,
            HeaderRef::Element(stack, _) | HeaderRef::Next(stack) | HeaderRef::Last(stack) => {
                self.program.stacks[*stack].of
            }
            HeaderRef::Member(union, member) => {
                let id = match union {
                    UnionRef::Fixed(id) => *id,
                    UnionRef::Element(stack, _) | UnionRef::Next(stack) | UnionRef::Last(stack) => {
                        self.program.union_stacks[*stack].unions[0]
                    }
                };
                let header = self.program.unions[id].members[*member].1;
                self.program.headers[header].of
            }
        }
    }
}

fn flatten(name: &str, of: &Type, fields: &mut Vec<HeaderField>) {
    match of.underlying() {
        Type::Composite(composite) => {
            for field in &composite.fields {
                flatten(&format!("{name}.{}", field.name), &field.of, fields);
            }
        }
        Type::Array(element, size) => {
            for place in 0..*size {
                flatten(&format!("{name}.{place}"), element, fields);
            }
        }
        Type::Bits { width, signed } => {
            fields.push(HeaderField { name: name.to_owned(), width: *width, signed: *signed, varbit: false });
        }
        Type::Varbit(width) => {
            fields.push(HeaderField { name: name.to_owned(), width: *width, signed: false, varbit: true });
        }
        _ => fields.push(HeaderField { name: name.to_owned(), width: 1, signed: false, varbit: false }),
    }
}
