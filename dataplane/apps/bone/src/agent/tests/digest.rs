use super::*;

#[test]
fn it_is_sha_256_in_hexadecimal() {
    let digest = read(&b"abc"[..]).expect("memory");
    let text = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
    assert_eq!(digest.to_string(), text);
    assert_eq!(Digest::parse(text), Some(digest));
    for bad in ["", "ba", &text[1..], &text.replace('b', "x"), &"é".repeat(32)] {
        assert_eq!(Digest::parse(bad), None, "{bad}");
    }
}
