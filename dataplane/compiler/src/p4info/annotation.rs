//! Annotations: those that say something to P4Runtime, and the others as the program writes them.

use num_bigint::BigInt;

use super::text::Text;
use crate::syntax::number::number;
use crate::syntax::tree::Annotation;
use crate::token::{Kind, Token};

#[must_use]
pub fn find<'a>(annotations: &'a [Annotation], name: &str) -> Option<&'a Annotation> {
    annotations.iter().find(|one| &*one.name.name == name)
}

/// The string of an annotation: pieces side by side are one.
#[must_use]
pub fn string(annotation: &Annotation) -> Option<String> {
    let words = annotation.body.as_deref()?;
    words.iter().all(|word| word.kind == Kind::Text).then(|| words.iter().map(unquoted).collect())
}

/// The number of an annotation.
#[must_use]
pub fn value(annotation: &Annotation) -> Option<BigInt> {
    integer(annotation.body.as_deref()?)
}

/// The id that `@id` gives.
#[must_use]
pub fn id(annotations: &[Annotation]) -> Option<u32> {
    u32::try_from(value(find(annotations, "id")?)?).ok()
}

/// `key = value, ...`
pub fn pairs(annotation: &Annotation) -> impl Iterator<Item = (&str, &[Token])> {
    parts(annotation).filter_map(|part| match part {
        [key, equals, rest @ ..] if equals.is("=") => Some((&*key.text, rest)),
        _ => None,
    })
}

/// The words between commas.
fn parts(annotation: &Annotation) -> impl Iterator<Item = &[Token]> {
    let words = annotation.body.as_deref().unwrap_or_default();
    words.split(|word| word.is(",")).filter(|part| !part.is_empty())
}

/// The text of a string without its quotes.
#[must_use]
pub fn unquoted(word: &Token) -> String {
    let text = word.text.strip_prefix('"').unwrap_or(&word.text);
    let text = text.strip_suffix('"').unwrap_or(text);
    let mut plain = String::new();
    let mut letters = text.chars();
    while let Some(letter) = letters.next() {
        match (letter, letter == '\\') {
            (_, true) => plain.extend(letters.next().map(|next| if next == 'n' { '\n' } else { next })),
            (letter, false) => plain.push(letter),
        }
    }
    plain
}

/// A whole number, with a sign or without.
#[must_use]
pub fn integer(words: &[Token]) -> Option<BigInt> {
    match words {
        [sign, word] if sign.is("-") => Some(-number(&word.text).ok()?.value),
        [word] if word.kind == Kind::Number => Some(number(&word.text).ok()?.value),
        _ => None,
    }
}

/// The annotations that have no field of their own: `skipped` and those that every object has are left out.
pub fn write(text: &mut Text, annotations: &[Annotation], skipped: &[&str]) {
    let own = ["name", "id", "brief", "description"];
    for annotation in annotations.iter().filter(|one| !one.structured) {
        let name = &*annotation.name.name;
        if !own.contains(&name) && !skipped.contains(&name) {
            text.item("annotations", &plain(annotation));
        }
    }
}

/// `@name(a b c)`
fn plain(annotation: &Annotation) -> String {
    let words = annotation.body.as_deref().unwrap_or_default();
    let mut line = format!("@{}", annotation.name.name);
    if !words.is_empty() {
        let words: Vec<&str> = words.iter().map(|word| &*word.text).collect();
        line += &format!("({})", words.join(" "));
    }
    line
}

/// `doc`, of `@brief` and `@description`.
pub fn documentation(text: &mut Text, annotations: &[Annotation]) {
    let found = |name| find(annotations, name).and_then(string);
    let (brief, description) = (found("brief"), found("description"));
    if brief.is_some() || description.is_some() {
        text.message("doc", |text| {
            text.string("brief", &brief.unwrap_or_default());
            text.string("description", &description.unwrap_or_default());
        });
    }
}

/// `@name[1, "a"]` and `@name[key = true]`.
pub fn structured(text: &mut Text, annotations: &[Annotation]) {
    for annotation in annotations.iter().filter(|one| one.structured) {
        let mut parts = parts(annotation).peekable();
        let is_pairs = parts.peek().is_some_and(|part| part.len() > 2 && part[1].is("="));
        text.message("structured_annotations", |text| {
            text.string("name", &annotation.name.name);
            if is_pairs {
                text.message("kv_pair_list", |text| {
                    for (key, value) in pairs(annotation) {
                        text.message("kv_pairs", |text| {
                            text.string("key", key);
                            text.message("value", |text| expression(text, value));
                        });
                    }
                });
            } else if parts.peek().is_some() {
                text.message("expression_list", |text| {
                    parts.for_each(|part| text.message("expressions", |text| expression(text, part)));
                });
            }
        });
    }
}

fn expression(text: &mut Text, words: &[Token]) {
    match words {
        [word] if word.is("true") || word.is("false") => text.word("bool_value", &word.text),
        _ if words.iter().all(|word| word.kind == Kind::Text || word.is("++")) => {
            let pieces = words.iter().filter(|word| word.kind == Kind::Text).map(unquoted);
            text.item("string_value", &pieces.collect::<String>());
        }
        _ => {
            if let Some(number) = integer(words).and_then(|number| i64::try_from(number).ok()) {
                text.member("int64_value", number);
            }
        }
    }
}
