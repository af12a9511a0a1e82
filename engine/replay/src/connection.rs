// SPDX-License-Identifier: MIT OR Apache-2.0
//! One TCP connection, and the message on it.

use std::os::fd::{AsFd, AsRawFd, BorrowedFd};
use std::time::Duration;

use rustix::fd::OwnedFd;
use rustix::io::{self, Errno};
use rustix::net::{RecvFlags, SendFlags, recv, send, sockopt};

use crate::message::{HEADER_BYTES, Header};
use crate::poller::{Interest, Poller};
use crate::tcp_info::SenderCounts;

/// Bytes per system call: so many that the cost of a call is negligible, and so few that the zeros stay in the cache.
const CHUNK_BYTES: usize = 64 << 10;

/// System calls for one connection before the next connection's turn.
const CALLS_PER_TURN: u32 = 8;

/// Bytes of messages after their headers, and the target of received bytes. It is never read back, so all connections
/// share it.
pub(crate) struct Filler(Box<[u8; CHUNK_BYTES]>);

impl Filler {
    pub(crate) fn new() -> Filler {
        Filler(Box::new([0; CHUNK_BYTES]))
    }
}

struct Outgoing {
    header: Header,
    sent: u64,
}

#[derive(Default)]
struct Incoming {
    bytes: [u8; HEADER_BYTES],
    /// The header, once all of it has arrived.
    header: Option<Header>,
    received: u64,
}

pub(crate) struct Connection {
    socket: OwnedFd,
    token: usize,
    /// The event that the poller waits for.
    awaited: Interest,
    /// Code point of sent packets.
    dscp: u8,
    /// TTL of sent packets; 0 is the kernel's default.
    ttl: u8,
    outgoing: Option<Outgoing>,
    incoming: Incoming,
}

impl AsFd for Connection {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }
}

impl Connection {
    /// Takes a non-blocking socket; the poller reports its events under `token`.
    pub(crate) fn new(socket: OwnedFd, poller: &Poller, token: usize, awaited: Interest) -> io::Result<Connection> {
        // A flow's last segment must not wait for the acknowledgement of the one before it (Nagle).
        sockopt::set_tcp_nodelay(&socket, true)?;
        // An abandoned connection must not go on sending, because it would keep its namespace alive. On a finished
        // connection, a receipt has acknowledged all data.
        sockopt::set_socket_linger(&socket, Some(Duration::ZERO))?;
        poller.add(&socket, token, awaited)?;
        Ok(Connection { socket, token, awaited, dscp: 0, ttl: 0, outgoing: None, incoming: Incoming::default() })
    }

    /// Sets the code point of packets that are sent from now on. Linux keeps control of a TCP socket's ECN bits.
    pub(crate) fn set_dscp(&mut self, dscp: u8) -> io::Result<()> {
        if dscp != self.dscp {
            sockopt::set_ip_tos(&self.socket, dscp << 2)?;
            self.dscp = dscp;
        }
        Ok(())
    }

    /// Sets the TTL of packets that are sent from now on; 0 is the kernel's default.
    pub(crate) fn set_ttl(&mut self, ttl: u8) -> io::Result<()> {
        if ttl != self.ttl {
            // By ip(7), -1 restores the default.
            set_ip_ttl(&self.socket, if ttl == 0 { -1 } else { ttl.into() })?;
            self.ttl = ttl;
        }
        Ok(())
    }

    /// The kernel's counts of the segments that it has sent so far.
    pub(crate) fn sender_counts(&self) -> SenderCounts {
        SenderCounts::of(&self.socket)
    }

    /// Why connecting or sending failed, if it did.
    pub(crate) fn error(&self) -> io::Result<()> {
        sockopt::socket_error(&self.socket)?
    }

    pub(crate) fn interest(&self) -> Interest {
        if self.outgoing.is_some() { Interest::Write } else { Interest::Read }
    }

    /// Tells the poller which event the connection now waits for.
    pub(crate) fn follow(&mut self, poller: &Poller) -> io::Result<()> {
        let interest = self.interest();
        if interest != self.awaited {
            poller.modify(&self.socket, self.token, interest)?;
            self.awaited = interest;
        }
        Ok(())
    }

    /// Begins a message, which [`Connection::write`] writes.
    pub(crate) fn begin(&mut self, header: Header) {
        self.outgoing = Some(Outgoing { header, sent: 0 });
    }

    /// Writes as much as TCP takes now. Returns the bytes of the message that TCP has taken so far.
    pub(crate) fn write(&mut self, filler: &mut Filler) -> io::Result<u64> {
        let Some(outgoing) = &mut self.outgoing else { return Ok(0) };
        let total = outgoing.header.message_bytes();
        for _ in 0..CALLS_PER_TURN {
            match outgoing.write(&self.socket, total, filler) {
                Ok(sent) => outgoing.sent += sent as u64,
                Err(Errno::AGAIN) => break,
                Err(Errno::INTR) => {}
                Err(error) => return Err(error),
            }
            if outgoing.sent == total {
                self.outgoing = None;
                return Ok(total);
            }
        }
        Ok(outgoing.sent)
    }

    /// Continues to read. Returns the header of a message that is now complete.
    ///
    /// # Errors
    /// `CONNRESET` if the other end has closed, `PROTO` if it sent anything but a message, or the kernel's error.
    pub(crate) fn read(&mut self, filler: &mut Filler) -> io::Result<Option<Header>> {
        for _ in 0..CALLS_PER_TURN {
            match self.incoming.read(&self.socket, filler) {
                Ok(0) => return Err(Errno::CONNRESET),
                Ok(count) => self.incoming.received += count as u64,
                Err(Errno::AGAIN) => break,
                Err(Errno::INTR) => continue,
                Err(error) => return Err(error),
            }
            if self.incoming.received == HEADER_BYTES as u64 {
                let header = Header::decode(&self.incoming.bytes).ok_or(Errno::PROTO)?;
                self.incoming.header = Some(header);
                // Packets in return, including acknowledgements, have the flow's class, as in `netsim`.
                self.set_dscp(header.dscp)?;
            }
            if let Some(header) = self.incoming.header.filter(|it| it.message_bytes() == self.incoming.received) {
                self.incoming = Incoming::default();
                return Ok(Some(header));
            }
        }
        Ok(None)
    }

    /// The message that is being received, if its header has arrived, and the bytes received so far.
    pub(crate) fn incoming(&self) -> Option<(Header, u64)> {
        self.incoming.header.map(|header| (header, self.incoming.received))
    }
}

/// Sets the TTL; the function of rustix does not take -1.
#[expect(unsafe_code, reason = "system call")]
fn set_ip_ttl(socket: &OwnedFd, ttl: libc::c_int) -> io::Result<()> {
    let length = size_of::<libc::c_int>() as libc::socklen_t;
    // SAFETY: the pointer is to a live value of that length.
    let status = unsafe {
        libc::setsockopt(socket.as_raw_fd(), libc::IPPROTO_IP, libc::IP_TTL, (&raw const ttl).cast(), length)
    };
    if status == 0 {
        Ok(())
    } else {
        Err(Errno::from_io_error(&std::io::Error::last_os_error()).unwrap_or(Errno::INVAL))
    }
}

impl Outgoing {
    fn write(&self, socket: &OwnedFd, total: u64, filler: &mut Filler) -> io::Result<usize> {
        let left = total - self.sent;
        let bytes = &mut filler.0[..left.min(CHUNK_BYTES as u64) as usize];
        let unsent = &self.header.encode()[self.sent.min(HEADER_BYTES as u64) as usize..];
        bytes[..unsent.len()].copy_from_slice(unsent);
        // Without `MORE`, every chunk would end with a segment boundary.
        let more = if left > CHUNK_BYTES as u64 { SendFlags::MORE } else { SendFlags::empty() };
        let sent = send(socket, bytes, SendFlags::NOSIGNAL | more);
        bytes[..unsent.len()].fill(0);
        sent
    }
}

impl Incoming {
    fn read(&mut self, socket: &OwnedFd, filler: &mut Filler) -> io::Result<usize> {
        match self.header {
            None => Ok(recv(socket, &mut self.bytes[self.received as usize..], RecvFlags::empty())?.0),
            Some(header) => {
                let left = (header.message_bytes() - self.received).min(CHUNK_BYTES as u64) as usize;
                // With this flag, TCP drops the bytes without copying them (tcp(7), MSG_TRUNC).
                Ok(recv(socket, &mut filler.0[..left], RecvFlags::TRUNC)?.0)
            }
        }
    }
}
