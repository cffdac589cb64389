#include <core.p4>
#include <v1model.p4>

struct headers_t { }

struct metadata_t { bit<8> length; }

control C(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t standard) {
    action none() { }
    Action(3) unknown;
    apply {
        sketch(meta);
        exit_t other;
        swtich (meta.length) {
            1: { none(); }
        }
    }
}

Bction() instance;
