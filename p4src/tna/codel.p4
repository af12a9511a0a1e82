// SPDX-License-Identifier: MIT OR Apache-2.0
// CoDel with marks on Tofino: marks when the sojourn time has stayed above `target` for an `interval`, then ever more
// often, at interval / sqrt(count); see v1model/codel.p4.
//
// The sum that v1model/codel.p4 computes mark by mark,
//
//     mark_next += interval / sqrt(mark_count),
//
// is a table over time here, as in ecn-sharp.p4: mark n + 1 is due when interval * (1 + 1/sqrt(2) + ... + 1/sqrt(n))
// has passed since the first one. An episode of marks that soon follows another begins ahead, as if it had made some
// marks already. How many depends on the marks of the episode before. That number is known in a later stage than the
// one that needs it, so a note carries it there. The note is in time, since the next episode begins at least an
// interval later.
#include <core.p4>
#include <tna.p4>

#include "include/notes.p4"

const cause_t CAUSE_SOJOURN = 1;

// Number of due marks at which every packet is marked.
const bit<32> ALL = 0xffffffff;

// Cells of one full packet.
#ifndef MARKLAB_PACKET_CELLS
#define MARKLAB_PACKET_CELLS 19
#endif
// Lowest of the twenty bits of an episode's age that a table looks up; for long episodes it is four bits higher. A
// range begins at a multiple of four bits.
#ifndef MARKLAB_ELAPSED_BIT
#define MARKLAB_ELAPSED_BIT 0
#endif

// Result of an episode of marks: if the next episode begins before `until`, it is ahead by `ahead` marks.
struct past_episode_t {
    bit<32> until;
    bit<32> ahead;
}

struct episode_t {
    bit<32> count;             // mark_count; 0 while the queue is not marked
    bit<32> marks;             // of this episode
}

control Marking(in queue_signals_t q, in noted_t noted, inout note_t note, out decision_t decision, out cause_t cause) {
    // When the sojourn will have been above target for an interval; 0 while it is below. A time that happens to be 0
    // counts as none, and the next packet stores its own.
    Register<int<32>, queue_cell_t>(MARKLAB_QUEUES, 0) first_above_time;
    Register<past_episode_t, queue_cell_t>(MARKLAB_QUEUES, { 0, 0 }) past_episode;
    // When the first mark would have been if the episode had made the marks by which it is ahead; 0 as above.
    Register<bit<32>, queue_cell_t>(MARKLAB_QUEUES, 0) first_mark_time;
    Register<episode_t, queue_cell_t>(MARKLAB_QUEUES, { 0, 0 }) episode;

    bit<32> target = 0;
    int<32> in_an_interval = 0;
    bit<32> below_target = 0;
    bit<32> left_behind = 0;
    bit<1> ok_to_mark = 0;
    bit<32> ahead = 0;
    bit<32> ahead_ns = 0;
    bit<32> first_count = 0;
    bit<32> would_begin = 0;
    bit<32> elapsed = 0;
    bit<32> marks_due = 0;
    bit<1> is_due = 0;
    bit<32> marks_made = 0;

    // memory: for how long a past episode counts.
    action set_params(bit<32> target_ns, bit<32> interval_ns, bit<32> memory_ns) {
        target = target_ns;
        in_an_interval = (int<32>)(q.now_ns + interval_ns);
        note.ns = q.now_ns + memory_ns;
    }

    table params {
        actions = { set_params; }
        default_action = set_params(85000, 200000, 3200000);
        size = 1;
    }

    action compare() {
        below_target = target |-| q.sojourn_ns;
        left_behind = q.deq_qdepth_cells |-| MARKLAB_PACKET_CELLS;
    }

    // dodequeue: has the sojourn been above target for an interval?
    RegisterAction<int<32>, queue_cell_t, bit<1>>(first_above_time) reset_first_above = {
        void apply(inout int<32> first_above, out bit<1> ok) {
            first_above = 0;
            ok = 0;
        }
    };
    RegisterAction<int<32>, queue_cell_t, bit<1>>(first_above_time) check_first_above = {
        void apply(inout int<32> first_above, out bit<1> ok) {
            ok = 0;
            if (first_above == 0) {
                first_above = in_an_interval;
            } else if ((int<32>)q.now_ns - first_above >= 0) {
                ok = 1;
            }
        }
    };

    RegisterAction<past_episode_t, queue_cell_t, bit<32>>(past_episode) remember = {
        void apply(inout past_episode_t past) {
            past.until = q.now_ns;
            past.ahead = noted.value;
        }
    };
    // If marking ended only recently, continue near the rate that was needed then.
    RegisterAction<past_episode_t, queue_cell_t, bit<32>>(past_episode) recall = {
        void apply(inout past_episode_t past, out bit<32> found) {
            found = 0;
            if ((int<32>)past.until - (int<32>)q.now_ns > 0) {
                found = past.ahead;
            }
        }
    };

    action set_ahead(bit<32> ns, bit<32> count) {
        ahead_ns = ns;
        first_count = count;
    }

    // The time that this number of marks takes, and the count of the mark after them.
    table time_by_marks {
        key = { ahead: exact @name("marks"); }
        actions = { set_ahead; }
        default_action = set_ahead(0, 1);
        size = 2560;
    }

    action begin() {
        would_begin = q.now_ns - ahead_ns;
    }

    RegisterAction<bit<32>, queue_cell_t, bit<32>>(first_mark_time) reset_first_mark = {
        void apply(inout bit<32> began) {
            began = 0;
        }
    };
    RegisterAction<bit<32>, queue_cell_t, bit<32>>(first_mark_time) look_at_episode = {
        void apply(inout bit<32> began, out bit<32> since) {
            if (began == 0) {
                began = would_begin;
                since = 0;
            } else {
                since = q.now_ns - began;
            }
        }
    };

    action set_due(bit<32> marks) {
        marks_due = marks;
    }

    // Marks that are due, by the time since the first one.
    table marks_by_time {
        key = { elapsed[MARKLAB_ELAPSED_BIT + 19:MARKLAB_ELAPSED_BIT]: range @name("elapsed"); }
        actions = { set_due; }
        default_action = set_due(ALL);
        size = 2048;
    }

    // The same for long episodes.
    table marks_by_long_time {
        key = { elapsed[MARKLAB_ELAPSED_BIT + 23:MARKLAB_ELAPSED_BIT + 4]: range @name("elapsed"); }
        actions = { set_due; }
        default_action = set_due(ALL);
        size = 1024;
    }

    RegisterAction<episode_t, queue_cell_t, bit<32>>(episode) end_episode = {
        void apply(inout episode_t e, out bit<32> made) {
            made = e.marks;
            e.count = 0;
            e.marks = 0;
        }
    };
    RegisterAction<episode_t, queue_cell_t, bit<1>>(episode) next_mark = {
        void apply(inout episode_t e, out bit<1> mark) {
            mark = 0;
            if (e.count == 0) {
                e.count = first_count;
                e.marks = e.marks + 1;
                mark = 1;
            } else if (e.count < marks_due) {
                e.count = e.count + 1;
                e.marks = e.marks + 1;
                mark = 1;
            }
        }
    };

    // The next episode begins with the count of the marks that this one made after its first: it is ahead by one less.
    action write_note() {
        note.written = 1;
        note.value = marks_made |-| 2;
    }

    apply {
        decision = decision_t.PASS;
        cause = 0;
        if (noted.isValid()) {
            remember.execute(q.cell);
        } else {
            ahead = recall.execute(q.cell);
            time_by_marks.apply();
            begin();
            params.apply();
            compare();
            if (below_target != 0 || left_behind == 0) {
                ok_to_mark = reset_first_above.execute(q.cell);
            } else {
                ok_to_mark = check_first_above.execute(q.cell);
            }
            if (ok_to_mark == 0) {
                reset_first_mark.execute(q.cell);
                marks_made = end_episode.execute(q.cell);
                if (marks_made != 0) {
                    write_note();
                }
            } else {
                elapsed = look_at_episode.execute(q.cell);
                if (elapsed[31:MARKLAB_ELAPSED_BIT + 20] == 0) {
                    marks_by_time.apply();
                } else if (elapsed[31:MARKLAB_ELAPSED_BIT + 24] == 0) {
                    marks_by_long_time.apply();
                } else {
                    set_due(ALL);
                }
                is_due = next_mark.execute(q.cell);
            }
        }
        if (is_due == 1) {
            decision = decision_t.MARK;
            cause = CAUSE_SOJOURN;
        }
    }
}

#include "include/mirrored.p4"
