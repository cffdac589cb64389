// The parts that most programs share, behind their own controls.
#ifndef OWN_PARSER
parser P(packet_in packet, out headers_t hdr, inout meta_t meta, inout standard_metadata_t std) {
    state start {
        packet.extract(hdr.h);
        transition accept;
    }
}
#endif
#ifndef OWN_CHECKSUMS
control V(inout headers_t hdr, inout meta_t meta) { apply { } }
control C(inout headers_t hdr, inout meta_t meta) { apply { } }
#endif
#ifndef OWN_EGRESS
control E(inout headers_t hdr, inout meta_t meta, inout standard_metadata_t std) { apply { } }
#endif
#ifndef OWN_DEPARSER
control D(packet_out packet, in headers_t hdr) { apply { packet.emit(hdr); } }
#endif
V1Switch(P(), V(), I(), E(), C(), D()) main;
