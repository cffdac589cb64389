use super::*;
use serde_json::json;

fn trace() -> Value {
    let fields = json!([["dst", "0xa"], ["type", "0x800"]]);
    let egress = json!({ "pass": "egress", "cause": "unicast", "verdict": "sent", "dropped": false,
        "queue": { "port": 2, "queue": 0, "depth": 3, "waited": 12_000 }, "steps": [], "copies": [],
        "copies_cut": 9, "sent_bytes": 64 });
    json!({ "switch": 1, "id": 5, "time": 1_500_000_000_u64, "port": 1, "length": 64, "missed": 2,
        "pass": "ingress", "cause": "arrival", "verdict": "to port 2", "dropped": false, "sent_bytes": 0,
        "steps": [
            { "step": "extract", "header": "ethernet", "fields": fields },
            { "step": "table", "table": "I.route", "key": [["dst", "0xa"]], "hit": true, "action": "I.go",
              "arguments": [["port", "0x2"]], "at": "a.p4:7" },
            { "step": "table", "table": "I.ways", "key": [], "hit": true, "action": "",
              "arguments": [["group", "0x1"]], "at": "" },
            { "step": "action", "action": "I.go", "arguments": [["port", "0x3"]], "at": "" },
            { "step": "count", "counter": "drops", "index": "8", "reason": "no_route", "at": "" },
            { "step": "mark_to_drop", "at": "" },
        ],
        "copies": [egress] })
}

#[test]
fn a_trace_reads_as_text() {
    let text = "(2 packets before were not traced)\n\
                64 bytes at port 1 of switch 1, 1.500000 s\n  \
                  ingress (arrival)\n    \
                    extract   ethernet  dst=0xa type=0x800\n    \
                    table     I.route  dst=0xa  hit: I.go(port=0x2)   a.p4:7\n    \
                    table     I.ways    hit: one of group=0x1\n    \
                    action    I.go(port=0x3)\n    \
                    count     drops[8], no route\n    \
                    mark to drop\n    \
                    => to port 2\n    \
                    egress (unicast), queue 0 of port 2, 3 packets ahead, 12.0 us\n      \
                      => sent\n      \
                      ... 9 further copies are not shown\n";
    assert_eq!(render_trace(&trace()), text);
}
