// Refuses connections to the addresses of TCP sessions that no host serves: the client is told at once, where
// silence would let it try for minutes. The segment itself becomes the answer, so no packet has to be made.
//
//   no ACK (a SYN)   -->  RST, ACK   seq 0          ack SEG.SEQ + SEG.LEN    (RFC 9293, 3.10.7.1: CLOSED)
//   with ACK         -->  RST        seq SEG.ACK
//   RST              -->  nothing
//
// SEG.LEN counts SYN and FIN. Bytes that followed the TCP header stay in the frame, behind the length that
// IPv4 tells: padding. The segment's own checksum is not verified, because no switch chip can sum a payload:
// a client refuses a reset that does not fit its connection.

control Refusal(inout headers_t hdr, inout metadata_t meta) {
    CountRefusal() refusal;

    mac_addr_t client_mac;
    ipv4_addr_t client_ip;
    bit<16> client_port;
    bit<32> segment;   // SEG.LEN; negative where the headers do not fit

    @hidden action without_headers(bit<32> negative) { segment = segment + negative; }
    @hidden action impossible() { segment = 0xffffffff; }

    // By the length of TCP's header in words.
    @hidden
    table headers {
        key = { hdr.tcp.data_offset : exact; }
        actions = { without_headers; @defaultonly impossible; }
        const default_action = impossible();
        const entries = {
            5 : without_headers(-32w40); 6 : without_headers(-32w44); 7 : without_headers(-32w48);
            8 : without_headers(-32w52); 9 : without_headers(-32w56); 10 : without_headers(-32w60);
            11 : without_headers(-32w64); 12 : without_headers(-32w68); 13 : without_headers(-32w72);
            14 : without_headers(-32w76); 15 : without_headers(-32w80);
        }
    }

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
        if (!hdr.tcp.isValid()) {
            meta.drop_reason = DROP_REFUSED;
        } else if ((hdr.tcp.flags & TCP_RST) != 0) {
            meta.drop_reason = ABSORBED;
        } else {
            segment = (bit<32>)hdr.ipv4.total_length;
            headers.apply();
            if (segment[31:31] == 1) {
                meta.drop_reason = DROP_MALFORMED;
            } else {
                if ((hdr.tcp.flags & TCP_ACK) != 0) {
                    hdr.tcp.seq = hdr.tcp.ack;
                    hdr.tcp.ack = 0;
                    hdr.tcp.flags = TCP_RST;
                } else {
                    if ((hdr.tcp.flags & TCP_SYN) != 0) {
                        segment = segment + 1;
                    }
                    if ((hdr.tcp.flags & TCP_FIN) != 0) {
                        segment = segment + 1;
                    }
                    hdr.tcp.ack = hdr.tcp.seq + segment;
                    hdr.tcp.seq = 0;
                    hdr.tcp.flags = TCP_RST | TCP_ACK;
                }
                turn_round();
                strip();
                refusal.apply(meta.ingress_port);
            }
        }
    }
}
