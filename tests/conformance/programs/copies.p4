// Copies by a multicast group and by mirroring, and a register, for the steps of copies.stf.
#include <core.p4>
#include <v1model.p4>

header mark_t {
    bit<8> kind;
    bit<8> copy;
}

struct headers_t {
    mark_t mark;
}

struct meta_t {}

parser In(packet_in packet, out headers_t hdr, inout meta_t meta, inout standard_metadata_t standard) {
    state start {
        packet.extract(hdr.mark);
        transition accept;
    }
}

control Verify(inout headers_t hdr, inout meta_t meta) {
    apply {}
}

control Choose(inout headers_t hdr, inout meta_t meta, inout standard_metadata_t standard) {
    register<bit<8>>(2) last;

    apply {
        if (hdr.mark.kind == 1) {
            standard.mcast_grp = 5;
        } else if (hdr.mark.kind == 2) {
            clone(CloneType.I2E, 7);
            standard.egress_spec = 1;
        } else {
            last.read(hdr.mark.copy, 1);
            standard.egress_spec = 1;
        }
    }
}

control Leave(inout headers_t hdr, inout meta_t meta, inout standard_metadata_t standard) {
    apply {
        if (hdr.mark.kind == 1) {
            hdr.mark.copy = (bit<8>)standard.egress_rid;
        }
    }
}

control Update(inout headers_t hdr, inout meta_t meta) {
    apply {}
}

control Out(packet_out packet, in headers_t hdr) {
    apply {
        packet.emit(hdr.mark);
    }
}

V1Switch(In(), Verify(), Choose(), Leave(), Update(), Out()) main;
