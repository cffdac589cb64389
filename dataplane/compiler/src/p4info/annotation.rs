//! Annotations in P4Info: as the program writes them, unless a field of its own says the same.

use super::text::{item, message, string, word};
use crate::check::constant::Value;
use crate::check::Facts;
use crate::lower::annotation;
use crate::syntax::tree::Annotation;

/// The values of an annotation, each with its name if it has one.
pub fn values<'t>(one: &'t Annotation, facts: &'t Facts<'_>) -> impl Iterator<Item = (&'t str, &'t Value)> {
    let values = one.values.as_deref().unwrap_or_default().iter();
    values.filter_map(|one| {
        let name = one.ident.as_ref().map_or("", |ident| &ident.name);
        Some((name, facts.values.get(&one.value.id)?))
    })
}

/// The annotations that have no field of their own (P4_16 specification, section 20.1): `skipped` and those
/// that every object has are left out.
pub fn written(annotations: &[Annotation], skipped: &[&str]) -> String {
    let own = ["name", "id", "brief", "description"];
    let is_shown = |one: &&Annotation| !own.iter().chain(skipped).any(|name| *name == &*one.name.name);
    let shown = annotations.iter().filter(|one| !one.structured).filter(is_shown).map(|one| {
        let words = one.body.as_deref().unwrap_or_default();
        let words: Vec<&str> = words.iter().map(|word| &*word.text).collect();
        let body = if words.is_empty() { String::new() } else { format!("({})", words.join(" ")) };
        item("annotations", &format!("@{}{body}", one.name))
    });
    shown.collect()
}

/// `doc`, of `@brief` and `@description` (P4Runtime specification, section 6.1.1).
pub fn documentation(annotations: &[Annotation]) -> String {
    let texts = ["brief", "description"].map(|name| Some((name, annotation::string(annotations, name)?)));
    if texts.iter().all(Option::is_none) {
        return String::new();
    }
    message("doc", texts.into_iter().flatten().map(|(name, text)| string(name, &text)))
}

/// `@name[1, "a"]` and `@name[key = true]` (P4_16 specification, section 20.2).
pub fn structured(annotations: &[Annotation], facts: &Facts<'_>) -> String {
    let structured = annotations.iter().filter(|one| one.structured).map(|one| {
        let mut values = values(one, facts).peekable();
        let list = match values.peek() {
            Some(("", _)) => {
                let values = values.map(|(_, value)| message("expressions", [expression(value)]));
                message("expression_list", values)
            }
            Some(_) => {
                let pair = |(key, value)| [string("key", key), message("value", [expression(value)])];
                message("kv_pair_list", values.map(|one| message("kv_pairs", pair(one))))
            }
            None => String::new(),
        };
        message("structured_annotations", [string("name", &one.name.name), list])
    });
    structured.collect()
}

fn expression(value: &Value) -> String {
    match value {
        Value::Bool(truth) => word("bool_value", truth),
        Value::String(string) => item("string_value", string),
        value => {
            let number = value.number().and_then(|number| i64::try_from(number).ok());
            number.map_or_else(String::new, |number| word("int64_value", number))
        }
    }
}
