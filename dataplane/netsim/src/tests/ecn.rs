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
        let checksum = groupflow_base::codec::internet_checksum(&head[ETHERNET..TRANSPORT]);
        head[24..26].copy_from_slice(&checksum.to_be_bytes());
        let before = head.clone();
        let marked = mark(&mut head);
        prop_assert_eq!(marked, ecn == 1 || ecn == 2);
        prop_assert_eq!(groupflow_base::codec::internet_checksum(&head[ETHERNET..TRANSPORT]), 0);
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
