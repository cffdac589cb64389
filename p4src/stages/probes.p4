// How long is a link? The controller sends a probe out of a port; it is stamped when it leaves, the neighbour sends it
// back, and the clock that stamped it reads it again: no two clocks are compared, and no controller's delay counts.
//
//   packet-out --> egress: sent = now --> link --> neighbour: FLAG_ANSWER, back --> link --> returned = now --> packet-in
#ifndef _GROUPFLOW_PROBES_
#define _GROUPFLOW_PROBES_

control Probes(inout headers_t hdr, inout metadata_t meta) {
    apply {
        if ((hdr.probe.flags & FLAG_ANSWER) == 0) {
            hdr.probe.flags = hdr.probe.flags | FLAG_ANSWER;
            meta.bridged.queue = QUEUE_FEEDBACK;
            meta.egress_port = meta.ingress_port;
        } else {
            hdr.probe.returned = meta.now;
            hdr.packet_in.setValid();
            hdr.packet_in.ingress_port = meta.ingress_port;
            hdr.packet_in.reason = PUNT_PROBE;
            meta.egress_port = CPU_PORT;
        }
    }
}

// In egress, because the wait in the queue is not the link's.
control ProbeStamp(inout headers_t hdr, in bit<32> now) {
    apply {
        if (hdr.probe.isValid() && (hdr.probe.flags & FLAG_ANSWER) == 0) {
            hdr.probe.sent = now;
        }
    }
}

#endif
