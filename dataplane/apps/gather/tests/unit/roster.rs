use groupflow_base::{Digest, StreamId, Token};
use groupflow_gather::machine::frame::Hello;

use groupflow_gather::machine::{token_hash, Admitted, ClientName, RefusalCode, Refused, Roster};

/// `printf c0ffee | sha256sum`
const HASH_OF_C0FFEE: &str = "fb0288872031fc4818c03a7253bd3a78de192d05e6bccd09ceabeda65b4d7c6f";

fn hash(token: &str) -> Digest {
    token_hash(&Token::parse(token).expect("a token"))
}

fn hello(client: &str, token: &str, stream: u64) -> Hello {
    Hello {
        stream: StreamId(stream),
        acknowledged: 0,
        client: ClientName::parse(client).expect("a name"),
        token: Token::parse(token).expect("a token"),
    }
}

#[test]
fn who_may_send() {
    let mut roster = Roster::new(2);
    for name in ["a", "b"] {
        assert!(!roster.put(ClientName::parse(name).expect("a name"), hash("c0")));
    }
    let code = |result: Result<Admitted, Refused>| result.map_err(|refused| refused.code);
    assert_eq!(code(roster.admit(&hello("x", "c0", 1))), Err(RefusalCode::UnknownClient));
    assert_eq!(code(roster.admit(&hello("a", "c1", 1))), Err(RefusalCode::WrongToken));
    assert_eq!(roster.admit(&hello("a", "c0", 1)), Ok(Admitted::Begins));
    assert_eq!(roster.admit(&hello("a", "c0", 1)), Ok(Admitted::Joins));
    assert_eq!(code(roster.admit(&hello("a", "c0", 1))), Err(RefusalCode::TooMany));
    assert_eq!(code(roster.admit(&hello("a", "c0", 2))), Err(RefusalCode::DuplicateClient));
    assert_eq!(roster.admit(&hello("b", "c0", 2)), Ok(Admitted::Begins), "others are unharmed");
    let a = ClientName::parse("a").expect("a name");
    roster.leave(&a, StreamId(1));
    roster.leave(&a, StreamId(1));
    assert_eq!(roster.admit(&hello("a", "c0", 2)), Ok(Admitted::Replaces(StreamId(1))));
    roster.leave(&a, StreamId(1));
    assert_eq!(code(roster.admit(&hello("a", "c0", 3))), Err(RefusalCode::DuplicateClient), "not its stripe");
    roster.forget(&a, StreamId(2));
    assert_eq!(roster.admit(&hello("a", "c0", 3)), Ok(Admitted::Begins));
    roster.forget(&a, StreamId(3));
    assert!(!roster.put(a.clone(), hash("c0")) && roster.put(a.clone(), hash("c1")), "another token");
    assert_eq!(code(roster.admit(&hello("a", "c0", 4))), Err(RefusalCode::WrongToken));
    assert_eq!(roster.admit(&hello("a", "c1", 4)), Ok(Admitted::Begins));
    roster.allow(1);
    assert_eq!(code(roster.admit(&hello("a", "c1", 4))), Err(RefusalCode::TooMany));
    roster.forget(&a, StreamId(4));
    roster.remove(&a);
    assert_eq!(code(roster.admit(&hello("a", "c1", 5))), Err(RefusalCode::UnknownClient));
}

#[test]
fn a_hash_is_that_of_the_digits_in_lower_case() {
    assert_eq!(Digest::parse(HASH_OF_C0FFEE), Some(hash("C0ffee")));
    for wrong in ["", "c0", &HASH_OF_C0FFEE[1..], &format!("{}x", &HASH_OF_C0FFEE[1..])] {
        assert_eq!(Digest::parse(wrong), None, "{wrong}");
    }
}
