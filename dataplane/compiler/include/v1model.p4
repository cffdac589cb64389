// The architecture of BMv2's simple_switch: parser, checksum verification, ingress, egress, checksum
// computation, deparser. Written from v1model's documented interface.

#ifndef _V1_MODEL_P4_
#define _V1_MODEL_P4_

// Types of externs changed with the versions: macros stand for them. 20180101 is the first, and the default.
#ifndef V1MODEL_VERSION
#define V1MODEL_VERSION 20180101
#endif

#include <core.p4>

// A selector's fields choose a member of an action selector.
match_kind { range, optional, selector }

const bit<32> __v1model_version = V1MODEL_VERSION;

#if V1MODEL_VERSION >= 20200408
typedef bit<9> PortId_t;
#define V1MODEL_PORT PortId_t
#define V1MODEL_INDEX I
#define V1MODEL_OWN <I>
#define V1MODEL_BOTH <T, I>
#else
#define V1MODEL_PORT bit<9>
#define V1MODEL_INDEX bit<32>
#define V1MODEL_OWN
#define V1MODEL_BOTH <T>
#endif

@metadata @name("standard_metadata")
struct standard_metadata_t {
    V1MODEL_PORT ingress_port;
    V1MODEL_PORT egress_spec;
    V1MODEL_PORT egress_port;
    bit<32> instance_type;
    bit<32> packet_length;
    // Of the traffic manager, in microseconds and packets; written when the packet leaves its queue.
    @alias("queueing_metadata.enq_timestamp") bit<32> enq_timestamp;
    @alias("queueing_metadata.enq_qdepth") bit<19> enq_qdepth;
    @alias("queueing_metadata.deq_timedelta") bit<32> deq_timedelta;
    @alias("queueing_metadata.deq_qdepth") bit<19> deq_qdepth;
    // Microseconds since the switch started.
    @alias("intrinsic_metadata.ingress_global_timestamp") bit<48> ingress_global_timestamp;
    @alias("intrinsic_metadata.egress_global_timestamp") bit<48> egress_global_timestamp;
    @alias("intrinsic_metadata.mcast_grp") bit<16> mcast_grp;
    @alias("intrinsic_metadata.egress_rid") bit<16> egress_rid;
    // 1 if a checksum is wrong.
    bit<1> checksum_error;
    // The error with which the parser ended.
    error parser_error;
    // 0 is the lowest.
    @alias("intrinsic_metadata.priority") bit<3> priority;
}

enum CounterType { packets, bytes, packets_and_bytes }

enum MeterType { packets, bytes }

extern counter V1MODEL_OWN {
    counter(bit<32> size, CounterType type);
    void count(in V1MODEL_INDEX index);
}

extern direct_counter {
    direct_counter(CounterType type);
    void count();
}

#define V1MODEL_METER_COLOR_GREEN 0
#define V1MODEL_METER_COLOR_YELLOW 1
#define V1MODEL_METER_COLOR_RED 2

extern meter V1MODEL_OWN {
    meter(bit<32> size, MeterType type);
    void execute_meter<T>(in V1MODEL_INDEX index, out T result);
}

extern direct_meter<T> {
    direct_meter(MeterType type);
    void read(out T result);
}

extern register V1MODEL_BOTH {
    register(bit<32> size);
    @noSideEffects
    void read(out T result, in V1MODEL_INDEX index);
    void write(in V1MODEL_INDEX index, in T value);
}

enum HashAlgorithm { crc32, crc32_custom, crc16, crc16_custom, random, identity, csum16, xor16 }

extern action_profile { action_profile(bit<32> size); }

extern action_selector { action_selector(HashAlgorithm algorithm, bit<32> size, bit<32> outputWidth); }

// Sets egress_spec to the port that drops, and mcast_grp to 0.
@pure
extern void mark_to_drop(inout standard_metadata_t standard_metadata);

// A number from base on, less than base + max.
@pure
extern void hash<O, T, D, M>(out O result, in HashAlgorithm algo, in T base, in D data, in M max);

extern void random<T>(out T result, in T lo, in T hi);

extern void digest<T>(in bit<32> receiver, in T data);

enum CloneType { I2E, E2E }

extern Checksum16 {
    Checksum16();
    bit<16> get<D>(in D data);
}

extern void verify_checksum<T, O>(in bool condition, in T data, in O checksum, HashAlgorithm algo);
extern void update_checksum<T, O>(in bool condition, in T data, inout O checksum, HashAlgorithm algo);
extern void verify_checksum_with_payload<T, O>(in bool condition, in T data, in O checksum, HashAlgorithm algo);
extern void update_checksum_with_payload<T, O>(in bool condition, in T data, inout O checksum, HashAlgorithm algo);

extern void clone(in CloneType type, in bit<32> session);

extern void resubmit_preserving_field_list(bit<8> index);
extern void recirculate_preserving_field_list(bit<8> index);
extern void clone_preserving_field_list(in CloneType type, in bit<32> session, bit<8> index);

@deprecated("use resubmit_preserving_field_list")
extern void resubmit<T>(in T data);
@deprecated("use recirculate_preserving_field_list")
extern void recirculate<T>(in T data);
@deprecated("use clone_preserving_field_list")
extern void clone3<T>(in CloneType type, in bit<32> session, in T data);

extern void truncate(in bit<32> length);

extern void assert(in bool check);
extern void assume(in bool check);

extern void log_msg(string msg);
extern void log_msg<T>(string msg, in T data);

parser Parser<H, M>(packet_in b, out H parsedHdr, inout M meta, inout standard_metadata_t standard_metadata);
control VerifyChecksum<H, M>(inout H hdr, inout M meta);
@pipeline
control Ingress<H, M>(inout H hdr, inout M meta, inout standard_metadata_t standard_metadata);
@pipeline
control Egress<H, M>(inout H hdr, inout M meta, inout standard_metadata_t standard_metadata);
control ComputeChecksum<H, M>(inout H hdr, inout M meta);
@deparser
control Deparser<H>(packet_out b, in H hdr);

package V1Switch<H, M>(
    Parser<H, M> p, VerifyChecksum<H, M> vr, Ingress<H, M> ig,
    Egress<H, M> eg, ComputeChecksum<H, M> ck, Deparser<H> dep);

#endif
