//! Annotations, and the names that the control plane knows (P4_16 specification, sections 18.3.3 and 20).

use super::scope::Entity;
use super::Checker;
use crate::source::Span;
use crate::syntax::tree::{Annotation, Declaration, DeclarationKind};
use crate::token::{Kind, Token};

impl<'t> Checker<'t, '_> {
    /// Checks the annotations of something.
    pub fn annotations(&mut self, annotations: &'t [Annotation]) {
        for (place, one) in annotations.iter().enumerate() {
            let twice = |other: &&Annotation| {
                other.name.name == one.name.name && (one.structured || other.structured)
            };
            if let Some(first) = annotations[..place].iter().find(twice) {
                let first = first.name.span;
                self.error(one.name.span, format!("the annotation `@{}` is there twice", one.name.name))
                    .note(first, "the first one");
            }
            let body = one.body.as_deref().unwrap_or_default();
            if one.structured {
                self.structured(body);
            } else {
                self.known(one, body);
            }
        }
    }

    /// Annotations that the specification or v1model's documents give a meaning.
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
            ("pkginfo", []) => "has values between `[` and `]`",
            _ => return,
        };
        self.error(one.name.span, format!("`@{name}` {message}"));
    }

    /// The values between brackets are constants.
    fn structured(&mut self, body: &'t [Token]) {
        let keyed = body.get(1).is_some_and(|word| word.is("="));
        for (place, word) in body.iter().enumerate() {
            let starts = place == 0 || body[place - 1].is(",");
            let is_key = body.get(place + 1).is_some_and(|next| next.is("="));
            if starts && is_key != keyed {
                self.error(word.span, "either all values between `[` and `]` have names or none");
                return;
            }
            let names = word.kind == Kind::Identifier && !is_key;
            let unfit = match self.scopes.find(&word.text, false).filter(|_| names).map(|found| &found.entity)
            {
                Some(Entity::Value(variable)) => !variable.is_constant || self.is_object(&variable.of),
                Some(_) => true,
                None => word.is("{"),
            };
            if unfit {
                self.error(word.span, "the values between `[` and `]` are constants: numbers, strings, bool");
                return;
            }
        }
    }

    /// Tells of tables and actions that have one name for the control plane.
    pub fn control_names(&mut self, around: &'t Declaration, locals: &'t [Declaration]) {
        for local in locals {
            self.control_name(Some(around), local);
        }
    }

    pub fn control_name(&mut self, around: Option<&'t Declaration>, one: &'t Declaration) {
        let is_table = match &one.kind {
            DeclarationKind::Table(_) => true,
            DeclarationKind::Action { .. } => false,
            _ => return,
        };
        let written = one.annotations.iter().find(|note| &*note.name.name == "name");
        let text =
            written.and_then(|note| note.body.as_deref()?.first()).map(|word| word.text.trim_matches('"'));
        let own = text.unwrap_or(&one.ident.name);
        let full = match (own.strip_prefix('.'), around) {
            (Some(absolute), _) => absolute.to_owned(),
            (None, Some(around)) => format!("{}.{own}", around.ident.name),
            (None, None) => own.to_owned(),
        };
        let span: Span = written.map_or(one.ident.span, |note| note.name.span);
        if let Some(first) = self.control_names.insert((full.clone(), is_table), span) {
            // Two declarations of one name have a message of their own.
            if written.is_some() && &*full != "NoAction" {
                self.error(span, format!("the control plane has two names `{full}`"))
                    .note(first, "the other one");
            }
        }
    }
}
