//! Annotations in P4Info: as the program writes them, unless a field of its own says the same.

use super::text::Text;
use crate::check::constant::Value;
use crate::check::Facts;
use crate::lower::annotation::string;
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
pub fn write(text: &mut Text, annotations: &[Annotation], skipped: &[&str]) {
    let own = ["name", "id", "brief", "description"];
    for annotation in annotations.iter().filter(|one| !one.structured) {
        let name = &*annotation.name.name;
        if !own.contains(&name) && !skipped.contains(&name) {
            let words = annotation.body.as_deref().unwrap_or_default();
            let words: Vec<&str> = words.iter().map(|word| &*word.text).collect();
            let body = if words.is_empty() { String::new() } else { format!("({})", words.join(" ")) };
            text.item("annotations", &format!("@{name}{body}"));
        }
    }
}

/// `doc`, of `@brief` and `@description` (P4Runtime specification, section 6.1.1).
pub fn documentation(text: &mut Text, annotations: &[Annotation]) {
    let (brief, description) = (string(annotations, "brief"), string(annotations, "description"));
    if brief.is_some() || description.is_some() {
        text.message("doc", |text| {
            text.string("brief", &brief.unwrap_or_default());
            text.string("description", &description.unwrap_or_default());
        });
    }
}

/// `@name[1, "a"]` and `@name[key = true]` (P4_16 specification, section 20.2).
pub fn structured(text: &mut Text, annotations: &[Annotation], facts: &Facts<'_>) {
    for annotation in annotations.iter().filter(|one| one.structured) {
        text.message("structured_annotations", |text| {
            text.string("name", &annotation.name.name);
            let mut values = values(annotation, facts).peekable();
            match values.peek() {
                Some(("", _)) => text.message("expression_list", |text| {
                    values.for_each(|(_, value)| text.message("expressions", |text| expression(text, value)));
                }),
                Some(_) => text.message("kv_pair_list", |text| {
                    for (key, value) in values {
                        text.message("kv_pairs", |text| {
                            text.string("key", key);
                            text.message("value", |text| expression(text, value));
                        });
                    }
                }),
                None => {}
            }
        });
    }
}

fn expression(text: &mut Text, value: &Value) {
    match value {
        Value::Bool(truth) => text.word("bool_value", if *truth { "true" } else { "false" }),
        Value::String(string) => text.item("string_value", string),
        value => {
            if let Some(number) = value.number().and_then(|number| i64::try_from(number).ok()) {
                text.member("int64_value", number);
            }
        }
    }
}
