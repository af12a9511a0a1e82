// SPDX-License-Identifier: MIT OR Apache-2.0
// What happens to packets that a scheme would mark but that are not ECN capable: SYN-ACKs without ECN+, transports
// without ECN. They pass, or are dropped as in RFC 3168 (section 5) and the AQMs of the ECN+ paper (section 3.1).
//
// Include this file; switch.p4 asks the table about each packet that `Marking` would mark.
#ifndef MARKLAB_NOT_ECT_P4
#define MARKLAB_NOT_ECT_P4

#include "marking.p4"

#define MARKLAB_DROPS_NOT_ECT

control NotEct(inout decision_t decision) {
    action mark_or_drop() {
        decision = decision_t.MARK_OR_DROP;
    }

    table fate {
        actions = { NoAction; mark_or_drop; }
        default_action = NoAction();
    }

    apply {
        if (decision == decision_t.MARK) {
            fate.apply();
        }
    }
}

#endif // MARKLAB_NOT_ECT_P4
