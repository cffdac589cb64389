//! Names of transfers, rims and files.

use std::fmt;

/// The longest file name, in bytes.
pub const MAX_NAME: usize = 200;

/// The number of one multicast of one file. A hub never uses the same number twice in a row.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct TransferId(pub u32);

/// A rim's number, which it chose at random.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct RimId(pub u32);

groupflow_base::wire_number!(RimId);

impl fmt::Display for RimId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "rim {:08x}", self.0)
    }
}

/// The name under which a file is stored: it names a file in a directory, and none outside it.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct FileName(String);

impl FileName {
    /// Parses a name; the error is the rule that the text breaks.
    pub fn parse(text: &str) -> Result<FileName, &'static str> {
        if text.is_empty() || text.len() > MAX_NAME {
            return Err("must have 1 to 200 bytes");
        }
        if text.starts_with('.') {
            return Err("must not begin with a dot");
        }
        if text.chars().any(|c| matches!(c, '/' | '\\') || c.is_control()) {
            return Err("must not leave its directory: no slash, backslash or control character");
        }
        Ok(FileName(text.to_owned()))
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for FileName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}
