use super::*;

#[test]
fn whole_records_are_handed_on_however_they_come() {
    let mut taken = Taken::of(4);
    taken.push(b"ab".to_vec(), 0);
    assert!(taken.bytes.is_empty());
    taken.push(b"cdefghijk".to_vec(), 2);
    assert_eq!(taken.bytes, b"abcdefgh");
    taken.push(b"l".to_vec(), 11);
    assert_eq!(taken.bytes, b"abcdefghijkl");
    assert!(taken.goes_on_at(12));
    taken.push(b"mn".to_vec(), 12);
    taken.end();
    assert_eq!((taken.bytes.as_slice(), taken.at), (b"abcdefghijklmn".as_slice(), 0));
}

#[test]
fn a_record_that_a_skip_cuts_is_not_handed_on() {
    let mut taken = Taken::of(4);
    taken.push(b"abcdef".to_vec(), 0);
    assert!(!taken.goes_on_at(20), "what is before the gap is handed on first");
    (taken.at, taken.bytes) = (4, Vec::new());
    assert!(taken.goes_on_at(20));
    taken.push(b"uvwxy".to_vec(), 20);
    assert_eq!((taken.bytes.as_slice(), taken.at), (b"uvwx".as_slice(), 20));
}

#[test]
fn without_alignment_every_byte_is_a_record() {
    let mut taken = Taken::of(1);
    taken.push(b"abc".to_vec(), 5);
    assert_eq!((taken.bytes.as_slice(), taken.at), (b"abc".as_slice(), 5));
}
