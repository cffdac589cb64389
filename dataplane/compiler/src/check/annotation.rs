//! Annotations, and the names that the control plane knows (P4_16 specification, sections 18.3.2 and 20).

use super::types::Type;
use super::Checker;
use crate::syntax::tree::{annotated, Annotation, Argument, Declaration, DeclarationKind};
use crate::token::{Kind, Token};

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
            self.values(one.values.as_deref().unwrap_or_default());
            if !one.structured {
                self.known(one, one.body.as_deref().unwrap_or_default());
            }
        }
    }

    /// Annotations that the specification or v1model's documents give a meaning (section 20.3).
    fn known(&mut self, one: &'t Annotation, body: &'t [Token]) {
        let name = &*one.name.name;
        let is_text = |word: &Token| word.kind == Kind::Text || word.is("++");
        let message = match (name, body) {
            ("name" | "deprecated", [_, ..]) if !body.iter().all(is_text) => {
                "has a string between `(` and `)`"
            }
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
        error!(self, one.name.span, "`@{name}` {message}");
    }

    /// The values between brackets are constants (section 20.2).
    fn values(&mut self, values: &'t [Argument]) {
        for one in values {
            let (span, value) = (one.value.span, self.expression(&one.value, None));
            let is_plain = matches!(value.of, Type::Integer | Type::String | Type::Bool | Type::Wrong);
            if one.ident.is_some() != values[0].ident.is_some() {
                self.error(span, "either all values between `[` and `]` have names or none");
            } else if !is_plain || value.value.is_none() && !value.of.is_wrong() {
                self.error(
                    span,
                    "the values between `[` and `]` are constants: numbers without a width, strings, bool",
                );
            }
        }
    }

    /// Tells of tables and actions that have one name for the control plane (section 18.3).
    pub fn control_name(&mut self, around: Option<&'t Declaration>, one: &'t Declaration) {
        let is_table = matches!(one.kind, DeclarationKind::Table(_));
        if !is_table && !matches!(one.kind, DeclarationKind::Action { .. }) {
            return;
        }
        let written = annotated(&one.annotations, "name");
        let text = written.and_then(|note| note.body.as_deref()?.first());
        let own = text.map_or(&*one.ident.name, |word| word.text.trim_matches('"'));
        let full = match (own.strip_prefix('.'), around) {
            (Some(absolute), _) => absolute.to_owned(),
            (None, Some(around)) => format!("{}.{own}", around.ident),
            (None, None) => own.to_owned(),
        };
        let span = written.map_or(one.ident.span, |note| note.name.span);
        // Two declarations of one name have a message of their own.
        let excused = written.is_none() || full == "NoAction";
        let first = self.control_names.insert((full.clone(), is_table), span);
        if let Some(first) = first.filter(|_| !excused) {
            error!(self, span, "the control plane has two names `{full}`").note(first, "the other one");
        }
    }
}
