//! Headers and fields for variables (P4_16 specification, sections 7.2 and 11.2).

use super::ir::{add, Expr, FieldRef, Header, HeaderField, HeaderId, HeaderRef, HeaderType, Stack, Union};
use super::value::{parts_of, Value};
use super::{Lowered, Lowering};
use crate::check::types::{Composite, Shape, Type};
use crate::source::Name;

/// The header of all variables that are numbers, and its type.
pub const SCALARS: HeaderId = 0;
/// The architecture's metadata, and their type.
pub const STANDARD: HeaderId = 1;

/// The field in which parsers keep the value of a condition.
pub const CONDITION: FieldRef = FieldRef { header: HeaderRef::Fixed(SCALARS), field: 0 };

impl HeaderField {
    fn new(name: &str, of: &Type) -> Self {
        let (width, signed, varbit) = match of.underlying() {
            Type::Bits { width, signed } => (*width, *signed, false),
            Type::Varbit(width) => (*width, false, true),
            Type::Bool => (1, false, false),
            _ => (32, false, false),
        };
        Self { name: name.to_owned(), width, signed, varbit }
    }
}

impl Lowering<'_, '_> {
    /// The headers that every program has.
    pub fn standard_headers(&mut self) {
        for name in ["scalars", "standard_metadata"] {
            let of = self.new_header_type(format!("{name}_t"), Vec::new());
            self.new_header(name.to_owned(), of);
            self.names.insert(name.to_owned());
        }
        self.field(SCALARS, "condition", &Type::Bool);
        self.names.insert("scalars.condition".to_owned());
    }

    /// Fields of `standard_metadata` as places.
    pub fn standard_metadata(&mut self, of: &Type) -> Value {
        let part = |(name, of): (Name, Type)| (name.clone(), self.field(STANDARD, &name, &of));
        let parts = parts_of(of).into_iter().map(part).collect();
        // BMv2 keeps fields here that P4 does not see, and wants whole bytes.
        let fields = &mut self.program.header_types[STANDARD].fields;
        let bits: u32 = fields.iter().map(|field| field.width).sum();
        if bits % 8 != 0 {
            fields.push(HeaderField::new("_padding", &Type::bits(8 - bits % 8)));
        }
        Value::Group(parts)
    }

    /// A new field of a header that holds variables.
    fn field(&mut self, header: HeaderId, name: &str, of: &Type) -> Value {
        let fields = &mut self.program.header_types[header].fields;
        fields.push(HeaderField::new(name, of));
        let field = FieldRef { header: HeaderRef::Fixed(header), field: fields.len() - 1 };
        Value::of(Expr::Field(field), of)
    }

    fn new_header_type(&mut self, name: String, fields: Vec<HeaderField>) -> usize {
        add(&mut self.program.header_types, HeaderType { name, fields })
    }

    fn new_header(&mut self, name: String, of: usize) -> HeaderId {
        add(&mut self.program.headers, Header { name, of })
    }

    /// A place for a variable of any type.
    pub fn allocate(&mut self, name: &str, of: &Type) -> Lowered<Value> {
        Ok(match of.underlying() {
            Type::Composite(composite) if composite.shape == Shape::Header => {
                Value::Header(HeaderRef::Fixed(self.header(name, composite, of)))
            }
            Type::Composite(composite) if composite.shape == Shape::Union => {
                Value::Union(HeaderRef::Fixed(self.union(name, composite, of)?))
            }
            Type::Composite(_) | Type::Tuple(_) => {
                Value::Group(self.allocate_parts(of, |part| format!("{name}.{part}"))?)
            }
            Type::Array(element, _) => self.array(name, element, of)?,
            // A header of its own: only headers have fields of changing length.
            Type::Varbit(_) => {
                let name = self.unique_in("", &name.replace('.', "_"));
                let kind = self.new_header_type(format!("{name}_t"), vec![HeaderField::new("field", of)]);
                let header = HeaderRef::Fixed(self.new_header(name, kind));
                Value::Scalar(Expr::Field(FieldRef { header, field: 0 }))
            }
            Type::Bits { .. } | Type::Bool | Type::Error | Type::Enum(_) => {
                let name = self.unique_in("scalars.", name);
                self.field(SCALARS, &name, of)
            }
            Type::Void | Type::Object(..) | Type::ActionRun | Type::Applied => Value::Nothing,
            other => return self.refuse(format!("a variable of type {other} is not supported")),
        })
    }

    pub fn allocate_parts(
        &mut self, of: &Type, name: impl Fn(&Name) -> String,
    ) -> Lowered<Vec<(Name, Value)>> {
        let mut parts = Vec::new();
        for (part, of) in parts_of(of) {
            let place = self.allocate(&name(&part), &of)?;
            parts.push((part, place));
        }
        Ok(parts)
    }

    /// A place for a temporary value.
    pub fn temporary(&mut self, of: &Type) -> Lowered<Value> {
        self.allocate("tmp", of)
    }

    /// An array: a stack if it is made of headers or unions (section 7.2.3).
    fn array(&mut self, name: &str, element: &Type, of: &Type) -> Lowered<Value> {
        let parts = self.allocate_parts(of, |part| format!("{name}[{part}]"))?;
        let own = self.unique_in("stack ", name);
        if !element.is_header() && !element.is_union() {
            return Ok(Value::Group(parts));
        }
        let elements: Vec<usize> = numbers(parts).map(|(_, id)| id).collect();
        if elements.is_empty() {
            return self.refuse("a stack without elements is not supported");
        }
        let stack = Stack { name: own, of_unions: element.is_union(), elements };
        Ok(Value::Stack(add(&mut self.program.stacks, stack)))
    }

    fn header(&mut self, name: &str, composite: &Composite, of: &Type) -> HeaderId {
        let kind = self.header_type(composite, of);
        let name = self.unique_in("", name);
        self.new_header(name, kind)
    }

    /// The target's type of a header (section 7.2.2): structs in it are taken apart.
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
        let name = self.unique_in("type ", &composite.name);
        let kind = self.new_header_type(name, fields);
        self.header_types.insert(of.clone(), kind);
        kind
    }

    /// A header union (section 7.2.4).
    fn union(&mut self, name: &str, composite: &Composite, of: &Type) -> Lowered<usize> {
        let members = numbers(self.allocate_parts(of, |part| format!("{name}.{part}"))?).collect();
        let name = self.unique_in("union ", name);
        Ok(add(&mut self.program.unions, Union { name, type_name: composite.name.to_string(), members }))
    }

    /// The field of a header by the names behind the dots; a struct in a header gives its parts.
    pub fn header_field(&self, header: &HeaderRef, path: &str, of: &Type) -> Value {
        if matches!(of.underlying(), Type::Composite(_) | Type::Array(..)) {
            let part = |(name, of): (Name, Type)| {
                let value = self.header_field(header, &format!("{path}.{name}"), &of);
                (name, value)
            };
            return Value::Group(parts_of(of).into_iter().map(part).collect());
        }
        let fields = &self.program.header_types[self.program.type_of(header)].fields;
        let Some(field) = fields.iter().position(|field| field.name == path) else { return Value::Nothing };
        Value::of(Expr::Field(FieldRef { header: header.clone(), field }), of)
    }

    /// A name that no other of its kind has: `name`, or `name_1` and so on.
    pub fn unique_in(&mut self, kind: &str, name: &str) -> String {
        let mut tried = name.to_owned();
        let mut number = 0;
        while !self.names.insert(format!("{kind}{tried}")) {
            number += 1;
            tried = format!("{name}_{number}");
        }
        tried
    }
}

/// The numbers of headers or unions.
fn numbers(parts: Vec<(Name, Value)>) -> impl Iterator<Item = (Name, usize)> {
    parts.into_iter().filter_map(|(name, part)| match part {
        Value::Header(HeaderRef::Fixed(id)) | Value::Union(HeaderRef::Fixed(id)) => Some((name, id)),
        _ => None,
    })
}

fn flatten(name: &str, of: &Type, fields: &mut Vec<HeaderField>) {
    if !matches!(of.underlying(), Type::Composite(_) | Type::Array(..)) {
        return fields.push(HeaderField::new(name, of));
    }
    for (part, of) in parts_of(of) {
        flatten(&format!("{name}.{part}"), &of, fields);
    }
}
