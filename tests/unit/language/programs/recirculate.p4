// A packet goes through the switch again, with the metadata of its field list (v1model).
// frame 1 01000000 => 2 03020000
#define OWN_EGRESS
#define OWN_META
#include "start.p4"
struct meta_t { @field_list(1) bit<8> rounds; bit<8> lost; }
control I(inout headers_t hdr, inout meta_t meta, inout standard_metadata_t std) {
    apply {
        hdr.h.a = hdr.h.a + 1;
        hdr.h.b = meta.rounds + meta.lost + 1;
        std.egress_spec = 2;
    }
}
control E(inout headers_t hdr, inout meta_t meta, inout standard_metadata_t std) {
    apply {
        if (meta.rounds == 0) {
            meta.rounds = 1;
            meta.lost = 9;
            recirculate_preserving_field_list(1);
        }
    }
}
#include "rest.p4"
