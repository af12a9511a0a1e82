// SPDX-License-Identifier: MIT OR Apache-2.0
//! Frames of a Linux interface. They are received by a ring in memory shared with the kernel (packet(7),
//! "PACKET_MMAP"), and sent by calls that take many at once.
//!
//! A ring for sending would not save a copy: if the other end of the interface is on this machine, the kernel copies
//! each frame out of the ring into separate pages, which costs more than copying it from here.

#![expect(unsafe_code, reason = "memory that the kernel writes to")]

use std::ffi::CString;
use std::io::{self, IoSlice};
use std::mem::{offset_of, size_of};
use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::os::linux::net::SocketAddrExt as _;
use std::os::unix::net::{SocketAddr, UnixDatagram};
use std::ptr::{self, NonNull};
use std::sync::atomic::{AtomicU32, Ordering};

use marklab_pipeline::Packet;
use rustix::mm::{self, MapFlags, ProtFlags};
use rustix::net::{self, AddressFamily, MMsgHdr, SendAncillaryBuffer, SendFlags, SocketFlags, SocketType};

use crate::port::{Port, PortError, Source, Unsent};

/// Bytes of a slot: the kernel's header, a full Ethernet frame with 1,500 bytes of payload, and some room.
const SLOT: usize = 2_048;
/// Slots of the ring.
const SLOTS: usize = 4_096;
/// Bytes of a block, the unit in which the kernel allocates the ring.
const BLOCK: usize = 1 << 16;
const RING: usize = SLOT * SLOTS;

/// Frames that are sent by one call.
const SEND_BATCH: usize = 64;
/// Size of the send buffer. The other end takes frames at once unless the machine is busy.
const SEND_BYTES: libc::c_int = 1 << 26;

/// Options of <linux/if_packet.h>, at level SOL_PACKET.
const QDISC_BYPASS: i32 = 20;
const IGNORE_OUTGOING: i32 = 23;

/// An interface, by a packet socket with a ring for received frames.
#[derive(Debug)]
pub struct PacketSocket {
    name: String,
    index: i32,
    socket: OwnedFd,
    /// Keeps other switches from the interface as long as the process lives.
    _claim: UnixDatagram,
    memory: NonNull<u8>,
    receive_at: usize,
    /// Frames to be sent, the first `taken` of them.
    outgoing: Vec<Packet>,
    taken: usize,
    unsent: Unsent,
    offloaded: u64,
}

// SAFETY: the memory belongs to the socket, and both have one owner.
unsafe impl Send for PacketSocket {}

impl PacketSocket {
    /// Opens an interface, in promiscuous mode.
    ///
    /// # Errors
    ///
    /// There is no such interface, it is a port of another switch, or the system refuses because CAP_NET_RAW or memory
    /// for a ring of 8 MiB is missing.
    pub fn open(interface: &str) -> Result<PacketSocket, PortError> {
        let refused = |what, error| PortError::System { interface: interface.to_owned(), what, error };
        let failed = |what| refused(what, io::Error::last_os_error());
        let index = index_of(interface).ok_or_else(|| PortError::NoInterface(interface.to_owned()))?;
        let claim = claim(interface, index)?;
        // Without a protocol no frame is received before the socket is bound.
        let socket = net::socket_with(AddressFamily::PACKET, SocketType::RAW, SocketFlags::CLOEXEC, None)
            .map_err(|error| refused("packet socket (needs root or CAP_NET_RAW)", error.into()))?;
        let ring = libc::tpacket_req {
            tp_block_size: BLOCK as u32,
            tp_block_nr: (RING / BLOCK) as u32,
            tp_frame_size: SLOT as u32,
            tp_frame_nr: SLOTS as u32,
        };
        let version = libc::tpacket_versions::TPACKET_V2 as i32;
        let promiscuous = libc::packet_mreq {
            mr_ifindex: index,
            mr_type: libc::PACKET_MR_PROMISC as u16,
            mr_alen: 0,
            mr_address: [0; 8],
        };
        set(&socket, libc::PACKET_VERSION, &version).map_err(|()| failed("ring of version 2"))?;
        set(&socket, libc::PACKET_RX_RING, &ring).map_err(|()| failed("receive ring"))?;
        set(&socket, QDISC_BYPASS, &1i32).map_err(|()| failed("bypassing the queueing discipline"))?;
        set(&socket, IGNORE_OUTGOING, &1i32).map_err(|()| failed("ignoring outgoing frames"))?;
        // Without the permission for it the buffer keeps its size, which is enough for little traffic.
        let _ = set_of(&socket, libc::SOL_SOCKET, libc::SO_SNDBUFFORCE, &SEND_BYTES);
        set(&socket, libc::PACKET_ADD_MEMBERSHIP, &promiscuous).map_err(|()| failed("promiscuous mode"))?;
        // SAFETY: a new mapping; the kernel checks the size against the ring.
        let mapped = unsafe {
            let (protection, flags) = (ProtFlags::READ | ProtFlags::WRITE, MapFlags::SHARED | MapFlags::POPULATE);
            mm::mmap(ptr::null_mut(), RING, protection, flags, &socket, 0)
        };
        let memory = mapped.map_err(|error| refused("memory of the ring", error.into()))?;
        let memory = NonNull::new(memory.cast()).ok_or_else(|| failed("memory of the ring"))?;
        let outgoing = vec![Packet::default(); SEND_BATCH];
        let opened = PacketSocket {
            name: interface.to_owned(),
            index,
            socket,
            _claim: claim,
            memory,
            receive_at: 0,
            outgoing,
            taken: 0,
            unsent: Unsent::default(),
            offloaded: 0,
        };
        opened.bind(index).map_err(|()| failed("binding"))?;
        Ok(opened)
    }

    fn bind(&self, index: i32) -> Result<(), ()> {
        // SAFETY: all bytes 0 is a valid address.
        let mut address: libc::sockaddr_ll = unsafe { std::mem::zeroed() };
        address.sll_family = libc::AF_PACKET as u16;
        address.sll_protocol = (libc::ETH_P_ALL as u16).to_be();
        address.sll_ifindex = index;
        let length = size_of::<libc::sockaddr_ll>() as u32;
        // SAFETY: the pointer is to a live address of that length.
        let bound = unsafe { libc::bind(self.socket.as_raw_fd(), ptr::from_ref(&address).cast(), length) };
        if bound == 0 { Ok(()) } else { Err(()) }
    }

    fn slot(&self, number: usize) -> Slot {
        debug_assert!(number < SLOTS);
        // SAFETY: the slot lies in the mapping.
        Slot(unsafe { self.memory.add(number * SLOT) })
    }

    /// Sends the taken frames.
    fn send_all(&mut self) {
        let frames = &self.outgoing[..self.taken];
        let parts: Vec<_> = frames.iter().map(|frame| [IoSlice::new(frame.stored())]).collect();
        let mut controls: [_; SEND_BATCH] = std::array::from_fn(|_| SendAncillaryBuffer::default());
        let headers = parts.iter().zip(&mut controls).map(|(part, control)| MMsgHdr::new(part, control));
        let mut headers: Vec<_> = headers.collect();
        let mut next = 0;
        while next < frames.len() {
            match net::sendmmsg(&self.socket, &mut headers[next..], SendFlags::DONTWAIT) {
                Ok(sent) if sent > 0 => next += sent,
                _ => {
                    // The first of them cannot be sent.
                    self.unsent.add(&frames[next]);
                    next += 1;
                }
            }
        }
        self.taken = 0;
    }
}

impl Drop for PacketSocket {
    fn drop(&mut self) {
        // SAFETY: the mapping is ours, and nothing refers to it any more.
        let _ = unsafe { mm::munmap(self.memory.as_ptr().cast(), RING) };
    }
}

impl Port for PacketSocket {
    fn receive(&mut self, budget: usize, take: &mut dyn FnMut(&[u8])) -> usize {
        for count in 0..budget {
            let slot = self.slot(self.receive_at);
            let status = slot.status().load(Ordering::Acquire);
            if status & libc::TP_STATUS_USER == 0 {
                return count;
            }
            let whole = slot.with_frame(status, take);
            self.offloaded += u64::from(!whole || status & libc::TP_STATUS_CSUMNOTREADY != 0);
            slot.status().store(libc::TP_STATUS_KERNEL, Ordering::Release);
            self.receive_at = (self.receive_at + 1) % SLOTS;
        }
        budget
    }

    fn send(&mut self, frame: &mut Packet) {
        std::mem::swap(frame, &mut self.outgoing[self.taken]);
        self.taken += 1;
        if self.taken == SEND_BATCH {
            self.send_all();
        }
    }

    fn flush(&mut self) -> Unsent {
        if self.taken > 0 {
            self.send_all();
        }
        std::mem::take(&mut self.unsent)
    }

    fn source(&self) -> Source<'_> {
        Source::Readable(self.socket.as_fd())
    }

    fn failed(&mut self) -> Option<PortError> {
        // An interface that is down may come back. So the socket's error is only cleared, or it would be signalled
        // again.
        let _ = net::sockopt::socket_error(&self.socket);
        (index_of(&self.name) != Some(self.index)).then(|| PortError::Gone(self.name.clone()))
    }

    fn missed(&mut self) -> u64 {
        let mut statistics = libc::tpacket_stats { tp_packets: 0, tp_drops: 0 };
        let mut length = size_of::<libc::tpacket_stats>() as libc::socklen_t;
        // SAFETY: the pointers are to live values of the right types.
        let done = unsafe {
            let statistics = ptr::from_mut(&mut statistics).cast();
            libc::getsockopt(
                self.socket.as_raw_fd(),
                libc::SOL_PACKET,
                libc::PACKET_STATISTICS,
                statistics,
                &mut length,
            )
        };
        if done == 0 { statistics.tp_drops.into() } else { 0 }
    }

    fn offloaded(&self) -> u64 {
        self.offloaded
    }
}

/// A slot of a ring: a header of version 2, then the frame. The status shows whether the kernel or the user owns it.
#[derive(Clone, Copy)]
struct Slot(NonNull<u8>);

impl Slot {
    fn status(&self) -> &AtomicU32 {
        // SAFETY: slots are aligned; the status is shared with the kernel and only read and written as an atomic.
        unsafe { AtomicU32::from_ptr(self.0.as_ptr().add(offset_of!(libc::tpacket2_hdr, tp_status)).cast()) }
    }

    /// Passes on a received frame, with the VLAN tag that the kernel has removed. Returns false if the frame is larger
    /// than the slot, so that a part is missing.
    fn with_frame(self, status: u32, take: &mut dyn FnMut(&[u8])) -> bool {
        // SAFETY: the status says that the slot is ours: the header is written, and the frame lies in the slot.
        let (header, frame) = unsafe {
            let header = ptr::read(self.0.as_ptr().cast::<libc::tpacket2_hdr>());
            let length = (header.tp_snaplen as usize).min(SLOT - usize::from(header.tp_mac));
            (header, std::slice::from_raw_parts(self.0.as_ptr().add(header.tp_mac.into()), length))
        };
        if header.tp_len as usize > frame.len() {
            return false;
        }
        if status & libc::TP_STATUS_VLAN_VALID == 0 || frame.len() < 12 {
            take(frame);
            return true;
        }
        let tag_type = if status & libc::TP_STATUS_VLAN_TPID_VALID == 0 { 0x8100 } else { header.tp_vlan_tpid };
        let mut tagged = Vec::with_capacity(frame.len() + 4);
        tagged.extend_from_slice(&frame[..12]);
        tagged.extend_from_slice(&tag_type.to_be_bytes());
        tagged.extend_from_slice(&header.tp_vlan_tci.to_be_bytes());
        tagged.extend_from_slice(&frame[12..]);
        take(&tagged);
        true
    }
}

/// Reserves an interface for one switch. The name belongs to the network namespace, as the interface's number does, and
/// the system releases it at the end of the process.
fn claim(interface: &str, index: i32) -> Result<UnixDatagram, PortError> {
    let failed =
        |error| PortError::System { interface: interface.to_owned(), what: "reserving it for this switch", error };
    let address = SocketAddr::from_abstract_name(format!("marklab-switch-{index}")).map_err(failed)?;
    UnixDatagram::bind_addr(&address).map_err(|error| match error.kind() {
        io::ErrorKind::AddrInUse => PortError::Taken(interface.to_owned()),
        _ => failed(error),
    })
}

fn index_of(interface: &str) -> Option<i32> {
    let name = CString::new(interface).ok()?;
    // SAFETY: the name ends with a zero.
    let index = unsafe { libc::if_nametoindex(name.as_ptr()) };
    (index > 0).then_some(index as i32)
}

fn set<T>(socket: &OwnedFd, option: i32, value: &T) -> Result<(), ()> {
    set_of(socket, libc::SOL_PACKET, option, value)
}

fn set_of<T>(socket: &OwnedFd, level: i32, option: i32, value: &T) -> Result<(), ()> {
    let length = size_of::<T>() as libc::socklen_t;
    // SAFETY: the pointer is to a live value of that length.
    let done = unsafe { libc::setsockopt(socket.as_raw_fd(), level, option, ptr::from_ref(value).cast(), length) };
    if done == 0 { Ok(()) } else { Err(()) }
}
