use super::*;

#[test]
fn ways_are_shortest_and_lead_back() {
    let routers = Routers::transit_stub(4, 2, 3, 1);
    assert_eq!(routers.stubs.len(), 4 * 2 * 3);
    for &a in &routers.stubs {
        for &b in &routers.stubs {
            let along: Nanos =
                routers.way(a, b).fold(Nanos::ZERO, |sum, link| sum + routers.links[link].latency);
            assert_eq!(along, routers.latency(a, b));
            assert_eq!(routers.latency(a, b), routers.latency(b, a));
            for &c in &routers.stubs {
                assert!(routers.latency(a, c) <= routers.latency(a, b) + routers.latency(b, c));
            }
        }
    }
}
