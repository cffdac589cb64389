// A `type` is other than what it is made of, until it is cast; a typedef is the same (7.5, 7.6, 8.23).
// insert hosts a=1 => to port=2
// frame 1 01000000 => 2 01000000
// frame 1 02000000 => nothing
#include "start.p4"
type bit<8> host_t;
typedef bit<9> port_t;
control I(inout headers_t hdr, inout meta_t meta, inout standard_metadata_t std) {
    host_t host = (host_t)hdr.h.a;
    action to(port_t port) { std.egress_spec = port; }
    action drop() { mark_to_drop(std); }
    table hosts {
        key = { host: exact @name("a"); }
        actions = { to; drop; }
        default_action = drop();
    }
    apply {
        hosts.apply();
    }
}
#include "rest.p4"
