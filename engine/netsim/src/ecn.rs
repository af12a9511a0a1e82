// SPDX-License-Identifier: MIT OR Apache-2.0
//! What happens to ECN between two hosts, apart from marks: changes of the ECN field that RFC 3168 section 18.1 describes,
//! and handshakes whose flags do not arrive.

use crate::wire::Ecn;

/// Packets that arrived at a host with a wrong ECN field, and connections to which ECN was refused. All of them are 0 if
/// switches only mark.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct EcnInterference {
    /// Sent as ECN capable, arrived as Not-ECT (section 18.1.3: disabling ECN-capability).
    pub bleached: u64,
    /// Sent as Not-ECT, arrived as ECT or CE (section 18.1.4: falsely indicating ECN-capability).
    pub forged: u64,
    /// Marked by a switch, arrived as ECT (section 18.1.1: erasing the congestion indication).
    pub erased: u64,
    /// Sent with one of the two code points of ECT, arrived with the other.
    pub rewritten: u64,
    /// Connections whose opener asked for ECN, and whose SYN-ACK did not agree (section 6.1.1). Both hosts of a connection
    /// take part in ECN or neither does, so the flags of the SYN or of the SYN-ACK were changed.
    pub refused: u64,
}

impl EcnInterference {
    /// A packet has arrived at a host, where it was `due` with this ECN field. A mark is never wrong on a packet that was
    /// sent as ECN capable.
    #[inline]
    pub(crate) fn compare(&mut self, due: Ecn, arrived: Ecn) {
        let marked = arrived == Ecn::Ce && due != Ecn::NotEct;
        if arrived != due && !marked {
            self.count(due, arrived);
        }
    }

    /// Adds other counts.
    pub(crate) fn merge(&mut self, other: EcnInterference) {
        self.bleached += other.bleached;
        self.forged += other.forged;
        self.erased += other.erased;
        self.rewritten += other.rewritten;
        self.refused += other.refused;
    }

    #[cold]
    fn count(&mut self, due: Ecn, arrived: Ecn) {
        *match (due, arrived) {
            (Ecn::NotEct, _) => &mut self.forged,
            (_, Ecn::NotEct) => &mut self.bleached,
            (Ecn::Ce, _) => &mut self.erased,
            _ => &mut self.rewritten,
        } += 1;
    }
}
