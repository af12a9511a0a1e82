// SPDX-License-Identifier: MIT OR Apache-2.0
//! Depths of queues in cells of the traffic manager's memory.

use marklab_p4::ir::Chip;
use marklab_tm::TrafficManager;

/// Cells in each queue of a switch.
#[derive(Debug)]
pub(super) struct Cells {
    cell_bytes: u64,
    /// By port: the number of its first queue among the queues of all ports.
    first: Vec<usize>,
    /// By queue.
    depths: Vec<u64>,
}

impl Cells {
    pub(super) fn new<T>(chip: Chip, queues: &TrafficManager<T>) -> Cells {
        let mut count = 0;
        let first = (0..queues.ports()).map(|port| {
            count += queues.queues(port);
            count - queues.queues(port)
        });
        let first = first.collect();
        Cells { cell_bytes: cell_bytes(chip), first, depths: vec![0; count] }
    }

    /// Adds a packet to a queue. Returns the depth before.
    pub(super) fn add(&mut self, port: usize, queue: usize, bytes: u64) -> u64 {
        let depth = &mut self.depths[self.first[port] + queue];
        *depth += bytes.div_ceil(self.cell_bytes);
        *depth - bytes.div_ceil(self.cell_bytes)
    }

    /// A queue's number among the queues of all ports, and its depth.
    pub(super) fn depth(&self, port: usize, queue: usize) -> (usize, u64) {
        let number = self.first[port] + queue;
        (number, self.depths[number])
    }

    /// Removes a packet from a queue. Returns the depth afterwards.
    pub(super) fn remove(&mut self, port: usize, queue: usize, bytes: u64) -> u64 {
        let depth = &mut self.depths[self.first[port] + queue];
        *depth -= bytes.div_ceil(self.cell_bytes);
        *depth
    }
}

/// Bytes of a cell, by the driver's constants for both chips (`tm_tofino.h`, `tm_tof2.h`).
fn cell_bytes(chip: Chip) -> u64 {
    match chip {
        Chip::Tofino1 => 80,
        Chip::Tofino2 => 176,
    }
}
