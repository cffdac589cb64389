// First stage: checks that a packet is whole and of a known protocol. Sets drop_reason and is_group.

control Validation(in headers_t hdr, inout metadata_t meta) {
    CountArrival() arrival;

    apply {
        arrival.apply(meta.ingress_port);

        if (meta.parser_failed == 1) {
            meta.drop_reason = DROP_MALFORMED;
        } else if (meta.checksum_failed == 1) {
            meta.drop_reason = DROP_CHECKSUM;
        } else if (hdr.arp.isValid()) {
            if (hdr.arp.hardware_type != 1 || hdr.arp.protocol_type != ETHERTYPE_IPV4
                || hdr.arp.hardware_length != 6 || hdr.arp.protocol_length != 4) {
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
        } else if (hdr.ipv4.total_length < IPV4_BYTES
                   || EXCEEDS(hdr.ipv4.total_length, meta.frame_bytes - ETHERNET_BYTES)) {
            meta.drop_reason = DROP_MALFORMED;
        } else if (hdr.ipv4.ttl <= 1) {
            meta.drop_reason = DROP_TTL;
        } else {
            if (hdr.ipv4.dst[31:24] == GROUP_PREFIX) {
                meta.is_group = 1;
            }
            // Of a fragment the lengths say nothing; guard.p4 drops it.
            if (hdr.group.isValid() && (hdr.ipv4.flags & IPV4_MORE_FRAGMENTS) == 0) {
                if (hdr.udp.length != hdr.ipv4.total_length - IPV4_BYTES
                    || hdr.udp.length != hdr.group.length + UDP_BYTES + GROUP_BYTES
                    || hdr.group.length > GROUP_MAX_BYTES
                    || hdr.group.version != GROUPFLOW_VERSION
                    || (meta.is_group == 1 && hdr.ipv4.dst[23:0] != hdr.group.session[23:0])) {
                    meta.drop_reason = DROP_MALFORMED;
                }
            } else if (hdr.udp.isValid() && hdr.udp.length < UDP_BYTES) {
                meta.drop_reason = DROP_MALFORMED;
            }
        }
    }
}
