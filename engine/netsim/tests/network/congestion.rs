// SPDX-License-Identifier: MIT OR Apache-2.0
//! Long flows at one bottleneck, against the closed forms of their congestion control.
//!
//! DCTCP: Alizadeh et al., "Data Center TCP" (SIGCOMM 2010), section 3.3, for N synchronised flows, capacity C,
//! round-trip time RTT and marks above K packets:
//!
//! - W* = (C RTT + K) / N, the window at which the queue reaches K;
//! - alpha^2 (1 - alpha / 4) = (2 W* + 1) / (W* + 1)^2, roughly alpha = sqrt(2 / W*);
//! - the queue swings between K + N and K + N - A, where A = N (W* + 1) alpha / 2, roughly sqrt(2 N (C RTT + K)) / 2.

use std::collections::VecDeque;

use marklab_netsim::tcp::congestion::{Dctcp as DctcpControl, DctcpConfig};
use marklab_netsim::tcp::stack::{RtoEstimator, Stack};
use marklab_netsim::tcp::{AckEvent, RtoConfig, Sender, SenderConfig};
use marklab_netsim::{Config, Control, Flow, Outcome, QueueLimit, QueueTrace};
use marklab_units::{Duration, Time};

use crate::support::*;

/// Senders' links are faster, so the queue builds at the switch.
const SENDER: u64 = 40 * GBPS;
const BOTTLENECK: u64 = 10 * GBPS;
const DELAY: u64 = 24 * US;
/// ns per full segment at the bottleneck.
const SEGMENT: f64 = 1538.0 * 8.0 / 10.0;

/// Round trip of a full segment without queues, in ns.
fn round_trip() -> f64 {
    let sender = |bytes: f64| bytes * 8.0 / 40.0;
    let ack = 84.0;
    4.0 * DELAY as f64 + sender(1538.0) + SEGMENT + ack * 8.0 / 10.0 + sender(ack)
}

/// C RTT in packets.
fn pipe() -> f64 {
    round_trip() / SEGMENT
}

struct Dctcp {
    alpha: f64,
    amplitude: f64,
}

/// Steady-state alpha at W*.
fn dctcp_alpha(w: f64) -> f64 {
    let target = (2.0 * w + 1.0) / (w + 1.0).powi(2);
    // Bisection: the left side is monotonic in 0..=1.
    let (mut low, mut high) = (0.0, 1.0);
    for _ in 0..60 {
        let alpha: f64 = (low + high) / 2.0;
        if alpha * alpha * (1.0 - alpha / 4.0) < target { low = alpha } else { high = alpha }
    }
    low
}

fn dctcp(flows: f64, k: f64) -> Dctcp {
    let w = (pipe() + k) / flows;
    let alpha = dctcp_alpha(w);
    Dctcp { alpha, amplitude: flows * (w + 1.0) * alpha / 2.0 }
}

fn ms(ms: u64) -> Duration {
    Duration::from_micros(ms * 1000)
}

/// `senders` hosts, followed by one receiver.
fn config(senders: usize, control: Control, limit: u64) -> Config {
    let mut hosts = vec![(SENDER, DELAY); senders];
    hosts.push((BOTTLENECK, DELAY));
    let mut config = star(&hosts, QueueLimit::Packets(limit), control);
    trace_queue(&mut config, senders);
    config
}

/// One endless flow from each sender.
fn endless(senders: usize) -> Vec<Flow> {
    (0..senders).map(|sender| flow(0, sender, senders, 1 << 40)).collect()
}

/// Behaviour of a queue after `from`.
#[derive(Debug)]
struct Swing {
    min: u64,
    max: u64,
    marked: f64,
}

fn swing(trace: &QueueTrace, from: u64) -> Swing {
    let rows = || trace.rows().iter().filter(|row| row.time.nanos() >= from);
    let sum = |value: fn(&marklab_netsim::TraceRow) -> u64| rows().map(value).sum::<u64>() as f64;
    Swing {
        min: rows().map(|row| row.last.packets).min().unwrap(),
        max: rows().map(|row| row.max_packets).max().unwrap(),
        marked: sum(|row| row.marked) / sum(|row| row.departed),
    }
}

/// A run from `from` to `until`, without warm-up: the difference of two runs that differ only in their end.
struct Steady {
    /// Outcome of the run to `until`.
    outcome: Outcome,
    /// Segments that each sender sent.
    sent: Vec<u64>,
    /// Fraction of time in which the bottleneck transmitted.
    used: f64,
    /// Reductions of the first flow because of marks, and because of losses.
    reductions: u64,
    recoveries: u64,
    /// Packets lost.
    lost: u64,
    swing: Swing,
}

impl Steady {
    fn new(config: &Config, scheme: &'static str, params: &[(&str, u64)], from: u64, until: u64) -> Steady {
        let senders = config.nodes.len() - 2;
        let run_until = |stop_ns| {
            let config = Config { stop_ns, ..config.clone() };
            let setup = |state: &mut _| {
                if !params.is_empty() {
                    set_params(state, params);
                }
            };
            run(&config, &Program::of(scheme), setup, endless(senders))
        };
        let (before, after) = (run_until(from), run_until(until));
        let sent = |sender| frames_from(&after, sender) - frames_from(&before, sender);
        let busy = |outcome: &Outcome| {
            let line = outcome.lines.iter().find(|line| line.from == (switch_of(config), senders)).unwrap();
            line.stats.busy.nanos()
        };
        let (earlier, later) = (before.flows[0].sender, after.flows[0].sender);
        assert_eq!(later.timeouts, 0);
        Steady {
            sent: (0..senders).map(sent).collect(),
            used: (busy(&after) - busy(&before)) as f64 / (until - from) as f64,
            reductions: later.ecn_reductions - earlier.ecn_reductions,
            recoveries: later.fast_recoveries - earlier.fast_recoveries,
            lost: after.ledger.total() - before.ledger.total(),
            swing: swing(after.traces[0].port(), from),
            outcome: after,
        }
    }
}

#[track_caller]
fn assert_near(what: &str, measured: f64, expected: f64, tolerance: f64) {
    assert!((measured - expected).abs() <= tolerance, "{what}: {measured} instead of {expected} +- {tolerance}");
}

/// The switch does not count the packet on the line, and marks a packet that finds more than K others waiting. So the
/// first mark is on the packet that makes K + 2, one more than in the paper.
#[test]
fn one_dctcp_flow_fills_the_link_with_the_queue_below_k() {
    for k in [20, 40, 65, 130] {
        let steady = Steady::new(&config(1, Control::Dctcp, 1000), "dctcp-red", &[("k_pkts", k)], 20 * MS, 60 * MS);
        let theory = dctcp(1.0, k as f64);
        let Swing { min, max, marked } = steady.swing;
        let seen = format!("K = {k}: {:?}", steady.swing);
        assert_eq!((steady.lost, steady.outcome.flows[0].sender.retransmissions), (0, 0));
        // Goodput is the line rate times the fraction of payload in a full frame.
        assert!(steady.used > 0.9999, "{seen}: {}", steady.used);
        let goodput = (steady.sent[0] * MSS * 8) as f64 / 40e6;
        assert_near("goodput in Gb/s", goodput, 10.0 * 1460.0 / 1538.0, 0.01);
        assert_eq!(max, k + 2, "{seen}");
        assert_near(&format!("amplitude, {seen}"), (max - min) as f64, theory.amplitude, 1.0);
        // After a mark, the window does not grow for one round trip, which the paper neglects. So periods are one round
        // trip longer than the amplitude's 7 to 10, and the fraction of marks is lower, by a smaller factor.
        assert_near(&format!("alpha, {seen}"), marked / theory.alpha, 0.95, 0.05);
        // A period has one round trip per segment of the reduction, and that extra one. There are 20 to 45 periods, one
        // of them perhaps cut off.
        let queue = k as f64 + 2.0 - theory.amplitude / 2.0;
        let period = (theory.amplitude + 1.0) * (round_trip() + queue * SEGMENT);
        assert_near(&format!("reductions, {seen}"), steady.reductions as f64 * period / 40e6, 1.05, 0.06);
    }
}

/// An acknowledgement of two segments releases two at once. When the queue first passes K, only the second of each pair
/// finds it too long, so half of a round trip's packets are marked. With alpha^2 (W* + 1) / 2 = 1/2 instead of 1, alpha
/// and the periods are smaller by a factor of the square root of 2.
#[test]
fn with_delayed_acknowledgements_every_second_packet_is_marked() {
    for k in [20, 40, 65, 130] {
        let mut config = config(1, Control::Dctcp, 1000);
        config.transport.ack_every_segments = 2;
        let steady = Steady::new(&config, "dctcp-red", &[("k_pkts", k)], 20 * MS, 60 * MS);
        let seen = format!("K = {k}: {:?}, {} reductions", steady.swing, steady.reductions);
        let theory = dctcp(1.0, k as f64);
        assert!(steady.used > 0.9999, "{seen}: {}", steady.used);
        assert!((k + 2..=k + 3).contains(&steady.swing.max), "{seen}");
        let root = 2f64.sqrt();
        assert_near(&format!("alpha, {seen}"), steady.swing.marked * root / theory.alpha, 0.93, 0.07);
        let queue = k as f64 + 2.0 - theory.amplitude / 2.0;
        let period = (theory.amplitude + 1.0) * (round_trip() + queue * SEGMENT) / root;
        assert_near(&format!("reductions, {seen}"), steady.reductions as f64 * period / 40e6, 1.03, 0.06);
    }
}

/// The peaks of N synchronised flows add up to K + N. Flows do not stay synchronised for long, but this does not reduce
/// the largest swing.
#[test]
fn the_queue_of_many_dctcp_flows_peaks_at_k_plus_n() {
    for (flows, k) in [(2, 40), (4, 40), (8, 40), (8, 65)] {
        let config = config(flows, Control::Dctcp, 1000);
        let steady = Steady::new(&config, "dctcp-red", &[("k_pkts", k)], 20 * MS, 60 * MS);
        let seen = format!("N = {flows}, K = {k}: {:?}", steady.swing);
        let theory = dctcp(flows as f64, k as f64);
        assert!(steady.used > 0.9999, "{seen}: {}", steady.used);
        assert_near(&seen, steady.swing.max as f64, (k + 1 + flows as u64) as f64, 1.0);
        let amplitude = (steady.swing.max - steady.swing.min) as f64;
        assert_near(&format!("amplitude, {seen}"), amplitude / theory.amplitude, 1.0, 0.2);
        assert!(steady.swing.marked < theory.alpha, "{seen}: more marks than if synchronised, {}", theory.alpha);
    }
}

/// Jain's index over flows of one bottleneck. A DCTCP flow reduces its rate only by alpha / 2 at a time, so the test
/// runs for half a second, some 4000 round trips.
#[test]
fn flows_share_equally() {
    for (control, flows) in [(Control::Dctcp, 2), (Control::Dctcp, 4), (Control::Dctcp, 8), (Control::EcnStar, 4)] {
        let config = config(flows, control, 1000);
        let sent = Steady::new(&config, "dctcp-red", &[("k_pkts", 40)], 100 * MS, 600 * MS).sent;
        let sent: Vec<f64> = sent.into_iter().map(|sent| sent as f64).collect();
        let sum: f64 = sent.iter().sum();
        let squares: f64 = sent.iter().map(|sent| sent * sent).sum();
        let jain = sum * sum / (squares * flows as f64);
        assert!(jain > 0.99, "{control:?}, {flows} flows: {jain}, {sent:?}");
    }
}

/// Below C RTT / 7 (11 packets here), the queue runs empty between reductions and the link idles, less with larger K.
#[test]
fn a_threshold_far_below_the_rule_leaves_the_link_idle() {
    let used = [0, 1, 2, 20]
        .map(|k| Steady::new(&config(1, Control::Dctcp, 1000), "dctcp-red", &[("k_pkts", k)], 20 * MS, 60 * MS).used);
    assert!(used.is_sorted() && used[2] < 0.999 && used[3] > 0.9999, "{used:?}");
}

/// The paper's model without a network: a segment is marked if it finds W* others in flight. Alpha starts at 1, falls
/// by a factor of 1 - g per window until the first mark, and then oscillates around the closed form.
///
/// A period has (W* + 1) alpha / 2 round trips of growth, 5 to 10 here, one round trip that answers the mark, and on
/// average half a round trip until the window has grown to a whole segment. The paper counts only the first part. Alpha
/// goes with the square root of this part's fraction of the period, so it is up to 13 % less. Towards W* = 245, where
/// the paper's condition g < 1.386 / sqrt(2 W*) fails, alpha decays more and more between marks, cuts are smaller than
/// the mean of alpha would give, and the mean rises again.
#[test]
fn alpha_converges_to_the_closed_form() {
    for w in [60u64, 100, 144] {
        let rto = RtoConfig { min: ms(10), max: ms(1000), initial: ms(10), estimator: RtoEstimator::Rfc6298 };
        let config = SenderConfig {
            mss: 1000,
            initial_window: 2,
            rto,
            receive_window: 1 << 40,
            cwnd_validation: true,
            smooth: false,
            stack: Stack::default(),
        };
        let mut sender = Sender::new(config, Box::new(DctcpControl::new(DctcpConfig::default())));
        sender.write(1 << 40);
        let mut in_flight = VecDeque::new();
        let mut alphas = vec![sender.control().alpha().unwrap()];
        for _ in 0..3_000 * w {
            while let Some(segment) = sender.next_segment(Time::ZERO) {
                let marked = in_flight.len() as u64 >= w;
                in_flight.push_back((segment.offset + u64::from(segment.len), marked));
            }
            let (ack, ece) = in_flight.pop_front().unwrap();
            sender.on_ack(Time::ZERO, AckEvent { ack, sacks: &[], ece, one_way: None });
            alphas.push(sender.control().alpha().unwrap());
        }
        // The first acknowledgement ends a window of its own, because in RFC 8257 section 3.3 WindowEnd begins at
        // SND.UNA. Then slow start goes through windows of 2, 4 and 8 segments.
        for (decays, acknowledged) in [(0, 0), (1, 1), (2, 2), (3, 6), (4, 14)] {
            assert_near("alpha without marks", alphas[acknowledged], (15.0f64 / 16.0).powi(decays), 1e-5);
        }
        let settled = &alphas[alphas.len() / 2..];
        let mean = settled.iter().sum::<f64>() / settled.len() as f64;
        assert_near(&format!("W* = {w}"), mean / dctcp_alpha(w as f64), 0.93, 0.07);
        let spread = settled.iter().map(|alpha| (alpha - mean).abs()).fold(0.0, f64::max);
        assert!(spread < 1.0 / 16.0, "W* = {w}: {spread}");
    }
}

/// A window that is halved at pipe + K: the sawtooth's minimum is (pipe + K) / 2, which is a queue of (K - pipe) / 2,
/// and a tooth has 3/8 (pipe + K)^2 packets. Marks arrive for one round trip, but cause only one reduction.
#[test]
fn ecn_star_halves_once_per_tooth() {
    for k in [90, 100, 130] {
        let steady = Steady::new(&config(1, Control::EcnStar, 1000), "dctcp-red", &[("k_pkts", k)], 20 * MS, 220 * MS);
        let seen = format!("K = {k}: {:?}, {} reductions", steady.swing, steady.reductions);
        assert!(steady.used > 0.9999, "{seen}: {}", steady.used);
        assert_near(&seen, steady.swing.max as f64, (k + 2) as f64, 0.0);
        assert_near(&seen, steady.swing.min as f64, (k as f64 - pipe()) / 2.0, 2.0);
        let teeth = steady.sent[0] as f64 / (0.375 * (pipe() + k as f64).powi(2));
        assert_near(&seen, steady.reductions as f64, teeth, 1.0 + 0.05 * teeth);
    }
}

/// Halving empties a queue with a threshold below C RTT, and the link idles (RFC 3168 flows need K of a whole C RTT).
#[test]
fn ecn_star_needs_a_threshold_of_a_whole_pipe() {
    let used = [10, 20, 40, 90].map(|k| {
        Steady::new(&config(1, Control::EcnStar, 1000), "dctcp-red", &[("k_pkts", k)], 20 * MS, 120 * MS).used
    });
    assert!(used.is_sorted() && used[2] < 0.97 && used[3] > 0.9999, "{used:?}");
}

/// The same sawtooth with losses instead of marks: the window is halved when pipe and queue are full. One packet is
/// lost per tooth, and retransmitted without a timeout.
#[test]
fn reno_saws_between_a_full_queue_and_half_the_window() {
    for limit in [80, 100, 130] {
        let steady = Steady::new(&config(1, Control::Reno, limit), "droptail", &[], 20 * MS, 320 * MS);
        let seen = format!("limit {limit}: {:?}, {} recoveries", steady.swing, steady.recoveries);
        assert!(steady.used > 0.9999, "{seen}: {}", steady.used);
        assert_eq!((steady.swing.max, steady.swing.marked), (limit, 0.0), "{seen}");
        assert_near(&seen, steady.swing.min as f64, (limit as f64 - pipe()) / 2.0, 2.0);
        let teeth = steady.sent[0] as f64 / (0.375 * (pipe() + limit as f64).powi(2));
        assert_near(&seen, steady.recoveries as f64, teeth, 1.0 + 0.05 * teeth);
        assert_eq!((steady.lost, steady.reductions), (steady.recoveries, 0), "{seen}");
    }
}
