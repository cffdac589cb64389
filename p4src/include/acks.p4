// Acknowledgement aggregation: the minimum over the branches of what each has acknowledged goes up, once, when it grows.
// An end-to-end acknowledgement so costs one packet a link, not one a receiver.
//
//   ACK of branch b --> branch[b] = max(branch[b], seq)
//                       minimum over active branches > forwarded?  yes: forwarded = minimum, send it to ack_group
//                                                                  no:  absorbed, unless it is the first answer to a poll
//
// Each register is accessed once a packet (one read-modify-write, what a Tofino stateful ALU does in one pass), so the
// branches have a register each. The minimum is a tree of depth 4.
#ifndef _GROUPFLOW_ACKS_
#define _GROUPFLOW_ACKS_

const seq_t NOT_COUNTED = 0xffffffff;   // value of a branch that does not take part in the minimum

// The highest cumulative acknowledgement of branch SELF of each stream.
// `value` is returned for the minimum: NOT_COUNTED where the branch is not active.
control BranchAck(in metadata_t meta, in seq_t seq, in bool reset, out seq_t value)(branch_t SELF, bit<16> MASK) {
    register<seq_t>(MAX_STREAMS) acked;

    apply {
        bool mine = meta.branch == SELF || (reset && meta.branch == ALL_BRANCHES);
        acked.read(value, (bit<32>)meta.stream.index);
        if (mine && (reset || seq > value)) {
            value = seq;
        }
        acked.write((bit<32>)meta.stream.index, value);
        if ((meta.stream.active & MASK) == 0) {
            value = NOT_COUNTED;
        }
    }
}

seq_t smaller(in seq_t a, in seq_t b) {
    return a < b ? a : b;
}

control AckAggregation(inout headers_t hdr, inout metadata_t meta) {
    // The minimum that was last sent up, per stream.
    register<seq_t>(MAX_STREAMS) forwarded;
    // The last poll that was answered up, per stream.
    register<bit<8>>(MAX_STREAMS) answered;

    BranchAck(0, 0x0001)  branch_0;
    BranchAck(1, 0x0002)  branch_1;
    BranchAck(2, 0x0004)  branch_2;
    BranchAck(3, 0x0008)  branch_3;
    BranchAck(4, 0x0010)  branch_4;
    BranchAck(5, 0x0020)  branch_5;
    BranchAck(6, 0x0040)  branch_6;
    BranchAck(7, 0x0080)  branch_7;
    BranchAck(8, 0x0100)  branch_8;
    BranchAck(9, 0x0200)  branch_9;
    BranchAck(10, 0x0400) branch_10;
    BranchAck(11, 0x0800) branch_11;
    BranchAck(12, 0x1000) branch_12;
    BranchAck(13, 0x2000) branch_13;
    BranchAck(14, 0x4000) branch_14;
    BranchAck(15, 0x8000) branch_15;

    apply {
        bool reset = hdr.group.type == TYPE_RESET;
        if (reset) {
            meta.branch = (branch_t)hdr.group.member;
        }

        seq_t v0; seq_t v1; seq_t v2; seq_t v3; seq_t v4; seq_t v5; seq_t v6; seq_t v7;
        seq_t v8; seq_t v9; seq_t v10; seq_t v11; seq_t v12; seq_t v13; seq_t v14; seq_t v15;
        branch_0.apply(meta, hdr.group.seq, reset, v0);
        branch_1.apply(meta, hdr.group.seq, reset, v1);
        branch_2.apply(meta, hdr.group.seq, reset, v2);
        branch_3.apply(meta, hdr.group.seq, reset, v3);
        branch_4.apply(meta, hdr.group.seq, reset, v4);
        branch_5.apply(meta, hdr.group.seq, reset, v5);
        branch_6.apply(meta, hdr.group.seq, reset, v6);
        branch_7.apply(meta, hdr.group.seq, reset, v7);
        branch_8.apply(meta, hdr.group.seq, reset, v8);
        branch_9.apply(meta, hdr.group.seq, reset, v9);
        branch_10.apply(meta, hdr.group.seq, reset, v10);
        branch_11.apply(meta, hdr.group.seq, reset, v11);
        branch_12.apply(meta, hdr.group.seq, reset, v12);
        branch_13.apply(meta, hdr.group.seq, reset, v13);
        branch_14.apply(meta, hdr.group.seq, reset, v14);
        branch_15.apply(meta, hdr.group.seq, reset, v15);

        v0 = smaller(v0, v1);    v2 = smaller(v2, v3);    v4 = smaller(v4, v5);    v6 = smaller(v6, v7);
        v8 = smaller(v8, v9);    v10 = smaller(v10, v11); v12 = smaller(v12, v13); v14 = smaller(v14, v15);
        v0 = smaller(v0, v2);    v4 = smaller(v4, v6);    v8 = smaller(v8, v10);   v12 = smaller(v12, v14);
        v0 = smaller(v0, v4);    v8 = smaller(v8, v12);
        seq_t minimum = smaller(v0, v8);

        bool advanced = false;
        seq_t last;
        forwarded.read(last, (bit<32>)meta.stream.index);
        if (reset) {
            if (meta.branch == ALL_BRANCHES) {
                last = hdr.group.seq;
            }
        } else if (minimum != NOT_COUNTED && minimum > last) {
            last = minimum;
            advanced = true;
        }
        forwarded.write((bit<32>)meta.stream.index, last);

        // An acknowledgement lost on the way up would never be repeated, because the minimum it told of is already
        // `forwarded`. The sender then polls, and the first answer to each poll goes up whatever it says.
        bool answers = false;
        bit<8> poll;
        answered.read(poll, (bit<32>)meta.stream.index);
        if (reset) {
            if (meta.branch == ALL_BRANCHES) {
                poll = 0;
            }
        } else if ((hdr.group.flags & FLAG_FORCED) != 0 && hdr.group.poll != poll && minimum != NOT_COUNTED) {
            poll = hdr.group.poll;
            answers = true;
        }
        answered.write((bit<32>)meta.stream.index, poll);

        if (reset) {
            hdr.packet_out.setInvalid();
            hdr.packet_in.setValid();
            hdr.packet_in.ingress_port = meta.ingress_port;
            hdr.packet_in.reason = PUNT_RESET;
            meta.egress_port = CPU_PORT;
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

#endif
