//! Annotations, and the names that the control plane knows (P4_16 specification, sections 18.3.2 and 20).

use super::types::Type;
use super::Checker;
use crate::source::near;
use crate::syntax::number::number;
use crate::syntax::tree::{Annotation, Argument};
use crate::token::{Kind, Token};

/// Annotations with a meaning: those of sections 20.3.1 to 20.3.9 and appendix C, and those of p4c.
const KNOWN: &str =
    "name id hidden tableonly defaultonly brief description controller_header p4runtime_translation match \
    refers_to entry_restriction action_restriction field_list priority optional pure noSideEffects noWarn \
    max_group_size selector_size_semantics max_member_weight pkginfo platform_property deprecated";

impl<'t> Checker<'t, '_> {
    /// Checks the annotations of something (section 20).
    pub fn annotations(&mut self, annotations: &'t [Annotation]) {
        for (place, one) in annotations.iter().enumerate() {
            let twice = |other: &&Annotation| {
                other.name.name == one.name.name && (one.structured || other.structured)
            };
            if let Some(first) = annotations[..place].iter().find(twice) {
                let first = first.name.span;
                error!(self, one.name.span, "the annotation `@{}` is there twice", one.name)
                    .note(first, "the first one");
            }
            self.values(one, one.values.as_deref().unwrap_or_default());
            if !one.structured {
                self.known(one, one.body.as_deref().unwrap_or_default());
            }
        }
    }

    /// Annotations that the specification or v1model's documents give a meaning (section 20.3).
    fn known(&mut self, one: &'t Annotation, body: &'t [Token]) {
        let name = &*one.name.name;
        let meant = near(name, KNOWN.split(' ')).filter(|_| KNOWN.split(' ').all(|known| known != name));
        if meant.is_some() {
            self.warning(one.name.span, format!("`@{name}` has no meaning here")).meant(meant);
        }
        let is_text = |word: &Token| word.kind == Kind::Text || word.is("++");
        let message = match (name, body) {
            ("name" | "deprecated", [_, ..]) if !body.iter().all(is_text) => {
                "has a string between `(` and `)`"
            }
            ("id", [word]) if number(&word.text).is_ok_and(|one| u32::try_from(one.value).is_ok()) => return,
            ("id", _) => "has a number of 32 bits between `(` and `)`",
            ("match", [kind]) if self.match_kinds.contains(&kind.text) => return,
            ("match", _) => "names a kind of match",
            ("p4runtime_translation", [_, comma, of, ..])
                if comma.is(",") && !matches!(&*of.text, "bit" | "string") && of.kind != Kind::Number =>
            {
                "translates to `string` or `bit<...>`"
            }
            ("pkginfo", []) if one.values.as_ref().map_or(true, |values| values.is_empty()) => {
                "has values between `[` and `]`"
            }
            _ => return,
        };
        let kind = body.first().filter(|_| name == "match").map_or("", |kind| &kind.text);
        error!(self, one.name.span, "`@{name}` {message}").meant(near(kind, &self.match_kinds));
    }

    /// The values between brackets are constants (section 20.2), and so are the lists of v1model's
    /// `@field_list`.
    fn values(&mut self, annotation: &'t Annotation, values: &'t [Argument]) {
        let lists = &*annotation.name.name == "field_list";
        for one in values {
            let (span, value) = (one.value.span, self.expression(&one.value, None));
            let is_plain = match value.of.underlying() {
                Type::Bits { .. } => lists,
                of => matches!(of, Type::Integer | Type::String | Type::Bool | Type::Wrong),
            };
            if one.ident.is_some() != values[0].ident.is_some() {
                self.error(span, "either all values between `[` and `]` have names or none");
            } else if lists && value.number().is_none() && !value.of.is_wrong() {
                self.error(span, "the lists of `@field_list` are constant numbers");
            } else if !is_plain || value.value.is_none() && !value.of.is_wrong() {
                self.error(
                    span,
                    "the values between `[` and `]` are constants: numbers without a width, strings, bool",
                );
            }
        }
    }
}
