// SPDX-License-Identifier: MIT OR Apache-2.0
//! Receive windows that are tuned: what receivers advertise, and what senders make of it.

use marklab_netsim::{Config, Connections, Control, Flow, Outcome, QueueLimit};

use crate::pcap::{self, Captured};
use crate::support::*;

/// The first window: whole segments in 64 KiB.
const FIRST: u64 = 44 * MSS;

/// A path with room for 1,700 segments.
fn tuned(limit: u64, connections: Connections) -> Config {
    let mut config = star(&[(GBPS, 5 * MS); 2], QueueLimit::Packets(10_000), Control::Reno);
    config.transport.stack.window_autotuning = true;
    config.transport.receive_window_bytes = limit;
    config.connections = connections;
    config
}

fn ran(mut config: Config, flow: Flow, name: &str) -> (Outcome, Vec<Captured>) {
    let path = capture_host(&mut config, 0, name);
    let outcome = run(&config, &Program::of("droptail"), |_| (), vec![flow]);
    assert!(outcome.flows[0].fct.is_some());
    (outcome, pcap::read(&path))
}

/// The window of each acknowledgement in bytes, from a first one. Checks that no segment is beyond the last one.
fn windows(frames: &[Captured], opening: u64) -> Vec<u64> {
    let first = frames.iter().find(|frame| frame.payload > 0 && frame.src == ip(0)).unwrap().sequence;
    let after = |sequence: u32| u64::from(sequence.wrapping_sub(first));
    let mut edge = opening;
    let mut windows = Vec::new();
    for frame in frames.iter().filter(|frame| !frame.syn) {
        if frame.src == ip(0) {
            assert!(after(frame.end()) <= edge, "{} is beyond {edge}", after(frame.end()));
        } else {
            let window = u64::from(frame.window) << 8;
            assert!(after(frame.ack) + window >= edge, "a window is taken back");
            edge = after(frame.ack) + window;
            windows.push(window);
        }
    }
    windows
}

#[test]
fn a_tuned_window_follows_a_flow_up_to_its_limit() {
    let persistent = Connections::Persistent { per_pair: 1 };
    for (limit, most) in [(1 << 20, 1 << 20), (1_048_577, 1_048_832), (16_776_960, 16_776_960)] {
        let large = flow(0, 0, 1, 6_000 * MSS);
        let (_, frames) = ran(tuned(limit, persistent), large, &format!("windows-{limit}"));
        let windows = windows(&frames, FIRST);
        // A segment less than 64 KiB, and two more for the first segment, in units of 256 bytes.
        assert_eq!(windows[0], 67_072);
        let largest = windows.into_iter().max().unwrap();
        assert!(largest <= most && largest > 900_000, "{largest} of {limit}");
        assert!(limit > 1 << 21 || largest == most);
    }
}

#[test]
fn windows_are_tuned_whoever_opens_the_connection() {
    for (number, connections) in [Connections::New, Connections::Asked { request_bytes: 100 }].into_iter().enumerate() {
        let (outcome, frames) =
            ran(tuned(1 << 20, connections), flow(0, 0, 1, 500 * MSS), &format!("windows-{number}"));
        assert!(windows(&frames, FIRST).into_iter().max() > Some(2 * FIRST));
        assert_eq!(outcome.flows[0].sender.timeouts, 0);
    }
}

#[test]
fn a_flow_has_its_own_limit() {
    let limited = Flow { receive_window_bytes: 10 * MSS, ..flow(0, 0, 1, 300 * MSS) };
    let (_, frames) = ran(tuned(1 << 20, Connections::Persistent { per_pair: 1 }), limited, "windows-flow");
    let most = (10 * MSS).next_multiple_of(256);
    assert!(windows(&frames, 10 * MSS).into_iter().all(|window| window <= most));
}

#[test]
fn a_tuned_window_delays_a_flow_by_little_and_a_fixed_one_of_64_kib_by_much() {
    let fct = |autotuning, window| {
        let mut config = tuned(window, Connections::Persistent { per_pair: 1 });
        config.transport.stack.window_autotuning = autotuning;
        let outcome = run(&config, &Program::of("droptail"), |_| (), vec![flow(0, 0, 1, 2_000 * MSS)]);
        outcome.flows[0].fct.unwrap().nanos()
    };
    let (fixed, tuned, small) = (fct(false, 1 << 22), fct(true, 1 << 22), fct(false, FIRST));
    assert!(fixed <= tuned && tuned < 2 * fixed && 4 * tuned < small, "{fixed} {tuned} {small}");
}

#[test]
fn a_tuned_window_is_one_that_a_header_can_advertise() {
    for (window, refused) in [(16_776_959, false), (16_776_960, false), (16_776_961, true)] {
        let config = tuned(window, Connections::New);
        let built = build(&config, &Program::of("droptail"), |_| (), vec![flow(0, 0, 1, MSS)]);
        assert_eq!(built.is_err(), refused, "{window} bytes");
    }
}
