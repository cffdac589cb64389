//! The hash that identifies a file.

use std::io::{self, Read};

use groupflow_base::Digest;
use sha2::{Digest as _, Sha256};

/// Bytes of one read.
const READ: usize = 256 << 10;

/// Hashes the remaining bytes of a reader.
pub fn read(mut source: impl Read) -> io::Result<Digest> {
    let (mut hasher, mut chunk) = (Sha256::default(), vec![0; READ]);
    loop {
        match source.read(&mut chunk) {
            Ok(0) => return Ok(Digest(hasher.finalize().into())),
            Ok(count) => hasher.update(&chunk[..count]),
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
}

#[cfg(test)]
#[path = "tests/digest.rs"]
mod tests;
