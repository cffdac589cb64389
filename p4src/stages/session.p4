// Packets within a session: from and to hosts and neighbour switches, all addressed to the group.

control Session(inout headers_t hdr, inout metadata_t meta) {
    Streams() streams;
    AckBound() bound;
    Replication() replication;

    apply {
        bit<8> type = hdr.group.type;
        if (type == TYPE_JOIN || type == TYPE_LEAVE || type == TYPE_KEEPALIVE || type == TYPE_QUERY
            || type == TYPE_REPORT) {
            meta.punt = PUNT_CONTROL;
        } else {
            streams.apply(hdr, meta);
            if (meta.drop_reason != DROP_NONE) {
                // The packet belongs to no stream, or to no branch of one.
            } else if (type == TYPE_DATA || type == TYPE_REPAIR || type == TYPE_SYNC) {
                replication.apply(hdr, meta);
            } else if (type == TYPE_NACK && meta.bridged.from_agent == 0 && meta.stream.repair_group != 0) {
                meta.group = meta.stream.repair_group;
            } else if (type == TYPE_NACK || (type == TYPE_ACK && meta.bridged.from_agent == 1)) {
                // A request that no cache answers here goes on towards the sender. With its own
                // acknowledgement an agent vouches for its branches (node-to-node): its word replaces theirs.
                meta.group = meta.stream.upstream_group;
                hdr.group.member = 0;
                if (meta.group == 0) {
                    meta.drop_reason = DROP_NO_UPSTREAM;
                }
            } else if (type == TYPE_REPLY || (type == TYPE_RESET && meta.ingress_port != CPU_PORT)) {
                meta.drop_reason = DROP_NOT_CONTROLLER;
            } else if (type == TYPE_ACK || type == TYPE_RESET) {
                meta.aggregates = 1;
            } else {
                meta.drop_reason = DROP_UNKNOWN_TYPE;
            }
            bound.apply(hdr, meta);
        }
    }
}
