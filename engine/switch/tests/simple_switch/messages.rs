// SPDX-License-Identifier: MIT OR Apache-2.0
//! Messages of a program to the control plane, and assertions that end a run.

use marklab_pipeline::Digest;
use marklab_switch::Loss;

use crate::detour::*;
use crate::support::at;

/// Only the last digest of a round is kept, whatever happens to the packet; every message is kept.
#[test]
fn digests_and_log_messages_are_kept_in_order() {
    for mut switch in switches() {
        let ask = |session, ingress| Ask { ingress: DIGEST | ingress, session, ..Ask::default() };
        for ask in [ask(7, DROP), ask(8, RESUBMIT), ask(9, 0)] {
            outcome(&mut switch, ask);
        }
        let digest =
            |session: u32, round: u32| Digest { name: "note_t".into(), values: vec![session.into(), round.into()] };
        assert_eq!(switch.take_digests(), [digest(7, 1), digest(8, 1), digest(8, 1), digest(9, 1)]);
        let log = [7, 8, 8, 9].map(|session| format!("round 1 of session {session}"));
        assert_eq!(switch.take_log(), log);
        assert_eq!((switch.take_digests(), switch.take_log()), (vec![], vec![]));
    }
}

#[test]
fn an_assertion_that_fails_ends_all_and_keeps_its_place() {
    for (ask, call, condition, port) in [
        (Ask { ingress: FAIL, ..Ask::default() }, false, "ask & FAIL == 0", None),
        (Ask { egress: FAIL, ..Ask::default() }, true, "ask & FAIL == 0", Some(0)),
    ] {
        for mut switch in switches() {
            assert_eq!(switch.failed_assertion(), None);
            let lost = switch.run(at(0), 6, ask.packet(), None).lost;
            assert_eq!(
                lost.iter().map(|(loss, port, _)| (*loss, *port)).collect::<Vec<_>>(),
                [(Loss::Assertion, port)]
            );
            let failed = switch.failed_assertion().expect("it failed");
            assert_eq!(failed.assume, call);
            let text = include_str!("../programs/detours.p4");
            let place = failed.span.start as usize..failed.span.end as usize;
            assert_eq!(&text[place.clone()], condition);
            // The first in ingress, the second in egress.
            let before = text[..place.start].trim_end_matches('(');
            assert!(before.ends_with(if call { "assume" } else { "assert" }));
            // BMv2 has exited then.
            assert_eq!(outcome(&mut switch, Ask::default()), (vec![], vec![Loss::Assertion]));
        }
    }
}

/// Copies that wait when an assertion fails do not leave.
#[test]
fn nothing_leaves_after_a_failed_assertion() {
    for mut switch in switches() {
        let ask = Ask { ingress: CLONE, egress: FAIL, session: TO_GROUP, ..Ask::default() };
        // The clones request nothing in egress, and come first.
        assert_eq!(outcome(&mut switch, ask).0.len(), 3);
    }
    for mut switch in switches() {
        let ask = Ask { ingress: MULTICAST, egress: FAIL, group: GROUP, ..Ask::default() };
        assert_eq!(outcome(&mut switch, ask), (vec![], vec![Loss::Assertion; 3]));
    }
}
