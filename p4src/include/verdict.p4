// SPDX-License-Identifier: MIT OR Apache-2.0
// The result of a marking decision, on every target.
#ifndef MARKLAB_VERDICT_P4
#define MARKLAB_VERDICT_P4

// What happens to the packet.
enum bit<2> decision_t {
    PASS = 0,
    MARK = 1, // CE if it is ECN capable, else it passes and is counted
    DROP = 2,
    MARK_OR_DROP = 3 // CE if it is ECN capable, else it is dropped
}

// Cause of the decision; each scheme names its own. PASS has 0.
typedef bit<3> cause_t;

#endif // MARKLAB_VERDICT_P4
