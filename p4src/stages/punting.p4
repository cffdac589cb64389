// Hands a packet to the controller, if the port that it came from has not sent too many. What the controller
// itself has sent is not bounded.

control Punting(inout headers_t hdr, inout metadata_t meta) {
    CountPunt() count_punt;
    MeterPunt() meter_punt;

    apply {
        color_t color = 0;
        if (meta.ingress_port == CPU_PORT) {
            // The controller's own.
        } else if (hdr.group.isValid() && hdr.group.type == TYPE_KEEPALIVE) {
            meter_punt.apply(meta.ingress_port, 1, color);
        } else {
            meter_punt.apply(meta.ingress_port, 0, color);
        }
        if (color == RED) {
            meta.drop_reason = DROP_METERED;
        } else {
            if (hdr.group.isValid()) {
                count_punt.apply(hdr.group.type);
            } else {
                count_punt.apply(0);   // a probe's answer has no type, nor has an echo
            }
            hdr.packet_in.setValid();
            hdr.packet_in.ingress_port = meta.ingress_port;
            hdr.packet_in.reason = meta.punt;
            meta.egress_port = CPU_PORT;
        }
    }
}
