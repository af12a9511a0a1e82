// SPDX-License-Identifier: MIT OR Apache-2.0
//! A switch between ports in memory, at times that the test chooses.

use std::io::ErrorKind;
use std::path::Path;
use std::sync::{Arc, LazyLock};
use std::time::{Duration as RealDuration, Instant};

use marklab_live::{Clock, Delays, Framing, LineConfig, LiveSwitch, Memory, MemoryEnd, Reason, Runner, Stopped};
use marklab_observe::{CaptureFile, PortTrace};
use marklab_p4::ir::Program;
use marklab_pipeline::{Engine, Jit, Layout, State};
use marklab_switch::Loss;
use marklab_tm::{Limit, PortConfig};
use marklab_units::{Duration, Rate, Time};
use proptest::prelude::*;

const BYTES: usize = 100;
/// 8 us for a frame of 100 bytes.
const RATE_BPS: u64 = 100_000_000;
const FRAME_NS: u64 = 8_000;

struct Compiled {
    program: Arc<Program>,
    layout: Arc<Layout>,
    engine: Arc<dyn Engine>,
}

static PROBE: LazyLock<Compiled> = LazyLock::new(|| {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/probe.p4");
    let compilation = marklab_p4::compile(&path, &marklab_p4::Options::default());
    let messages = compilation.render(false);
    let program = Arc::new(compilation.program.unwrap_or_else(|| panic!("{messages}")));
    let layout = Arc::new(Layout::new(&program));
    let engine = Arc::new(Jit::compile(&program, &layout).expect("the JIT takes the program"));
    Compiled { program, layout, engine }
});

/// Ports 0 and 1 have interfaces, port 2 has none.
fn switch(limit: Limit, line: LineConfig, delays: Delays) -> (LiveSwitch, MemoryEnd, MemoryEnd) {
    let Compiled { program, layout, engine } = &*PROBE;
    let state = State::new(program, layout, 1).expect("the program can be loaded");
    let ports: [PortConfig; 3] = [limit.into(), limit.into(), limit.into()];
    let mut switch = LiveSwitch::new(engine.clone(), state, ports, None);
    let (zero, zero_end) = Memory::new();
    let (one, one_end) = Memory::new();
    switch.attach(0, Box::new(zero), LineConfig::default(), delays);
    switch.attach(1, Box::new(one), line, Delays::default());
    (switch, zero_end, one_end)
}

fn shaped() -> LineConfig {
    LineConfig { rate: Rate::from_bps(RATE_BPS), ..LineConfig::default() }
}

fn frame(to: u16, number: u8) -> Vec<u8> {
    let mut frame = to.to_be_bytes().to_vec();
    frame.resize(BYTES - 1, 0);
    frame.push(number);
    frame
}

fn number(frame: &[u8]) -> u8 {
    frame[BYTES - 1]
}

/// Microseconds at which egress saw a frame.
fn egress_us(frame: &[u8]) -> u64 {
    frame[8..14].iter().fold(0, |value, &byte| value << 8 | u64::from(byte))
}

fn enq_qdepth(frame: &[u8]) -> u32 {
    u32::from_be_bytes(frame[14..18].try_into().unwrap())
}

fn at(ns: u64) -> Time {
    Time::from_nanos(ns)
}

const PLENTY: Limit = Limit::Packets(1_000);

#[test]
fn without_a_rate_frames_pass_at_once() {
    let (mut switch, zero, one) = switch(PLENTY, LineConfig::default(), Delays::default());
    (0..5).for_each(|number| zero.send(&frame(1, number)));
    let step = switch.step(at(7_000));
    assert!(step.worked && step.next.is_none());
    let sent = one.take();
    assert_eq!(sent.iter().map(|frame| number(frame)).collect::<Vec<_>>(), [0, 1, 2, 3, 4]);
    assert!(sent.iter().all(|frame| egress_us(frame) == 7 && enq_qdepth(frame) == 0));
}

#[test]
fn a_line_takes_frames_one_after_the_other_and_hands_them_out_at_their_last_bit() {
    let (mut switch, zero, one) = switch(PLENTY, shaped(), Delays::default());
    (0..3).for_each(|number| zero.send(&frame(1, number)));
    assert_eq!(switch.step(at(1_000)).next, Some(at(1_000 + FRAME_NS)));
    for count in 1..=3 {
        let last_bit = 1_000 + count * FRAME_NS;
        assert!(!switch.step(at(last_bit - 1)).worked);
        assert!(one.take().is_empty());
        assert!(switch.step(at(last_bit)).worked);
        let sent = one.take();
        assert_eq!(sent.len(), 1);
        assert_eq!(egress_us(&sent[0]), (last_bit - FRAME_NS) / 1_000);
    }
    assert_eq!(switch.step(at(100_000)).next, None);
}

#[test]
fn a_late_step_makes_good_what_was_due_and_says_how_late_it_was() {
    let (mut switch, zero, one) = switch(PLENTY, shaped(), Delays::default());
    (0..3).for_each(|number| zero.send(&frame(1, number)));
    switch.step(at(0));
    switch.step(at(20_000));
    let sent = one.take();
    // The third frame left its queue at 16 us, when the line was free, and has its last bit at 24.
    assert_eq!(sent.iter().map(|frame| egress_us(frame)).collect::<Vec<_>>(), [0, 8]);
    let lateness = switch.report().lateness;
    // Two frames through the line at 8 and 16 us, two taken from the queue at the same times.
    assert_eq!((lateness.total(), lateness.max()), (4, Duration::from_nanos(12_000)));
    switch.step(at(24_000));
    assert_eq!(egress_us(&one.take()[0]), 16);
    assert_eq!(switch.report().lateness.max(), Duration::from_nanos(12_000));
}

#[test]
fn a_lines_delay_comes_after_its_last_bit_and_does_not_occupy_it() {
    let line = LineConfig {
        delay: Duration::from_nanos(50_000),
        framing: Framing { min_bytes: 0, overhead_bytes: 100 },
        ..shaped()
    };
    let (mut switch, zero, one) = switch(PLENTY, line, Delays::default());
    (0..2).for_each(|number| zero.send(&frame(1, number)));
    switch.step(at(0));
    for (number_expected, through) in [(0, 2 * FRAME_NS + 50_000), (1, 4 * FRAME_NS + 50_000)] {
        switch.step(at(through - 1));
        assert!(one.take().is_empty());
        switch.step(at(through));
        assert_eq!(number(&one.take()[0]), number_expected);
    }
}

#[test]
fn a_queue_holds_its_limit_beside_the_frame_on_the_line() {
    for (limit, kept) in [(1, 2), (2, 3), (3, 4), (4, 4)] {
        let (mut switch, zero, one) = switch(Limit::Packets(limit), shaped(), Delays::default());
        (0..4).for_each(|number| zero.send(&frame(1, number)));
        switch.step(at(0));
        switch.step(at(100_000));
        assert_eq!(one.take().len(), kept);
        let report = switch.report();
        let lost = report.losses.get(&(Some(1), Reason::Switch(Loss::QueueFull))).copied().unwrap_or(0);
        assert_eq!((report.ports[&0].received, report.ports[&1].sent, lost), (4, kept as u64, 4 - kept as u64));
    }
}

#[test]
fn frames_for_a_port_without_interface_are_lost_there() {
    let (mut switch, zero, _one) = switch(PLENTY, shaped(), Delays::default());
    zero.send(&frame(2, 0));
    zero.send(&frame(300, 0));
    switch.step(at(0));
    let losses = switch.report().losses;
    assert_eq!(losses[&(Some(2), Reason::NoInterface)], 1);
    assert_eq!(losses[&(None, Reason::Switch(Loss::NoPort))], 1);
}

#[test]
fn delayed_frames_come_to_the_switch_when_they_are_due() {
    let delays = Delays::new(Duration::from_nanos(30_000), Vec::new());
    let (mut switch, zero, one) = switch(PLENTY, LineConfig::default(), delays);
    zero.send(&frame(1, 0));
    assert_eq!(switch.step(at(5_000)).next, Some(at(35_000)));
    switch.step(at(34_999));
    assert!(one.take().is_empty());
    switch.step(at(40_000));
    assert_eq!(egress_us(&one.take()[0]), 35);
}

#[test]
fn records_of_a_port_are_those_of_the_simulator() {
    let (mut switch, zero, one) = switch(Limit::Packets(2), shaped(), Delays::default());
    switch.trace(1, PortTrace::new(Duration::from_nanos(10_000), &PLENTY.into(), Vec::new(), false));
    (0..4).for_each(|number| zero.send(&frame(1, number)));
    switch.step(at(3_000));
    switch.step(at(100_000));
    assert_eq!(one.take().len(), 3);
    let traces = switch.take_traces();
    // Frames leave the queue at 3, 11 and 19 us; the fourth found no room.
    let rows: Vec<_> =
        traces[&1].port().rows().iter().map(|row| (row.time.nanos(), row.last.packets, row.departed)).collect();
    assert_eq!(rows, [(0, 2, 1), (10_000, 0, 2)]);
    let sojourns = traces[&1].port().rows().iter().map(|row| row.sum_sojourn.nanos());
    assert_eq!(sojourns.collect::<Vec<_>>(), [0, FRAME_NS + 2 * FRAME_NS]);
    let line = switch.report().ports[&1].line;
    assert_eq!((line.wire_bytes, line.busy.nanos()), (3 * BYTES as u64, 3 * FRAME_NS));
    assert!(switch.take_traces().is_empty(), "a record ends when it is taken");
}

#[test]
fn a_capture_has_the_frames_of_a_port_in_both_directions() {
    let path = std::env::temp_dir().join(format!("marklab-live-{}.pcap", std::process::id()));
    let (mut switch, zero, one) = switch(PLENTY, shaped(), Delays::default());
    switch.capture(1, CaptureFile::create(&path, RealDuration::from_secs(1_000)).unwrap());
    zero.send(&frame(1, 1));
    switch.step(at(5_000));
    one.send(&frame(0, 2));
    switch.step(at(50_000));
    switch.end_captures();
    let bytes = std::fs::read(&path).unwrap();
    std::fs::remove_file(&path).unwrap();
    assert!(switch.failure().is_none());
    let word = |at: usize| u32::from_be_bytes(bytes[at..at + 4].try_into().unwrap());
    // Magic number of files with ns; then records of 16 + 100 bytes: seconds, ns, and the last byte of the frame.
    assert_eq!((word(0), bytes.len()), (0xa1b2_3c4d, 24 + 2 * (16 + BYTES)));
    let records = [24, 24 + 16 + BYTES].map(|at| (word(at), word(at + 4), bytes[at + 16 + BYTES - 1]));
    assert_eq!(records, [(1_000, 5_000, 1), (1_000, 50_000, 2)]);
}

#[test]
fn a_capture_without_room_ends_and_is_told_of() {
    let (mut switch, zero, one) = switch(PLENTY, LineConfig::default(), Delays::default());
    switch.capture(1, CaptureFile::create(Path::new("/dev/full"), RealDuration::ZERO).unwrap());
    // More than the capture buffers before it writes.
    (0..200).for_each(|number| zero.send(&frame(1, number)));
    for now in 0..10 {
        switch.step(at(now));
    }
    let failure = switch.failure().map(ToString::to_string).expect("the disk is full");
    assert!(failure.starts_with("/dev/full: No space left on device"), "{failure}");
    assert_eq!(one.take().len(), 200);
}

proptest! {
    /// Oracle: Lindley's recursion over the times at which frames came.
    #[test]
    fn a_line_serves_as_the_recursion_says(
        bursts in prop::collection::vec((0..40_000u64, 0..4usize), 1..30),
        limit in 1..6u64,
    ) {
        let (mut switch, zero, one) = switch(Limit::Packets(limit), shaped(), Delays::default());
        let (mut now, mut count) = (0, 0u8);
        // Times at which frames begin on the line, for frames that were taken in.
        let mut begins: Vec<u64> = Vec::new();
        let mut expected: Vec<(u8, u64)> = Vec::new();
        for (gap, burst) in bursts {
            now += gap;
            for _ in 0..burst {
                zero.send(&frame(1, count));
                let free = begins.last().map_or(0, |begin| begin + FRAME_NS);
                let waiting = begins.iter().filter(|&&begin| begin > now).count() as u64;
                if free <= now || waiting < limit {
                    begins.push(now.max(free));
                    expected.push((count, now.max(free)));
                }
                count += 1;
            }
            switch.step(at(now));
        }
        switch.step(at(now + 1_000_000));
        let sent: Vec<(u8, u64)> = one.take().iter().map(|frame| (number(frame), egress_us(frame))).collect();
        let expected: Vec<(u8, u64)> = expected.into_iter().map(|(number, ns)| (number, ns / 1_000)).collect();
        prop_assert_eq!(&sent, &expected);
        let report = switch.report();
        let lost: u64 = report.losses.values().sum();
        prop_assert_eq!(report.ports[&0].received, sent.len() as u64 + lost);
    }
}

#[test]
fn a_running_switch_forwards_answers_and_stops() {
    let (switch, zero, one) = switch(PLENTY, shaped(), Delays::default());
    let runner = Runner::start(switch, Clock::start(), None).unwrap();
    zero.send(&frame(1, 9));
    let deadline = Instant::now() + RealDuration::from_secs(20);
    let sent = loop {
        let sent = one.take();
        if !sent.is_empty() || Instant::now() > deadline {
            break sent;
        }
        std::thread::yield_now();
    };
    assert_eq!(sent.iter().map(|frame| number(frame)).collect::<Vec<_>>(), [9]);
    assert_eq!(runner.with(|switch, _| switch.report().ports[&1].sent), Ok(1));
    runner.with(|switch, now| switch.inject(now, 2, &frame(1, 3))).unwrap();
    let mut left = runner.stop().expect("the thread ended well");
    left.step(at(u64::MAX / 2));
    assert_eq!(left.report().ports[&1].sent, 2);
}

#[test]
fn a_switch_stays_on_a_processor_that_exists() {
    let (zero, ..) = switch(PLENTY, shaped(), Delays::default());
    let runner = Runner::start(zero, Clock::start(), Some(0)).unwrap();
    let on = || std::fs::read_to_string("/proc/thread-self/status").unwrap();
    let status = runner.with(move |_, _| on()).unwrap();
    assert!(status.contains("Cpus_allowed_list:\t0\n"), "{status}");
    for cpu in [1_000, 1 << 20] {
        let (none, ..) = switch(PLENTY, shaped(), Delays::default());
        assert_eq!(Runner::start(none, Clock::start(), Some(cpu)).unwrap_err().kind(), ErrorKind::InvalidInput);
    }
}

#[test]
fn a_switch_that_failed_answers_no_more() {
    let (switch, ..) = switch(PLENTY, shaped(), Delays::default());
    let runner = Runner::start(switch, Clock::start(), None).unwrap();
    assert_eq!(runner.with(|_, _| panic!("on purpose")), Err::<(), _>(Stopped));
    assert_eq!(runner.with(|_, _| ()), Err(Stopped));
    assert!(runner.stop().is_none());
}
