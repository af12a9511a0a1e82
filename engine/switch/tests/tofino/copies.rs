// SPDX-License-Identifier: MIT OR Apache-2.0
//! Mirror sessions, multicast, resubmission, recirculation.

use marklab_pipeline::Packet;
use marklab_switch::replication::Mirror;
use marklab_switch::{Loss, Need, needs};
use marklab_tm::Limit;

use crate::support::{CHIPS, at, switches};

/// Bytes of a packet; its last ones are payload.
const LENGTH: usize = 40;
/// In front of each packet at egress.
const COPY_HEADER: u64 = 2;

/// Requests of a packet; see the program.
#[derive(Clone, Copy, Debug)]
struct Request {
    port: u16,
    groups: [u16; 2],
    sessions: [u8; 2],
    drops: [u8; 2],
    resubmits: u8,
    recirculates: u8,
}

const TO_1: Request =
    Request { port: 1, groups: [0; 2], sessions: [0; 2], drops: [0; 2], resubmits: 0, recirculates: 0 };
const NO_PORT: u16 = 0xffff;

/// What the controls reported into a packet.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
struct Report {
    port: usize,
    /// 0: the packet itself; 1, 2: a copy of ingress, of egress.
    kind: u8,
    note: u8,
    ingress_runs: u8,
    egress_runs: u8,
    resubmitted: u8,
    rid: u16,
    ingress_port: u16,
}

/// The packet itself, on its way without detours.
const ITSELF: Report =
    Report { port: 1, kind: 0, note: 0, ingress_runs: 1, egress_runs: 1, resubmitted: 0, rid: 0, ingress_port: 3 };
/// A copy in session 7, of ingress and of egress: ingress has not run on the former.
const FROM_INGRESS: Report = Report { port: 2, kind: 1, note: 0xaa, ingress_runs: 0, ingress_port: 0, ..ITSELF };
const FROM_EGRESS: Report = Report { port: 2, kind: 2, note: 0xbb, egress_runs: 2, ..ITSELF };

/// Packets that leave because of a request, in the order of ports and kinds; and packets that are lost.
#[track_caller]
fn check(request: Request, expected: &[Report], lost: &[Loss]) {
    for chip in CHIPS {
        for mut switch in switches("tofino_copies.p4", chip, &[Limit::Packets(10); 4]) {
            let replication = switch.replication_mut();
            replication.add_session(7, Mirror::Port(2)).unwrap();
            replication.add_session(8, Mirror::Group(5)).unwrap();
            replication.add_session(9, Mirror::Port(68)).unwrap();
            for (group, rid, ports) in [(5, 50, &[0, 2][..]), (6, 60, &[1])] {
                replication.create_group(group);
                let node = replication.create_node(rid, ports).unwrap();
                replication.associate(group, node).unwrap();
            }
            let mut bytes = Vec::from(request.port.to_be_bytes());
            bytes.extend(request.groups.map(u16::to_be_bytes).concat());
            bytes.extend([request.sessions, request.drops].concat());
            bytes.extend([request.resubmits, request.recirculates]);
            bytes.resize(LENGTH, 0);
            let completed = switch.run(at(1000), 3, Packet::new(&bytes, 0), None);
            let mut reports: Vec<Report> = completed.sent.iter().map(|(port, packet)| report(*port, packet)).collect();
            reports.sort();
            let mut expected = expected.to_vec();
            expected.sort();
            assert_eq!(reports, expected, "{chip:?}");
            let losses: Vec<Loss> = completed.lost.iter().map(|(loss, ..)| *loss).collect();
            assert_eq!(losses, lost, "{chip:?}");
        }
    }
}

fn report(port: usize, packet: &Packet) -> Report {
    let bytes = packet.to_vec();
    assert_eq!(bytes.len(), LENGTH);
    let [
        kind,
        note,
        ingress_runs,
        egress_runs,
        resubmitted,
        rid_high,
        rid_low,
        port_high,
        port_low,
        length_high,
        length_low,
    ] = bytes[12..23].try_into().unwrap();
    let number = |high, low| u16::from_be_bytes([high, low]);
    assert_eq!(u64::from(number(length_high, length_low)), LENGTH as u64 + COPY_HEADER);
    let (rid, ingress_port) = (number(rid_high, rid_low), number(port_high, port_low));
    Report { port, kind, note, ingress_runs, egress_runs, resubmitted, rid, ingress_port }
}

#[test]
fn nothing_asked_for_is_nothing_done() {
    check(TO_1, &[ITSELF], &[]);
}

#[test]
fn ingress_mirrors_a_packet_as_it_came() {
    let ask = Request { sessions: [7, 0], ..TO_1 };
    check(ask, &[ITSELF, FROM_INGRESS], &[]);
    check(Request { drops: [1, 0], ..ask }, &[FROM_INGRESS], &[Loss::Ingress]);
    check(Request { sessions: [10, 0], ..ask }, &[ITSELF], &[]);
}

#[test]
fn egress_mirrors_a_packet_as_it_made_it() {
    let ask = Request { sessions: [0, 7], ..TO_1 };
    check(ask, &[ITSELF, FROM_EGRESS], &[]);
    check(Request { drops: [0, 1], ..ask }, &[FROM_EGRESS], &[Loss::Egress]);
    check(Request { drops: [0, 5], ..ask }, &[], &[Loss::Egress]);
}

#[test]
fn a_copy_that_goes_round_and_is_dropped_is_no_loss() {
    let drops_copies = Request { drops: [0, 0x80], ..TO_1 };
    check(Request { sessions: [0, 7], ..drops_copies }, &[ITSELF], &[Loss::Egress]);
    check(Request { sessions: [0, 9], ..drops_copies }, &[ITSELF], &[]);
    check(Request { sessions: [0, 9], drops: [0, 0x81], ..TO_1 }, &[], &[Loss::Egress]);
}

#[test]
fn a_session_may_lead_to_a_group() {
    let copies = [0, 2].map(|port| Report { port, rid: 50, ..FROM_INGRESS });
    check(Request { sessions: [8, 0], ..TO_1 }, &[ITSELF, copies[0], copies[1]], &[]);
}

#[test]
fn groups_and_port_each_get_the_packet() {
    let [a, c] = [0, 2].map(|port| Report { port, rid: 50, ..ITSELF });
    let b = Report { rid: 60, ..ITSELF };
    check(Request { groups: [5, 0], ..TO_1 }, &[ITSELF, a, c], &[]);
    check(Request { groups: [5, 6], port: NO_PORT, ..TO_1 }, &[a, b, c], &[]);
    check(Request { groups: [9, 0], port: NO_PORT, ..TO_1 }, &[], &[Loss::NoGroup]);
    check(Request { groups: [5, 0], drops: [1, 0], ..TO_1 }, &[], &[Loss::Ingress]);
}

#[test]
fn a_resubmitted_packet_starts_as_it_came() {
    check(Request { resubmits: 2, ..TO_1 }, &[Report { resubmitted: 2, ..ITSELF }], &[]);
    // Copies are made each time.
    let ask = Request { resubmits: 1, sessions: [7, 0], ..TO_1 };
    check(ask, &[Report { resubmitted: 1, ..ITSELF }, FROM_INGRESS, FROM_INGRESS], &[]);
    check(Request { resubmits: 1, drops: [1, 0], ..TO_1 }, &[], &[Loss::Ingress]);
}

#[test]
fn what_is_sent_to_port_68_comes_in_by_it() {
    let twice = Report { ingress_runs: 3, egress_runs: 3, ingress_port: 68, ..ITSELF };
    check(Request { recirculates: 2, ..TO_1 }, &[twice], &[]);
    check(Request { recirculates: 1, drops: [0, 1], ..TO_1 }, &[], &[Loss::Egress]);
    check(Request { port: 71, ..TO_1 }, &[], &[Loss::Endless]);
}

#[test]
fn sessions_and_groups_are_needed() {
    let needed = |program| {
        let switch = &switches(program, CHIPS[1], &[Limit::Packets(1)])[0];
        needs(switch.state().program())
    };
    assert_eq!(needed("tofino_copies.p4"), [Need::MirrorSession, Need::MulticastGroup]);
    assert_eq!(needed("tofino.p4"), []);
}
