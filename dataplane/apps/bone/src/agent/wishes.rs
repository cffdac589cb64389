//! Rims that asked for files which still wait to be sent: the hub tells them if a file will not come.

use std::net::SocketAddrV4;

use groupflow_base::SortedMap;

use crate::machine::{FileName, RimId};

/// The most wishes remembered; a rim whose wish is not remembered asks again after a minute.
const MOST: usize = 4096;

#[derive(Debug, Default)]
pub struct Wishes {
    of: SortedMap<FileName, SortedMap<RimId, SocketAddrV4>>,
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
    pub fn take(&mut self, name: &FileName) -> SortedMap<RimId, SocketAddrV4> {
        let rims = self.of.remove(name).unwrap_or_default();
        self.count -= rims.len();
        rims
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_rim_is_told_once_and_wishes_are_bounded() {
        let name = |number: usize| FileName::parse(&format!("f{number}")).expect("a name");
        let from = |port| SocketAddrV4::new(std::net::Ipv4Addr::LOCALHOST, port);
        let mut wishes = Wishes::default();
        wishes.add(&name(0), RimId(1), from(1));
        wishes.add(&name(0), RimId(1), from(2));
        wishes.add(&name(0), RimId(2), from(3));
        assert_eq!(wishes.take(&name(0)), SortedMap::from([(RimId(1), from(2)), (RimId(2), from(3))]));
        assert_eq!(wishes.take(&name(0)), SortedMap::new());
        (0..2 * MOST).for_each(|number| wishes.add(&name(number), RimId(1), from(1)));
        assert_eq!((wishes.count, wishes.of.len()), (MOST, MOST));
        (0..2 * MOST).for_each(|number| drop(wishes.take(&name(number))));
        assert_eq!((wishes.count, wishes.of.len()), (0, 0));
    }
}
