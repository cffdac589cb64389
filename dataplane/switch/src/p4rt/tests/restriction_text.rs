//! Rules in text, and what they hold of.

use groupflow_pipeline::Match;
use proptest::prelude::*;

use super::super::bytestring::ones;
use super::super::restriction::{Restriction, Subject, LIMIT};
use super::super::translation::Names;
use super::*;

fn fields() -> Vec<BoundField> {
    let kinds = [
        ("e", MatchKind::Exact, 8),
        ("t.t", MatchKind::Ternary, 128),
        ("l", MatchKind::Lpm, 32),
        ("r", MatchKind::Range, 16),
        ("o", MatchKind::Optional, 9),
    ];
    let field = |(name, kind, width): (&str, MatchKind, u32)| BoundField {
        id: 1,
        name: name.into(),
        width,
        kind,
        program_kind: kind,
        names: None,
    };
    kinds.into_iter().map(field).collect()
}

fn check(text: &str) -> Result<bool, String> {
    let subject = Subject {
        matches: &[
            Match::Exact(5),
            Match::Ternary { value: 6, mask: ones(128) },
            Match::Lpm { value: 0x0a00_0000, prefix: 8 },
            Match::Range { low: 7, high: 9 },
            Match::Optional(None),
        ],
        arguments: &[],
        priority: 3,
    };
    let fields = fields();
    let rules = Restriction::of(
        &[format!("@entry_restriction({text:?})")],
        "entry_restriction",
        Parser::new(&fields, true),
    )?;
    Ok(rules.is_some_and(|rules| rules.check(subject).is_ok()))
}

#[test]
fn rules_hold_or_not() {
    let hold = [
        "e == 5",
        "e != 6 && e < 6 && e <= 5 && e > 4 && e >= 5",
        "5 == e::value",
        "e == 261",
        "-251 == e",
        "t.t == 6",
        "t.t::mask == -1",
        "t.t::value != 7",
        "l::prefix_length == 8",
        "l::prefix_length > -1",
        "l::value == ipv4('10.0.0.0')",
        "l != 0x0a000000",
        "r::low == 0o7 && r::high == 0b1001",
        "r != 7",
        "o::mask == 0",
        "o != 0",
        "::priority == 3",
        "e == 6 -> false",
        "!(e == 6)",
        "true; true;",
        "// Words.\n e == 5 /* more */ ; true",
        "t.t::value < ipv6('::7')",
        "e == mac('00:00:00:00:00:05')",
        "e == 6 && false || true",
        "(e == 5) == true",
        "(true; e == 5;)",
        "true /*/ ; false; /* the same comment */",
        "-(-0d5) == 5",
    ];
    for text in hold {
        assert_eq!(check(text), Ok(true), "{text}");
    }
    let broken = [
        "false",
        "true; e == 6",
        "e == 5 -> false",
        "l == 0x0a000000",
        "o == 0",
        "t.t == 7",
        "r == 7",
        "!true",
        "true != true",
        "false || e == 6",
        "-1 > 1",
    ];
    for text in broken {
        assert_eq!(check(text), Ok(false), "{text}");
    }
}

#[test]
fn bad_rules_are_refused_with_their_place() {
    let cases = [
        ("", "it has no text in quotes"),
        ("foo == 2", "there is no key field foo"),
        ("e == 0b2", "a number should be where"),
        ("e::mask == 1", "key field e, which is exact, has no ::mask"),
        ("e", "a bit<8> is not true or false"),
        ("-false", "only whole numbers can be negative"),
        ("!1", "a whole number is not true or false"),
        ("o > 10", "a match of kind optional of 9 bits and a whole number cannot be compared so"),
        ("e == l::value", "a bit<8> and a bit<32> cannot be compared so"),
        ("::unknown > 10", "there is no ::unknown"),
        ("e == 1 == true", "parentheses should say what belongs together where \"true"),
        ("true -> true -> true", "parentheses should say"),
        ("e == 5 e", "an operator or ; should be where \"e"),
        ("(e == 5", "a ) should be where"),
        ("e == ipv4('x')", "an address (ipv4) in '' should be"),
        ("true < false", "a truth value can only be equal or unequal to another"),
        ("true; /* ; false", "a key field, a number or ( should be where \"/* ; false"),
        ("true /*/ ; false", "an operator or ; should be where \"/*/ ; fal"),
    ];
    for (text, message) in cases {
        let error = check(text).expect_err(text);
        assert!(error.starts_with(&format!("@entry_restriction: {message}")), "{text}: {error}");
    }
    assert!(check(&"(".repeat(10_000)).is_err() && check(&"!".repeat(10_000)).is_err());
    let long = format!("@entry_restriction: it is longer than {LIMIT} bytes");
    assert_eq!(check(&"true;".repeat(LIMIT / 5 + 1)), Err(long));
    assert_eq!(check(&"true;".repeat(LIMIT / 5)), Ok(true));
}

/// As in p4-constraints, a string is the number that its bytes are.
#[test]
fn rules_about_strings_compare_their_bytes() {
    let names = Names::default();
    let number = names.decode(b"ab", 256).expect("a string");
    let field = |name: &str, kind| BoundField {
        id: 1,
        name: name.into(),
        width: 256,
        kind,
        program_kind: kind,
        names: Some(names.clone()),
    };
    let fields = [field("e", MatchKind::Exact), field("o", MatchKind::Optional)];
    let exact = Match::Wide(vec![Match::Exact(0), Match::Exact(number)]);
    let matches = [exact, Match::Wide(vec![Match::Optional(None); 2])];
    let holds = |text: &str| {
        let annotations = [format!("@entry_restriction({text:?})")];
        let rules = Restriction::of(&annotations, "entry_restriction", Parser::new(&fields, true));
        let subject = Subject { matches: &matches, arguments: &[], priority: 0 };
        rules.expect(text).is_some_and(|rules| rules.check(subject).is_ok())
    };
    for text in ["e != 0", "e == 0x6162", "o::mask == 0 && o == 0", "o::mask != 0 -> false"] {
        assert!(holds(text), "{text}");
    }
    assert!(!holds("e == 1") && !holds("o != 0"));
}

#[test]
fn a_long_list_of_rules_is_not_deep() {
    let all = || vec![Rule::Constant(true); 100_000];
    for (text, expected) in [
        (format!("({})", "true;".repeat(100_000)), Rule::All(all())),
        (vec!["true"; 100_000].join(" && "), Rule::All(all())),
        (vec!["true"; 100_000].join(" || "), Rule::Any(all())),
    ] {
        let rules = Parser::new(&[], false).rules(&text).expect("valid");
        assert!(rules.len() == 1 && rules[0].1 == expected, "{}", &text[..20]);
    }
}

#[test]
fn all_annotations_count_and_a_refusal_is_short() {
    let annotations = ["@entry_restriction(\"e == 5\")", "@entry_restriction(\"e != 5\")"].map(str::to_owned);
    let fields = fields();
    let rules = |annotations: &[String]| {
        let rules = Restriction::of(annotations, "entry_restriction", Parser::new(&fields, true));
        rules.map(|rules| rules.expect("there are some"))
    };
    let subject = Subject { matches: &[Match::Exact(5)], arguments: &[], priority: 0 };
    assert_eq!(rules(&annotations[..1]).map(|rules| rules.check(subject)), Ok(Ok(())));
    let refusal = rules(&annotations).expect("valid").check(subject).expect_err("the second does not hold");
    assert_eq!(refusal.message, "@entry_restriction: it breaks \"e != 5\"");
    let long = format!("@entry_restriction(\"{}false\")", "true && ".repeat(1000));
    assert!(rules(&[long]).expect("valid").check(subject).expect_err("false").message.len() < 300);
    let half = format!("@entry_restriction(\"{}\")", "true;".repeat(LIMIT / 10 + 1));
    assert!(rules(&[half.clone(), half]).is_err(), "the limit is that of all texts");
}

proptest! {
    #[test]
    fn no_text_panics(text in r"([ -~\n]|é|&&|->|::|==|e|t\.t|0x|\(|ipv4\('){0,40}") {
        let _ = check(&text);
    }
}
