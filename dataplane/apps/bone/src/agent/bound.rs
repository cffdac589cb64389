//! Orders on stdin, from the program that started this one: the bound that is to hold, one JSON object a
//! line, as `{"bytes": 1000000}`. null: the bound of the command line.

use std::io::{self, BufRead, BufReader, Read};
use std::ops::RangeInclusive;
use std::sync::mpsc::{sync_channel, Receiver};

use groupflow_host::error::AgentError;
use groupflow_host::json::{FieldError, ObjectReader};
use groupflow_host::report::{Reporter, Weight};
use serde_json::{json, Value};

use super::desk::start;

/// Bytes of the longest line.
const LINE: u64 = 4096;
/// Orders that may wait; the thread that reads waits with the others.
const WAITING: usize = 16;

/// The bound's name in orders and events, and the values that it may have.
#[derive(Debug, Clone)]
pub struct Bound {
    pub name: &'static str,
    /// The values that it may have.
    pub range: RangeInclusive<u64>,
}

/// A new bound, or why a line is none. `None`: the bound of the command line.
pub type Order = Result<Option<u64>, FieldError>;

/// Reads orders in a thread of its own until stdin ends; calls `wake` after each.
pub fn listen(bound: Bound, wake: impl Fn() + Send + 'static) -> Result<Receiver<Order>, AgentError> {
    let (sender, orders) = sync_channel(WAITING);
    start("orders", move || {
        let mut lines = BufReader::new(io::stdin());
        loop {
            let mut line = Vec::new();
            match lines.by_ref().take(LINE).read_until(b'\n', &mut line) {
                Ok(0) | Err(_) => return,
                Ok(_) => {}
            }
            let cut = is_cut(&line);
            if sender.send(parse(&line, &bound)).is_err() {
                return;
            }
            wake();
            if cut {
                return;
            }
        }
    })?;
    Ok(orders)
}

/// Whether the line goes on beyond the bytes that are read of one; the last line may lack its newline.
fn is_cut(line: &[u8]) -> bool {
    line.len() as u64 == LINE && !line.ends_with(b"\n")
}

fn parse(line: &[u8], bound: &Bound) -> Order {
    let wrong = |text: String| FieldError { field: "order".to_owned(), text };
    if is_cut(line) {
        return Err(wrong(format!("must be a line of at most {LINE} bytes; nothing more is read")));
    }
    let value: Value = serde_json::from_slice(line).map_err(|_| wrong("must be JSON".to_owned()))?;
    let mut order = ObjectReader::new("order", &value)?;
    let found = order.optional_number(bound.name, bound.range.clone())?;
    if value.get(bound.name).is_none() {
        return Err(order.wrong(bound.name, "given; null is the value of the command line"));
    }
    order.finish()?;
    Ok(found)
}

/// Reports the bound that holds now, and the files that it bounds.
pub fn tell_holds(reporter: &mut Reporter, files: usize, bytes: u64, bound: u64) {
    let fields = json!({"files": files, "bytes": bytes, "bound": bound});
    reporter.event("holds", Weight::Passing, fields, None);
}

/// Reports a line that is no order.
pub fn tell_refused(reporter: &mut Reporter, error: &FieldError) {
    let human = format!("an order is refused: {error}");
    let fields = json!({"field": error.field, "text": error.to_string()});
    reporter.event("order_refused", Weight::Lasting, fields, Some(human));
}

#[cfg(test)]
#[path = "tests/bound.rs"]
mod tests;
