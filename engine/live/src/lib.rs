// SPDX-License-Identifier: MIT OR Apache-2.0
//! A switch in real time.
//!
//! [`LiveSwitch`] drives the pipeline and the traffic manager of the simulator between [`Port`]s, which receive and
//! send real frames. It owns no clock: the caller of [`LiveSwitch::step`] passes the time, and gets the time of the
//! next call. [`Runner`] does so in a thread, by the monotonic clock, and runs commands of a control plane between two
//! steps.
//!
//! A port with a rate is a line, as in the simulator: a frame that leaves its queue occupies the line for its
//! transmission time, then travels for the line's delay, and is handed to the port when its last bit has arrived.
//! Events have the times at which they were due, however late the loop wakes; [`Lateness`] counts by how much. Records
//! are those of the simulator ([`marklab_observe`]).

mod clock;
mod delay;
mod lateness;
mod line;
mod packet_socket;
mod port;
mod report;
mod runner;
mod switch;

pub use clock::Clock;
pub use delay::{Delays, FIRST_TTL};
pub use lateness::Lateness;
pub use line::{LineConfig, LineStats};
pub use marklab_units::Framing;
pub use packet_socket::PacketSocket;
pub use port::{Mailbox, MailboxEnd, Memory, MemoryEnd, Port, PortError, Source, Unsent};
pub use report::{PortReport, Reason, Report};
pub use runner::{Runner, Stopped};
pub use switch::{Failure, LiveFrame, LiveSwitch};
