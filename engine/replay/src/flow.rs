// SPDX-License-Identifier: MIT OR Apache-2.0
//! Flows to be replayed, and their records.

use std::fmt;
use std::net::SocketAddrV4;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use rustix::io::Errno;

use crate::tcp_info::SenderCounts;

/// Direction of a flow's bytes.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Direction {
    /// The client sends them to the server.
    Push,
    /// The client asks the server for them, as for one part of an incast query.
    Pull,
}

/// A flow of the list.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Flow {
    /// Its number, by which both ends identify it.
    pub id: u32,
    /// When it starts, in ns since the common start.
    pub start_ns: u64,
    /// Address and port of the server.
    pub peer: SocketAddrV4,
    /// Bytes of payload, including the header of 16 bytes.
    pub size_bytes: u64,
    /// Code point of its packets, 0..=63. TCP keeps control of the two ECN bits beside it.
    pub dscp: u8,
    /// TTL of the client's packets, by which a delay line may distinguish flows; 0 is the kernel's default.
    pub ttl: u8,
    /// The end that sends.
    pub direction: Direction,
}

/// Life of connections.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Connections {
    /// One per flow: handshake, data, close.
    New,
    /// Taken from a pool per server and direction. Some are opened before the common start, and more when all are busy.
    /// The connection opened first is used first.
    Persistent {
        /// Connections opened before the start, per server and direction in the list.
        per_pair: u32,
    },
}

/// How a flow ended.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Status {
    /// The receiver has all bytes.
    Done,
    /// The run ended first.
    Unfinished,
    /// The run ended before the flow started.
    NotStarted,
    /// No process listens there.
    Refused,
    /// The other end aborted the connection, or closed it before the end of the flow.
    Reset,
    /// The kernel gave up retransmitting.
    TimedOut,
    /// No route to the server.
    Unreachable,
    /// The other end does not speak this protocol, or answered for another flow.
    Garbled,
    /// Another error of the kernel: no ports or descriptors left, not permitted, ...
    Failed(Errno),
}

impl Status {
    /// Names of all statuses; [`Status::code`] is an index.
    pub const NAMES: [&'static str; 9] =
        ["done", "unfinished", "not-started", "refused", "reset", "timed-out", "unreachable", "garbled", "failed"];

    /// Index of its name.
    #[must_use]
    pub fn code(self) -> u8 {
        match self {
            Status::Done => 0,
            Status::Unfinished => 1,
            Status::NotStarted => 2,
            Status::Refused => 3,
            Status::Reset => 4,
            Status::TimedOut => 5,
            Status::Unreachable => 6,
            Status::Garbled => 7,
            Status::Failed(_) => 8,
        }
    }

    /// The kernel's error number of [`Status::Failed`]; 0 for other statuses.
    #[must_use]
    pub fn errno(self) -> i32 {
        match self {
            Status::Failed(error) => error.raw_os_error(),
            _ => 0,
        }
    }
}

impl fmt::Display for Status {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Status::Failed(error) => write!(formatter, "failed: {error}"),
            _ => formatter.write_str(Status::NAMES[usize::from(self.code())]),
        }
    }
}

impl From<Errno> for Status {
    fn from(error: Errno) -> Status {
        match error {
            Errno::CONNREFUSED => Status::Refused,
            Errno::CONNRESET | Errno::PIPE | Errno::CONNABORTED => Status::Reset,
            Errno::TIMEDOUT => Status::TimedOut,
            Errno::HOSTUNREACH | Errno::NETUNREACH | Errno::HOSTDOWN | Errno::NETDOWN => Status::Unreachable,
            Errno::PROTO => Status::Garbled,
            other => Status::Failed(other),
        }
    }
}

/// Result of a flow. Times are in ns since the common start.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct FlowRecord {
    /// The flow's number.
    pub id: u32,
    /// When it actually started; `None` if it did not.
    pub start_ns: Option<u64>,
    /// Delay of that start after the planned start.
    pub late_ns: u64,
    /// When the receiver had the last byte; `None` if the flow is not done.
    pub end_ns: Option<u64>,
    /// How it ended.
    pub status: Status,
    /// Bytes that the client gave to TCP (push) or got from it (pull); at least 16 if the flow is done.
    pub bytes: u64,
    /// Counts of the client's segments during the flow.
    pub sender: SenderCounts,
}

/// Progress of a run, and a request to cancel it; both may be shared with another thread.
#[derive(Clone, Copy, Debug)]
pub struct Watch<'a> {
    /// Counts flows that have ended.
    pub ended: &'a AtomicU64,
    /// Set to end the run soon.
    pub cancel: &'a AtomicBool,
}

impl Watch<'_> {
    pub(crate) fn cancelled(&self) -> bool {
        self.cancel.load(Ordering::Relaxed)
    }

    pub(crate) fn count(&self) {
        self.ended.fetch_add(1, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_status_has_the_name_of_its_code() {
        let statuses = [
            (Status::Done, "done"),
            (Status::Unfinished, "unfinished"),
            (Status::NotStarted, "not-started"),
            (Errno::CONNREFUSED.into(), "refused"),
            (Errno::CONNRESET.into(), "reset"),
            (Errno::PIPE.into(), "reset"),
            (Errno::TIMEDOUT.into(), "timed-out"),
            (Errno::HOSTUNREACH.into(), "unreachable"),
            (Errno::PROTO.into(), "garbled"),
            (Errno::MFILE.into(), "failed"),
        ];
        for (status, name) in statuses {
            assert_eq!(Status::NAMES[usize::from(status.code())], name, "{status}");
        }
    }

    #[test]
    fn an_error_of_its_own_is_told() {
        let status = Status::from(Errno::MFILE);
        assert!(status.to_string().starts_with("failed: "));
        assert_eq!((status.errno(), Status::Done.errno()), (24, 0));
    }
}
