// SPDX-License-Identifier: MIT OR Apache-2.0
//! Captures as other tools read them.

use std::path::{Path, PathBuf};
use std::process::Command;

use marklab_netsim::{Capture, Config, Connections, Control, Flow, QueueLimit};

use crate::pcap::{self, Captured};
use crate::support::*;

const SENDERS: usize = 2;

/// Two senders, each with a connection of its own, that fill a queue with marks above 5 packets. Captures are at a
/// sender, at the switch's port to the receiver, and at the receiver.
fn marked_run(control: Control, name: &str) -> (Vec<PathBuf>, u64, u64) {
    let mut config =
        star(&[(10 * GBPS, 10 * US), (10 * GBPS, 10 * US), (GBPS, 10 * US)], QueueLimit::Packets(30), control);
    config.connections = Connections::New;
    let mut paths = vec![capture_host(&mut config, 0, &format!("{name}-sender"))];
    paths.push(capture_switch(&mut config, SENDERS, &format!("{name}-port")));
    paths.push(capture_host(&mut config, SENDERS, &format!("{name}-receiver")));
    let flows = vec![Flow { dscp: 10, ..flow(0, 0, SENDERS, 300 * MSS) }, flow(0, 1, SENDERS, 300 * MSS + 1)];
    let outcome = run(&config, &Program::of("dctcp-red"), |state| set_params(state, &[("k_pkts", 5)]), flows);
    assert!(outcome.flows.iter().all(|flow| flow.fct.is_some()));
    (paths, outcome.switches[0].ports[SENDERS].marked, outcome.ledger.total())
}

fn capture_switch(config: &mut Config, port: usize, name: &str) -> PathBuf {
    let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("{name}.pcap"));
    config.captures.push(Capture { node: switch_of(config), port, path: path.clone() });
    path
}

/// `pcap::read` checks each frame's checksums.
#[test]
fn checksums_and_ecn_fields_are_right_in_every_frame() {
    for (control, name) in [(Control::Dctcp, "capture-dctcp"), (Control::EcnStar, "capture-star")] {
        let (paths, marked, lost) = marked_run(control, name);
        let [sender, port, receiver] = &paths[..] else { unreachable!() };
        let (sender, port, receiver) = (pcap::read(sender), pcap::read(port), pcap::read(receiver));
        assert!(marked > 20 && lost == 0, "{marked} marked, {lost} lost");
        let to_receiver = |frames: &[Captured]| -> Vec<Captured> {
            frames.iter().filter(|frame| frame.dst == ip(SENDERS)).cloned().collect()
        };
        // Packets that leave the port arrive at the receiver one delay and one transmission later.
        let (left, came) = (to_receiver(&port), to_receiver(&receiver));
        // The run ends with a segment that finishes the last flow; one more may be on the line.
        assert!((came.len()..=came.len() + 1).contains(&left.len()));
        for (left, came) in left.iter().zip(&came) {
            let later = at_1g(if left.syn { 12 } else { left.payload.into() }) + 10 * US;
            assert_eq!(&Captured { time_ns: left.time_ns + later, ..left.clone() }, came);
        }
        assert_eq!(left.iter().filter(|frame| frame.ecn == 3).count() as u64, marked);
        assert!(came.iter().all(|frame| frame.ttl == 63 && (frame.src == ip(1) || frame.dscp == 10)));
        // Hosts send no marks, data as ECT(0), and the initial time to live.
        let sent: Vec<_> = sender.iter().filter(|frame| frame.src == ip(0)).collect();
        assert!(sent.iter().all(|frame| frame.ttl == 64 && frame.ecn != 3 && (frame.payload == 0 || frame.ecn == 2)));
        // Echoes arrive while there are marks, and are answered.
        let echoes = sender.iter().filter(|frame| frame.dst == ip(0) && frame.ece && !frame.syn).count();
        let answers = sent.iter().filter(|frame| frame.cwr && !frame.syn).count();
        assert!(echoes > 0 && answers > 0, "{echoes} echoes, {answers} answers");
        // Each capture is in order of time.
        for frames in [&sender, &port, &receiver] {
            assert!(frames.is_sorted_by_key(|frame| frame.time_ns));
        }
    }
}

/// RFC 8257: if each segment is acknowledged, the echoes equal the marks, segment by segment.
#[test]
fn each_mark_of_dctcp_is_echoed_in_its_acknowledgement() {
    let (paths, ..) = marked_run(Control::Dctcp, "capture-echo");
    let receiver = pcap::read(&paths[2]);
    for sender in 0..SENDERS {
        let data = receiver.iter().filter(|frame| frame.src == ip(sender) && frame.payload > 0);
        let marks: Vec<_> = data.map(|frame| (frame.end(), frame.ecn == 3)).collect();
        let answers = receiver.iter().filter(|frame| frame.dst == ip(sender) && !frame.syn);
        // A FIN takes a sequence number.
        let echoes: Vec<_> = answers.map(|frame| (frame.ack - u32::from(frame.fin), frame.ece)).collect();
        assert_eq!(marks, echoes);
    }
}

/// RFC 3168 section 6.1.2: one reduction per window. The first of two segments with CWR is acknowledged before the
/// second is sent, and each reduction halves the segments in flight.
#[test]
fn ecn_star_halves_once_per_window() {
    let mut config = star(&[(10 * GBPS, 50 * US), (GBPS, 50 * US)], QueueLimit::Packets(1000), Control::EcnStar);
    let path = capture_host(&mut config, 0, "capture-halves");
    let outcome = run(
        &config,
        &Program::of("dctcp-red"),
        |state| set_params(state, &[("k_pkts", 10)]),
        vec![flow(0, 0, 1, 6000 * MSS)],
    );
    let frames = pcap::read(&path);
    let first = frames[0].sequence;
    let segments = |sequence: u32| u64::from(sequence.wrapping_sub(first)).div_ceil(MSS);
    let (mut acked, mut sent, mut most, mut told_at, mut halved) = (0, 0, 0, 0, 0);
    for frame in &frames {
        if frame.src == ip(1) {
            acked = acked.max(segments(frame.ack));
            continue;
        }
        if frame.cwr {
            halved += 1;
            assert!(acked >= told_at, "reduced again within the window: {acked} < {told_at}");
            // The sender waits until half are acknowledged, then sends this one.
            let now = segments(frame.end()) - acked;
            assert!(now == most / 2 || now == most.div_ceil(2), "{now} in flight of {most}");
            (told_at, most) = (segments(frame.end()), 0);
        }
        sent = sent.max(segments(frame.end()));
        most = most.max(sent - acked);
    }
    assert!(halved > 10 && halved == outcome.flows[0].sender.ecn_reductions, "{halved}");
}

#[test]
fn reno_sets_no_ecn_bit() {
    let (paths, marked, _) = marked_run(Control::Reno, "capture-reno");
    assert_eq!(marked, 0, "packets that are not ECN capable cannot be marked");
    for path in paths {
        let frames = pcap::read(&path);
        assert!(frames.len() > 600);
        assert!(frames.iter().all(|frame| (frame.ecn, frame.ece, frame.cwr) == (0, false, false)));
    }
}

/// Wireshark's dissector finds no fault.
#[test]
#[expect(clippy::print_stderr, reason = "tells why it was skipped")]
fn wireshark_finds_no_fault() {
    let (paths, ..) = marked_run(Control::Dctcp, "capture-tshark");
    let tshark = |filter: &str| {
        let mut command = Command::new("tshark");
        command.args(["-o", "ip.check_checksum:TRUE", "-o", "tcp.check_checksum:TRUE", "-r"]).arg(&paths[2]);
        command.args(["-Y", filter]).output()
    };
    let count = |filter: &str| -> Option<usize> {
        let output = tshark(filter).ok()?;
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        Some(String::from_utf8_lossy(&output.stdout).lines().count())
    };
    let Some(malformed) = count("_ws.malformed || ip.checksum.status == 0 || tcp.checksum.status == 0") else {
        eprintln!("skipped: needs tshark, which is not on PATH");
        return;
    };
    assert_eq!(malformed, 0);
    let marks = pcap::read(&paths[2]).iter().filter(|frame| frame.ecn == 3).count();
    assert_eq!(count("ip.dsfield.ecn == 3"), Some(marks));
    assert_eq!(count("tcp.checksum.status == 1"), Some(pcap::read(&paths[2]).len()));
}

#[test]
fn a_capture_that_cannot_be_created_is_refused() {
    let mut config = star(&[(GBPS, US); 2], QueueLimit::Packets(10), Control::Reno);
    let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join("no-such-folder/x.pcap");
    config.captures.push(Capture { node: 0, port: 0, path });
    let error = build(&config, &Program::of("droptail"), |_| (), vec![]).err().expect("refused");
    assert!(error.to_string().contains("no-such-folder"), "{error}");
}
