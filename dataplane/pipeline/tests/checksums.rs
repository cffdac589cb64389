//! Checksums over fields and payload.

use crate::common::*;
use serde_json::json;

const FRAME: [u8; 10] = [1, 0x22, 0x33, 4, 5, 6, 7, 8, 0xaa, 0xbb];

/// `h.b` is the checksum of `h.a`, a zero byte, `h.c`, `h.d` and the payload.
fn checksummed(verify: bool, condition: serde_json::Value) -> P4 {
    let mut p4 = P4::new();
    let zero = json!({"type": "hexstr", "value": "0x0", "bitwidth": 8});
    let input =
        json!([field("h", "a"), zero, field("h", "c"), field("h", "d"), {"type": "payload", "value": null}]);
    p4.add("calculations", json!({"name": "calc", "id": 0, "algo": "csum16", "input": input}));
    p4.add(
        "checksums",
        json!({"name": "sum", "id": 0, "type": "generic", "calculation": "calc",
        "target": ["h", "b"], "verify": verify, "update": !verify, "if_cond": condition}),
    );
    p4.run(INGRESS, vec![forward(2), assign("h", "d", field("standard_metadata", "checksum_error"))]);
    p4
}

#[test]
fn checksums_are_updated_and_verified() {
    let always = || json!({"type": "bool", "value": true});
    // 0x0100 + 0x0405 + 0x0607 + 0x00aa (h.d is 0 by then) + 0xbb00
    let sum = !(0x0100 + 0x0405 + 0x0607 + 0x00aa + 0xbb00_u16);
    let frame = through(&mut checksummed(false, always()).load(), &FRAME);
    assert_eq!(frame[1..3], sum.to_be_bytes());
    let only_if_a_is_9 = op("==", field("h", "a"), hex(9));
    assert_eq!(through(&mut checksummed(false, only_if_a_is_9).load(), &FRAME)[1..3], FRAME[1..3]);

    let good = [&[1][..], &sum.to_be_bytes(), &[4, 5, 6, 7, 0, 0xaa, 0xbb]].concat();
    let bad = [&[1, 0, 0][..], &[4, 5, 6, 7, 0, 0xaa, 0xbb]].concat();
    let mut pipeline = checksummed(true, always()).load();
    assert_eq!(through(&mut pipeline, &good)[7], 0);
    assert_eq!(through(&mut pipeline, &bad)[7], 1);
    let never = json!({"type": "bool", "value": false});
    assert_eq!(through(&mut checksummed(true, never).load(), &bad)[7], 0);
}
