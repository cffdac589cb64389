// Refuses connections to the addresses of TCP sessions that no host serves: the client is told at once, where
// silence would let it try for minutes. The segment itself becomes the answer, so no packet has to be made.
//
//   with ACK         -->  RST        seq SEG.ACK                             (RFC 9293, 3.10.7.1: CLOSED)
//   SYN alone        -->  RST, ACK   seq 0          ack SEG.SEQ + 1
//   RST; neither     -->  nothing
//
// A SYN's data is not acknowledged, since a chip cannot tell its length; a client in SYN-SENT takes the reset
// (3.10.7.3). Bytes that followed the TCP header stay in the frame, behind the length that IPv4 tells:
// padding. The segment's own checksum is not verified, because no switch chip can sum a payload: a client
// refuses a reset that does not fit its connection.

control Refusal(inout headers_t hdr, inout metadata_t meta) {
    CountRefusal() refusal;

    mac_addr_t client_mac;
    ipv4_addr_t client_ip;
    bit<16> client_port;

    @hidden action turn_round() {
        client_mac = hdr.ethernet.src;
        hdr.ethernet.src = hdr.ethernet.dst;
        hdr.ethernet.dst = client_mac;
        client_ip = hdr.ipv4.src;
        hdr.ipv4.src = hdr.ipv4.dst;
        hdr.ipv4.dst = client_ip;
        client_port = hdr.tcp.src_port;
        hdr.tcp.src_port = hdr.tcp.dst_port;
        hdr.tcp.dst_port = client_port;
        meta.egress_port = meta.ingress_port;
    }

    // Nothing but the headers, whose checksums are summed when the packet leaves.
    @hidden action strip() {
        hdr.ipv4.dscp_ecn = 0;
        hdr.ipv4.total_length = IPV4_BYTES + TCP_BYTES;
        hdr.ipv4.identification = 0;
        hdr.ipv4.flags = IPV4_DONT_FRAGMENT;
        hdr.ipv4.ttl = IPV4_FRESH_TTL;
        hdr.tcp.data_offset = 5;
        hdr.tcp.reserved = 0;
        hdr.tcp.window = 0;
        hdr.tcp.urgent = 0;
    }

    apply {
        if (!hdr.tcp.isValid() || meta.neighbour == NEIGHBOUR_CONTROLLER) {
            meta.drop_reason = DROP_REFUSED;
        } else if ((hdr.tcp.flags & TCP_RST) != 0) {
            meta.drop_reason = ABSORBED;
        } else if (hdr.tcp.data_offset < 5) {
            meta.drop_reason = DROP_MALFORMED;
        } else if ((hdr.tcp.flags & (TCP_ACK | TCP_SYN)) == 0) {
            meta.drop_reason = ABSORBED;
        } else {
            if ((hdr.tcp.flags & TCP_ACK) != 0) {
                hdr.tcp.seq = hdr.tcp.ack;
                hdr.tcp.ack = 0;
                hdr.tcp.flags = TCP_RST;
            } else {
                hdr.tcp.ack = hdr.tcp.seq + 1;
                hdr.tcp.seq = 0;
                hdr.tcp.flags = TCP_RST | TCP_ACK;
            }
            turn_round();
            strip();
            refusal.apply(meta.ingress_port);
        }
    }
}
