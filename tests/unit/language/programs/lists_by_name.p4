// The lists of `@field_list` are constants: names, members of an enum, sums (v1model).
// clone 8 4
// frame 1 01000000 => 2 01000000, 4 01090705
#define OWN_EGRESS
#define OWN_META
#define OWN_DEPARSER
#include "start.p4"
const bit<8> KEPT = 2;
enum bit<8> list_t { OTHER = 1, KEPT = 2 }
struct meta_t {
    @field_list(KEPT) bit<8> x;
    @field_list(1, list_t.KEPT) bit<8> y;
    @field_list(1 + 1) bit<8> z;
    @field_list(list_t.OTHER) bit<8> lost;
}
control I(inout headers_t hdr, inout meta_t meta, inout standard_metadata_t std) {
    apply {
        meta = { 9, 7, 5, 3 };
        clone_preserving_field_list(CloneType.I2E, 8, KEPT);
        std.egress_spec = 2;
    }
}
control E(inout headers_t hdr, inout meta_t meta, inout standard_metadata_t std) {
    apply {
        if (std.instance_type == 1) {
            hdr.h.b = meta.x;
            hdr.h.c = meta.y;
            hdr.h.d = meta.z + meta.lost;
        }
    }
}
// A deparser may log and assert, and code that does nothing is left out.
control D(packet_out packet, in headers_t hdr) {
    apply {
        if (hdr.h.isValid()) { }
        log_msg("leaves: {}", { hdr.h.a });
        packet.emit(hdr);
    }
}
#include "rest.p4"
