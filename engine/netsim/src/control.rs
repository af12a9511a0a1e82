// SPDX-License-Identifier: MIT OR Apache-2.0
//! The congestion controls that hosts may have, and how their packets differ.

use serde::Deserialize;

/// Congestion control of connections.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Control {
    /// RFC 8257.
    Dctcp,
    /// RFC 3168: a mark halves the window.
    EcnStar,
    /// RFC 5681, without ECN.
    Reno,
    /// RFC 9438, without ECN.
    Cubic,
    /// DCTCP for the Internet (draft-briscoe-iccrg-prague-congestion-control): packets are ECT(1), and AccECN counts marks.
    Prague,
    /// DCTCP that reacts to delays instead of marks (EAR, APNet 2017, section 3.1).
    DelayDctcp,
    /// DCTCP that reacts to marks and delays (section 4.1).
    Ear,
    /// No TCP: RDMA queue pairs whose rates follow notifications of marks (Zhu et al., SIGCOMM 2015).
    Dcqcn,
}

impl Control {
    /// Whether an option in each segment measures one-way delays.
    pub(crate) fn measures_delay(self) -> bool {
        matches!(self, Control::DelayDctcp | Control::Ear)
    }

    /// Whether hosts that use ECN send packets without data, and retransmissions, as ECN capable, as in Linux's DCTCP and
    /// Prague (TCP_CONG_NEEDS_ECN).
    pub(crate) fn ecn_control_packets(self) -> bool {
        matches!(self, Control::Dctcp | Control::Ear | Control::Prague)
    }

    /// Whether a run with this one may have flows with others: connections with windows, and segments of the same length.
    pub(crate) fn may_be_mixed(self) -> bool {
        !self.measures_delay() && self != Control::Dcqcn
    }
}
