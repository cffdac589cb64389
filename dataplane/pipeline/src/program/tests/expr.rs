use super::*;

#[test]
fn edges_of_the_operations() {
    let minus = |n: i128| (-n) as u128;
    let cases = [
        (Binary::Shl, 1, 127, 1 << 127),
        (Binary::Shl, 1, 128, 0),
        (Binary::Shl, 1, u128::MAX, 0),
        (Binary::ShrUnsigned, u128::MAX, 127, 1),
        (Binary::ShrUnsigned, u128::MAX, 200, 0),
        (Binary::ShrSigned, minus(8), 1, minus(4)),
        (Binary::ShrSigned, minus(8), 500, minus(1)),
        (Binary::Div, 7, 0, 0),
        (Binary::Mod, 7, 0, 0),
        (Binary::Less { signed: true }, minus(1), 1, 1),
        (Binary::Less { signed: false }, u128::MAX, 1, 0),
        (Binary::SaturatingAdd { width: 8, signed: false }, 200, 100, 255),
        (Binary::SaturatingAdd { width: 128, signed: false }, u128::MAX, 1, u128::MAX),
        (Binary::SaturatingSub { width: 8, signed: false }, 1, 2, 0),
        (Binary::SaturatingAdd { width: 8, signed: true }, 100, 100, 127),
        (Binary::SaturatingSub { width: 8, signed: true }, minus(100), 100, minus(128)),
        (Binary::SaturatingSub { width: 128, signed: true }, i128::MIN as u128, 1, i128::MIN as u128),
    ];
    for (op, a, b, expected) in cases {
        assert_eq!(op.apply(a, b), expected, "{op:?} {a} {b}");
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
    assert_eq!(Unary::Wrap(8).apply(257), 1);
    assert_eq!(Unary::Wrap(8).apply(-129i128 as u128), 127);
    assert_eq!(Unary::Clamp { width: 8, signed: false }.apply(-3i128 as u128), 0);
    assert_eq!(Unary::Clamp { width: 8, signed: false }.apply(300), 255);
    assert_eq!(Unary::Clamp { width: 8, signed: true }.apply(-300i128 as u128), -128i128 as u128);
    assert_eq!(Unary::IsNonZero.apply(8), 1);
    assert_eq!(Unary::Not.apply(8), 0);
}
