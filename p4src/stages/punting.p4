// Hands a packet to the controller, if the port that it came from has not sent too many. What the controller
// itself has sent is not bounded.

control Punting(inout headers_t hdr, inout metadata_t meta) {
    CountPunt() count_punt;
    MeterPunt() meter_punt;

    apply {
        bit<8> type = 0;   // an answer to a probe has none
        bit<1> keepalive = 0;
        if (hdr.group.isValid()) {
            type = hdr.group.type;
            if (type == TYPE_KEEPALIVE) {
                keepalive = 1;
            }
        }
        bool above = false;
        if (meta.punt != PUNT_RESET) {
            meter_punt.apply(meta.ingress_port, keepalive, above);
        }
        if (above) {
            meta.drop_reason = DROP_METERED;
        } else {
            count_punt.apply(type);
            hdr.packet_in.setValid();
            hdr.packet_in.ingress_port = meta.ingress_port;
            hdr.packet_in.reason = meta.punt;
            meta.egress_port = CPU_PORT;
        }
    }
}
