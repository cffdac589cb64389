// The registers of acks.p4: one read-modify-write each. Index: stream. A RESET for ALL_BRANCHES sets each of
// them anew.

// The highest cumulative acknowledgement of branch NN. `seq` of this branch raises it, or with a RESET sets
// it. NOT_COUNTED where the branch does not count.
#define HIGHEST_ACK(NN)                                                                                      \
control HighestAck_##NN(in stream_index_t stream, in branch_t branch, in bit<8> type, in bit<16> active,     \
                        in seq_t seq, out seq_t value) {                                                     \
    @id(0x160001##NN) register<seq_t>(MAX_STREAMS) acked;                                                    \
    apply {                                                                                                  \
        acked.read(value, (bit<32>)stream);                                                                  \
        if ((branch == NN || branch == ALL_BRANCHES) && (type == TYPE_RESET || seq > value)) { value = seq; }\
        acked.write((bit<32>)stream, value);                                                                 \
        if (active[NN:NN] == 0) { value = NOT_COUNTED; }                                                     \
    }                                                                                                        \
}
EACH_BRANCH(HIGHEST_ACK)

// The packet after the highest that was sent; 0: not known. What comes from upstream raises it; an
// acknowledgement is compared with it.
control HighestSent(in stream_index_t stream, in bit<8> type, in bit<1> from_upstream, in branch_t branch,
                    in seq_t seq, in port_id_t port, in port_id_t upstream_port, out bit<1> beyond) {
    @id(0x1600000b) register<seq_t>(MAX_STREAMS) sent;

    apply {
        seq_t next;
        sent.read(next, (bit<32>)stream);
        beyond = (bit<1>)(type == TYPE_ACK && next != 0 && seq > next);
        bool down = type == TYPE_DATA || type == TYPE_REPAIR || type == TYPE_SYNC;
        bool whole = type == TYPE_RESET && branch == ALL_BRANCHES;
        if (whole || (from_upstream == 1 && down && seq >= next)) {
            next = seq + 1;
        }
        sent.write((bit<32>)stream, next);
    }
}

// The minimum that was last sent up. `lowest` raises it.
control ForwardedAck(in stream_index_t stream, in branch_t branch, in seq_t lowest, in seq_t seq,
                     out bit<1> raised) {
    @id(0x16000001) register<seq_t>(MAX_STREAMS) forwarded;

    apply {
        seq_t last;
        forwarded.read(last, (bit<32>)stream);
        raised = 0;
        if (branch == ALL_BRANCHES) {
            last = seq;
        } else if (lowest > last) {
            raised = 1;
            last = lowest;
        }
        forwarded.write((bit<32>)stream, last);
    }
}

// The poll whose answer last went up; 0 after a RESET.
control AnsweredPoll(in stream_index_t stream, in branch_t branch, in bit<8> flags, in bit<8> poll,
                     out bit<1> another) {
    @id(0x16000002) register<bit<8>>(MAX_STREAMS) answered;

    apply {
        bit<8> last;
        answered.read(last, (bit<32>)stream);
        another = 0;
        if (branch == ALL_BRANCHES) {
            last = 0;
        } else if ((flags & FLAG_FORCED) != 0 && poll != last) {
            another = 1;
            last = poll;
        }
        answered.write((bit<32>)stream, last);
    }
}
