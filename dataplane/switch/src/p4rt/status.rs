//! The answer of a P4Runtime call that does not succeed.

use prost::Message;

use crate::proto::google::rpc;
use crate::proto::p4::v1;

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

/// The failure of a call, or of one entity of a batch.
#[derive(Debug, Clone, PartialEq)]
pub struct Status {
    /// The kind of error.
    pub code: Code,
    /// The fault, with the name of the field.
    pub message: String,
    /// One `p4.Error` for each entity, if this is the failure of a batch that was attempted.
    pub errors: Vec<v1::Error>,
}

impl Status {
    /// A failure with this code.
    pub fn new(code: Code, message: impl Into<String>) -> Status {
        Status { code, message: message.into(), errors: Vec::new() }
    }

    /// `INVALID_ARGUMENT`.
    pub fn invalid(message: impl Into<String>) -> Status {
        Status::new(Code::InvalidArgument, message)
    }

    /// `NOT_FOUND`.
    pub fn not_found(message: impl Into<String>) -> Status {
        Status::new(Code::NotFound, message)
    }

    /// `UNIMPLEMENTED`.
    pub fn unimplemented(message: impl Into<String>) -> Status {
        Status::new(Code::Unimplemented, message)
    }

    /// `PERMISSION_DENIED`.
    pub fn denied(message: impl Into<String>) -> Status {
        Status::new(Code::PermissionDenied, message)
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
        let message = format!(
            "{failed} of {} {what}s failed, first {what} {}: {}",
            results.len(),
            index + 1,
            refusal.message
        );
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
