use super::*;
use proptest::prelude::*;

fn addresses() -> Addresses {
    Addresses {
        source_mac: [2, 0, 10, 0, 1, 1],
        destination_mac: [2, 0, 0, 0, 0, 1],
        source: Ipv4Addr::new(10, 0, 1, 1),
        destination: Ipv4Addr::new(10, 0, 2, 1),
        source_port: 4000,
        destination_port: 80,
    }
}

proptest! {
    #[test]
    fn what_is_written_is_read(length in 9u32..65_000, ecn in 0u8..4, count in 1usize..5) {
        let mut template = Template::new(&addresses(), PROTOCOL_UDP);
        let mut head = Vec::new();
        (0..count).for_each(|_| template.begin(&mut head, length, ecn));
        head.extend_from_slice(&[0x0F, 0xA0, 0, 80, 0, 8, 0, 0]);
        let segment = &head[TRANSPORT..];
        let expected = Received::Transport {
            protocol: PROTOCOL_UDP, ecn, source: addresses().source, source_port: 4000,
            destination_port: 80,
            segment, length,
        };
        prop_assert_eq!(read(&head, length - 8), expected);
        prop_assert_eq!(&head[26..38], &addresses().key());
        prop_assert_eq!(groupflow_base::codec::internet_checksum(&head[ETHERNET..TRANSPORT]), 0);
        prop_assert_eq!(read(&head, length - 9), Received::Other, "cut short");
    }

    #[test]
    fn no_bytes_panic(bytes in proptest::collection::vec(any::<u8>(), 0..80), tail in any::<u16>()) {
        read(&bytes, tail.into());
    }
}
