// SPDX-License-Identifier: MIT OR Apache-2.0
//! What the ghost thread of Tofino 2 sees.

use marklab_p4::ir::Chip;
use marklab_pipeline::Packet;
use marklab_tm::{Limit, PortConfig, QueueConfig, Round};

use crate::support::{at, offer, switches};

/// The depth of a queue in cells, and how often it changed.
fn kept(packet: &Packet) -> (u32, u32) {
    let bytes = packet.to_vec();
    let number = |at: usize| u32::from_be_bytes(bytes[at..at + 4].try_into().unwrap());
    (number(2), number(6))
}

#[test]
fn each_change_of_a_queue_is_told_in_cells() {
    let queue = QueueConfig { limit: Limit::Packets(3), level: 0, quantum_bytes: 1500 };
    let port = PortConfig::new(vec![queue; 4], Round::Deficit, None).unwrap();
    for mut switch in switches("ghost.p4", Chip::Tofino2, &[port.clone(), port.clone()]) {
        // Queue 2 of port 1, which has four queues as port 0 has.
        let ask = |zeros: usize| Packet::new(&[0, 6, 0, 0, 0, 0, 0, 0, 0, 0], zeros);
        for bytes in [10, 176, 177] {
            offer(&mut switch, 0, 0, ask(bytes - 10)).unwrap();
        }
        assert!(offer(&mut switch, 0, 0, ask(0)).is_err(), "full, which changes nothing");
        let mut told = Vec::new();
        while let Some(out) = switch.transmit(at(10), 1) {
            told.push(kept(&out.outcome.unwrap()));
        }
        // Each packet saw the queue without itself.
        assert_eq!(told, [(0, 0), (1, 1), (2, 2)]);
        offer(&mut switch, 0, 0, ask(0)).unwrap();
        assert_eq!(kept(&switch.transmit(at(10), 1).unwrap().outcome.unwrap()), (0, 6));
    }
}
