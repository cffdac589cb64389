//! Types: `type_info`, and the forms in which fields name a type (P4Runtime specification, section 8).

use std::collections::BTreeMap;

use num_bigint::BigInt;

use super::annotation::{structured, write};
use super::text::Text;
use crate::check::types::{Composite, Enum, New, Shape, Type};
use crate::check::Facts;
use crate::lower::annotation::{integer, string, unquoted};
use crate::lower::ir::FieldList;
use crate::source::Name;
use crate::syntax::tree::{annotated, Annotation, Declaration, DeclarationKind, Field};
use crate::token::Token;

/// The entries of `type_info` so far, each by its name: maps have no order in protobuf.
pub struct Types<'t> {
    facts: &'t Facts<'t>,
    declared: BTreeMap<Name, &'t Declaration>,
    found: BTreeMap<(String, String), String>,
    has_errors: bool,
}

impl<'t> Types<'t> {
    pub fn new(tree: &'t [Declaration], facts: &'t Facts<'t>) -> Self {
        let declared = tree.iter().map(|one| (one.ident.name.clone(), one)).collect();
        Self { facts, declared, found: BTreeMap::new(), has_errors: false }
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
        match of {
            Type::New(new) => {
                self.translation(new).map_or_else(|| of.width().unwrap_or(0), |(_, bits)| bits.unwrap_or(0))
            }
            _ => of.width().unwrap_or(0),
        }
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
    pub fn named(&mut self, text: &mut Text, of: &Type) {
        self.convert(of);
        if let Type::New(new) = of {
            text.named("type_name", &new.name);
        }
    }

    /// `type_spec`, the form of a value: `bitstring { bit { bitwidth: 9 } }` and its like.
    pub fn spec(&mut self, text: &mut Text, of: &Type) {
        self.convert(of);
        text.message("type_spec", |text| self.write_spec(text, of));
    }

    fn write_spec(&self, text: &mut Text, of: &Type) {
        match of {
            Type::Bits { .. } | Type::Varbit(_) => text.message("bitstring", |text| bitstring(text, of)),
            Type::Bool => text.message("bool", |_| {}),
            Type::Error => text.message("error", |_| {}),
            Type::Composite(composite) => text.named(composite.shape.word(), &self.own_name(&composite.name)),
            Type::Enum(one) if one.of.is_some() => text.named("serializable_enum", &one.name),
            Type::Enum(one) => text.named("enum", &one.name),
            Type::New(new) => text.named("new_type", &new.name),
            Type::Tuple(types) => text.message("tuple", |text| {
                types.iter().for_each(|of| text.message("members", |text| self.write_spec(text, of)));
            }),
            Type::Array(element, size) => {
                let Type::Composite(composite) = &**element else { return };
                let kind = composite.shape.word();
                text.message(&format!("{kind}_stack"), |text| {
                    text.named(kind, &self.own_name(&composite.name));
                    text.number("size", *size);
                });
            }
            _ => {}
        }
    }

    /// Digests have the names of their types.
    pub fn digest_name(&self, digest: &FieldList) -> String {
        match &digest.of {
            Type::Composite(composite) => self.own_name(&composite.name),
            _ => digest.name.clone(),
        }
    }

    /// The name that `@name` gives to a type.
    fn own_name(&self, name: &Name) -> String {
        own_name(name, self.annotations(name))
    }

    /// Adds a type and those that it is made of to `type_info`.
    fn convert(&mut self, of: &Type) {
        match of {
            Type::New(new) => self.new_type(new),
            Type::Enum(one) => self.enumeration(one),
            Type::Composite(composite) => self.composite(composite),
            Type::Error => self.has_errors = true,
            Type::Tuple(types) => types.iter().for_each(|of| self.convert(of)),
            Type::Array(element, _) => self.convert(element),
            _ => {}
        }
    }

    fn add(&mut self, field: &str, name: &str, write: impl FnOnce(&mut Self, &mut Text)) {
        let key = (field.to_owned(), name.to_owned());
        if !self.found.contains_key(&key) {
            self.found.insert(key.clone(), String::new());
            let mut text = Text::default();
            write(self, &mut text);
            self.found.insert(key, text.finish());
        }
    }

    fn new_type(&mut self, new: &New) {
        let mut original = &new.of;
        while let Type::New(inner) = original {
            original = &inner.of;
        }
        self.add("new_types", &new.name, |types, text| {
            types.convert(original);
            match types.translation(new) {
                Some((uri, bits)) => text.message("translated_type", |text| {
                    text.string("uri", &uri);
                    match bits {
                        Some(bits) => text.member("sdn_bitwidth", bits),
                        None => text.message("sdn_string", |_| {}),
                    }
                }),
                None => text.message("original_type", |text| types.write_spec(text, original)),
            }
            write(text, types.annotations(&new.name), &["p4runtime_translation"]);
            structured(text, types.annotations(&new.name), types.facts);
        });
    }

    fn enumeration(&mut self, one: &Enum) {
        let field = if one.of.is_some() { "serializable_enums" } else { "enums" };
        self.add(field, &one.name, |_, text| {
            let width = one.of.as_ref().and_then(Type::width);
            if let Some(width) = width {
                text.message("underlying_type", |text| text.number("bitwidth", width));
            }
            for (name, value) in &one.members {
                text.message("members", |text| {
                    text.string("name", name);
                    if let (Some(width), Some(value)) =
                        (width, value.as_ref().and_then(|value| value.number()))
                    {
                        text.bytes("value", value, width);
                    }
                });
            }
        });
    }

    fn composite(&mut self, composite: &Composite) {
        let field = format!("{}s", composite.shape.word());
        let name = self.own_name(&composite.name);
        let written = self.fields(&composite.name);
        self.add(&field, &name, |types, text| {
            for (place, part) in composite.fields.iter().enumerate() {
                let name = own_name(&part.name, written.get(place).map_or(&[], |field| &field.annotations));
                types.convert(&part.of);
                text.message("members", |text| {
                    text.string("name", &name);
                    match (composite.shape, &part.of) {
                        (Shape::Header, of) => {
                            text.message("type_spec", |text| bitstring(text, of.underlying()))
                        }
                        (Shape::Union, Type::Composite(header)) => {
                            text.named("header", &types.own_name(&header.name));
                        }
                        (_, of) => text.message("type_spec", |text| types.write_spec(text, of)),
                    }
                });
            }
        });
    }

    /// `type_info`.
    pub fn write(&self, text: &mut Text, errors: &[Name]) {
        text.message("type_info", |text| {
            for ((field, name), entry) in &self.found {
                text.message(field, |text| {
                    text.string("key", name);
                    text.message("value", |text| {
                        entry.lines().for_each(|line| text.line(format_args!("{line}")))
                    });
                });
            }
            if self.has_errors {
                text.message("error", |text| errors.iter().for_each(|name| text.item("members", name)));
            }
        });
    }
}

/// The name that `@name` gives, or the one that is declared.
pub fn own_name(name: &Name, annotations: &[Annotation]) -> String {
    let own = string(annotations, "name");
    own.map_or_else(|| name.to_string(), |own| own.trim_start_matches('.').to_owned())
}

fn bits(words: &[Token]) -> Option<u32> {
    integer(words).and_then(|bits: BigInt| u32::try_from(bits).ok())
}

fn bitstring(text: &mut Text, of: &Type) {
    match of {
        Type::Varbit(width) => text.message("varbit", |text| text.number("max_bitwidth", *width)),
        Type::Bits { width, signed } => {
            text.message(if *signed { "int" } else { "bit" }, |text| text.number("bitwidth", *width));
        }
        _ => {}
    }
}
