// SPDX-License-Identifier: MIT OR Apache-2.0
// Carries out the decision about a packet, and counts decisions.
//
// Packets that are not ECN capable pass when others would be marked. In a program that is compiled with a macro
// MARKLAB_DROPS_NOT_ECT of 1 they are dropped: a flag of the control plane would be one more step for all.
#ifndef MARKLAB_TNA_VERDICT_P4
#define MARKLAB_TNA_VERDICT_P4

#include "chip.p4"
#include "marking.p4"

// What happens to a marked packet that is not ECN capable, and the control that counts accordingly.
#if MARKLAB_DROPS_NOT_ECT
#define IF_NOT_ECT drop
#define Verdict VerdictThatDrops
#else
#define IF_NOT_ECT NoAction
#define Verdict VerdictThatPasses
#endif // MARKLAB_DROPS_NOT_ECT

// Marks or drops the packet.
control CarryOut(in decision_t decision, inout ecn_t ecn, inout bit<3> drop_ctl) {
    action mark() {
        ecn = ecn_t.CE;
    }

    action drop() {
        drop_ctl = 1;
    }

    table verdict {
        key = {
            decision: exact @name("decision");
            ecn: ternary @name("ecn");
        }
        actions = {
            mark;
            drop;
            NoAction;
        }
        const default_action = NoAction();
        const entries = {
            (decision_t.MARK, ecn_t.ECT0): mark();
            (decision_t.MARK, ecn_t.ECT1): mark();
            (decision_t.MARK, ecn_t.NOT_ECT): IF_NOT_ECT();
            (decision_t.DROP, _): drop();
        }
        size = 8;
    }

    apply {
        verdict.apply();
    }
}

// Each counter needs a table of its own, since a table has one address for what it counts.
control VerdictThatPasses(in bit<9> port, in decision_t decision, in cause_t cause, inout ecn_t ecn,
                          inout bit<3> drop_ctl) {
    CarryOut() carry_out;
    // Packets by port and cause: marked, passed because they were not ECN capable, dropped by decision.
    Counter<bit<64>, bit<12>>(MARKLAB_PORTS * 8, CounterType_t.PACKETS) marks;
    Counter<bit<64>, bit<12>>(MARKLAB_PORTS * 8, CounterType_t.PACKETS) not_capable;
    Counter<bit<64>, bit<12>>(MARKLAB_PORTS * 8, CounterType_t.PACKETS) drops;

    apply {
        bit<12> place = port ++ cause;
        if (decision == decision_t.MARK) {
            if (ecn == ecn_t.ECT0 || ecn == ecn_t.ECT1) {
                marks.count(place);
            } else if (ecn == ecn_t.NOT_ECT) {
                not_capable.count(place);
            }
        } else if (decision == decision_t.DROP) {
            drops.count(place);
        }
        carry_out.apply(decision, ecn, drop_ctl);
    }
}

control VerdictThatDrops(in bit<9> port, in decision_t decision, in cause_t cause, inout ecn_t ecn,
                         inout bit<3> drop_ctl) {
    CarryOut() carry_out;
    // Packets by port and cause: marked, dropped by decision or because they were not ECN capable.
    Counter<bit<64>, bit<12>>(MARKLAB_PORTS * 8, CounterType_t.PACKETS) marks;
    Counter<bit<64>, bit<12>>(MARKLAB_PORTS * 8, CounterType_t.PACKETS) drops;

    apply {
        bit<12> place = port ++ cause;
        if (decision == decision_t.DROP || (decision == decision_t.MARK && ecn == ecn_t.NOT_ECT)) {
            drops.count(place);
        } else if (decision == decision_t.MARK && (ecn == ecn_t.ECT0 || ecn == ecn_t.ECT1)) {
            marks.count(place);
        }
        carry_out.apply(decision, ecn, drop_ctl);
    }
}

#endif // MARKLAB_TNA_VERDICT_P4
