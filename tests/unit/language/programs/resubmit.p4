// A packet begins anew as it came, with the metadata of its field list (v1model).
// frame 1 01000000 => 2 02050000
#define OWN_META
#include "start.p4"
struct meta_t { @field_list(3) bit<8> kept; bit<8> lost; }
control I(inout headers_t hdr, inout meta_t meta, inout standard_metadata_t std) {
    apply {
        hdr.h.a = hdr.h.a + 1;
        hdr.h.b = meta.kept + meta.lost;
        if (std.instance_type == 0) {
            meta.kept = 5;
            meta.lost = 9;
            resubmit_preserving_field_list(3);
        }
        std.egress_spec = 2;
    }
}
#include "rest.p4"
