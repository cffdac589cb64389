// Headers to wire.
#ifndef _GROUPFLOW_DEPARSER_
#define _GROUPFLOW_DEPARSER_

control GroupflowDeparser(packet_out packet, in headers_t hdr) {
    apply {
        packet.emit(hdr.packet_in);
        packet.emit(hdr.ethernet);
        packet.emit(hdr.feedback);
        packet.emit(hdr.probe);
        packet.emit(hdr.tick);
        packet.emit(hdr.arp);
        packet.emit(hdr.ipv4);
        packet.emit(hdr.udp);
        packet.emit(hdr.tcp);
        packet.emit(hdr.group);
    }
}

#endif
