use super::*;

#[test]
fn a_string_stands_for_one_number_and_back() {
    let names = Names::default();
    let number = |text: &str| names.decode(text.as_bytes(), 2).map_err(|refusal| refusal.message);
    assert_eq!(number("2"), Ok(2));
    assert_eq!(number("Ethernet0"), Ok(1));
    assert_eq!(number("Ethernet0"), Ok(1));
    assert_eq!(number("1"), Err("\"1\": this number stands for \"Ethernet0\"".into()));
    assert_eq!(encode(&[1], Some(&names)), b"Ethernet0");
    assert_eq!(encode(&[0, 0], Some(&names)), b"0");
    assert_eq!(number(""), Ok(0));
    assert_eq!(encode(&[0], Some(&names)), b"", "as it was written");
    assert_eq!(number("02"), Ok(3), "not the decimal form of 2");
    assert_eq!(number("more"), Err("\"more\": there is no number left for it in bit<2>".into()));
    assert!(names.decode(&[0xff], 2).is_err());
    assert_eq!(number(&"x".repeat(257)), Err("it is longer than 256 bytes".into()));
    assert!(names.decode(b"02", 1).is_err(), "3 is no bit<1>");
}

#[test]
fn only_strings_that_are_kept_take_a_number() {
    let names = Names::default();
    let number = |text: &str| names.decode(text.as_bytes(), 32).map_err(|refusal| refusal.message);
    for _ in 0..2 {
        assert_eq!((number("a"), number("b"), number("7")), (Ok(1), Ok(2), Ok(7)));
        assert!(names.settle(false), "a and b");
    }
    assert_eq!((number("0"), number("7"), names.settle(false)), (Ok(0), Ok(7), false));
    assert_eq!((number("b"), names.settle(true)), (Ok(1), true));
    assert_eq!((number("a"), number("b"), names.settle(false)), (Ok(2), Ok(1), true));
    // Numbers of packets and digests take no room.
    (0..100_000).for_each(|number| drop(encode(&[number], Some(&names))));
    assert_eq!((number("a"), names.settle(true)), (Ok(2), true));
    let other = Names::default();
    other.adopt(&names);
    assert_eq!(other.decode(b"a", 32), Ok(2));
    (3..=LIMIT).for_each(|n| assert_eq!(number(&format!("n{n}")), Ok(n as u128)));
    assert!(number("more").is_err() && number("70000").is_err());
}
