//! JSON from other processes: lines on stdin, and the fields of an object. An error names the field that is
//! missing, wrong or unknown.

use std::io;
use std::ops::RangeInclusive;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd};

use groupflow_base::lines::LineBuffer;
use nix::errno::Errno;
use nix::poll::{PollFlags, PollTimeout};
use serde_json::{Map, Value};
use thiserror::Error;

use crate::poller::is_ready;

#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("{field} {text}")]
pub struct FieldError {
    /// The field's path, e.g. `session.branches[0].address`.
    pub field: String,
    /// The rule that the field breaks.
    pub text: String,
}

/// The fields of a JSON object, read one after the other.
#[derive(Debug)]
pub struct ObjectReader<'a> {
    path: String,
    object: &'a Map<String, Value>,
    read: Vec<&'static str>,
}

impl<'a> ObjectReader<'a> {
    pub fn new(path: impl Into<String>, value: &'a Value) -> Result<ObjectReader<'a>, FieldError> {
        match value {
            Value::Object(object) => Ok(ObjectReader { path: path.into(), object, read: Vec::new() }),
            _ => Err(FieldError { field: path.into(), text: "must be an object".to_owned() }),
        }
    }

    pub fn wrong(&self, field: &str, must_be: &str) -> FieldError {
        let field = match self.path.is_empty() {
            true => field.to_owned(),
            false => format!("{}.{field}", self.path),
        };
        FieldError { field, text: format!("must be {must_be}") }
    }

    /// The raw value of a field; null counts as absent.
    pub fn value(&mut self, field: &'static str) -> Option<&'a Value> {
        self.read.push(field);
        self.object.get(field).filter(|value| !value.is_null())
    }

    /// A number, or `None` if it is absent.
    pub fn optional_number(
        &mut self, field: &'static str, range: RangeInclusive<u64>,
    ) -> Result<Option<u64>, FieldError> {
        match self.value(field).map(|value| value.as_u64().filter(|n| range.contains(n))) {
            None => Ok(None),
            Some(None) => Err(self.no_number(field, &range)),
            Some(number) => Ok(number),
        }
    }

    pub fn number(
        &mut self, field: &'static str, range: RangeInclusive<u64>, default: Option<u64>,
    ) -> Result<u64, FieldError> {
        let number = self.optional_number(field, range.clone())?.or(default);
        number.ok_or_else(|| self.no_number(field, &range))
    }

    fn no_number(&self, field: &str, range: &RangeInclusive<u64>) -> FieldError {
        self.wrong(field, &format!("a number from {} to {}", range.start(), range.end()))
    }

    /// A text of 1 to `longest` bytes, or `None` if it is absent.
    pub fn optional_text(
        &mut self, field: &'static str, longest: usize,
    ) -> Result<Option<&'a str>, FieldError> {
        match self.value(field) {
            None => Ok(None),
            Some(Value::String(text)) if (1..=longest).contains(&text.len()) => Ok(Some(text)),
            Some(_) => Err(self.wrong(field, &format!("a text of 1 to {longest} bytes"))),
        }
    }

    /// A required text of 1 to `longest` bytes.
    pub fn text(&mut self, field: &'static str, longest: usize) -> Result<&'a str, FieldError> {
        let text = self.optional_text(field, longest)?;
        text.ok_or_else(|| self.wrong(field, &format!("a text of 1 to {longest} bytes")))
    }

    /// A required word, one of several.
    pub fn word(
        &mut self, field: &'static str, words: &[&'static str], default: Option<&'static str>,
    ) -> Result<&'static str, FieldError> {
        let found = match self.value(field) {
            None => default,
            Some(value) => words.iter().copied().find(|&word| value.as_str() == Some(word)),
        };
        found.ok_or_else(|| {
            let (last, others) = words.split_last().unwrap_or((&"", &[]));
            self.wrong(field, &format!("{} or {last}", others.join(", ")))
        })
    }

    /// A truth value, or `default` if it is absent.
    pub fn flag(&mut self, field: &'static str, default: bool) -> Result<bool, FieldError> {
        match self.value(field) {
            None => Ok(default),
            Some(Value::Bool(flag)) => Ok(*flag),
            Some(_) => Err(self.wrong(field, "true or false")),
        }
    }

    /// A list of at most `longest` entries; an absent list is empty.
    pub fn list(&mut self, field: &'static str, longest: usize) -> Result<&'a [Value], FieldError> {
        match self.value(field) {
            None => Ok(&[]),
            Some(Value::Array(values)) if values.len() <= longest => Ok(values),
            Some(_) => Err(self.wrong(field, &format!("a list of at most {longest}"))),
        }
    }

    /// Checks that no unknown field is left.
    pub fn finish(self) -> Result<(), FieldError> {
        match self.object.keys().find(|key| !self.read.contains(&key.as_str())) {
            None => Ok(()),
            Some(key) => {
                let key: String = key.chars().filter(|c| !c.is_control()).take(64).collect();
                let wrong = self.wrong(&key, "");
                Err(FieldError { text: "is unknown".to_owned(), ..wrong })
            }
        }
    }
}

/// Bytes of one read.
const CHUNK: usize = 64 << 10;

/// Lines on stdin, as far as they are there: no call waits for the process at the other end.
#[derive(Debug)]
pub struct StdinLines {
    stdin: io::Stdin,
    lines: LineBuffer,
    pub ended: bool,
}

impl StdinLines {
    /// Nothing was read yet; a line has at most `longest` bytes.
    pub fn new(longest: usize) -> StdinLines {
        StdinLines { stdin: io::stdin(), lines: LineBuffer::new(longest), ended: false }
    }

    /// The descriptor that becomes ready; `None`: nothing more comes.
    pub fn waits_for(&self) -> Option<BorrowedFd<'_>> {
        (!self.ended).then(|| self.stdin.as_fd())
    }

    /// Reads the bytes that are there; returns the complete lines. A line that is too long ends all reading.
    pub fn read(&mut self) -> Result<Vec<Vec<u8>>, String> {
        let (mut chunk, mut lines) = (vec![0; CHUNK], Vec::new());
        while !self.ended && is_ready(self.stdin.as_fd(), PollFlags::POLLIN, PollTimeout::ZERO) {
            match nix::unistd::read(self.stdin.as_raw_fd(), &mut chunk) {
                Ok(count) if count > 0 => match self.lines.push(&chunk[..count]) {
                    Some(more) => lines.extend(more),
                    None => {
                        self.ended = true;
                        let longest = self.lines.longest;
                        return Err(format!("a line has at most {longest} bytes; nothing more is read"));
                    }
                },
                Err(Errno::EINTR) => {}
                Err(Errno::EAGAIN) => break,
                Ok(_) | Err(_) => {
                    self.ended = true;
                    // A file's last line may have no end.
                    lines.extend(self.lines.push(b"\n").unwrap_or_default());
                }
            }
        }
        Ok(lines)
    }
}
