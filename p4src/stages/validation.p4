// First stage: checks that a packet is whole and of a known protocol. Sets drop_reason and is_group.
// A chip's condition has some 44 bits.

control Validation(in headers_t hdr, inout metadata_t meta) {
    CountArrival() arrival;
    // Bytes that are missing of the IPv4 header and packet, and bytes before UDP's and the group's payload.
    bit<16> lacking;
    bit<16> cut_off;
    bit<16> before_udp;
    bit<16> before_data;
    bit<24> session_difference;

    // A difference counts only where its headers are valid.
    STEP(measure,
         lacking = IPV4_BYTES |-| hdr.ipv4.total_length;
         cut_off = hdr.ipv4.total_length |-| meta.payload_bytes;
         before_udp = hdr.ipv4.total_length - hdr.udp.length;
         before_data = hdr.udp.length - hdr.group.length;
         session_difference = hdr.ipv4.dst[23:0] ^ hdr.group.session[23:0];)

    apply {
        arrival.apply(meta.ingress_port);
        measure.apply();
        if (hdr.ipv4.isValid() && hdr.ipv4.dst[31:24] == GROUP_PREFIX) {
            meta.is_group = 1;
        }

        if (meta.parser_failed == 1) {
            meta.drop_reason = DROP_MALFORMED;
        } else if (hdr.arp.isValid()) {
            if (hdr.arp.hardware_type != 1 || hdr.arp.protocol_type != ETHERTYPE_IPV4) {
                meta.drop_reason = DROP_MALFORMED;
            } else if (hdr.arp.hardware_length != 6 || hdr.arp.protocol_length != 4) {
                meta.drop_reason = DROP_MALFORMED;
            }
        } else if (hdr.feedback.isValid() || hdr.probe.isValid() || hdr.tick.isValid()) {
            // The parser extracted the header, so the frame is whole. Later stages check the sender.
        } else if (!hdr.ipv4.isValid()) {
            meta.drop_reason = DROP_UNKNOWN_PROTOCOL;
        } else if (hdr.ipv4.version != 4 || hdr.ipv4.ihl < 5) {
            meta.drop_reason = DROP_MALFORMED;
        } else if (hdr.ipv4.ihl != 5) {
            meta.drop_reason = DROP_UNKNOWN_PROTOCOL;
        } else if (meta.checksum_failed == 1 || meta.group_failed == 1) {
            meta.drop_reason = DROP_CHECKSUM;
        } else if (lacking != 0 || cut_off != 0) {
            meta.drop_reason = DROP_MALFORMED;
        } else if (hdr.ipv4.ttl <= 1) {
            meta.drop_reason = DROP_TTL;
        } else if (hdr.group.isValid() && (hdr.ipv4.flags & IPV4_MORE_FRAGMENTS) == 0) {
            // Of a fragment the lengths say nothing; guard.p4 drops it.
            if (before_udp != IPV4_BYTES || before_data != UDP_BYTES + GROUP_BYTES) {
                meta.drop_reason = DROP_MALFORMED;
            } else if (hdr.group.length > GROUP_MAX_BYTES || hdr.group.version != GROUPFLOW_VERSION) {
                meta.drop_reason = DROP_MALFORMED;
            } else if (meta.is_group == 1 && session_difference != 0) {
                meta.drop_reason = DROP_MALFORMED;
            }
        } else if (hdr.udp.isValid() && hdr.udp.length < UDP_BYTES) {
            meta.drop_reason = DROP_MALFORMED;
        }
    }
}
