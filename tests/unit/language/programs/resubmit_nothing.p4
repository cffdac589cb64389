// A packet begins anew as it came, without metadata: no field has the list (v1model).
// frame 1 01000000 => 2 02060000
#include "start.p4"
control I(inout headers_t hdr, inout meta_t meta, inout standard_metadata_t std) {
    apply {
        hdr.h.a = hdr.h.a + 1;
        hdr.h.b = meta.x + 6;
        if (std.instance_type == 0) {
            meta.x = 5;
            resubmit_preserving_field_list(3);
        }
        std.egress_spec = 2;
    }
}
#include "rest.p4"
