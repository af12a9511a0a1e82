// SPDX-License-Identifier: MIT OR Apache-2.0
//! Switches that run a program for either chip, and packets for `tofino.p4`.

use marklab_p4::Options;
use marklab_p4::ir::Chip;
use marklab_pipeline::{Packet, prune};
use marklab_switch::{Fate, Loss, Switch};
use marklab_tm::PortConfig;

pub(crate) use crate::common::at;
use crate::common::{compiled, either_way, numbers};

pub(crate) const CHIPS: [Chip; 2] = [Chip::Tofino1, Chip::Tofino2];

/// Bytes of a cell.
pub(crate) fn cell_bytes(chip: Chip) -> u64 {
    if chip == Chip::Tofino1 { 80 } else { 176 }
}

/// A program of the folder `programs` with such ports, once interpreted and once as machine code.
pub(crate) fn switches<P: Clone + Into<PortConfig>>(program: &str, chip: Chip, ports: &[P]) -> Vec<Switch<Packet>> {
    let target = if chip == Chip::Tofino1 { "1" } else { "2" };
    let defines = vec![("__TARGET_TOFINO__".to_owned(), target.to_owned())];
    either_way(prune(&compiled(program, &Options { defines, ..Options::default() })), ports)
}

const REQUEST: usize = 8;
const REPORT: usize = 45;

/// Bytes that ingress puts in front for egress.
pub(crate) const BRIDGE: u64 = 14;

/// Requests of a packet.
#[derive(Clone, Copy, Default, Debug)]
pub(crate) struct Request {
    pub(crate) port: u16,
    pub(crate) queue: u8,
    pub(crate) class: u8,
    pub(crate) ingress_drop: u8,
    pub(crate) egress_drop: u8,
    pub(crate) bypass: u8,
    pub(crate) refuse: u8,
}

impl Request {
    pub(crate) fn to(port: u16) -> Request {
        Request { port, ..Request::default() }
    }

    /// Of this many bytes in all.
    pub(crate) fn packet(self, bytes: u64) -> Packet {
        let mut stored = Vec::from(self.port.to_be_bytes());
        stored.extend([self.queue, self.class, self.ingress_drop, self.egress_drop, self.bypass, self.refuse]);
        stored.resize(REQUEST + REPORT, 0);
        Packet::new(&stored, bytes as usize - REQUEST - REPORT)
    }
}

/// What the controls reported into a packet.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub(crate) struct Report {
    pub(crate) ingress_port: u64,
    pub(crate) mac_tstamp: u64,
    pub(crate) ingress_tstamp: u64,
    pub(crate) egress_port: u64,
    pub(crate) egress_tstamp: u64,
    pub(crate) enq_tstamp: u64,
    pub(crate) deq_timedelta: u64,
    pub(crate) enq_qdepth: u64,
    pub(crate) deq_qdepth: u64,
    pub(crate) egress_qid: u64,
    pub(crate) egress_cos: u64,
    pub(crate) pkt_length: u64,
}

impl Report {
    pub(crate) fn of(packet: &Packet) -> Report {
        let bytes = packet.to_vec();
        let mut next = numbers(&bytes, REQUEST);
        Report {
            ingress_port: next(2),
            mac_tstamp: next(6),
            ingress_tstamp: next(6),
            egress_port: next(2),
            egress_tstamp: next(6),
            enq_tstamp: next(4),
            deq_timedelta: next(4),
            enq_qdepth: next(4),
            deq_qdepth: next(4),
            egress_qid: next(1),
            egress_cos: next(1),
            pkt_length: next(2),
        }
    }
}

/// Takes a packet in; returns the queue in which it waits, or where it was lost.
pub(crate) fn offer(
    switch: &mut Switch<Packet>,
    now_ns: u64,
    port: usize,
    packet: Packet,
) -> Result<(usize, usize), (Loss, Option<usize>)> {
    match switch.receive(at(now_ns), port, packet) {
        Fate::Queued { port, queue } => Ok((port, queue)),
        Fate::Lost(loss, port, _) => Err((loss, port)),
    }
}

/// The next packet of a port, which must leave.
pub(crate) fn take(switch: &mut Switch<Packet>, now_ns: u64, port: usize) -> Packet {
    let next = switch.transmit(at(now_ns), port).expect("a packet waits");
    next.outcome.unwrap_or_else(|fate| panic!("{fate:?}"))
}
