// Finds a packet's stream and the branch it came from. Only this stage looks sessions up; later stages read
// what it sets.

control Streams(in headers_t hdr, inout metadata_t meta) {
    // Packets and bytes of each stream that reached this switch, in all directions.
    @id(0x13000001) ENTRY_COUNTER(packets_and_bytes) stream_counter;

    @id(0x01000001)
    @action_restriction(LEGAL(index < MAX_STREAMS && (agent_port == 0 -> repair_group == 0)
                              && (repair_group == 0 -> agent_port == 0) && queue <= 6))
    action stream(stream_index_t index, group_t data_group, group_t ack_group, group_t repair_group,
                  group_t upstream_group, port_t upstream_port, port_t agent_port, bit<16> active,
                  queue_t queue) {
        meta.stream = { index, data_group, ack_group, repair_group, upstream_group, upstream_port,
                        agent_port, active, queue };
        stream_counter.count();
    }

    @id(0x01000002) action unknown_session() {
        meta.drop_reason = DROP_UNKNOWN_SESSION;
    }

    // A sender's stream in a session, as this switch takes part in it.
    // Written by: the controller when the sender joins, at each change of the stream's branches or cache, and
    // when a controlled flow takes it.
    // Beside the restriction: each index is one entry's; the groups exist or are 0.
    @id(0x02000001)
    @entry_restriction(LEGAL(hdr.group.session != 0 && hdr.group.source != 0))
    table streams {
        key = {
            hdr.group.session : exact;
            hdr.group.source  : exact;
        }
        actions = { stream; @defaultonly unknown_session; }
        const default_action = unknown_session();
        counters = stream_counter;
        size = MAX_STREAMS;
    }

    @id(0x01000003) @action_restriction(LEGAL(branch <= LAST_BRANCH)) action from_branch(branch_t branch) {
        meta.branch = branch;
    }

    @id(0x01000004) action unknown_branch() {
        meta.drop_reason = DROP_UNKNOWN_BRANCH;
    }

    // The downstream neighbour that an acknowledgement or a repair request comes from: a member's host, or
    // the next switch (member 0: a packet that a switch passes on is the network's).
    // Written by: the controller when a branch comes or goes.
    // Beside the restriction: a stream's branches have one entry each.
    @id(0x02000002)
    @entry_restriction(LEGAL(hdr.group.session != 0 && hdr.group.source != 0 && meta.ingress_port != 0))
    table branches {
        key = {
            hdr.group.session : exact;
            hdr.group.source  : exact;
            meta.ingress_port : exact;
            hdr.group.member  : exact;
        }
        actions = { from_branch; @defaultonly unknown_branch; }
        const default_action = unknown_branch();
        size = MAX_BRANCHES;
    }

    apply {
        if (streams.apply().hit) {
            if (meta.stream.agent_port != 0 && meta.ingress_port == meta.stream.agent_port) {
                meta.bridged.agent_port = meta.stream.agent_port;
            } else if (hdr.group.type == TYPE_ACK || hdr.group.type == TYPE_NACK) {
                branches.apply();
            }
        }
    }
}
