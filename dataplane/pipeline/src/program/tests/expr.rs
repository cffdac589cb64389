use super::*;

#[test]
fn edges_of_the_operations() {
    let cases = [
        (Binary::Shl, 1, 126, Some(1 << 126)),
        (Binary::Shl, -1, 127, Some(i128::MIN)),
        (Binary::Shl, 1, 127, None),
        (Binary::Shl, 1, i128::MAX, None),
        (Binary::Shr, i128::MAX, 126, Some(1)),
        (Binary::Shr, i128::MAX, 200, Some(0)),
        (Binary::Shr, -8, 1, Some(-4)),
        (Binary::Shr, -8, 500, Some(-1)),
        (Binary::Div, 7, 0, Some(0)),
        (Binary::Mod, 7, 0, Some(0)),
        (Binary::Less, -1, 1, Some(1)),
        (Binary::Add, i128::MAX, 1, None),
        (Binary::Sub, i128::MIN, 1, None),
        (Binary::Mul, 1 << 64, 1 << 63, None),
    ];
    for (op, a, b, expected) in cases {
        let mut exceeded = false;
        let value = op.apply(a, b, &mut exceeded);
        assert_eq!((!exceeded).then_some(value), expected, "{op:?} {a} {b}");
        if let Some(expected) = expected {
            assert_eq!(op.apply_big(a.into(), b.into()), expected.into(), "{op:?} {a} {b}");
        }
    }
}

#[test]
fn numbers_of_any_size_have_a_bound() {
    let bit = |n: u32| BigInt::from(1) << n;
    let half = MOST_BITS / 2;
    let cases = [
        (Binary::Mul, bit(half - 1), bit(half - 1), bit(MOST_BITS - 2)),
        (Binary::Mul, bit(half), -bit(half), 0.into()),
        (Binary::Shl, 1.into(), (MOST_BITS - 1).into(), bit(MOST_BITS - 1)),
        (Binary::Shl, bit(half), half.into(), 0.into()),
        (Binary::Shl, 1.into(), u32::MAX.into(), 0.into()),
    ];
    for (op, a, b, expected) in cases {
        assert!(op.apply_big(a, b) == expected, "{op:?}");
    }
}

#[test]
fn casts() {
    let clamp = |width, signed| Unary::Clamp { width, signed };
    let cases = [
        (Unary::Wrap(8), 257, 1),
        (Unary::Wrap(8), -129, 127),
        (clamp(8, false), -3, 0),
        (clamp(8, false), 300, 255),
        (clamp(8, true), -300, -128),
        (clamp(128, false), i128::MAX, i128::MAX),
        (clamp(128, true), i128::MIN, i128::MIN),
        (Unary::IsNonZero, 8, 1),
        (Unary::Not, 8, 0),
    ];
    for (op, value, expected) in cases {
        assert_eq!(op.apply(value), expected, "{op:?} {value}");
        assert_eq!(op.apply_big(value.into()), expected.into(), "{op:?} {value}");
    }
}
