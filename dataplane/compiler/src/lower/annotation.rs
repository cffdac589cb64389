//! The values of annotations (P4_16 specification, sections 18.3.2 and 20).

use num_bigint::BigInt;

use crate::syntax::number::number;
use crate::syntax::tree::{annotated, Annotation};
use crate::token::{Kind, Token};

/// The string of an annotation: pieces side by side are one.
pub fn string(annotations: &[Annotation], name: &str) -> Option<String> {
    let words = annotated(annotations, name)?.body.as_deref()?;
    let pieces = words.iter().filter(|word| !word.is("++"));
    pieces.map(|word| (word.kind == Kind::Text).then(|| unquoted(word))).collect()
}

/// The number of an annotation.
pub fn value(annotations: &[Annotation], name: &str) -> Option<BigInt> {
    integer(annotated(annotations, name)?.body.as_deref()?)
}

/// The id that `@id` gives.
pub fn id(annotations: &[Annotation]) -> Option<u32> {
    u32::try_from(value(annotations, "id")?).ok()
}

/// The text of a string without its quotes.
pub fn unquoted(word: &Token) -> &str {
    let text = word.text.strip_prefix('"').unwrap_or(&word.text);
    text.strip_suffix('"').unwrap_or(text)
}

/// A whole number, with a sign or without.
pub fn integer(words: &[Token]) -> Option<BigInt> {
    match words {
        [sign, word] if sign.is("-") => Some(-number(&word.text).ok()?.value),
        [word] if word.kind == Kind::Number => Some(number(&word.text).ok()?.value),
        _ => None,
    }
}
