//! Types: `type_info`, and the forms in which fields name a type (P4Runtime specification, section 8).

use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;

use num_bigint::BigInt;

use super::annotation::{structured, written};
use super::text::{bytes, item, message, named, number, only_if, string, word};
use crate::check::constant::Value;
use crate::check::types::{Composite, Enum, New, Shape, Type};
use crate::check::Facts;
use crate::lower::annotation::{self, integer, unquoted};
use crate::lower::ir::{FieldList, Head};
use crate::source::Name;
use crate::syntax::tree::{annotated, Annotation, Declaration, DeclarationKind, Field};
use crate::token::Token;

/// The entries of `type_info` so far, each by its name: maps have no order in protobuf.
pub struct Types<'t> {
    facts: &'t Facts<'t>,
    declared: BTreeMap<Name, &'t Declaration>,
    found: RefCell<BTreeMap<(String, String), String>>,
    has_errors: Cell<bool>,
}

impl<'t> Types<'t> {
    pub fn new(tree: &'t [Declaration], facts: &'t Facts<'t>) -> Self {
        let declared = tree.iter().map(|one| (one.ident.name.clone(), one)).collect();
        Self { facts, declared, found: RefCell::default(), has_errors: Cell::new(false) }
    }

    fn annotations(&self, name: &Name) -> &'t [Annotation] {
        self.declared.get(name).map_or(&[], |declaration| &declaration.annotations)
    }

    /// The fields of a header, struct or union as they are written.
    pub fn fields(&self, name: &Name) -> &'t [Field] {
        match self.declared.get(name).map(|declaration| &declaration.kind) {
            Some(DeclarationKind::Composite { fields, .. }) => fields,
            _ => &[],
        }
    }

    /// The bits that the control plane writes: those of `@p4runtime_translation`, or 0 for its strings.
    pub fn width(&self, of: &Type) -> u32 {
        let translation = if let Type::New(new) = of { self.translation(new) } else { None };
        translation.map_or(of.width(), |(_, bits)| bits).unwrap_or(0)
    }

    /// The URI and the bits of `@p4runtime_translation(uri, type)`; no bits for a string.
    fn translation(&self, new: &New) -> Option<(String, Option<u32>)> {
        let words = annotated(self.annotations(&new.name), "p4runtime_translation")?.body.as_deref()?;
        let mut parts = words.split(|word| word.is(","));
        let uri = parts.next()?.first().map(unquoted)?.to_owned();
        let bits = match parts.next()? {
            [word] if word.is("string") => None,
            [_, open, width @ .., close] if open.is("<") && close.is(">") => bits(width),
            width => bits(width),
        };
        Some((uri, bits))
    }

    /// Adds a type to `type_info`; one that the control plane knows by its name is named here too.
    pub fn named(&self, of: &Type) -> String {
        self.form(of);
        let new = if let Type::New(new) = of { Some(new) } else { None };
        new.map(|new| named("type_name", &new.name)).unwrap_or_default()
    }

    /// `type_spec`, the form of a value: `bitstring { bit { bitwidth: 9 } }` and its like.
    pub fn spec(&self, of: &Type) -> String {
        message("type_spec", [self.form(of)])
    }

    /// The form of a type, which is added to `type_info` with those that it is made of.
    fn form(&self, of: &Type) -> String {
        match of {
            Type::Bits { .. } | Type::Varbit(_) => bitstring(of),
            Type::Bool => message("bool", [""; 0]),
            Type::Error => {
                self.has_errors.set(true);
                message("error", [""; 0])
            }
            Type::Composite(composite) => self.composite(composite),
            Type::Enum(one) => self.enumeration(one),
            Type::New(new) => self.new_type(new),
            Type::Tuple(of) => message("tuple", of.iter().map(|of| message("members", [self.form(of)]))),
            Type::Array(element, size) => {
                let form = self.form(element);
                let Type::Composite(composite) = &**element else { return String::new() };
                message(&format!("{}_stack", composite.shape.word()), [form, number("size", *size)])
            }
            _ => String::new(),
        }
    }

    /// Digests have the names of their types.
    pub fn digest_head(&self, digest: &FieldList) -> Head {
        let name = match &digest.of {
            Type::Composite(composite) => self.own_name(&composite.name),
            _ => digest.name.clone(),
        };
        Head { name, span: digest.span, ..Head::default() }
    }

    /// The name that `@name` gives to a type.
    fn own_name(&self, name: &Name) -> String {
        own_name(name, self.annotations(name))
    }

    /// Adds a type to `type_info`, and names it.
    fn add(&self, kind: &str, name: &str, value: impl FnOnce() -> String) -> String {
        let key = (format!("{kind}s"), name.to_owned());
        let is_new = !self.found.borrow().contains_key(&key);
        if is_new {
            let entry = message(&key.0, [string("key", name), message("value", [value()])]);
            self.found.borrow_mut().insert(key, entry);
        }
        named(kind, name)
    }

    fn new_type(&self, new: &New) -> String {
        let mut original = &new.of;
        while let Type::New(inner) = original {
            original = &inner.of;
        }
        self.add("new_type", &new.name, || {
            let original = self.form(original);
            let annotations = self.annotations(&new.name);
            let of = match self.translation(new) {
                Some((uri, bits)) => {
                    let bits = bits.map(|bits| word("sdn_bitwidth", bits));
                    let to = bits.unwrap_or_else(|| message("sdn_string", [""; 0]));
                    message("translated_type", [string("uri", &uri), to])
                }
                None => message("original_type", [original]),
            };
            of + &written(annotations, &["p4runtime_translation"]) + &structured(annotations, self.facts)
        })
    }

    fn enumeration(&self, one: &Enum) -> String {
        let field = if one.of.is_some() { "serializable_enum" } else { "enum" };
        let width = one.of.as_ref().and_then(Type::width);
        self.add(field, &one.name, || {
            let underlying = width.map(|width| message("underlying_type", [number("bitwidth", width)]));
            let members = one.members.iter().map(|(name, value)| {
                let value = value.as_ref().and_then(Value::number);
                let value = width.zip(value).map(|(width, value)| bytes("value", value, width));
                message("members", [string("name", name), value.unwrap_or_default()])
            });
            underlying.into_iter().chain(members).collect()
        })
    }

    fn composite(&self, composite: &Composite) -> String {
        let name = self.own_name(&composite.name);
        let written = self.fields(&composite.name);
        self.add(composite.shape.word(), &name, || {
            let members = composite.fields.iter().enumerate().map(|(place, part)| {
                let name = own_name(&part.name, written.get(place).map_or(&[], |field| &field.annotations));
                let form = self.form(&part.of);
                let of = match composite.shape {
                    Shape::Header => message("type_spec", [bitstring(part.of.underlying())]),
                    Shape::Union => form,
                    Shape::Struct => message("type_spec", [form]),
                };
                message("members", [string("name", &name), of])
            });
            members.collect()
        })
    }

    /// `type_info`.
    pub fn info(&self, errors: &[Name]) -> String {
        let errors = message("error", errors.iter().map(|name| item("members", name)));
        let errors = only_if(self.has_errors.get(), errors);
        message("type_info", self.found.borrow().values().chain([&errors]))
    }
}

/// The name that `@name` gives, or the one that is declared.
pub fn own_name(name: &Name, annotations: &[Annotation]) -> String {
    let own = annotation::string(annotations, "name");
    own.map_or_else(|| name.to_string(), |own| own.trim_start_matches('.').to_owned())
}

fn bits(words: &[Token]) -> Option<u32> {
    integer(words).and_then(|bits: BigInt| u32::try_from(bits).ok())
}

/// Bits, `int<8>` and varbit fields; nothing for other types.
fn bitstring(of: &Type) -> String {
    let of = match of {
        Type::Varbit(width) => message("varbit", [number("max_bitwidth", *width)]),
        Type::Bits { width, signed: true } => message("int", [number("bitwidth", *width)]),
        Type::Bits { width, .. } => message("bit", [number("bitwidth", *width)]),
        _ => return String::new(),
    };
    message("bitstring", [of])
}
