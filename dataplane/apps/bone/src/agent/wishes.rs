//! Rims that asked for files which still wait to be sent: the hub tells them if a file will not come.

use std::collections::BTreeMap;
use std::net::SocketAddrV4;

use crate::machine::{FileName, RimId};

/// The most wishes remembered; a rim whose wish is not remembered asks again after a minute.
const MOST: usize = 4096;

#[derive(Debug, Default)]
pub struct Wishes {
    of: BTreeMap<FileName, BTreeMap<RimId, SocketAddrV4>>,
    count: usize,
}

impl Wishes {
    /// Notes that a rim was told that the file is queued.
    pub fn add(&mut self, name: &FileName, rim: RimId, from: SocketAddrV4) {
        if self.count < MOST && self.of.entry(name.clone()).or_default().insert(rim, from).is_none() {
            self.count += 1;
        }
    }

    /// Removes and returns the rims that wanted a file.
    pub fn take(&mut self, name: &FileName) -> BTreeMap<RimId, SocketAddrV4> {
        let rims = self.of.remove(name).unwrap_or_default();
        self.count -= rims.len();
        rims
    }
}

#[cfg(test)]
#[path = "tests/wishes.rs"]
mod tests;
