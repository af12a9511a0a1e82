// SPDX-License-Identifier: MIT OR Apache-2.0
//! Every frame that comes in, and every copy, leaves or is lost, exactly once; and the engines agree on which.

use marklab_pipeline::Packet;
use marklab_switch::{Fate, Loss, Switch};
use marklab_tm::Limit;
use proptest::prelude::*;

use crate::detour::*;
use crate::support::at;

#[derive(PartialEq, Default, Debug)]
struct Ledger {
    /// Frames that came in.
    received: usize,
    /// Frames that the switch made.
    copies: usize,
    sent: Vec<(usize, Packet)>,
    lost: Vec<(Loss, Packet)>,
    /// Times that a frame came to a queue, and left one.
    queued: usize,
    dequeued: usize,
}

impl Ledger {
    fn settle(&mut self, fate: Fate<Packet>) {
        match fate {
            Fate::Queued { .. } => self.queued += 1,
            Fate::Lost(loss, _, packet) => self.lost.push((loss, packet)),
        }
    }

    fn settle_copies(&mut self, switch: &mut Switch<Packet>) {
        for copy in switch.take_copies() {
            self.copies += 1;
            self.settle(copy);
        }
    }

    fn receive(&mut self, switch: &mut Switch<Packet>, now: u64, port: usize, packet: Packet) {
        self.received += 1;
        let fate = switch.receive(at(now), port, packet);
        self.settle(fate);
        self.settle_copies(switch);
    }

    fn transmit(&mut self, switch: &mut Switch<Packet>, now: u64, port: usize) -> bool {
        let Some(out) = switch.transmit(at(now), port) else { return false };
        self.dequeued += 1;
        match out.outcome {
            Ok(packet) => self.sent.push((port, packet)),
            Err(fate) => self.settle(fate),
        }
        self.settle_copies(switch);
        true
    }
}

#[derive(Clone, Debug)]
enum Step {
    Receive(usize, Ask),
    Transmit(usize),
}

fn step() -> impl Strategy<Value = Step> {
    let ask = (any::<u8>(), any::<u8>(), 8..11u16, GROUP - 1..GROUP + 2, any::<u8>(), any::<u8>(), 0..9u8, 0..8u8);
    let ask = ask.prop_map(|(ingress, egress, session, group, ingress_bytes, egress_bytes, port, priority)| Ask {
        // A failed assertion would end the run.
        ingress: ingress & !FAIL & !ENDLESS,
        egress: egress & !FAIL & !ENDLESS,
        session,
        group,
        ingress_bytes: ingress_bytes.into(),
        egress_bytes: egress_bytes.into(),
        port,
        priority: u8::from(priority == 0),
    });
    prop_oneof![(0..8usize, ask).prop_map(|(port, ask)| Step::Receive(port, ask)), (0..8usize).prop_map(Step::Transmit)]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn frames_and_copies_end_once(steps in prop::collection::vec(step(), 1..40), room in 1..6u64) {
        let ledgers = limited(Limit::Packets(room)).into_iter().map(|mut switch| {
            let mut ledger = Ledger::default();
            for (now, step) in steps.iter().enumerate() {
                match step {
                    Step::Receive(port, ask) => ledger.receive(&mut switch, now as u64, *port, ask.packet()),
                    Step::Transmit(port) => _ = ledger.transmit(&mut switch, now as u64, *port),
                }
            }
            while (0..8).any(|port| ledger.transmit(&mut switch, 1_000, port)) {}
            (ledger, (0..8).map(|port| switch.port_stats(port).enqueued).sum::<u64>())
        });
        let ledgers: Vec<_> = ledgers.collect();
        for (ledger, enqueued) in &ledgers {
            prop_assert_eq!(ledger.received + ledger.copies, ledger.sent.len() + ledger.lost.len());
            prop_assert_eq!((ledger.queued, ledger.queued as u64), (ledger.dequeued, *enqueued));
        }
        prop_assert_eq!(&ledgers[0].0, &ledgers[1].0, "left: interpreter, right: JIT");
    }
}
