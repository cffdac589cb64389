//! Expressions as p4c writes them, against a reference in `u128`.

use crate::common::*;
use proptest::prelude::*;
use serde_json::{json, Value};

/// The value of `expr` in the 128 bits of `m.wide`, when `h` is extracted from `bytes`.
fn evaluate(expr: Value, bytes: [u8; 8]) -> u128 {
    let mut p4 = P4::new();
    p4.add_header("out", json!([["v", 128]]), false);
    p4.emit(&["out"]);
    let wrapped = json!({"type": "expression", "value": expr});
    p4.run(
        INGRESS,
        vec![
            forward(2),
            assign("m", "s", field("h", "d")),
            primitive("add_header", json!([header("out")])),
            assign("out", "v", wrapped),
        ],
    );
    let frame = through(&mut p4.load(), &bytes);
    u128::from_be_bytes(frame[..16].try_into().unwrap())
}

fn masked(expr: Value, width: u32) -> Value {
    op("&", expr, hex((1 << width) - 1))
}

/// The 32-bit values `c` and `a ++ b ++ d` of a header.
fn operands(bytes: [u8; 8]) -> (u128, u128) {
    let c = u32::from_be_bytes(bytes[3..7].try_into().unwrap());
    let b = u16::from_be_bytes(bytes[1..3].try_into().unwrap());
    (u128::from(c), u128::from(b))
}

proptest! {
    #![proptest_config(seeded(64))]

    #[test]
    fn arithmetic_agrees_with_u128(bytes: [u8; 8]) {
        let (c, b) = operands(bytes);
        let m = u128::from(u32::MAX);
        let (fc, fb) = (|| field("h", "c"), || field("h", "b"));
        let cases = [
            ("+", op("+", fc(), fb()), c + b),
            ("-", masked(op("-", fb(), fc()), 32), b.wrapping_sub(c) & m),
            ("*", masked(op("*", fc(), fc()), 32), (c * c) & m),
            ("&", op("&", fc(), fb()), c & b),
            ("|", op("|", fc(), fb()), c | b),
            ("^", op("^", fc(), fb()), c ^ b),
            ("~", masked(unary("~", fc()), 32), !c & m),
            ("/", op("/", fc(), hex(7)), c / 7),
            ("%", op("%", fc(), hex(7)), c % 7),
            ("<<", op("<<", fc(), hex(9)), c << 9),
            ("<< field", masked(op("<<", fc(), field("h", "a")), 32),
                c.checked_shl(bytes[0].into()).unwrap_or(0) & m),
            (">>", op(">>", fc(), field("h", "a")), c.checked_shr(bytes[0].into()).unwrap_or(0)),
            ("==", unary("b2d", op("==", fc(), fb())), (c == b).into()),
            ("!=", unary("b2d", op("!=", fc(), fb())), (c != b).into()),
            ("<", unary("b2d", op("<", fc(), fb())), (c < b).into()),
            ("<=", unary("b2d", op("<=", fc(), fc())), 1),
            (">", unary("b2d", op(">", fc(), fb())), (c > b).into()),
            (">=", unary("b2d", op(">=", fc(), fb())), (c >= b).into()),
            ("|+|", json!({"type": "expression", "value":
                {"op": "usat_cast", "left": op("+", fc(), fc()), "right": hex(32)}}), (c + c).min(m)),
            ("|-|", json!({"type": "expression", "value":
                {"op": "usat_cast", "left": op("-", fb(), fc()), "right": hex(32)}}), b.saturating_sub(c)),
            ("?", json!({"type": "expression", "value":
                {"op": "?", "cond": op("<", fb(), hex(0x8000)), "left": fc(), "right": fb()}}),
                if b < 0x8000 { c } else { b }),
        ];
        for (name, expr, expected) in cases {
            prop_assert_eq!(evaluate(expr, bytes), expected, "{}", name);
        }
    }

    #[test]
    fn signed_arithmetic_agrees_with_i8(bytes: [u8; 8]) {
        let d = bytes[7] as i8;
        let s = || field("m", "s");
        let wrap = |expr| op("two_comp_mod", expr, hex(8));
        let sat = |expr| op("sat_cast", expr, hex(8));
        let all = |v: i8| i128::from(v) as u128;
        let cases = [
            ("read", s(), all(d)),
            ("+", wrap(op("+", s(), hex(100))), all(d.wrapping_add(100))),
            ("-", wrap(op("-", hex(0), s())), all(0i8.wrapping_sub(d))),
            ("*", wrap(op("*", s(), s())), all(d.wrapping_mul(d))),
            (">>", op(">>", s(), hex(3)), all(d >> 3)),
            ("<", unary("b2d", op("<", s(), hex(5))), (d < 5).into()),
            ("> -5", unary("b2d", op(">", s(), json!({"type": "hexstr", "value": "-0x05"}))),
                (d > -5).into()),
            ("|+|", sat(op("+", s(), hex(100))), all(d.saturating_add(100))),
            ("|-|", sat(op("-", s(), hex(100))), all(d.saturating_sub(100))),
            ("to bit<8>", masked(s(), 8), (d as u8).into()),
        ];
        for (name, expr, expected) in cases {
            prop_assert_eq!(evaluate(expr, bytes), expected, "{}", name);
        }
    }
}

#[test]
fn booleans() {
    let bytes = [1, 0, 0, 0, 0, 0, 0, 0];
    let yes = || unary("d2b", field("h", "a"));
    let no = || unary("d2b", field("h", "b"));
    let truth = json!({"type": "bool", "value": true});
    let cases = [
        (yes(), 1),
        (no(), 0),
        (unary("not", no()), 1),
        (op("and", yes(), no()), 0),
        (op("or", no(), yes()), 1),
        (op("==", yes(), truth), 1),
        (unary("valid", header("h")), 1),
        (unary("valid", header("out")), 1),
        (field("h", "$valid$"), 1),
        (field("out", "$valid$"), 1),
    ];
    for (expr, expected) in cases {
        assert_eq!(evaluate(unary("b2d", expr.clone()), bytes), expected, "{expr}");
    }
}

#[test]
fn the_full_width_is_exact() {
    let all = || hex(u128::MAX);
    let bytes = [0xff; 8];
    let wide = || op("|", op("<<", field("h", "c"), hex(96)), field("h", "c"));
    let value = (0xffff_ffff_u128 << 96) | 0xffff_ffff;
    let cases = [
        (op("+", wide(), hex(1)), value + 1),
        (op("&", op("+", all(), field("h", "a")), all()), 254),
        (unary("b2d", op(">", wide(), hex(1 << 127))), 1),
        (op("usat_cast", op("+", wide(), all()), hex(128)), u128::MAX),
        (op("usat_cast", op("-", hex(1), all()), hex(128)), 0),
        (op("&", op("*", all(), all()), all()), 1),
        (op(">>", wide(), hex(96)), 0xffff_ffff),
        (op("&", unary("~", wide()), all()), !value),
        // These need a bit above the 128th on the way.
        (op(">>", op("+", all(), hex(1)), hex(1)), 1 << 127),
        (op("/", op("+", all(), hex(3)), hex(2)), (1 << 127) + 1),
        (unary("b2d", op(">", op("+", all(), hex(1)), all())), 1),
        (unary("b2d", unary("d2b", op("+", all(), hex(1)))), 1),
        (unary("b2d", op("<", op("-", hex(1), wide()), all())), 1),
        (op("usat_cast", op("*", all(), all()), hex(128)), u128::MAX),
    ];
    for (expr, expected) in cases {
        assert_eq!(evaluate(expr.clone(), bytes), expected, "{expr}");
    }
}

#[test]
fn expressions_without_meaning_are_refused() {
    let negative = "a divisor, dividend or shift amount that can be negative is not supported";
    let cases = [
        (op("/", field("m", "s"), hex(3)), negative),
        (op("<<", hex(1), field("m", "s")), negative),
        (op("**", hex(1), hex(1)), "the operator \"**\" is not supported"),
        (param(0), "no action parameter \"0\""),
        (
            op("+", hex(1), json!({"type": "register", "value": ["r", 1]})),
            "an expression of type \"register\" is not supported",
        ),
    ];
    for (expr, expected) in cases {
        let mut p4 = P4::new();
        p4.run(INGRESS, vec![assign("m", "x", expr.clone())]);
        let error = p4.load_error();
        assert!(error.starts_with("actions[0].primitives[0].parameters[1]"), "{error}");
        assert!(error.ends_with(expected), "{error} for {expr}");
    }
}
