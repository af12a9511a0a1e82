// Records the inputs of a marking decision, for tests of these inputs and of random decisions.
#include <core.p4>
#include <v1model.p4>
#include "include/marking.p4"

control Marking(in queue_signals_t q, out decision_t decision, out cause_t cause) {
    register<bit<9>>(1) port;
    register<bit<48>>(1) now_us;
    register<bit<32>>(1) sojourn_us;
    register<bit<19>>(1) enq_qdepth_pkts;
    register<bit<19>>(1) deq_qdepth_pkts;
    register<bit<32>>(1) draw;

    bit<2> answer = 0;
    bit<3> why = 0;

    action set_answer(bit<2> decision_code, bit<3> cause_code) {
        answer = decision_code;
        why = cause_code;
    }

    table params {
        actions = { set_answer; }
        default_action = set_answer(0, 0);
    }

    apply {
        port.write(0, q.port);
        now_us.write(0, q.now_us);
        sojourn_us.write(0, q.sojourn_us);
        enq_qdepth_pkts.write(0, q.enq_qdepth_pkts);
        deq_qdepth_pkts.write(0, q.deq_qdepth_pkts);
        bit<32> number;
        random(number, 32w0, 32w0xffffffff);
        draw.write(0, number);
        params.apply();
        decision = (decision_t)answer;
        cause = why;
    }
}

#include "include/switch.p4"
