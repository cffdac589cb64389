//! Explicit congestion notification at a queue (RFC 3168): marks instead of losses.

use crate::wire::{ETHERNET, TRANSPORT};

/// Offsets in a frame: the IPv4 header's version, its DSCP and ECN fields, and its checksum.
const VERSION_AND_ECN: usize = ETHERNET;
const CHECKSUM: usize = ETHERNET + 10;
const ECN: u16 = 3;

/// Marks the frames that join a queue in which so many wait already.
#[derive(Debug, Clone, Copy)]
pub struct Marker {
    threshold: usize,
    marked: u64,
}

impl Marker {
    /// The threshold; `None` marks no frame.
    pub fn new(threshold: Option<u32>) -> Marker {
        Marker { threshold: threshold.map_or(usize::MAX, |packets| packets as usize), marked: 0 }
    }

    /// Marks a frame, if it must be marked, that joins a queue in which `waiting` frames wait.
    #[inline]
    pub fn join(&mut self, waiting: usize, head: &mut [u8]) {
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
mod tests {
    use super::*;
    use crate::wire::{Addresses, Template};
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn capable_packets_are_marked_and_stay_whole(
            source: u32, destination: u32, length in 8u32..65_000, ecn in 0u8..4, count in 1usize..4, tos: u8,
        ) {
            let addresses = Addresses {
                source_mac: [2; 6], destination_mac: [4; 6], source: source.into(),
                destination: destination.into(), source_port: 1, destination_port: 2,
            };
            let mut template = Template::new(&addresses, 6);
            let mut head = Vec::new();
            (0..count).for_each(|_| template.begin(&mut head, length, ecn));
            // Another DSCP, with the checksum that belongs to it.
            head[15] = tos & !3 | ecn;
            head[24..26].copy_from_slice(&[0, 0]);
            let checksum = groupflow_transport::wire::checksum(&head[ETHERNET..TRANSPORT]);
            head[24..26].copy_from_slice(&checksum.to_be_bytes());
            let before = head.clone();
            let marked = mark(&mut head);
            prop_assert_eq!(marked, ecn == 1 || ecn == 2);
            prop_assert_eq!(groupflow_transport::wire::checksum(&head[ETHERNET..TRANSPORT]), 0);
            if marked {
                prop_assert_eq!(head[15], tos | 3);
                head[15] = before[15];
                head[24..26].copy_from_slice(&before[24..26]);
            }
            prop_assert_eq!(head, before, "nothing else is touched");
        }

        #[test]
        fn no_bytes_panic(mut bytes in proptest::collection::vec(any::<u8>(), 0..80)) {
            mark(&mut bytes);
        }
    }

    #[test]
    fn the_threshold_counts_what_waits_before_the_frame() {
        let mut head = [0; TRANSPORT];
        (head[12], head[14], head[15]) = (0x08, 0x45, 2);
        let mut marker = Marker::new(Some(3));
        marker.join(2, &mut head);
        assert_eq!((head[15], marker.marked()), (2, 0));
        marker.join(3, &mut head);
        assert_eq!((head[15], marker.marked()), (3, 1));
        marker.join(4, &mut head);
        assert_eq!(marker.marked(), 1, "it was marked before");
        let mut never = Marker::new(None);
        head[15] = 2;
        never.join(1_000_000, &mut head);
        assert_eq!((head[15], never.marked()), (2, 0));
    }
}
