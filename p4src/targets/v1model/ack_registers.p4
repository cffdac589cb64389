// The registers of acks.p4: one read-modify-write each. Index: stream.

// The highest cumulative acknowledgement of branch NN. `seq` counts where it is `mine`: it sets the value, or
// raises it.
#define HIGHEST_ACK(NN)                                                                                      \
control HighestAck_##NN(in stream_index_t stream, in bool mine, in bool set, in seq_t seq, out seq_t value) {\
    @id(0x160001##NN) register<seq_t>(MAX_STREAMS) acked;                                                    \
    apply {                                                                                                  \
        acked.read(value, (bit<32>)stream);                                                                  \
        if (mine && (set || seq > value)) { value = seq; }                                                   \
        acked.write((bit<32>)stream, value);                                                                 \
    }                                                                                                        \
}
EACH_BRANCH(HIGHEST_ACK)

// The packet after the highest that was sent; 0: not known. `next` sets it, or raises it.
control HighestSent(in stream_index_t stream, in bool raise, in bool set, in seq_t next, out seq_t value) {
    @id(0x1600000b) register<seq_t>(MAX_STREAMS) sent;

    apply {
        sent.read(value, (bit<32>)stream);
        if (set || (raise && next > value)) {
            value = next;
        }
        sent.write((bit<32>)stream, value);
    }
}

// The minimum that was last sent up. `seq` sets it, or raises it.
control ForwardedAck(in stream_index_t stream, in bool raise, in bool set, in seq_t seq, out bool raised) {
    @id(0x16000001) register<seq_t>(MAX_STREAMS) forwarded;

    apply {
        seq_t last;
        forwarded.read(last, (bit<32>)stream);
        raised = raise && seq > last;
        if (set || raised) {
            last = seq;
        }
        forwarded.write((bit<32>)stream, last);
    }
}

// The poll whose answer last went up. `poll` sets it, or is compared with it.
control AnsweredPoll(in stream_index_t stream, in bool compare, in bool set, in bit<8> poll,
                     out bool another) {
    @id(0x16000002) register<bit<8>>(MAX_STREAMS) answered;

    apply {
        bit<8> last;
        answered.read(last, (bit<32>)stream);
        another = compare && poll != last;
        if (set || another) {
            last = poll;
        }
        answered.write((bit<32>)stream, last);
    }
}
