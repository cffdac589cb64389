// Structs are values: assigned, compared, made of lists and of names; `...` are defaults (8.13, 8.16, 8.26).
// frame 1 01020000 => 2 01020101
#include "start.p4"
struct point_t { bit<8> x; bit<8> y; }
struct line_t { point_t from; point_t to; }
control I(inout headers_t hdr, inout meta_t meta, inout standard_metadata_t std) {
    apply {
        line_t line = { from = { hdr.h.a, hdr.h.b }, ... };
        line_t other = line;
        other.to.y = 1;
        if (line != other && line.to == { 0, 0 }) {
            hdr.h.c = other.to.y;
        }
        other.to = line.to;
        hdr.h.d = line == other ? 8w1 : 0;
        std.egress_spec = 2;
    }
}
#include "rest.p4"
