// A router whose entries refer to one another, with action profiles: for the tests of gfswitch-cli.
// Compiled with p4c-bm2-ss --p4runtime-files references.p4info.txtpb -o references.json references.p4
#include <core.p4>
#include <v1model.p4>

header ethernet_t {
    bit<48> dst;
    bit<48> src;
    bit<16> ethertype;
}

struct headers_t {
    ethernet_t ethernet;
}

struct metadata_t {
    bit<16> neighbor;
    bit<8>  interface;
}

parser RouterParser(packet_in packet, out headers_t hdr, inout metadata_t meta, inout standard_metadata_t sm) {
    state start {
        packet.extract(hdr.ethernet);
        transition accept;
    }
}

control RouterSums(inout headers_t hdr, inout metadata_t meta) { apply { } }

control RouterIngress(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t sm) {
    action_profile(8) members;
    action_selector(HashAlgorithm.crc16, 8, 16) choices;
    action forward(bit<9> port) { sm.egress_spec = port; }
    action to_neighbor(@refers_to(neighbors, interface) bit<8> interface,
                       @refers_to(neighbors, neighbor) bit<16> neighbor) {
        meta.interface = interface;
        meta.neighbor = neighbor;
    }
    action to_group(@refers_to(builtin::multicast_group_table, multicast_group_id) bit<16> group) {
        sm.mcast_grp = group;
    }

    action to_session(@refers_to(builtin::clone_session_table, clone_session_id) bit<32> session) {
        clone(CloneType.I2E, session);
    }
    action mark(@refers_to(neighbors, neighbor) bit<16> neighbor) { meta.neighbor = neighbor; }

    table routes {
        key = { hdr.ethernet.dst : exact @name("dst"); }
        actions = { to_neighbor; to_group; NoAction; }
        default_action = NoAction();
    }
    table backups {
        key = { hdr.ethernet.dst : exact @name("dst"); }
        actions = { to_neighbor; NoAction; }
        implementation = members;
    }
    table interfaces {
        key = { meta.interface : exact @name("interface"); }
        actions = { forward; NoAction; }
        default_action = NoAction();
    }
    table neighbors {
        key = {
            meta.interface : exact @name("interface") @refers_to(interfaces, interface);
            meta.neighbor  : optional @name("neighbor");
        }
        actions = { forward; NoAction; }
        default_action = NoAction();
    }

    // With an optional field that refers.
    table policies {
        key = {
            meta.interface : exact @name("interface") @refers_to(neighbors, interface);
            meta.neighbor  : optional @name("neighbor") @refers_to(neighbors, neighbor);
        }
        actions = { to_session; NoAction; }
        default_action = NoAction();
    }
    // A field and a parameter that refer to one table.
    table pairs {
        key = {
            meta.interface   : exact @name("interface") @refers_to(neighbors, interface);
            hdr.ethernet.src : selector;
        }
        actions = { mark; NoAction; }
        implementation = choices;
    }

    apply {
        routes.apply();
        backups.apply();
        interfaces.apply();
        neighbors.apply();
        policies.apply();
        pairs.apply();
    }
}

control RouterEgress(inout headers_t hdr, inout metadata_t meta, inout standard_metadata_t sm) { apply { } }

control RouterDeparser(packet_out packet, in headers_t hdr) {
    apply { packet.emit(hdr.ethernet); }
}

V1Switch(RouterParser(), RouterSums(), RouterIngress(), RouterEgress(), RouterSums(), RouterDeparser()) main;
