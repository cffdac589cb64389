//! `@groupflow_queue_depth(8) register<bit<32>>(N) depth;`: registers that belong to queues.
//! `@groupflow_reasons(none, ttl, no_route) counter(3, CounterType.packets) drops;`: words for drops.

use groupflow_pipeline::RegisterId;

use super::binding::{BindingError, BoundArray};
use crate::core::{QueueRegister, QueueRegisters, MAX_PRIORITIES};

const PREFIX: &str = "groupflow_";
const DEPTH: &str = "groupflow_queue_depth";
const RATE: &str = "groupflow_queue_rate";
const SHARE: &str = "groupflow_queue_share";
const REASONS: &str = "groupflow_reasons";
const WIDTH: u32 = 32;

/// Binds a register as its annotations say; the error names the wrong annotation.
pub fn bind(
    queues: &mut QueueRegisters, array: &BoundArray<RegisterId>, annotations: &[String],
) -> Result<(), BindingError> {
    let wrong = |what: String| BindingError(format!("register {}: {what}", array.name));
    let mut bound = None;
    for annotation in annotations {
        let text = annotation.trim().trim_start_matches('@');
        let (name, argument) = text.split_once('(').unwrap_or((text, ""));
        let name = name.trim();
        let slot = match name {
            DEPTH => &mut queues.depth,
            RATE => &mut queues.rate,
            SHARE => &mut queues.share,
            _ if name.starts_with(PREFIX) => {
                return Err(wrong(format!("@{name} is not one of @{DEPTH}, @{RATE}, @{SHARE}")));
            }
            _ => continue,
        };
        let register = register(array, argument).map_err(|what| wrong(format!("@{name}: {what}")))?;
        if let Some(other) = bound.replace(name) {
            return Err(wrong(format!("it has @{other} and @{name}, of which only one can be")));
        }
        if slot.replace(register).is_some() {
            return Err(wrong(format!("@{name}: another register has it already")));
        }
    }
    Ok(())
}

/// The reasons that the cells of a counter stand for, if its annotations say that it counts drops.
pub fn reasons(name: &str, size: usize, annotations: &[String]) -> Result<Vec<String>, BindingError> {
    let wrong = |what: String| Err(BindingError(format!("counter {name}: {what}")));
    let mut words = Vec::new();
    for annotation in annotations {
        let text = annotation.trim().trim_start_matches('@');
        match text.split_once('(').map(|(name, rest)| (name.trim(), rest)) {
            Some((REASONS, _)) if !words.is_empty() => return wrong(format!("it has @{REASONS} twice")),
            Some((REASONS, rest)) => {
                let listed = rest.trim().trim_end_matches(')').split(',');
                words = listed.map(|word| word.trim().trim_matches('"').to_owned()).collect();
            }
            _ if text.starts_with(PREFIX) => return wrong(format!("@{text} is not @{REASONS}(WORD, ...)")),
            _ => {}
        }
    }
    if words.len() > size || words.iter().any(String::is_empty) {
        return wrong(format!("@{REASONS}: {} words, of which none is empty, for {size} cells", words.len()));
    }
    Ok(words)
}

/// The register with the stride of an annotation's argument, `8)`.
fn register(array: &BoundArray<RegisterId>, argument: &str) -> Result<QueueRegister, String> {
    let number = argument.trim().strip_suffix(')').and_then(|text| text.trim().parse().ok());
    let stride = number.filter(|stride| (1..=usize::from(MAX_PRIORITIES)).contains(stride));
    let stride = stride.ok_or_else(|| {
        let shown = argument.trim().trim_end_matches(')');
        format!("{shown:?} is not a number of queues a port, between 1 and {MAX_PRIORITIES}")
    })?;
    if array.width != WIDTH || array.signed {
        let kind = if array.signed { "int" } else { "bit" };
        return Err(format!("its cells are {kind}<{}>, and must be bit<{WIDTH}>", array.width));
    }
    if array.size == 0 || array.size % stride != 0 {
        return Err(format!("its {} cells are no multiple of {stride}", array.size));
    }
    Ok(QueueRegister { register: array.array, stride, size: array.size })
}

#[cfg(test)]
#[path = "tests/annotations.rs"]
mod tests;
