//! What travels over links: a packet, and what the simulator keeps with it.

use marklab_pipeline::Packet;
use marklab_switch::Frame;
use marklab_tm::Chains;
use marklab_units::Time;

use crate::wire::Ecn;

/// A packet on its way through a [`crate::Network`]. The connection is only a hint where to look: hosts check the headers.
#[derive(Clone, Debug)]
#[repr(C, align(64))]
pub struct NetFrame {
    pub(crate) packet: Packet,
    /// Connection that sent it.
    pub(crate) connection: u32,
    /// Whether the connection's client sent it.
    pub(crate) from_client: bool,
    /// Its ECN field when it came to the switch it is in.
    pub(crate) arrived_as: Option<Ecn>,
}

impl Frame for Box<NetFrame> {
    fn packet(&mut self) -> &mut Packet {
        &mut self.packet
    }

    fn duplicate(&self) -> Box<NetFrame> {
        self.clone()
    }
}

/// Frames with the time at which they move on.
pub(crate) type Delayed = Chains<(Time, Box<NetFrame>)>;

/// Frames out of use, whose memory is used again.
#[derive(Debug, Default)]
pub(crate) struct FramePool {
    #[expect(clippy::vec_box, reason = "frames travel boxed, so that moving them is cheap")]
    spare: Vec<Box<NetFrame>>,
}

impl FramePool {
    /// A frame with whatever it held before.
    pub(crate) fn take(&mut self, connection: u32, from_client: bool) -> Box<NetFrame> {
        match self.spare.pop() {
            Some(mut frame) => {
                frame.connection = connection;
                frame.from_client = from_client;
                frame
            }
            None => Box::new(NetFrame { packet: Packet::default(), connection, from_client, arrived_as: None }),
        }
    }

    /// Takes a frame back.
    pub(crate) fn give(&mut self, frame: Box<NetFrame>) {
        self.spare.push(frame);
    }
}

// Two cache lines, so that frames in queues stay in the cache next to the core.
const _: () = assert!(size_of::<NetFrame>() == 128);
