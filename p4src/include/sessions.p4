// Which stream is this, and which branch did it come from? The one place that knows sessions; later stages use its words.
#ifndef _GROUPFLOW_SESSIONS_
#define _GROUPFLOW_SESSIONS_

control Sessions(in headers_t hdr, inout metadata_t meta) {
    // Packets and bytes of each stream that reached this switch, in all directions.
    direct_counter(CounterType.packets_and_bytes) stream_counter;

    action stream(stream_index_t index, group_t data_group, group_t ack_group, group_t repair_group,
                  group_t upstream_group, port_t upstream_port, port_t agent_port, bit<16> active) {
        meta.stream.index = index;
        meta.stream.data_group = data_group;
        meta.stream.ack_group = ack_group;
        meta.stream.repair_group = repair_group;
        meta.stream.upstream_group = upstream_group;
        meta.stream.upstream_port = upstream_port;
        meta.stream.agent_port = agent_port;
        meta.stream.active = active;
        stream_counter.count();
    }

    action unknown_session() {
        meta.drop_reason = DROP_UNKNOWN_SESSION;
    }

    // A sender's stream in a session, as this switch takes part in it.
    // Written by: the controller when the sender joins, and at each change of the stream's branches or cache.
    // Legal: index unique and below MAX_STREAMS; the groups exist or are 0; agent_port is 0 exactly when repair_group is.
    table streams {
        key = {
            hdr.group.session : exact;
            hdr.group.source  : exact;
        }
        actions = { stream; unknown_session; }
        const default_action = unknown_session();
        counters = stream_counter;
        size = MAX_STREAMS;
    }

    action from_branch(branch_t branch) {
        meta.branch = branch;
    }

    action unknown_branch() {
        meta.drop_reason = DROP_UNKNOWN_BRANCH;
    }

    // The downstream neighbour that an acknowledgement or a repair request comes from: a member's host, or the next
    // switch (member 0: what a switch passes on is the network's).
    // Written by: the controller when a branch comes or goes. Legal: branch 0-15, one entry a branch of a stream.
    table branches {
        key = {
            hdr.group.session : exact;
            hdr.group.source  : exact;
            meta.ingress_port : exact;
            hdr.group.member  : exact;
        }
        actions = { from_branch; unknown_branch; }
        const default_action = unknown_branch();
        size = MAX_BRANCHES;
    }

    apply {
        if (streams.apply().hit) {
            if (meta.stream.agent_port != 0 && meta.ingress_port == meta.stream.agent_port) {
                meta.from_agent = 1;
            } else if (hdr.group.type == TYPE_ACK || hdr.group.type == TYPE_NACK) {
                branches.apply();
            }
        }
    }
}

#endif
