// Acknowledgement aggregation: the minimum over the branches of what each has acknowledged goes up, once,
// when it grows. Thus an end-to-end acknowledgement costs one packet a link, not one a receiver.
//
//   ACK of branch b --> branch[b] = max(branch[b], seq)
//                       minimum over active branches > forwarded?
//                         yes: forwarded = minimum, send it to ack_group
//                         no:  absorbed, unless it is the first answer to a poll
//
// Each register is accessed once a packet, one read-modify-write, so the branches have a register each, and
// the minimum is a tree. On a chip 8 branches (-DBRANCHES=8) are the most: 16 have more values at a time than
// one group of a chip's containers holds. There AckAggregation is the second pass of an acknowledgement, at
// one port, since a chip has registers for each pipe.

// Drops an acknowledgement of packets that were not sent: the minimum would go above what the sender takes,
// and no later acknowledgement would pass it. Each packet from the sender's side, also a poll, shows what was
// sent. A restarted switch learns it from these. A RESET of the whole stream begins anew.
control AckBound(in headers_t hdr, inout metadata_t meta) {
    HighestSent() sent;

    apply {
        bit<1> beyond;
        sent.apply(meta.stream.index, hdr.group.type, meta.from_upstream, meta.branch, hdr.group.seq,
                   meta.ingress_port, meta.stream.upstream_port, beyond);
        if (beyond == 1 && meta.drop_reason == DROP_NONE) {
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
#define HIGHEST(NN)                                                                                          \
        seq_t v##NN;                                                                                         \
        branch_##NN.apply(meta.stream.index, meta.branch, hdr.group.type, meta.stream.active,                \
                          hdr.group.seq, v##NN);
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
        // An acknowledgement lost on the way up would never be repeated, because the minimum it told of is
        // already `forwarded`. The sender then polls, and the first answer to each poll goes up whatever
        // number it has.
        bit<1> advanced = 0;
        bit<1> answers = 0;
        if (v00 != NOT_COUNTED || meta.branch == ALL_BRANCHES) {
            forwarded.apply(meta.stream.index, meta.branch, v00, hdr.group.seq, advanced);
            answered.apply(meta.stream.index, meta.branch, hdr.group.flags, hdr.group.poll, answers);
        }

        if (hdr.group.type == TYPE_RESET) {
            meta.punt = PUNT_RESET;
        } else if (advanced == 0 && answers == 0) {
            meta.drop_reason = ABSORBED;
        } else if (meta.stream.ack_group == 0) {
            meta.drop_reason = DROP_NO_UPSTREAM;
        } else {
            hdr.group.seq = v00;
            hdr.group.member = 0;
            meta.group = meta.stream.ack_group;
        }
    }
}
