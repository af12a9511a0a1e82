// SPDX-FileCopyrightText: 2013 Barefoot Networks, Inc. (declarations, those of p4c)
// SPDX-License-Identifier: Apache-2.0
/*
 * The v1model architecture as BMv2's simple_switch offers it.
 *
 *   Parser -> VerifyChecksum -> Ingress -> (queue) -> Egress -> ComputeChecksum -> Deparser
 *
 * There are two generations of the interface. With V1MODEL_VERSION >= 20200408 ports have a type of their own, and
 * arrays of counters, meters and registers have a type parameter I for their index.
 */

#ifndef _V1_MODEL_P4_
#define _V1_MODEL_P4_

#include "core.p4"

#ifndef V1MODEL_VERSION
#define V1MODEL_VERSION 20180101
#endif
#if V1MODEL_VERSION < 20180101 || V1MODEL_VERSION > 20200408
#error V1MODEL_VERSION is not between 20180101 and 20200408
#endif

match_kind {
    range,
    optional,   // one value, or all
    selector    // not compared: input of an action selector
}

const bit<32> __v1model_version = V1MODEL_VERSION;

#if V1MODEL_VERSION >= 20200408
typedef bit<9> PortId_t;
#endif

/* The switch's data about a packet; @alias is BMv2's name for the field. */
@metadata @name("standard_metadata")
struct standard_metadata_t {
#if V1MODEL_VERSION >= 20200408
    PortId_t ingress_port;
    PortId_t egress_spec;       // where ingress sends the packet
    PortId_t egress_port;       // egress: where it is going
#else
    bit<9>   ingress_port;
    bit<9>   egress_spec;
    bit<9>   egress_port;
#endif
    bit<32>  instance_type;     // 0 normal, 1 clone of ingress, 2 of egress, 4 recirculated, 5 replicated, 6 resubmitted
    bit<32>  packet_length;     // bytes
    @alias("queueing_metadata.enq_timestamp")
    bit<32>  enq_timestamp;     // microseconds
    @alias("queueing_metadata.enq_qdepth")
    bit<19>  enq_qdepth;        // packets found in the queue
    @alias("queueing_metadata.deq_timedelta")
    bit<32>  deq_timedelta;     // microseconds spent in the queue
    @alias("queueing_metadata.deq_qdepth")
    bit<19>  deq_qdepth;        // packets left behind in the queue
    @alias("intrinsic_metadata.ingress_global_timestamp")
    bit<48>  ingress_global_timestamp;  // microseconds
    @alias("intrinsic_metadata.egress_global_timestamp")
    bit<48>  egress_global_timestamp;   // microseconds
    @alias("intrinsic_metadata.mcast_grp")
    bit<16>  mcast_grp;         // multicast group, 0 for none
    @alias("intrinsic_metadata.egress_rid")
    bit<16>  egress_rid;        // which copy of a multicast packet
    bit<1>   checksum_error;    // whether verify_checksum found a wrong checksum
    error    parser_error;
    @alias("intrinsic_metadata.priority")
    bit<3>   priority;          // selects the queue
}

enum CounterType {
    packets,
    bytes,
    packets_and_bytes
}

enum MeterType {
    packets,
    bytes
}

/* An array of counters, which only the control plane can read. */
#if V1MODEL_VERSION >= 20200408
extern counter<I> {
    counter(bit<32> size, CounterType type);
    void count(in I index);
}
#else
extern counter {
    counter(bit<32> size, CounterType type);
    void count(in bit<32> index);
}
#endif

/* One counter per entry of the table that names it in its property `counters`; counts every hit. */
extern direct_counter {
    direct_counter(CounterType type);
    void count();
}

#define V1MODEL_METER_COLOR_GREEN  0
#define V1MODEL_METER_COLOR_YELLOW 1
#define V1MODEL_METER_COLOR_RED    2

/* An array of two-rate three-colour meters; the result is one of the colours above. */
#if V1MODEL_VERSION >= 20200408
extern meter<I> {
    meter(bit<32> size, MeterType type);
    void execute_meter<T>(in I index, out T result);
}
#else
extern meter {
    meter(bit<32> size, MeterType type);
    void execute_meter<T>(in bit<32> index, out T result);
}
#endif

/* One meter per entry of the table that names it in its property `meters`. */
extern direct_meter<T> {
    direct_meter(MeterType type);
    void read(out T result);
}

/* An array of cells that keep their value from packet to packet and start at 0. */
#if V1MODEL_VERSION >= 20200408
extern register<T, I> {
    register(bit<32> size);
    @noSideEffects
    void read(out T result, in I index);
    void write(in I index, in T value);
}
#else
extern register<T> {
    register(bit<32> size);
    @noSideEffects
    void read(out T result, in bit<32> index);
    void write(in bit<32> index, in T value);
}
#endif

/* Table property `implementation`: entries refer to members that the control plane adds. */
extern action_profile {
    action_profile(bit<32> size);
}

/* Uniform between two bounds, both included. */
extern void random<T>(out T result, in T lo, in T hi);

/* Sends values to the control plane when ingress is done. */
extern void digest<T>(in bit<32> receiver, in T data);

enum HashAlgorithm {
    crc32,
    crc32_custom,
    crc16,
    crc16_custom,
    random,
    identity,
    csum16,
    xor16
}

@deprecated("Please use mark_to_drop(standard_metadata) instead.")
extern void mark_to_drop();

/* Marks the packet to be dropped at the end of the control, unless the metadata is changed again. */
@pure
extern void mark_to_drop(inout standard_metadata_t standard_metadata);

/* base + hash(data) mod max */
@pure
extern void hash<O, T, D, M>(out O result, in HashAlgorithm algo, in T base, in D data, in M max);

/* Like action_profile, but an entry may refer to a group: a hash of the selector keys picks one of its members. */
extern action_selector {
    action_selector(HashAlgorithm algorithm, bit<32> size, bit<32> outputWidth);
}

enum CloneType {
    I2E,
    E2E
}

@deprecated("Please use verify_checksum/update_checksum instead.")
extern Checksum16 {
    Checksum16();
    bit<16> get<D>(in D data);
}

/* Only in VerifyChecksum: sets checksum_error if the condition holds and the checksum is wrong. */
extern void verify_checksum<T, O>(in bool condition, in T data, in O checksum, HashAlgorithm algo);

/* Only in ComputeChecksum: stores the checksum if the condition holds. */
@pure
extern void update_checksum<T, O>(in bool condition, in T data, inout O checksum, HashAlgorithm algo);

/* The same, over the data and all bytes after the parsed headers. */
extern void verify_checksum_with_payload<T, O>(in bool condition, in T data, in O checksum, HashAlgorithm algo);
@noSideEffects
extern void update_checksum_with_payload<T, O>(in bool condition, in T data, inout O checksum, HashAlgorithm algo);

/*
 * Copies and second passes. Of user metadata, only fields with @field_list(..., index, ...) survive.
 */
extern void clone(in CloneType type, in bit<32> session);

@deprecated("Please use 'resubmit_preserving_field_list' instead")
extern void resubmit<T>(in T data);
/* Only in ingress: sends the packet, as received, to the parser again. */
extern void resubmit_preserving_field_list(bit<8> index);

@deprecated("Please use 'recirculate_preserving_field_list' instead")
extern void recirculate<T>(in T data);
/* Only in egress: sends the packet, as deparsed, to the parser. */
extern void recirculate_preserving_field_list(bit<8> index);

@deprecated("Please use 'clone_preserving_field_list' instead")
extern void clone3<T>(in CloneType type, in bit<32> session, in T data);
/* I2E in ingress, E2E in egress; the last call of a pass counts. */
extern void clone_preserving_field_list(in CloneType type, in bit<32> session, bit<8> index);

/* Sends at most the given number of bytes. */
extern void truncate(in bit<32> length);

/* A condition that the program relies on. */
extern void assert(in bool check);
extern void assume(in bool check);

/* Writes to the log; each {} is replaced by the next value. */
extern void log_msg(string msg);
extern void log_msg<T>(string msg, in T data);

/* H is a struct of headers, stacks and unions; M is any struct. */
parser Parser<H, M>(packet_in b, out H parsedHdr, inout M meta, inout standard_metadata_t standard_metadata);
control VerifyChecksum<H, M>(inout H hdr, inout M meta);
@pipeline
control Ingress<H, M>(inout H hdr, inout M meta, inout standard_metadata_t standard_metadata);
@pipeline
control Egress<H, M>(inout H hdr, inout M meta, inout standard_metadata_t standard_metadata);
control ComputeChecksum<H, M>(inout H hdr, inout M meta);
@deparser
control Deparser<H>(packet_out b, in H hdr);

package V1Switch<H, M>(Parser<H, M> p,
                       VerifyChecksum<H, M> vr,
                       Ingress<H, M> ig,
                       Egress<H, M> eg,
                       ComputeChecksum<H, M> ck,
                       Deparser<H> dep);

#endif // _V1_MODEL_P4_
