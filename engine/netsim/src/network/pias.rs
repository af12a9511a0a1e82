// SPDX-License-Identifier: MIT OR Apache-2.0
//! Priorities of packets: the part of PIAS (Bai et al., NSDI 2015) that sending hosts do.
//!
//! The priority of a data packet depends on the bytes that its flow sent before it: P0, the highest, up to the first
//! threshold, P1 up to the second, and so on. These bytes are the offset of its first byte in the flow, so a
//! retransmission keeps its priority (as in the authors' simulations). Packets without data have P0. With n thresholds,
//! the code point of Pi is n - i, because switches serve queues of higher numbers first.

use super::Network;
use super::connection::Side;
use crate::config::Pias;
use crate::frame::NetFrame;
use crate::tcp::stream_offset;
use crate::wire::Header;

/// Packets of a priority.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct PriorityStats {
    /// Packets with data that hosts have sent.
    pub sent: u64,
    /// Packets that arrived at a switch ECN capable and left it with congestion experienced.
    pub marked: u64,
}

/// Thresholds, and counts per code point.
#[derive(Debug)]
pub(super) struct Priorities {
    thresholds_bytes: Vec<u64>,
    by_code_point: Vec<PriorityStats>,
}

impl Priorities {
    pub(super) fn new(pias: &Pias) -> Priorities {
        let thresholds_bytes = pias.thresholds_bytes.clone();
        Priorities { by_code_point: vec![PriorityStats::default(); thresholds_bytes.len() + 1], thresholds_bytes }
    }

    /// The code point of a packet whose flow has sent `sent_before` bytes: the number of thresholds not exceeded.
    fn code_point(&self, sent_before: u64) -> usize {
        self.thresholds_bytes.len() - self.thresholds_bytes.partition_point(|&threshold| threshold < sent_before)
    }

    /// A switch has marked a frame.
    #[cold]
    #[inline(never)]
    pub(super) fn marked(&mut self, frame: &NetFrame) {
        // The second byte of the IPv4 header: DSCP and ECN.
        let code_point = usize::from(frame.packet.stored()[15] >> 2);
        if let Some(stats) = self.by_code_point.get_mut(code_point) {
            stats.marked += 1;
        }
    }

    pub(super) fn stats(mut self) -> Vec<PriorityStats> {
        self.by_code_point.reverse();
        self.by_code_point
    }
}

impl Network {
    /// Sets the priority of the packet that a host is about to send.
    #[cold]
    #[inline(never)]
    pub(super) fn tag(&mut self, connection: usize, side: Side, header: &Header<'_>) {
        let Some(pias) = &mut self.pias else { return };
        let state = &mut self.connections[connection];
        let sent_before = match (side, header.payload, state.latest_flow) {
            (Side::Client, 1.., Some(flow)) => {
                // A flow that has arrived completely has no message any more; its end is the end of the stream.
                let end = state.messages.back().map_or(state.sender.written(), |message| message.end);
                let offset = stream_offset(state.first_data(), header.sequence, state.sender.snd_una());
                // Retransmitted data of an earlier flow, which have arrived already, get the highest priority.
                offset.unwrap_or(0).saturating_sub(end - self.flows[flow as usize].size_bytes)
            }
            // A request is the first data that its host sends.
            _ => 0,
        };
        let code_point = pias.code_point(sent_before);
        pias.by_code_point[code_point].sent += u64::from(header.payload > 0);
        state.templates[side as usize].set_dscp(code_point as u8);
    }
}
