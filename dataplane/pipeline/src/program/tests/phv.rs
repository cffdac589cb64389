use super::*;

/// A stack of four one-byte headers in slots 0..8, its counter in slot 8.
fn stack_of_four() -> Layout {
    let field = |slot| Field { slot, width: 8, signed: false };
    let header = |i: u32| HeaderSlots {
        valid: 2 * i,
        fields: vec![field(2 * i + 1)],
        bits: 8,
        ..HeaderSlots::default()
    };
    Layout {
        headers: (0..4).map(header).collect(),
        stacks: vec![Stack::new(vec![0, 1, 2, 3], 8)],
        initial: vec![0; 9].into(),
    }
}

fn valid_values(layout: &Layout, phv: &[u128]) -> Vec<Option<u128>> {
    let value = |h: &HeaderSlots| h.is_valid(phv).then(|| h.fields[0].read(phv));
    layout.headers.iter().map(value).collect()
}

#[test]
fn push_and_pop_shift_the_elements() {
    let layout = stack_of_four();
    let two = [1, 10, 1, 11, 0, 0, 0, 0, 2];
    let cases: [(&str, u128, [Option<u128>; 4], u128); 6] = [
        ("push", 1, [None, Some(10), Some(11), None], 3),
        ("push", 3, [None, None, None, Some(10)], 4),
        ("push", u128::MAX, [None; 4], 4),
        ("pop", 1, [Some(11), None, None, None], 1),
        ("pop", 2, [None; 4], 0),
        ("pop", u128::MAX, [None; 4], 0),
    ];
    for (op, count, expected, next) in cases {
        let mut phv = two;
        match op {
            "push" => layout.push(0, count, &mut phv),
            _ => layout.pop(0, count, &mut phv),
        }
        assert_eq!(valid_values(&layout, &phv), expected, "{op} {count}");
        assert_eq!(phv[8], next, "{op} {count}");
    }
}

#[test]
fn last_needs_an_element() {
    let layout = stack_of_four();
    let mut phv = [0; 9];
    assert_eq!(layout.last(0, &phv), None);
    phv[8] = 2;
    assert_eq!(layout.last(0, &phv), Some(1));
    assert_eq!(layout.element(0, 4), None);
    assert_eq!(layout.element(0, u128::MAX), None);
}

#[test]
fn signed_fields_extend_their_sign() {
    let field = Field { slot: 0, width: 8, signed: true };
    let mut phv = [0];
    field.write(&mut phv, -2i128 as u128);
    assert_eq!(phv[0], 0xfe);
    assert_eq!(field.read(&phv) as i128, -2);
    assert_eq!(sign_extend(u128::MAX, 128), u128::MAX);
    assert_eq!(mask(128), u128::MAX);
    assert_eq!(mask(1), 1);
}
