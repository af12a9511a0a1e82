// SPDX-License-Identifier: MIT OR Apache-2.0
//! The same network with a program for v1model and with its twin for TNA.

use marklab_netsim::{Control, Outcome, QueueLimit};

use crate::support::*;

/// Cells of 80 bytes in a full frame of 1,514 bytes.
const FULL_FRAME_CELLS: u64 = 19;
const K_PKTS: u64 = 12;

/// Runs flows to one host. They start one after the other, so no two SYNs wait at the same time.
fn outcome(program: &'static str, params: &[(&str, u64)]) -> Outcome {
    let mut config = star(&[(40 * GBPS, 5 * US); 4], QueueLimit::Packets(40), Control::Dctcp);
    config.links[0].rate_bps = 10 * GBPS;
    trace_queue(&mut config, 0);
    let flows = (0..30).map(|number| flow(number * 70 * US, 1 + number as usize % 3, 0, (1 + number % 7) * 40 * MSS));
    run(&config, &Program::of(program), |state| set_params(state, params), flows.collect::<Vec<_>>())
}

/// Both programs mark when more than K packets wait, because the TNA twin's K is that many full frames. So frames
/// arrive and leave at the same nanosecond.
#[test]
fn marks_on_cells_of_full_frames_are_marks_on_packets() {
    let ours = outcome("twin", &[("k_cells", FULL_FRAME_CELLS * K_PKTS)]);
    let theirs = outcome("dctcp-red", &[("k_pkts", K_PKTS)]);
    let marked = |outcome: &Outcome| outcome.switches[0].ports[0].marked;
    assert!(marked(&ours) > 100, "{}", marked(&ours));
    assert_eq!(marked(&ours), marked(&theirs));
    let fcts = |outcome: &Outcome| (0..30).map(|flow| fct(outcome, flow)).collect::<Vec<_>>();
    assert_eq!(fcts(&ours), fcts(&theirs));
    assert_eq!(ours.switches[0].ports[0].queue, theirs.switches[0].ports[0].queue);
}
