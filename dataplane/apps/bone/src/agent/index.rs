//! The index of a rim's store on disk: names, sizes, digests, and the order of use.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{self, Write};
use std::path::Path;

use serde_json::{json, Value};

use super::digest::FileDigest;
use crate::machine::FileName;

const VERSION: u64 = 1;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct KnownFile {
    /// The file's size in bytes.
    pub size: u64,
    pub digest: FileDigest,
    /// The order of use: a larger number means a later use.
    pub used: u64,
}

/// Reads the index; an index that does not exist yet is empty. The error names the bad field.
pub fn read(path: &Path) -> Result<BTreeMap<FileName, KnownFile>, String> {
    let text = match fs::read(path) {
        Ok(text) => text,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(BTreeMap::new()),
        Err(error) => return Err(groupflow_host::error::plain(&error)),
    };
    let form: Value = serde_json::from_slice(&text).map_err(|error| format!("not JSON: {error}"))?;
    if form["version"] != VERSION {
        return Err(format!("version: {} is not {VERSION}", form["version"]));
    }
    let files = form["files"].as_array().ok_or("files: no list")?;
    files.iter().enumerate().map(|(at, form)| entry(form).map_err(|p| format!("files[{at}].{p}"))).collect()
}

fn entry(form: &Value) -> Result<(FileName, KnownFile), String> {
    let number = |field: &str| form[field].as_u64().ok_or(format!("{field}: no number"));
    let name =
        FileName::parse(form["name"].as_str().unwrap_or_default()).map_err(|p| format!("name: {p}"))?;
    let digest = form["sha256"].as_str().and_then(FileDigest::parse).ok_or("sha256: no digest")?;
    Ok((name, KnownFile { size: number("size")?, digest, used: number("used")? }))
}

/// Replaces the index atomically: after a crash either the old or the new index exists.
pub fn write<'a>(path: &Path, files: impl Iterator<Item = (&'a FileName, KnownFile)>) -> io::Result<()> {
    let files: Vec<Value> = files
        .map(|(name, known)| {
            json!({
                "name": name.as_str(), "size": known.size,
                "sha256": known.digest.to_string(), "used": known.used,
            })
        })
        .collect();
    let part = path.with_extension("part");
    let mut file = File::create(&part)?;
    file.write_all(json!({"version": VERSION, "files": files}).to_string().as_bytes())?;
    file.sync_all()?;
    fs::rename(&part, path)?;
    sync_folder(path)
}

/// Syncs the folder that contains a path, so that its names survive a crash.
pub fn sync_folder(path: &Path) -> io::Result<()> {
    path.parent().map_or(Ok(()), |folder| File::open(folder)?.sync_all())
}

#[cfg(test)]
#[path = "tests/index.rs"]
mod tests;
