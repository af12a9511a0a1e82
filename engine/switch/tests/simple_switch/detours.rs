// SPDX-License-Identifier: MIT OR Apache-2.0
//! Clones, multicast, resubmission, recirculation and truncation: order, and what each copy knows.

use marklab_pipeline::Packet;
use marklab_switch::{Loss, MAX_ROUNDS};
use marklab_tm::Limit;

use crate::detour::*;

/// A packet that goes straight from port 6 to port 0.
const STRAIGHT: Seen = Seen {
    port: 0,
    bytes: BYTES as u64,
    ingress_rounds: 1,
    egress_rounds: 1,
    ingress_type: NORMAL,
    egress_type: NORMAL,
    ingress_port: 6,
    rid: 0,
    kept: 5,
    forgotten: 2,
    has_extra: 0,
    ingress_length: BYTES as u64,
    egress_length: BYTES as u64,
    ingress_time: 7,
};

/// Its clone from ingress, for port 5: the packet as it came, without metadata except the field list, with its values
/// at the end of ingress.
const CLONED_IN_INGRESS: Seen = Seen {
    port: 5,
    ingress_rounds: 0,
    egress_type: INGRESS_CLONE,
    ingress_port: 0,
    forgotten: 0,
    ingress_length: 0,
    ingress_time: 0,
    ..STRAIGHT
};

/// Its clone from egress, for port 5: it has the headers of the end of egress, and then runs through egress once more.
const CLONED_IN_EGRESS: Seen = Seen {
    port: 5,
    egress_rounds: 2,
    egress_type: EGRESS_CLONE,
    ingress_port: 0,
    kept: 5 + 16,
    forgotten: 0,
    ingress_time: 0,
    ..STRAIGHT
};

#[track_caller]
fn check(ask: Ask, sent: &[Seen], lost: &[Loss]) {
    for mut switch in switches() {
        assert_eq!(outcome(&mut switch, ask), (sent.to_vec(), lost.to_vec()), "{ask:?}");
    }
}

#[test]
fn a_packet_that_asks_for_nothing_goes_straight() {
    check(Ask::default(), &[STRAIGHT], &[]);
}

#[test]
fn an_ingress_clone_is_the_packet_as_it_came_and_goes_first() {
    let ask = Ask { ingress: CLONE, session: TO_PORT, ..Ask::default() };
    check(ask, &[CLONED_IN_INGRESS, STRAIGHT], &[]);
    // 15 bits of the session count.
    check(Ask { session: TO_PORT | 0x8000, ..ask }, &[CLONED_IN_INGRESS, STRAIGHT], &[]);
    check(Ask { session: 8, ..ask }, &[STRAIGHT], &[]);
}

#[test]
fn an_ingress_clone_is_made_of_a_packet_that_is_dropped_or_lost() {
    let ask = Ask { ingress: CLONE | DROP, session: TO_PORT, ..Ask::default() };
    check(ask, &[CLONED_IN_INGRESS], &[Loss::Ingress]);
    check(Ask { ingress: CLONE, port: 8, ..ask }, &[CLONED_IN_INGRESS], &[Loss::NoPort]);
    // The clone has no priority.
    check(Ask { ingress: CLONE, priority: 1, ..ask }, &[CLONED_IN_INGRESS], &[Loss::NoQueue]);
}

/// `parsed anew` by a parser that knows the ingress port, whose metadata is forgotten; a resubmitted packet has no
/// ingress port any more.
#[test]
fn a_clone_is_parsed_as_its_original_and_a_resubmitted_packet_is_not() {
    for mut switch in switches() {
        let ask = Ask { ingress: CLONE | RESUBMIT, session: TO_PORT, ..Ask::default() };
        let (seen, lost) = outcome_from(&mut switch, EXTRA_PORT, ask.packet());
        let cloned = Seen { has_extra: 1, ..CLONED_IN_INGRESS };
        let again =
            Seen { ingress_type: RESUBMITTED, ingress_port: 0, kept: 10, has_extra: 0, ingress_time: 0, ..STRAIGHT };
        // The second round clones as well: from the same ingress port.
        assert_eq!((seen, lost), (vec![cloned, Seen { kept: 10, ..cloned }, again], vec![]));
        let (seen, _) = outcome_from(&mut switch, EXTRA_PORT, Ask::default().packet());
        assert_eq!(seen, [Seen { ingress_port: 3, forgotten: 11, has_extra: 1, ..STRAIGHT }]);
    }
}

#[test]
fn a_session_may_lead_to_a_group() {
    let clone = |port, rid| Seen { port, rid, ..CLONED_IN_INGRESS };
    let ask = Ask { ingress: CLONE, session: TO_GROUP, ..Ask::default() };
    check(ask, &[clone(2, 70), clone(4, 70), clone(1, 60), STRAIGHT], &[]);
    let clone = |port, rid| Seen { port, rid, ..CLONED_IN_EGRESS };
    let ask = Ask { egress: CLONE, session: TO_GROUP, ..Ask::default() };
    check(ask, &[STRAIGHT, clone(2, 70), clone(4, 70), clone(1, 60)], &[]);
}

#[test]
fn a_group_gets_copies_that_know_what_the_packet_knew() {
    let copy = |port, rid| Seen { port, rid, egress_type: REPLICA, ..STRAIGHT };
    let copies = [copy(2, 70), copy(4, 70), copy(1, 60)];
    let ask = Ask { ingress: MULTICAST, group: GROUP, ..Ask::default() };
    check(ask, &copies, &[]);
    // Multicast comes before drop, and group 0 means no group.
    check(Ask { ingress: MULTICAST | DROP, ..ask }, &copies, &[]);
    check(Ask { group: 0, ..ask }, &[STRAIGHT], &[]);
    check(Ask { group: GROUP + 1, ..ask }, &[], &[Loss::NoGroup]);
    check(Ask { priority: 1, ..ask }, &[], &[Loss::NoQueue; 3]);
}

#[test]
fn a_copy_that_finds_no_room_is_lost_alone() {
    for mut switch in limited(Limit::Bytes(BYTES as u64 - 1)) {
        let ask = Ask { ingress: CLONE | MULTICAST, session: TO_PORT, group: GROUP, ..Ask::default() };
        assert_eq!(outcome(&mut switch, ask), (vec![], vec![Loss::QueueFull; 4]));
    }
    for mut switch in limited(Limit::Packets(1)) {
        switch.replication_mut().update_node(marklab_switch::replication::NodeHandle(0), &[2, 3]).unwrap();
        let ask = Ask { ingress: MULTICAST, group: GROUP, ..Ask::default() };
        let (seen, lost) = outcome(&mut switch, ask);
        assert_eq!(seen.iter().map(|seen| (seen.port, seen.rid)).collect::<Vec<_>>(), [(2, 70), (4, 70), (3, 60)]);
        assert_eq!(lost, [Loss::QueueFull]);
    }
}

/// Resubmission comes before multicast and drop; the packet is as it came, without metadata except the field list,
/// and in egress its type is normal again.
#[test]
fn a_resubmitted_packet_starts_again_as_it_came() {
    let again = Seen { ingress_type: RESUBMITTED, ingress_port: 0, kept: 10, ingress_time: 0, ..STRAIGHT };
    let ask = Ask { ingress: RESUBMIT, ..Ask::default() };
    check(ask, &[again], &[]);
    let copy = |port, rid| Seen { port, rid, egress_type: REPLICA, ..again };
    let all = Ask { ingress: RESUBMIT | MULTICAST, group: GROUP, ..ask };
    check(all, &[copy(2, 70), copy(4, 70), copy(1, 60)], &[]);
    check(Ask { ingress: RESUBMIT | DROP, ..ask }, &[], &[Loss::Ingress]);
}

#[test]
fn an_egress_clone_has_the_headers_that_egress_left() {
    let ask = Ask { egress: CLONE, session: TO_PORT, ..Ask::default() };
    check(ask, &[STRAIGHT, CLONED_IN_EGRESS], &[]);
    check(Ask { session: 8, ..ask }, &[STRAIGHT], &[]);
    // It is made before the drop.
    check(Ask { egress: CLONE | DROP, ..ask }, &[CLONED_IN_EGRESS], &[Loss::Egress]);
}

/// The deparsed packet, which is longer by what egress added, starts at the parser.
#[test]
fn a_recirculated_packet_starts_again_as_it_would_leave() {
    let again = Seen {
        ingress_rounds: 2,
        egress_rounds: 2,
        ingress_type: RECIRCULATED,
        ingress_port: 0,
        kept: 5 + 16 + 5,
        ingress_time: 0,
        bytes: STRAIGHT.bytes + 2,
        ingress_length: STRAIGHT.bytes + 2,
        egress_length: STRAIGHT.bytes + 2,
        ..STRAIGHT
    };
    let ask = Ask { egress: RECIRCULATE, ..Ask::default() };
    check(ask, &[again], &[]);
    // A drop in egress comes first.
    check(Ask { egress: RECIRCULATE | DROP, ..ask }, &[], &[Loss::Egress]);
    // A clone is made before, and goes through egress without the new header being part of a packet.
    let clone = Seen { has_extra: 1, egress_length: STRAIGHT.bytes + 2, bytes: STRAIGHT.bytes + 2, ..CLONED_IN_EGRESS };
    check(Ask { egress: RECIRCULATE | CLONE, session: TO_PORT, ..ask }, &[clone, again], &[]);
    // Each copy of a group recirculates for itself.
    let ask = Ask { ingress: MULTICAST, group: GROUP, ..ask };
    check(ask, &[again; 3], &[]);
}

#[test]
fn the_smallest_truncation_holds_for_what_is_sent() {
    let cut = |ingress, egress| {
        let ask = Ask { ingress_bytes: ingress, egress_bytes: egress, ..Ask::default() };
        let wants = |bytes, bit| if bytes > 0 { bit } else { 0 };
        let ask = Ask { ingress: wants(ingress, TRUNCATE), egress: wants(egress, TRUNCATE), ..ask };
        let lengths = switches().into_iter().map(|mut switch| outcome(&mut switch, ask).0[0].bytes);
        lengths.collect::<Vec<_>>()
    };
    let whole = BYTES as u16;
    for (ingress, egress, expected) in [
        (whole - 1, 0, whole - 1),
        (whole, 0, whole),
        (whole + 1, 0, whole),
        (0, 70, 70),
        (50, 70, 50),
        (70, 50, 50),
        (1, 0, 1),
    ] {
        assert_eq!(cut(ingress, egress), [u64::from(expected); 2], "{ingress} {egress}");
    }
}

/// In BMv2 truncation belongs to a packet, and copies are other packets.
#[test]
fn truncation_does_not_hold_for_copies_nor_for_another_round() {
    let ask = Ask { ingress: TRUNCATE, ingress_bytes: 60, ..Ask::default() };
    let lengths = |ask: Ask| -> Vec<Vec<u64>> {
        let seen = switches().into_iter().map(|mut switch| outcome(&mut switch, ask).0);
        seen.map(|seen| seen.iter().map(|seen| seen.bytes).collect()).collect()
    };
    assert_eq!(lengths(Ask { ingress: TRUNCATE | CLONE, session: TO_PORT, ..ask }), [[100, 60]; 2]);
    assert_eq!(lengths(Ask { ingress: TRUNCATE | MULTICAST, group: GROUP, ..ask }), [[100; 3]; 2]);
    let egress = Ask { ingress: 0, egress: TRUNCATE | CLONE, egress_bytes: 60, session: TO_PORT, ..ask };
    assert_eq!(lengths(egress), [[60, 100]; 2]);
    assert_eq!(lengths(Ask { egress: RECIRCULATE, ..ask }), [[102]; 2]);
}

#[test]
fn what_starts_again_without_end_is_lost_after_many_rounds() {
    let ask = Ask { session: TO_PORT, ..Ask::default() };
    let cases = [
        (Ask { ingress: RESUBMIT | ENDLESS, ..ask }, 0),
        (Ask { egress: RECIRCULATE | ENDLESS, ..ask }, 0),
        // Each clone leaves, and its clone is lost in the end.
        (Ask { egress: CLONE | ENDLESS, ..ask }, 1 + usize::from(MAX_ROUNDS)),
    ];
    for (ask, sent) in cases {
        for mut switch in switches() {
            let (seen, lost) = outcome(&mut switch, ask);
            assert_eq!((seen.len(), lost), (sent, vec![Loss::Endless]), "{ask:?}");
            assert_eq!(outcome(&mut switch, Ask::default()), (vec![STRAIGHT], vec![]));
        }
    }
}

/// Three copies of each copy: the limit of copies is reached before that of rounds.
#[test]
fn copies_of_copies_without_end_are_given_up() {
    for mut switch in limited(Limit::Packets(u64::MAX)) {
        let ask = Ask { ingress: MULTICAST | ENDLESS, egress: RECIRCULATE | ENDLESS, group: GROUP, ..Ask::default() };
        let (seen, lost) = outcome(&mut switch, ask);
        assert_eq!(seen, []);
        assert!(lost.len() > 1 << 16 && lost.iter().all(|&loss| loss == Loss::Endless), "{}", lost.len());
        assert_eq!(outcome(&mut switch, Ask::default()), (vec![STRAIGHT], vec![]));
    }
}

/// Copies reach the driver of a switch beside the frame itself.
#[test]
fn a_driver_is_told_of_each_copy_once() {
    use marklab_switch::Fate;
    for mut switch in switches() {
        let at = crate::support::at;
        let ask = Ask { ingress: CLONE, egress: CLONE, session: TO_PORT, ..Ask::default() };
        assert_eq!(switch.receive(at(0), 6, ask.packet()), Fate::Queued { port: 0, queue: 0 });
        assert!(switch.has_copies());
        assert_eq!(switch.take_copies(), [Fate::Queued { port: 5, queue: 0 }]);
        assert!(!switch.has_copies());
        assert!(switch.transmit(at(0), 0).unwrap().outcome.is_ok());
        assert_eq!(switch.take_copies(), [Fate::Queued { port: 5, queue: 0 }]);
        assert_eq!((switch.depth(5).packets, switch.depth(0).packets), (2, 0));
        let again = Ask { egress: RECIRCULATE, port: 4, ..Ask::default() };
        switch.receive(at(0), 6, again.packet());
        assert_eq!(switch.transmit(at(0), 4).unwrap().outcome, Err::<Packet, _>(Fate::Queued { port: 4, queue: 0 }));
        assert!(!switch.has_copies());
    }
}
