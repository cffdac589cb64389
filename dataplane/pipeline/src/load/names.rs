//! Names and source places from JSON. A missing name or place stays empty: traces then show less.

use super::json::Json;
use crate::error::LoadError;
use crate::program::names::{Names, Place};

/// Reads the names that a trace shows; those of the headers' fields are known.
pub(crate) fn names(root: &Json<'_>, fields: Vec<Vec<String>>) -> Result<Names, LoadError> {
    let mut names = Names::default();
    for (node, fields) in root.list("headers")?.iter().zip(fields) {
        names.headers.push((node.get("name")?.str()?.to_owned(), fields));
    }
    for parser in root.list("parsers")? {
        for state in parser.list("parse_states")? {
            names.states.push(state.get("name")?.str()?.to_owned());
        }
    }
    for control in root.list("pipelines")? {
        for kind in ["tables", "conditionals", "action_calls"] {
            for node in control.list(kind)? {
                let source = node.opt("source_info");
                let text = source.as_ref().and_then(|source| source.opt("source_fragment"));
                let text = text.map_or(Ok(""), |text| text.str())?;
                names.nodes.push((text.to_owned(), place(&node)));
            }
        }
    }
    for action in root.list("actions")? {
        names.primitives.push(action.list("primitives")?.iter().map(place).collect());
    }
    for node in root.list("errors")? {
        let [name, code] = node.array()?;
        names.errors.push((code.int()?, name.str()?.to_owned()));
    }
    Ok(names)
}

/// The file and line of a node.
pub(crate) fn place(node: &Json<'_>) -> Place {
    let place = || {
        let source = node.opt("source_info")?;
        let (file, line) = (source.opt("filename")?, source.opt("line")?);
        Some(format!("{}:{}", file.str().ok()?, line.int::<u64>().ok()?))
    };
    place().unwrap_or_default().into()
}
