// Acknowledgement aggregation: the minimum over the branches of what each has acknowledged goes up, once,
// when it grows. An end-to-end acknowledgement so costs one packet a link, not one a receiver.
//
//   ACK of branch b --> branch[b] = max(branch[b], seq)
//                       minimum over active branches > forwarded?
//                         yes: forwarded = minimum, send it to ack_group
//                         no:  absorbed, unless it is the first answer to a poll
//
// Each register is accessed once a packet, one read-modify-write, so the branches have a register each, and
// the minimum is a tree. On a chip 8 branches (-DBRANCHES=8) take eight of twelve stages: two for registers,
// others for the mask, three levels of the minimum, `forwarded` and `answered`. 16 have a fourth level, and
// more values at a time than one group of a chip's containers holds: they would need a second pass, which
// begins with the minimum of the first. So a chip takes 8, and a software switch 16.

const seq_t NOT_COUNTED = 0xffffffff;   // value of a branch that does not take part in the minimum

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
        if (hdr.group.type == TYPE_ACK && next != 0 && EXCEEDS(hdr.group.seq, next)) {
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

#define LOWER(A, B) v##A = minimum(v##A, v##B);
        LOWER(00, 01) LOWER(02, 03) LOWER(04, 05) LOWER(06, 07)
        LOWER(00, 02) LOWER(04, 06)
        LOWER(00, 04)
#if BRANCHES == 16
        LOWER(08, 09) LOWER(10, 11) LOWER(12, 13) LOWER(14, 15)
        LOWER(08, 10) LOWER(12, 14)
        LOWER(08, 12)
        LOWER(00, 08)
#endif
        bool counted = !reset && v00 != NOT_COUNTED;
        seq_t lowest = v00;
        bit<8> poll = hdr.group.poll;
        if (whole) {
            lowest = hdr.group.seq;
            poll = 0;
        }

        bool advanced;
        forwarded.apply(meta.stream.index, counted, whole, lowest, advanced);

        // An acknowledgement lost on the way up would never be repeated, because the minimum it told of is
        // already `forwarded`. The sender then polls, and the first answer to each poll goes up whatever
        // number it has.
        bool polled = counted && (hdr.group.flags & FLAG_FORCED) != 0;
        bool answers;
        answered.apply(meta.stream.index, polled, whole, poll, answers);

        if (reset) {
            meta.punt = PUNT_RESET;
        } else if (!advanced && !answers) {
            meta.drop_reason = ABSORBED;
        } else if (meta.stream.ack_group == 0) {
            meta.drop_reason = DROP_NO_UPSTREAM;
        } else {
            hdr.group.seq = lowest;
            hdr.group.member = 0;
            meta.group = meta.stream.ack_group;
        }
    }
}
