// Signalling between hosts and the controller: joins and the like go up as packet-in.
#ifndef _GROUPFLOW_CONTROL_
#define _GROUPFLOW_CONTROL_

control Control(inout headers_t hdr, inout metadata_t meta, out bool done) {
    CountPunt() punt;

    apply {
        done = false;
        if (hdr.group.type == TYPE_JOIN || hdr.group.type == TYPE_LEAVE || hdr.group.type == TYPE_KEEPALIVE
            || hdr.group.type == TYPE_QUERY || hdr.group.type == TYPE_REPORT) {
            punt.apply(hdr.group.type);
            hdr.packet_in.setValid();
            hdr.packet_in.ingress_port = meta.ingress_port;
            hdr.packet_in.reason = PUNT_CONTROL;
            meta.egress_port = CPU_PORT;
            done = true;
        }
    }
}

#endif
