use groupflow_base::reassembly::Reassembly;
use proptest::collection::vec;
use proptest::prelude::*;

fn byte(offset: u64) -> u8 {
    (offset * 7 + offset / 256) as u8
}

fn bytes(range: std::ops::Range<u64>) -> Vec<u8> {
    range.map(byte).collect()
}

proptest! {
    /// Pieces in any order, again and again, to a sink that takes what it likes.
    #[test]
    fn each_byte_goes_out_once_and_in_order(
        pieces in vec((0..20_000_u64, 1..3000_usize, 0..4000_usize), 1..200), room in 5000..9000_u64,
    ) {
        let (mut reassembly, mut out) = (Reassembly::new(0, room), Vec::<u8>::new());
        let mut fresh = 0;
        for (offset, length, appetite) in pieces {
            let data = bytes(offset..offset + length as u64);
            let (before, mut left) = (reassembly.clone(), appetite);
            let result = reassembly.receive(offset, &data, &mut |bytes| {
                let taken = bytes.len().min(left);
                out.extend(&bytes[..taken]);
                left -= taken;
                taken
            });
            match result {
                Ok(count) => fresh += count,
                Err(_) => {
                    prop_assert!(offset + length as u64 > before.limit());
                    prop_assert_eq!(before.held(), reassembly.held());
                }
            }
            prop_assert_eq!(reassembly.delivered, out.len() as u64);
            prop_assert_eq!(fresh, reassembly.delivered + reassembly.held());
            prop_assert!(reassembly.held() <= room);
            prop_assert!(reassembly.memory() as u64 <= room + 2 * groupflow_base::reassembly::PAGE as u64);
        }
        let delivered = out.len() as u64;
        prop_assert!(out == bytes(0..delivered));
    }
}

#[test]
fn what_makes_no_sense_is_refused() {
    let mut taken = |bytes: &[u8]| bytes.len();
    let mut reassembly = Reassembly::new(10, 100);
    let error = reassembly.receive(100, &[0; 11], &mut taken).expect_err("beyond the limit");
    assert_eq!(error.to_string(), "data.offset: 100 and its 11 bytes lie beyond the limit 110");
    assert!(reassembly.receive(u64::MAX, &[0; 2], &mut taken).is_err());
    reassembly.receive(20, &[0; 10], &mut taken).expect("held");
    let error = reassembly.end(29).expect_err("byte 29 came");
    assert_eq!(error.to_string(), "end.length: 29 is not the stream's, which has 30 bytes or more");
    reassembly.end(40).expect("the end");
    reassembly.end(40).expect("told again");
    let error = reassembly.end(41).expect_err("another end");
    assert_eq!(error.to_string(), "end.length: 41 is not the stream's, which has 40 bytes");
    let error = reassembly.receive(35, &[0; 6], &mut taken).expect_err("beyond the end");
    assert_eq!(error.to_string(), "data.offset: 35 and its 6 bytes lie beyond the stream's end at 40");
}

#[test]
fn a_flood_of_tiny_pieces_is_refused() {
    let mut reassembly = Reassembly::new(0, 64 << 10);
    let mut taken = |bytes: &[u8]| bytes.len();
    let error = (0..).find_map(|i| reassembly.receive(1 + 2 * i, &[0], &mut taken).err());
    let text = "data.offset: 385 makes more than 192 separate pieces";
    assert_eq!(error.map(|e| e.to_string()), Some(text.to_owned()));
    // The first byte that is missing may still come.
    assert_eq!(reassembly.receive(0, &[0], &mut taken), Ok(1));
    assert_eq!(reassembly.delivered, 2);
}
