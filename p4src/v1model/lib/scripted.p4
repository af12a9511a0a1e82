// SPDX-License-Identifier: MIT OR Apache-2.0
// A bottleneck that follows a script: it marks, drops or delays single packets of TCP flows, as table entries say.
//
//     parser -> flow -> count -> script -> (detour) -> ipv4_lpm -> deparser
//
// `flow` gives the flow and the direction of a packet. Registers count the packets of each flow, and `script` matches
// these numbers. All numbers begin with 1; 0 in a field means that the packet is not of that kind.
//
//     packet      n-th packet of its flow and direction
//     segment     data: n-th segment of the stream; acknowledgements: how many segments they cover, a part as a whole
//     copy        n-th transmission of that segment, n-th acknowledgement with that number
//     opening     n-th SYN or SYN-ACK
//     closing     n-th packet with FIN
//     signal      n-th packet with CWR (data) or ECE (acknowledgements), openings left out
//     round, place   round trip, and n-th packet of its direction in it
//
// A round trip begins with the acknowledgement that covers the first segment of the one before; its own first segment is
// the next that passes. v1model cannot delay: a packet to be delayed leaves by a port whose line leads back into the
// switch, and is late by the delay of that line. Windows that receivers advertise can be limited, since Linux has no
// setting for it.
// Packets that come from such a line are forwarded, and neither counted nor matched again.
#include <core.p4>
#include <v1model.p4>
#include "include/headers.p4"

#define SCRIPTED_FLOWS 64
// Segments of each flow that have counts of their own; later ones share those of the earlier ones.
#define SCRIPTED_SEGMENTS 4096
#define SCRIPTED_CELLS 262144
#define SCRIPTED_EVENTS 4096

const bit<1> DATA = 0;
const bit<1> ACKS = 1;

// TCP (RFC 9293 section 3.1), without options, behind the ports.
header tcp_t {
    bit<32> sequence;
    bit<32> ack;
    bit<4> data_offset;
    bit<4> reserved;
    bit<1> cwr;
    bit<1> ece;
    bit<1> urg;
    bit<1> is_ack;
    bit<1> psh;
    bit<1> rst;
    bit<1> syn;
    bit<1> fin;
    bit<16> window;
    bit<16> checksum;
    bit<16> urgent;
}

struct scripted_headers_t {
    ethernet_t ethernet;
    ipv4_t ipv4;
    ports_t ports;
    tcp_t tcp;
}

struct numbers_t {
    bit<8> flow;
    bit<1> direction;
    bit<32> packet;
    bit<32> segment;
    bit<32> copy;
    bit<32> opening;
    bit<32> closing;
    bit<32> signal;
    bit<32> round;
    bit<32> place;
}

struct scripted_metadata_t {
    numbers_t numbers;
}

parser ScriptedParser(packet_in packet,
                      out scripted_headers_t hdr,
                      inout scripted_metadata_t meta,
                      inout standard_metadata_t standard_metadata) {
    state start {
        packet.extract(hdr.ethernet);
        transition select(hdr.ethernet.ether_type) {
            ETHERTYPE_IPV4: parse_ipv4;
            default: accept;
        }
    }

    state parse_ipv4 {
        packet.extract(hdr.ipv4);
        transition select(hdr.ipv4.ihl, hdr.ipv4.frag_offset, hdr.ipv4.protocol) {
            (5, 0, PROTOCOL_TCP): parse_tcp;
            default: accept;
        }
    }

    state parse_tcp {
        packet.extract(hdr.ports);
        packet.extract(hdr.tcp);
        transition accept;
    }
}

control ScriptedVerifyChecksum(inout scripted_headers_t hdr, inout scripted_metadata_t meta) {
    apply { }
}

// Numbers a packet of a flow. Segments have that many bytes; `reciprocal` is 2^40 divided by it, rounded up.
control Count(in scripted_headers_t hdr, in bit<32> segment_bytes, in bit<32> reciprocal, inout numbers_t numbers) {
    // Per flow: sequence number of the first byte of data; number of the round trip, and the byte of the stream behind
    // its first segment, 0 until that has passed.
    register<bit<32>>(SCRIPTED_FLOWS) first_byte;
    register<bit<32>>(SCRIPTED_FLOWS) rounds;
    register<bit<32>>(SCRIPTED_FLOWS) round_end;
    // Per flow and direction.
    register<bit<32>>(2 * SCRIPTED_FLOWS) packets;
    register<bit<32>>(2 * SCRIPTED_FLOWS) openings;
    register<bit<32>>(2 * SCRIPTED_FLOWS) closings;
    register<bit<32>>(2 * SCRIPTED_FLOWS) signals;
    register<bit<32>>(2 * SCRIPTED_FLOWS) places;
    // Per flow and segment.
    register<bit<32>>(SCRIPTED_CELLS) transmissions;
    register<bit<32>>(SCRIPTED_CELLS) acknowledgements;

    bit<32> flow = 0;
    bit<32> cell = 0;
    bit<32> until = 0;

    // Segments that end before this byte of the stream, or at it.
    action count_segments(in bit<32> bytes) {
        numbers.segment = (bit<32>)(((bit<64>)bytes * (bit<64>)reciprocal) >> 40);
    }

    action number_data(in bit<32> begin, in bit<32> end) {
        count_segments(begin);
        bit<32> place = flow * SCRIPTED_SEGMENTS + (numbers.segment & (SCRIPTED_SEGMENTS - 1));
        numbers.segment = numbers.segment + 1;
        transmissions.read(numbers.copy, place);
        numbers.copy = numbers.copy + 1;
        transmissions.write(place, numbers.copy);
        if (until == 0) {
            round_end.write(flow, end);
            if (numbers.round == 0) {
                numbers.round = 1;
                rounds.write(flow, 1);
            }
        }
    }

    action number_ack(in bit<32> covered) {
        count_segments(covered + segment_bytes - 1);
        bit<32> place = flow * SCRIPTED_SEGMENTS + (numbers.segment & (SCRIPTED_SEGMENTS - 1));
        acknowledgements.read(numbers.copy, place);
        numbers.copy = numbers.copy + 1;
        acknowledgements.write(place, numbers.copy);
        if (until != 0 && covered >= until) {
            numbers.round = numbers.round + 1;
            rounds.write(flow, numbers.round);
            round_end.write(flow, 0);
            places.write(flow << 1, 0);
            places.write(flow << 1 | 1, 0);
        }
    }

    action number_in_round() {
        places.read(numbers.place, cell);
        numbers.place = numbers.place + 1;
        places.write(cell, numbers.place);
    }

    apply {
        flow = (bit<32>)numbers.flow;
        cell = flow << 1 | (bit<32>)numbers.direction;
        packets.read(numbers.packet, cell);
        numbers.packet = numbers.packet + 1;
        packets.write(cell, numbers.packet);

        if (hdr.tcp.syn == 1) {
            openings.read(numbers.opening, cell);
            numbers.opening = numbers.opening + 1;
            openings.write(cell, numbers.opening);
            if (numbers.direction == DATA) {
                first_byte.write(flow, hdr.tcp.sequence + 1);
            }
        } else {
            bit<32> first;
            first_byte.read(first, flow);
            rounds.read(numbers.round, flow);
            round_end.read(until, flow);
            bit<32> payload = (bit<32>)hdr.ipv4.total_len - 20 - ((bit<32>)hdr.tcp.data_offset << 2);
            if (numbers.direction == ACKS) {
                number_ack(hdr.tcp.ack - first);
                number_in_round();
            } else if (payload > 0) {
                number_data(hdr.tcp.sequence - first, hdr.tcp.sequence - first + payload);
                number_in_round();
            }
            if ((numbers.direction == DATA && hdr.tcp.cwr == 1) || (numbers.direction == ACKS && hdr.tcp.ece == 1)) {
                signals.read(numbers.signal, cell);
                numbers.signal = numbers.signal + 1;
                signals.write(cell, numbers.signal);
            }
        }
        if (hdr.tcp.fin == 1) {
            closings.read(numbers.closing, cell);
            numbers.closing = numbers.closing + 1;
            closings.write(cell, numbers.closing);
        }
    }
}

control ScriptedIngress(inout scripted_headers_t hdr,
                        inout scripted_metadata_t meta,
                        inout standard_metadata_t standard_metadata) {
    Count() count;

    // Packets that each event has met.
    counter(SCRIPTED_EVENTS, CounterType.packets) met;

    bit<32> segment_size = 0;
    bit<32> reciprocal = 0;
    bit<16> largest_window = 0;
    bit<9> usual_port = 0;
    bit<1> is_dropped = 0;
    bit<9> detour = 0;

    // segment_reciprocal: 2^40 / segment_bytes, rounded up. Quotients are exact for streams of up to 512 MB.
    // window: advertised at most, in units of 256 bytes, which the receiver must use as well; 0 for any.
    // segment_port: segments without an event leave by this port; 0 if they are forwarded at once.
    action set_flow(bit<8> flow, bit<1> direction, bit<32> segment_bytes, bit<32> segment_reciprocal, bit<16> window,
                    bit<9> segment_port) {
        meta.numbers.flow = flow;
        meta.numbers.direction = direction;
        segment_size = segment_bytes;
        reciprocal = segment_reciprocal;
        largest_window = window;
        usual_port = segment_port;
    }

    // Changes the checksum by the difference (RFC 1624, equation 3).
    action set_window(in bit<16> window) {
        bit<32> sum = (bit<32>)(~hdr.tcp.checksum) + (bit<32>)(~hdr.tcp.window) + (bit<32>)window;
        sum = (sum & 0xffff) + (sum >> 16);
        sum = (sum & 0xffff) + (sum >> 16);
        hdr.tcp.checksum = ~((bit<16>)sum);
        hdr.tcp.window = window;
    }

    table flow {
        key = {
            hdr.ipv4.src_addr: exact @name("src_addr");
            hdr.ipv4.dst_addr: exact @name("dst_addr");
            hdr.ports.src_port: exact @name("src_port");
            hdr.ports.dst_port: exact @name("dst_port");
        }
        actions = {
            set_flow;
            NoAction;
        }
        const default_action = NoAction();
        size = 128;
    }

    // Ports whose lines lead back into the switch.
    table returning {
        key = {
            standard_metadata.ingress_port: exact @name("port");
        }
        actions = {
            NoAction;
        }
        const default_action = NoAction();
        size = 64;
    }

    action mark(bit<32> event) {
        met.count(event);
        if (hdr.ipv4.ecn == ecn_t.ECT0 || hdr.ipv4.ecn == ecn_t.ECT1) {
            hdr.ipv4.ecn = ecn_t.CE;
        }
    }

    action drop_packet(bit<32> event) {
        met.count(event);
        is_dropped = 1;
    }

    // port: its line has the delay.
    action delay(bit<32> event, bit<9> port) {
        met.count(event);
        detour = port;
    }

    table script {
        key = {
            meta.numbers.flow: exact @name("flow");
            meta.numbers.direction: exact @name("direction");
            meta.numbers.packet: ternary @name("packet");
            meta.numbers.segment: ternary @name("segment");
            meta.numbers.copy: ternary @name("copy");
            meta.numbers.opening: ternary @name("opening");
            meta.numbers.closing: ternary @name("closing");
            meta.numbers.signal: ternary @name("signal");
            meta.numbers.round: ternary @name("round");
            meta.numbers.place: ternary @name("place");
        }
        actions = {
            mark;
            drop_packet;
            delay;
            NoAction;
        }
        const default_action = NoAction();
        size = SCRIPTED_EVENTS;
    }

    action drop() {
        mark_to_drop(standard_metadata);
    }

    action forward(bit<9> port, bit<48> dst_addr) {
        standard_metadata.egress_spec = port;
        hdr.ethernet.src_addr = hdr.ethernet.dst_addr;
        hdr.ethernet.dst_addr = dst_addr;
    }

    table ipv4_lpm {
        key = {
            hdr.ipv4.dst_addr: lpm @name("dst_addr");
        }
        actions = {
            forward;
            drop;
        }
        const default_action = drop();
        size = 4096;
    }

    apply {
        if (!hdr.ipv4.isValid()) {
            drop();
        } else {
            if (hdr.tcp.isValid() && !returning.apply().hit && flow.apply().hit) {
                count.apply(hdr, segment_size, reciprocal, meta.numbers);
                script.apply();
                if (detour == 0 && meta.numbers.direction == DATA && meta.numbers.segment > 0) {
                    detour = usual_port;
                }
                // The window of a SYN-ACK has no scale.
                bit<16> window = largest_window;
                if (hdr.tcp.syn == 1) {
                    window = largest_window < 256 ? largest_window << 8 : 0xffff;
                }
                if (largest_window != 0 && hdr.tcp.window > window) {
                    set_window(window);
                }
            }
            if (is_dropped == 1) {
                drop();
            } else if (detour != 0) {
                standard_metadata.egress_spec = detour;
            } else {
                ipv4_lpm.apply();
            }
        }
    }
}

control ScriptedEgress(inout scripted_headers_t hdr,
                       inout scripted_metadata_t meta,
                       inout standard_metadata_t standard_metadata) {
    apply { }
}

control ScriptedComputeChecksum(inout scripted_headers_t hdr, inout scripted_metadata_t meta) {
    apply {
        update_checksum(hdr.ipv4.isValid() && hdr.ipv4.ihl == 5,
            { hdr.ipv4.version, hdr.ipv4.ihl, hdr.ipv4.dscp, hdr.ipv4.ecn, hdr.ipv4.total_len,
              hdr.ipv4.identification, hdr.ipv4.flags, hdr.ipv4.frag_offset, hdr.ipv4.ttl, hdr.ipv4.protocol,
              hdr.ipv4.src_addr, hdr.ipv4.dst_addr },
            hdr.ipv4.hdr_checksum, HashAlgorithm.csum16);
    }
}

control ScriptedDeparser(packet_out packet, in scripted_headers_t hdr) {
    apply {
        packet.emit(hdr.ethernet);
        packet.emit(hdr.ipv4);
        packet.emit(hdr.ports);
        packet.emit(hdr.tcp);
    }
}

V1Switch(ScriptedParser(),
         ScriptedVerifyChecksum(),
         ScriptedIngress(),
         ScriptedEgress(),
         ScriptedComputeChecksum(),
         ScriptedDeparser()) main;
