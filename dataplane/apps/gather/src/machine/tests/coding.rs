use super::*;
use proptest::prelude::*;

proptest! {
    /// Any of a group's blocks, if they are as many as its pieces, restore the group.
    #[test]
    fn any_blocks_that_are_enough_give_all(
        pieces in 1..=MOST.0, parity in 1..=MOST.1, length in 1..16_000_u64, order in any::<u64>(),
    ) {
        let code = ErasureCode { pieces, parity };
        let group = code.group(1 << 40, length);
        let ParityGroup { start, length, pieces, parity } = group;
        prop_assert_eq!(ParityGroup::new(start, length, pieces, parity), Ok(group));
        let bytes: Vec<u8> = (0..length).map(|at| (at * 7 + at / 251) as u8).collect();
        let all = group.encode(&bytes);
        prop_assert_eq!(all.len(), usize::from(parity));
        // Blocks in a random order, of which the first ones arrived.
        let mut blocks: Vec<u8> = (0..group.pieces + parity).collect();
        blocks.sort_by_key(|&block| (u64::from(block) + 1).wrapping_mul(order | 1) >> 7);
        let came = &blocks[..usize::from(group.pieces)];
        let of = |index: u8| {
            let range = group.piece(index);
            bytes[(range.start - group.start) as usize..(range.end - group.start) as usize].to_vec()
        };
        let there: Vec<_> = came.iter().filter(|&&b| b < group.pieces).map(|&b| (b, of(b))).collect();
        let spare: Vec<_> = came
            .iter()
            .filter_map(|&b| b.checked_sub(group.pieces))
            .map(|b| (b, &all[usize::from(b)][..]))
            .collect();
        let restored = group.decode(&there, &spare).expect("enough");
        prop_assert_eq!(restored.len(), usize::from(group.pieces) - there.len());
        for (index, bytes) in restored {
            prop_assert_eq!(bytes, of(index));
        }
    }
}

#[test]
fn codes_are_read() {
    for (text, expected) in [
        ("4+2", Some((4, 2))),
        ("1+1", Some((1, 1))),
        ("32+8", Some((32, 8))),
        ("33+1", None),
        ("0+1", None),
        ("4+0", None),
        ("4+9", None),
        ("4", None),
        ("4+2+1", None),
    ] {
        let code = ErasureCode::parse(text).map(|code| (code.pieces, code.parity));
        assert_eq!(code, expected, "{text}");
    }
}

#[test]
fn groups_are_cut_so() {
    let code = ErasureCode::parse("4+2").expect("a code");
    let cut = |length| {
        let group = code.group(100, length);
        (group.pieces, group.block())
    };
    assert_eq!(cut(1), (1, 64));
    assert_eq!(cut(512), (1, 512));
    assert_eq!(cut(513), (2, 320));
    assert_eq!(cut(2049), (4, 576));
    assert_eq!(cut(65_536), (4, 16_384));
    assert_eq!(code.group(100, 1000).piece(1), 612..1100);
}

#[test]
fn groups_that_cannot_be_are_refused() {
    for (start, length, pieces, parity, expected) in [
        (0, 1, 0, 1, "parity.pieces: 0 is not from 1 to 32"),
        (0, 1, 33, 1, "parity.pieces: 33 is not from 1 to 32"),
        (0, 1, 1, 9, "parity.parity: 9 is not from 1 to 8"),
        (0, 0, 1, 1, "parity.length: 0 is not from 1 to 16384"),
        (0, 16_385, 1, 1, "parity.length: 16385 is not from 1 to 16384"),
        (u64::MAX, 1, 1, 1, "parity.start: lies beyond the longest stream"),
        (0, 65, 4, 1, "parity.pieces: 4 is too many for 65 bytes"),
    ] {
        let error = ParityGroup::new(start, length, pieces, parity).expect_err(expected);
        assert_eq!(error.to_string(), expected);
    }
}
