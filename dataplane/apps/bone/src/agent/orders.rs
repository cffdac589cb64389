//! Orders on stdin, from the program that started this one: the bound that is to hold, one JSON object a
//! line, as `{"bytes": 1000000}`. null: the bound of the command line.

use std::ops::RangeInclusive;
use std::os::fd::AsFd;

use groupflow_host::json::{FieldError, ObjectReader, StdinLines};
use groupflow_host::process::Wake;
use groupflow_host::report::{Reporter, Weight};
use groupflow_host::shell::Interest;
use nix::poll::PollFlags;
use serde_json::{json, Value};

/// Bytes of the longest line.
const LINE: usize = 4096;

/// The bound's name in orders and events, and the values that it may have.
#[derive(Debug, Clone)]
pub struct Bound {
    pub name: &'static str,
    pub range: RangeInclusive<u64>,
}

/// A new bound, or why a line is none. `None`: the bound of the command line.
pub type Order = Result<Option<u64>, FieldError>;

/// The orders that come on stdin, if they are wanted.
#[derive(Debug)]
pub struct Orders {
    bound: Bound,
    lines: Option<StdinLines>,
}

impl Orders {
    pub fn new(bound: Bound, wanted: bool) -> Orders {
        Orders { bound, lines: wanted.then(|| StdinLines::new(LINE)) }
    }

    pub fn read(&mut self) -> Vec<Order> {
        match self.lines.as_mut().map_or(Ok(Vec::new()), StdinLines::read) {
            Ok(lines) => lines.iter().map(|line| parse(line, &self.bound)).collect(),
            Err(text) => vec![Err(wrong(text))],
        }
    }

    /// The descriptors for which a main loop waits besides packets: of orders, and of other threads.
    pub fn interests<'a>(&'a self, wake: &'a Wake) -> impl Iterator<Item = Interest<'a>> {
        let stdin = self.lines.as_ref().and_then(StdinLines::waits_for);
        let fds = [Some(wake.as_fd()), stdin].into_iter().flatten();
        fds.map(|fd| Interest { fd, flags: PollFlags::POLLIN })
    }
}

fn wrong(text: String) -> FieldError {
    FieldError { field: "order".to_owned(), text }
}

fn parse(line: &[u8], bound: &Bound) -> Order {
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
pub fn report_holds(reporter: &mut Reporter, files: usize, bytes: u64, bound: u64) {
    let fields = json!({"files": files, "bytes": bytes, "bound": bound});
    reporter.event("holds", Weight::Passing, fields, None);
}

/// Reports a line that is no order.
pub fn report_refused(reporter: &mut Reporter, error: &FieldError) {
    let human = format!("an order is refused: {error}");
    let fields = json!({"field": error.field, "text": error.to_string()});
    reporter.event("order_refused", Weight::Lasting, fields, Some(human));
}

#[cfg(test)]
#[path = "tests/orders.rs"]
mod tests;
