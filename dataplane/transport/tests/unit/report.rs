use groupflow_transport::cache::{CacheStats, StreamCounters, StreamStats};
use groupflow_transport::terms::{Mode, Policy};
use groupflow_transport::{MemberId, Seq, SessionId};
use serde_json::json;

/// `gfagent cache --json` reports figures by these names.
#[test]
fn figures_have_these_names() {
    let counters = StreamCounters {
        repairs_unicast: 1,
        repairs_multicast: 2,
        upstream_nacks: 3,
        requests: 4,
        over_budget: 5,
    };
    let stream = StreamStats {
        session: SessionId(6),
        source: MemberId(7),
        cache_bytes: 8,
        cache_peak_bytes: 9,
        stored_bytes: 10,
        packets: 11,
        highest: Seq(12),
        contiguous: Seq(13),
        branch_min: None,
        acked: Seq(14),
        active: true,
        mode: Mode::NodeToNode,
        policy: Policy::Isolate,
        counters,
        slow: vec![MemberId(15)],
    };
    let stats =
        CacheStats { full: true, max_bytes: 16, counters, streams: vec![stream], ..CacheStats::default() };
    let expected = json!({
        "cache_bytes": 0, "cache_peak_bytes": 0, "stored_bytes": 0, "stored_peak_bytes": 0, "max_bytes": 16,
        "full": true, "repairs_unicast": 1, "repairs_multicast": 2, "upstream_nacks": 3, "requests": 4,
        "over_budget": 5,
        "streams": [{
            "session": 6, "source": 7, "cache_bytes": 8, "cache_peak_bytes": 9, "stored_bytes": 10,
            "packets": 11, "highest": 12, "contiguous": 13, "branch_min": null, "acked": 14,
            "active": true, "mode": "n2n", "policy": "isolate", "repairs_unicast": 1, "repairs_multicast": 2,
            "upstream_nacks": 3, "requests": 4, "over_budget": 5, "slow": [15],
        }],
    });
    assert_eq!(json!(stats), expected);
}
