use groupflow_base::lines::LineBuffer;

#[test]
fn lines_come_whole_and_have_a_bound() {
    let mut lines = LineBuffer::new(5);
    assert_eq!(lines.push(b"on"), Some(vec![]));
    assert_eq!(lines.push(b"e\n\r\n \ntwo\nthree"), Some(vec![b"one".to_vec(), b"two".to_vec()]));
    assert_eq!(lines.push(b"\n"), Some(vec![b"three".to_vec()]));
    assert_eq!(lines.push(b"longer"), None);
}
