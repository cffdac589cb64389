use super::*;

#[test]
fn addresses_are_shown_as_addresses() {
    let cases = [
        ("hdr.ipv4.dst", 32, 0x0a00_0201, "10.0.2.1"),
        ("srcAddr", 32, 0x0a00_0201, "10.0.2.1"),
        ("nhop_ipv4", 32, 1, "0.0.0.1"),
        ("sender_mac", 48, 0x0200_0a00_0201, "02:00:0a:00:02:01"),
        ("dst", 48, 1, "00:00:00:00:00:01"),
        ("dst_addr", 128, 1, "::1"),
        ("dst_port", 16, 0x50, "0x50"),
        ("ingress_global_timestamp", 48, 9, "0x9"),
        ("hdr.ipv4.ttl", 8, 64, "0x40"),
        ("hdr.group.session", 32, 7, "0x7"),
        ("meta.next_hop", 32, 1, "0.0.0.1"),
        ("src_ip", 32, 1, "0.0.0.1"),
        ("dmac", 48, 1, "00:00:00:00:00:01"),
        ("hop_latency", 32, 7, "0x7"),
        ("src_count", 32, 7, "0x7"),
        ("ip_length", 32, 7, "0x7"),
        ("skip", 32, 7, "0x7"),
    ];
    for (name, width, value, text) in cases {
        assert_eq!(shown(name, width, &[value]), text, "{name}");
    }
}
