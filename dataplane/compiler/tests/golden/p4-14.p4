header_type ethernet_t {
    fields {
        dstAddr : 48;
        srcAddr : 48;
        etherType : 16;
    }
}

header ethernet_t ethernet;

parser start {
    extract(ethernet);
    return ingress;
}

action forward(port) {
    modify_field(standard_metadata.egress_spec, port);
}

table route {
    reads {
        ethernet.dstAddr : exact;
    }
    actions {
        forward;
    }
}

control ingress {
    apply(route);
}
