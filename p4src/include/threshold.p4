// SPDX-License-Identifier: MIT OR Apache-2.0
// The decision of schemes that mark above a threshold, on every target.
#ifndef MARKLAB_THRESHOLD_P4
#define MARKLAB_THRESHOLD_P4

#include "verdict.p4"

// Marks for `why` if `signal` is above `limit`. Uses a saturating difference and a test for 0, since Tofino cannot
// compare two run-time values for order.
control Threshold(in bit<32> signal, in bit<32> limit, in cause_t why, out decision_t decision, out cause_t cause) {
    bit<32> excess = 0;

    // In a separate action: p4c would move a calculation in `apply` into the condition, which cannot calculate.
    action compare() {
        excess = signal |-| limit;
    }

    apply {
        decision = decision_t.PASS;
        cause = 0;
        compare();
        if (excess != 0) {
            decision = decision_t.MARK;
            cause = why;
        }
    }
}

#endif // MARKLAB_THRESHOLD_P4
