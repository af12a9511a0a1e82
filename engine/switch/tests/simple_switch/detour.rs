// SPDX-License-Identifier: MIT OR Apache-2.0
//! Switches that run `detours.p4`, and packets for them.

use marklab_pipeline::Packet;
use marklab_switch::replication::Mirror;
use marklab_switch::{Loss, Switch};
use marklab_tm::Limit;

use crate::support::{at, switches_with};

pub(crate) const CLONE: u8 = 1;
pub(crate) const RESUBMIT: u8 = 2;
pub(crate) const RECIRCULATE: u8 = 2;
pub(crate) const DIGEST: u8 = 4;
pub(crate) const MULTICAST: u8 = 8;
pub(crate) const TRUNCATE: u8 = 16;
pub(crate) const DROP: u8 = 32;
pub(crate) const FAIL: u8 = 64;
pub(crate) const ENDLESS: u8 = 128;

/// `instance_type` of simple_switch.
pub(crate) const NORMAL: u64 = 0;
pub(crate) const INGRESS_CLONE: u64 = 1;
pub(crate) const EGRESS_CLONE: u64 = 2;
pub(crate) const RECIRCULATED: u64 = 4;
pub(crate) const REPLICA: u64 = 5;
pub(crate) const RESUBMITTED: u64 = 6;

/// Frames that come here have an extra header.
pub(crate) const EXTRA_PORT: usize = 3;
/// Request, report, and some payload.
pub(crate) const BYTES: usize = 40 + 60;
const REPORT: usize = 12;

/// Mirror session to port 5.
pub(crate) const TO_PORT: u16 = 9;
/// Mirror session to group [`GROUP`].
pub(crate) const TO_GROUP: u16 = 10;
/// Ports 2, 4 with replication id 70, then 1 with 60.
pub(crate) const GROUP: u16 = 77;

/// Requests of a packet.
#[derive(Clone, Copy, Default, Debug)]
pub(crate) struct Ask {
    pub(crate) ingress: u8,
    pub(crate) egress: u8,
    pub(crate) session: u16,
    pub(crate) group: u16,
    pub(crate) ingress_bytes: u16,
    pub(crate) egress_bytes: u16,
    pub(crate) port: u8,
    pub(crate) priority: u8,
}

impl Ask {
    pub(crate) fn packet(self) -> Packet {
        let mut bytes = vec![self.ingress, self.egress];
        for number in [self.session, self.group, self.ingress_bytes, self.egress_bytes] {
            bytes.extend(number.to_be_bytes());
        }
        bytes.extend([self.port, self.priority]);
        bytes.resize(40, 0);
        Packet::new(&bytes, BYTES - 40)
    }
}

/// What the controls reported into a packet.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub(crate) struct Seen {
    /// Port by which it left.
    pub(crate) port: u64,
    pub(crate) bytes: u64,
    pub(crate) ingress_rounds: u64,
    pub(crate) egress_rounds: u64,
    pub(crate) ingress_type: u64,
    pub(crate) egress_type: u64,
    pub(crate) ingress_port: u64,
    pub(crate) rid: u64,
    pub(crate) kept: u64,
    pub(crate) forgotten: u64,
    pub(crate) has_extra: u64,
    pub(crate) ingress_length: u64,
    pub(crate) egress_length: u64,
    pub(crate) ingress_time: u64,
}

impl Seen {
    /// The report in a frame that left by a port. The frame may be cut within its report.
    pub(crate) fn of((port, packet): &(usize, Packet)) -> Seen {
        let mut bytes = packet.to_vec();
        let len = bytes.len() as u64;
        bytes.resize(BYTES, 0);
        let mut at = REPORT;
        let mut next = |width: usize| {
            at += width;
            bytes[at - width..at].iter().fold(0, |value, &byte| value << 8 | u64::from(byte))
        };
        let [ingress_rounds, egress_rounds, ingress_type, egress_type] = [(); 4].map(|()| next(1));
        let ingress_port = next(2);
        assert!(len < 20 || next(2) == *port as u64, "egress_port is the port by which it leaves");
        Seen {
            port: *port as u64,
            bytes: len,
            ingress_rounds,
            egress_rounds,
            ingress_type,
            egress_type,
            ingress_port,
            rid: next(2),
            kept: next(2),
            forgotten: next(2),
            has_extra: next(2),
            ingress_length: next(4),
            egress_length: next(4),
            ingress_time: next(4),
        }
    }
}

/// Both engines, with sessions, groups, 8 ports and a listener.
pub(crate) fn switches() -> Vec<Switch<Packet>> {
    limited(Limit::Packets(1_000))
}

pub(crate) fn limited(limit: Limit) -> Vec<Switch<Packet>> {
    let mut switches = switches_with("detours.p4", &[limit; 8]);
    for switch in &mut switches {
        switch.listen();
        let replication = switch.replication_mut();
        replication.create_group(GROUP.into());
        let nodes = [(60, &[1][..]), (70, &[4, 2])].map(|(rid, ports)| replication.create_node(rid, ports).unwrap());
        replication.associate(GROUP.into(), nodes[1]).unwrap();
        replication.associate(GROUP.into(), nodes[0]).unwrap();
        replication.add_session(TO_PORT.into(), Mirror::Port(5)).unwrap();
        replication.add_session(TO_GROUP.into(), Mirror::Group(GROUP.into())).unwrap();
    }
    switches
}

/// Results of a packet that came by port 6 after 7 us, and of its copies.
pub(crate) fn outcome(switch: &mut Switch<Packet>, ask: Ask) -> (Vec<Seen>, Vec<Loss>) {
    outcome_from(switch, 6, ask.packet())
}

pub(crate) fn outcome_from(switch: &mut Switch<Packet>, port: usize, packet: Packet) -> (Vec<Seen>, Vec<Loss>) {
    let completed = switch.run(at(7_000), port, packet, None);
    let losses = completed.lost.iter().map(|(loss, ..)| *loss);
    (completed.sent.iter().map(Seen::of).collect(), losses.collect())
}
