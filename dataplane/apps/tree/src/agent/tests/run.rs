use super::*;

#[test]
fn whole_records_are_handed_on_however_they_come() {
    let mut taken = Taken::of(4);
    taken.push(b"ab", 0);
    assert!(taken.bytes.is_empty());
    taken.push(b"cdefghijk", 2);
    assert_eq!(taken.bytes, b"abcdefgh");
    taken.push(b"l", 11);
    assert_eq!(taken.bytes, b"abcdefghijkl");
    taken.push(b"mn", 12);
    taken.end();
    assert_eq!(taken.bytes, b"abcdefghijklmn");
}

#[test]
fn a_record_that_a_skip_cuts_is_not_handed_on() {
    let mut taken = Taken::of(4);
    taken.push(b"abcdef", 0);
    taken.push(b"uvwxy", 20);
    assert_eq!(taken.bytes, b"abcduvwx");
    taken.push(b"zab", 25);
    assert_eq!(taken.bytes, b"abcduvwxyzab");
}

#[test]
fn without_alignment_every_byte_is_a_record() {
    let mut taken = Taken::of(1);
    taken.push(b"abc", 5);
    assert_eq!(taken.bytes, b"abc");
}
