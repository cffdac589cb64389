use groupflow_base::{Digest, StreamId, Token};
use groupflow_gather::machine::frame::Hello;

use groupflow_gather::machine::{admit, token_hash, ClientName, RefusalCode};

/// `printf c0ffee | sha256sum`
const HASH_OF_C0FFEE: &str = "fb0288872031fc4818c03a7253bd3a78de192d05e6bccd09ceabeda65b4d7c6f";

fn hash(token: &str) -> Digest {
    token_hash(&Token::parse(token).expect("a token"))
}

fn hello(token: &str, stream: u64) -> Hello {
    Hello {
        stream: StreamId(stream),
        acknowledged: 0,
        client: ClientName::parse("a").expect("a name"),
        token: Token::parse(token).expect("a token"),
    }
}

#[test]
fn who_may_send() {
    let known = hash("c0");
    let judged = |token: &str, stream, listed: bool, remembered: Option<(u64, usize)>| {
        let remembered = remembered.map(|(stream, stripes)| (StreamId(stream), stripes));
        let listed = listed.then_some(&known);
        admit(&hello(token, stream), listed, remembered, 2).map_err(|refused| refused.code)
    };
    assert_eq!(judged("c0", 1, false, None), Err(RefusalCode::UnknownClient));
    assert_eq!(judged("c0", 1, false, Some((1, 1))), Err(RefusalCode::UnknownClient));
    assert_eq!(judged("c1", 1, true, None), Err(RefusalCode::WrongToken));
    assert_eq!(judged("c1", 1, true, Some((1, 1))), Err(RefusalCode::WrongToken));
    assert_eq!(judged("c0", 1, true, None), Ok(()), "the stream begins");
    assert_eq!(judged("c0", 1, true, Some((1, 0))), Ok(()), "the stream comes back");
    assert_eq!(judged("c0", 1, true, Some((1, 1))), Ok(()), "another stripe joins");
    assert_eq!(judged("c0", 1, true, Some((1, 2))), Err(RefusalCode::TooMany));
    assert_eq!(judged("c0", 2, true, Some((1, 1))), Err(RefusalCode::DuplicateClient));
    assert_eq!(judged("c0", 2, true, Some((1, 0))), Ok(()), "the stream replaces one without stripes");
}

#[test]
fn a_hash_is_that_of_the_digits_in_lower_case() {
    assert_eq!(Digest::parse(HASH_OF_C0FFEE), Some(hash("C0ffee")));
    for wrong in ["", "c0", &HASH_OF_C0FFEE[1..], &format!("{}x", &HASH_OF_C0FFEE[1..])] {
        assert_eq!(Digest::parse(wrong), None, "{wrong}");
    }
}
