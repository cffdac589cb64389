// Measures the delay of a link. The controller sends a probe out of a port; the switch stamps the probe when
// it leaves, the neighbour sends it back, and the switch reads the same clock again: no two clocks are
// compared, and the controller's own delay does not count.
//
//   packet-out --> egress: sent = now --> link --> neighbour: FLAG_ANSWER
//   packet-in  <-- returned = now     <-- link <-- back

control Probes(inout headers_t hdr, inout metadata_t meta) {
    apply {
        if ((hdr.probe.flags & FLAG_ANSWER) == 0) {
            hdr.probe.flags = hdr.probe.flags | FLAG_ANSWER;
            meta.bridged.queue = QUEUE_FEEDBACK;
            meta.egress_port = meta.ingress_port;
        } else {
            hdr.probe.returned = meta.now;
            meta.punt = PUNT_PROBE;
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
