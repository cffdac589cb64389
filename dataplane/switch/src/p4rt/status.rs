//! The answer of a P4Runtime call that does not succeed.

use prost::Message;

use crate::proto::google::rpc;
use crate::proto::p4::v1;

/// Ends a function with an error where a condition holds: INVALID_ARGUMENT, or what the function in front of
/// the text makes of it.
macro_rules! refuse_if {
    ($holds:expr, $text:literal $(, $argument:expr)*) => {
        refuse_if!($holds, $crate::p4rt::Status::invalid, $text $(, $argument)*)
    };
    ($holds:expr, $refusal:path, $text:literal $(, $argument:expr)*) => {
        if $holds {
            return Err($refusal(format!($text $(, $argument)*)));
        }
    };
}

/// A function for each code that is often wanted.
macro_rules! statuses {
    ($($name:ident $code:ident),*) => {
        $(pub fn $name(message: impl Into<String>) -> Status { Status::new(Code::$code, message) })*
    };
}

/// The canonical codes (google.rpc.Code) that the server uses.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[repr(i32)]
#[allow(missing_docs)]
pub enum Code {
    Ok = 0,
    Unknown = 2,
    InvalidArgument = 3,
    NotFound = 5,
    AlreadyExists = 6,
    PermissionDenied = 7,
    ResourceExhausted = 8,
    FailedPrecondition = 9,
    Aborted = 10,
    OutOfRange = 11,
    Unimplemented = 12,
}

#[derive(Debug, Clone, PartialEq)]
pub struct Status {
    pub code: Code,
    pub message: String,
    /// One `p4.Error` for each entity, if this is the failure of a batch that was attempted.
    pub errors: Vec<v1::Error>,
}

impl Status {
    pub fn new(code: Code, message: impl Into<String>) -> Status {
        Status { code, message: message.into(), errors: Vec::new() }
    }

    statuses! {
        invalid InvalidArgument, not_found NotFound, exists AlreadyExists, denied PermissionDenied,
        exhausted ResourceExhausted, out_of_range OutOfRange, unimplemented Unimplemented
    }

    /// The status with its subject in front of the message.
    pub fn within(self, place: &str) -> Status {
        Status { message: format!("{place}: {}", self.message), ..self }
    }

    /// The outcome of a batch: `Ok` if every entity succeeded.
    pub fn of_batch(what: &str, results: &[Result<(), Status>]) -> Result<(), Status> {
        let failed = results.iter().filter(|result| result.is_err()).count();
        let first = results.iter().enumerate().find_map(|(n, result)| result.as_ref().err().map(|e| (n, e)));
        let Some((index, refusal)) = first else { return Ok(()) };
        let (all, number, first) = (results.len(), index + 1, &refusal.message);
        let message = format!("{failed} of {all} {what}s failed, first {what} {number}: {first}");
        let errors = results.iter().map(to_error).collect();
        Err(Status { code: Code::Unknown, message, errors })
    }

    /// The value of `grpc-status-details-bin`: a serialised `google.rpc.Status`. Empty without details.
    pub fn details(&self) -> Vec<u8> {
        if self.errors.is_empty() {
            return Vec::new();
        }
        let details = self.errors.iter().map(|error| prost_types::Any {
            type_url: "type.googleapis.com/p4.v1.Error".into(),
            value: error.encode_to_vec(),
        });
        rpc::Status { code: self.code as i32, message: self.message.clone(), details: details.collect() }
            .encode_to_vec()
    }
}

fn to_error(result: &Result<(), Status>) -> v1::Error {
    match result {
        Ok(()) => v1::Error::default(),
        Err(refusal) => v1::Error {
            canonical_code: refusal.code as i32,
            message: refusal.message.clone(),
            space: "groupflow".into(),
            ..v1::Error::default()
        },
    }
}

#[cfg(test)]
#[path = "tests/status.rs"]
mod tests;
