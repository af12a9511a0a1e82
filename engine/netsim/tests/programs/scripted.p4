// A switch that marks or drops the packets listed in a table, by their number at each port.
#include <core.p4>
#include <v1model.p4>
#include "include/marking.p4"

const cause_t CAUSE_SCRIPT = 1;

control Marking(in queue_signals_t q, out decision_t decision, out cause_t cause) {
    // Packets that left by each port so far.
    register<bit<32>>(MARKLAB_PORTS) sent;
    bit<32> number = 0;

    action mark() {
        decision = decision_t.MARK;
        cause = CAUSE_SCRIPT;
    }

    action drop() {
        decision = decision_t.DROP;
        cause = CAUSE_SCRIPT;
    }

    // The first packet has number 1.
    table script {
        key = {
            q.port: exact @name("port");
            number: exact @name("number");
        }
        actions = {
            mark;
            drop;
            NoAction;
        }
        const default_action = NoAction();
        size = 65536;
    }

    apply {
        decision = decision_t.PASS;
        cause = 0;
        sent.read(number, (bit<32>)q.port);
        number = number + 1;
        sent.write((bit<32>)q.port, number);
        script.apply();
    }
}

#include "include/switch.p4"
