// Packets within a session: from and to hosts and neighbour switches, all addressed to the group.
#ifndef _GROUPFLOW_SESSION_
#define _GROUPFLOW_SESSION_

control Session(inout headers_t hdr, inout metadata_t meta) {
    Control() control_messages;
    Streams() streams;
    AckAggregation() acks;
    Repair() repair;
    Replication() replication;

    apply {
        bool punted;
        control_messages.apply(hdr, meta, punted);
        if (!punted) {
            streams.apply(hdr, meta);
            if (meta.drop_reason == DROP_NONE) {
                if (hdr.group.type == TYPE_DATA || hdr.group.type == TYPE_REPAIR || hdr.group.type == TYPE_SYNC) {
                    replication.apply(hdr, meta);
                } else if (hdr.group.type == TYPE_NACK) {
                    repair.apply(hdr, meta);
                } else if (hdr.group.type == TYPE_ACK && meta.bridged.agent_port != 0) {
                    // The agent vouches for its branches (node-to-node): its word replaces theirs.
                    hdr.group.member = 0;
                    meta.group = meta.stream.upstream_group;
                } else if (hdr.group.type == TYPE_REPLY
                           || (hdr.group.type == TYPE_RESET && meta.ingress_port != CPU_PORT)) {
                    meta.drop_reason = DROP_NOT_CONTROLLER;
                } else if (hdr.group.type == TYPE_ACK || hdr.group.type == TYPE_RESET) {
                    acks.apply(hdr, meta);
                } else {
                    meta.drop_reason = DROP_UNKNOWN_TYPE;
                }
            }
        }
    }
}

#endif
