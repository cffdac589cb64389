//! Explicit congestion notification at a queue (RFC 3168): marks instead of losses.

use crate::wire::{ETHERNET, TRANSPORT};

/// Offsets in a frame: the IPv4 header's version, its DSCP and ECN fields, and its checksum.
const VERSION_AND_ECN: usize = ETHERNET;
const CHECKSUM: usize = ETHERNET + 10;
const ECN: u16 = 3;

/// Marks the frames that join a queue in which so many wait already.
#[derive(Debug, Clone, Copy)]
pub struct Marker {
    threshold: u32,
    marked: u64,
}

impl Marker {
    /// The threshold; `None` marks no frame.
    pub fn new(threshold: Option<u32>) -> Marker {
        Marker { threshold: threshold.unwrap_or(u32::MAX), marked: 0 }
    }

    /// Marks a frame, if it must be marked, that joins a queue in which `waiting` frames wait.
    #[inline]
    pub fn join(&mut self, waiting: u32, head: &mut [u8]) {
        if waiting >= self.threshold && mark(head) {
            self.marked += 1;
        }
    }

    /// Frames marked so far.
    pub fn marked(&self) -> u64 {
        self.marked
    }
}

/// Marks an IPv4 frame whose sender understands marks. False: the frame is no such frame, or was marked
/// before.
fn mark(head: &mut [u8]) -> bool {
    let Some(ip) = head.get_mut(..TRANSPORT).filter(|head| head[12..14] == [0x08, 0x00]) else {
        return false;
    };
    let old = word(ip, VERSION_AND_ECN);
    let capable = old & ECN == 1 || old & ECN == 2;
    if !capable || old >> 12 != 4 {
        return false;
    }
    let new = old | ECN;
    // RFC 1624, eqn. 3.
    let sum = u32::from(!word(ip, CHECKSUM)) + u32::from(!old) + u32::from(new);
    let sum = (sum & 0xFFFF) + (sum >> 16);
    let sum = (sum & 0xFFFF) + (sum >> 16);
    ip[VERSION_AND_ECN..VERSION_AND_ECN + 2].copy_from_slice(&new.to_be_bytes());
    ip[CHECKSUM..CHECKSUM + 2].copy_from_slice(&(!(sum as u16)).to_be_bytes());
    true
}

fn word(bytes: &[u8], at: usize) -> u16 {
    u16::from_be_bytes([bytes[at], bytes[at + 1]])
}

#[cfg(test)]
#[path = "tests/ecn.rs"]
mod tests;
