// SPDX-License-Identifier: MIT OR Apache-2.0
//! The kernel's counts for a connection.

use std::ops::Sub;
use std::os::fd::{AsFd, AsRawFd};

/// Counts of the segments that a socket has sent (`struct tcp_info` in linux/tcp.h).
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct SenderCounts {
    /// Retransmitted segments.
    pub retransmissions: u64,
    /// Retransmission timeouts; 0 before Linux 6.7, which does not report them.
    pub timeouts: u64,
    /// Segments that arrived with a CE mark, as the receiver has echoed.
    pub marked: u64,
}

/// Offsets in the kernel's structure, in bytes. The structure only ever grows at its end.
const TOTAL_RETRANS: usize = 100;
const DELIVERED_CE: usize = 196;
const TOTAL_RTO: usize = 240;

impl SenderCounts {
    /// Counts of a TCP socket so far; all 0 if the kernel does not report them.
    #[expect(unsafe_code, reason = "system call")]
    pub(crate) fn of(socket: impl AsFd) -> SenderCounts {
        let mut info = [0u8; 256];
        let mut length = info.len() as libc::socklen_t;
        let fd = socket.as_fd().as_raw_fd();
        // SAFETY: the kernel writes at most `length` bytes, which the buffer has.
        let status = unsafe {
            libc::getsockopt(fd, libc::IPPROTO_TCP, libc::TCP_INFO, info.as_mut_ptr().cast(), &raw mut length)
        };
        if status != 0 {
            return SenderCounts::default();
        }
        let word = |at: usize| u32::from_ne_bytes([info[at], info[at + 1], info[at + 2], info[at + 3]]);
        SenderCounts {
            retransmissions: word(TOTAL_RETRANS).into(),
            timeouts: u16::from_ne_bytes([info[TOTAL_RTO], info[TOTAL_RTO + 1]]).into(),
            marked: word(DELIVERED_CE).into(),
        }
    }
}

impl Sub for SenderCounts {
    type Output = SenderCounts;

    fn sub(self, before: SenderCounts) -> SenderCounts {
        SenderCounts {
            retransmissions: self.retransmissions - before.retransmissions,
            timeouts: self.timeouts - before.timeouts,
            marked: self.marked - before.marked,
        }
    }
}
