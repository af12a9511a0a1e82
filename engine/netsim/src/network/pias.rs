// SPDX-License-Identifier: MIT OR Apache-2.0
//! Priorities of packets: the part of PIAS (Bai et al., NSDI 2015) that sending hosts do.
//!
//! The priority of a data packet depends on the bytes that its flow sent before it: P0, the highest, up to the first
//! threshold, P1 up to the second, and so on. These bytes are the offset of its first byte in the flow, so a
//! retransmission keeps its priority (as in the authors' simulations). Packets without data have P0. With n thresholds,
//! the code point of Pi is n - i, because switches serve queues of higher numbers first.

use super::env::Env;
use crate::frame::NetFrame;

impl Env {
    /// The code point of a packet whose flow has sent `sent_before` bytes: the number of thresholds not exceeded. Packets
    /// with data are counted.
    #[cold]
    #[inline(never)]
    pub(super) fn tag(&mut self, sent_before: u64, has_data: bool) -> u8 {
        let Some(thresholds_bytes) = &self.shared.pias else { return 0 };
        let exceeded = thresholds_bytes.partition_point(|&threshold| threshold < sent_before);
        let code_point = thresholds_bytes.len() - exceeded;
        self.tally.priorities[code_point].sent += u64::from(has_data);
        code_point as u8
    }

    /// A switch has marked a frame: counts it by its code point, if hosts tag packets.
    #[inline]
    pub(super) fn count_priority(&mut self, frame: &NetFrame) {
        if self.shared.pias.is_some() {
            self.count_marked(frame);
        }
    }

    #[cold]
    fn count_marked(&mut self, frame: &NetFrame) {
        // The second byte of the IPv4 header: DSCP and ECN.
        let code_point = usize::from(frame.packet.stored()[15] >> 2);
        if let Some(stats) = self.tally.priorities.get_mut(code_point) {
            stats.marked += 1;
        }
    }
}
