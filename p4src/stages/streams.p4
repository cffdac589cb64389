// Finds a packet's stream and the branch it came from. Only this stage looks sessions up; later stages read
// what it sets.

control Streams(in headers_t hdr, inout metadata_t meta) {
    // Packets and bytes of each stream that reached this switch, in all directions.
    @id(0x13000001) ENTRY_COUNTER(packets_and_bytes) stream_counter;

    @id(0x01000001)
    @action_restriction(LEGAL(index < MAX_STREAMS && queue <= 6
                              && (repair_group == 0 || agent_port != CPU_PORT)))
    action stream(@id(1) stream_index_t index, @id(2) mcast_group_t data_group,
                  @id(3) mcast_group_t ack_group, @id(4) mcast_group_t repair_group,
                  @id(5) mcast_group_t upstream_group, @id(6) port_id_t upstream_port,
                  @id(7) port_id_t agent_port, @id(8) bit<16> active, @id(9) queue_id_t queue) {
        meta.stream = { index, data_group, ack_group, repair_group, upstream_group, upstream_port,
                        agent_port, active, queue };
        stream_counter.count(INGRESS_EXTRA);
    }

    @id(0x01000002) action unknown_session() {
        meta.drop_reason = DROP_UNKNOWN_SESSION;
    }

    // A sender's stream in a session, as this switch takes part in it.
    // Written by: the controller when the sender joins, at each change of the stream's branches or cache, and
    // when a controlled flow takes it.
    // Not in the restriction: each index is one entry's; the groups exist or are 0; without a repair_group
    // agent_port means nothing.
    @id(0x02000001)
    @entry_restriction(LEGAL(session != 0 && source != 0))
    table streams {
        key = {
            hdr.group.session : exact @id(1) @name("session");
            hdr.group.source  : exact @id(2) @name("source");
        }
        actions = { stream; @defaultonly unknown_session; }
        const default_action = unknown_session();
        counters = stream_counter;
        size = MAX_STREAMS;
    }

    @id(0x01000003) @action_restriction(LEGAL(branch <= LAST_BRANCH))
    action from_branch(@id(1) branch_t branch) {
        meta.branch = branch;
    }

    @id(0x01000004) action unknown_branch() {
        meta.drop_reason = DROP_UNKNOWN_BRANCH;
    }

    // The downstream neighbour that an acknowledgement or a repair request comes from: a member's host, or
    // the next switch (member 0: a packet that a switch passes on is the network's).
    // Written by: the controller when a branch comes or goes.
    // Not in the restriction: a stream's branches have one entry each.
    @id(0x02000002)
    @entry_restriction(LEGAL(session != 0 && source != 0 && ingress_port != CPU_PORT))
    table branches {
        key = {
            hdr.group.session : exact @id(1) @name("session");
            hdr.group.source  : exact @id(2) @name("source");
            meta.ingress_port : exact @id(3) @name("ingress_port");
            hdr.group.member  : exact @id(4) @name("member");
        }
        actions = { from_branch; @defaultonly unknown_branch; }
        const default_action = unknown_branch();
        size = MAX_BRANCHES;
    }

    apply {
        if (streams.apply().hit) {
            if (meta.ingress_port == meta.stream.upstream_port) {
                meta.from_upstream = 1;
            }
            if (meta.stream.repair_group != 0 && meta.ingress_port == meta.stream.agent_port) {
                meta.bridged.from_agent = 1;
                meta.bridged.agent_port = meta.ingress_port;
            } else if (hdr.group.type == TYPE_ACK || hdr.group.type == TYPE_NACK) {
                branches.apply();
            } else if (hdr.group.type == TYPE_RESET && meta.ingress_port == CPU_PORT
                       && hdr.group.member[15:8] == 0) {
                meta.branch = (branch_t)hdr.group.member;
                meta.stream.active = 0;
            } else {
                meta.branch = NO_BRANCH;
                meta.stream.active = 0;
            }
        }
    }
}
