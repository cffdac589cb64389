// A packet for a group goes to all of its ports; a clone has the metadata of its field list (v1model).
// group 5 2 3
// clone 7 4
// frame 1 05000000 => 2 05000002, 3 05000003
// frame 1 01000000 => 2 01000000, 4 01090001
#define OWN_EGRESS
#define OWN_META
#include "start.p4"
struct meta_t { @field_list(1) bit<8> kept; bit<8> lost; }
control I(inout headers_t hdr, inout meta_t meta, inout standard_metadata_t std) {
    apply {
        if (hdr.h.a == 5) {
            std.mcast_grp = 5;
        } else {
            meta.kept = 9;
            meta.lost = 9;
            clone_preserving_field_list(CloneType.I2E, 7, 1);
            std.egress_spec = 2;
        }
    }
}
control E(inout headers_t hdr, inout meta_t meta, inout standard_metadata_t std) {
    apply {
        if (hdr.h.a == 5) {
            hdr.h.d = (bit<8>)std.egress_port;
        } else if (std.instance_type == 1) {
            hdr.h.b = meta.kept;
            hdr.h.c = meta.lost;
            hdr.h.d = 1;
        }
    }
}
#include "rest.p4"
