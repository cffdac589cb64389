// The parts that most programs share, before their own: a header of four bytes.
#include <core.p4>
#include <v1model.p4>

header four_t { bit<8> a; bit<8> b; bit<8> c; bit<8> d; }
#ifndef OWN_HEADERS
struct headers_t { four_t h; }
#endif
#ifndef OWN_META
struct meta_t { bit<8> x; bit<8> y; }
#endif
