// Acknowledgement aggregation: the minimum over the branches of what each has acknowledged goes up, once,
// when it grows. An end-to-end acknowledgement so costs one packet a link, not one a receiver.
//
//   ACK of branch b --> branch[b] = max(branch[b], seq)
//                       minimum over active branches > forwarded?
//                         yes: forwarded = minimum, send it to ack_group
//                         no:  absorbed, unless it is the first answer to a poll
//
// Each register is accessed once a packet, one read-modify-write, so the branches have a register each. The
// minimum is a tree of depth 4.

const seq_t NOT_COUNTED = 0xffffffff;   // value of a branch that does not take part in the minimum

seq_t smaller(in seq_t a, in seq_t b) {
    return a < b ? a : b;
}

// Drops an acknowledgement of packets that were not sent: the minimum would go above what the sender takes,
// and no later acknowledgement would pass it. Each packet from the sender's side says what was sent, a poll
// too, from which a switch that was started again learns it. A RESET of the whole stream begins anew.
control AckBound(in headers_t hdr, inout metadata_t meta) {
    HighestSent() sent;

    apply {
        bool raise = meta.ingress_port == meta.stream.upstream_port
                     && (hdr.group.type == TYPE_DATA || hdr.group.type == TYPE_REPAIR
                         || hdr.group.type == TYPE_SYNC);
        bool set = meta.ingress_port == CPU_PORT && hdr.group.type == TYPE_RESET
                   && hdr.group.member == (member_t)ALL_BRANCHES;
        seq_t next;
        sent.apply(meta.stream.index, raise, set, hdr.group.seq + 1, next);
        if (hdr.group.type == TYPE_ACK && next != 0 && hdr.group.seq > next) {
            meta.drop_reason = DROP_BEYOND;
        }
    }
}

control AckAggregation(inout headers_t hdr, inout metadata_t meta) {
#define BRANCH(NN) HighestAck_##NN() branch_##NN;
    EACH_BRANCH(BRANCH)
    ForwardedAck() forwarded;
    AnsweredPoll() answered;

    apply {
        // A RESET sets one branch, or the whole stream, to its own number.
        bool reset = hdr.group.type == TYPE_RESET;
        if (reset) {
            meta.branch = (branch_t)hdr.group.member;
        }
        bool whole = reset && meta.branch == ALL_BRANCHES;

#define HIGHEST(NN)                                                                                          \
        seq_t v##NN;                                                                                         \
        branch_##NN.apply(meta.stream.index, whole || meta.branch == NN, reset, hdr.group.seq, v##NN);       \
        if (meta.stream.active[NN:NN] == 0) { v##NN = NOT_COUNTED; }
        EACH_BRANCH(HIGHEST)

        v00 = smaller(v00, v01); v02 = smaller(v02, v03); v04 = smaller(v04, v05); v06 = smaller(v06, v07);
        v08 = smaller(v08, v09); v10 = smaller(v10, v11); v12 = smaller(v12, v13); v14 = smaller(v14, v15);
        v00 = smaller(v00, v02); v04 = smaller(v04, v06); v08 = smaller(v08, v10); v12 = smaller(v12, v14);
        v00 = smaller(v00, v04); v08 = smaller(v08, v12);
        seq_t minimum = smaller(v00, v08);
        bool counted = !reset && minimum != NOT_COUNTED;

        bool advanced;
        forwarded.apply(meta.stream.index, counted, whole, whole ? hdr.group.seq : minimum, advanced);

        // An acknowledgement lost on the way up would never be repeated, because the minimum it told of is
        // already `forwarded`. The sender then polls, and the first answer to each poll goes up whatever
        // number it has.
        bool polled = counted && (hdr.group.flags & FLAG_FORCED) != 0;
        bool answers;
        answered.apply(meta.stream.index, polled, whole, whole ? 0 : hdr.group.poll, answers);

        if (reset) {
            meta.punt = PUNT_RESET;
        } else if (!advanced && !answers) {
            meta.drop_reason = DROP_ABSORBED;
        } else if (meta.stream.ack_group == 0) {
            meta.drop_reason = DROP_NO_UPSTREAM;
        } else {
            hdr.group.seq = minimum;
            hdr.group.member = 0;
            meta.group = meta.stream.ack_group;
        }
    }
}
