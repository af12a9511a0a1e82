// SPDX-License-Identifier: MIT OR Apache-2.0
//! TCP end points without a network, for tests against other implementations.

use marklab_netsim::tcp::{AckEvent, AckPlan, CaState, Receiver, Sender};
use marklab_netsim::{Control, Transport};
use marklab_units::{Duration, Time};
use pyo3::prelude::*;

use crate::refuse;

/// Longest stream in bytes, and latest time in ns: sums of two stay within 64 bits.
const LARGEST: u64 = 1 << 62;

/// A segment to send: offset, length, whether it is a retransmission, carries CWR, and ends the data written so far.
type Outgoing = (u64, u32, bool, bool, bool);

/// An acknowledgement: the next expected byte, the echo, and the selectively acknowledged ranges.
type Ack = (u64, bool, Vec<(u64, u64)>);

/// The settings of TCP as described in JSON.
fn described(transport: &str) -> PyResult<Transport> {
    let transport: Transport =
        serde_json::from_str(transport).map_err(|error| refuse(format!("transport: {error}")))?;
    transport.check().map_err(|error| refuse(format!("transport: {error}")))?;
    if transport.control == Control::Dcqcn {
        return Err(refuse("transport: queue pairs are no TCP; choose another control"));
    }
    Ok(transport)
}

/// A clock that never goes back.
#[derive(Default)]
struct Clock(Time);

impl Clock {
    fn advance(&mut self, now_ns: u64) -> PyResult<Time> {
        let latest = self.0.nanos();
        if now_ns < latest || now_ns > LARGEST {
            return Err(refuse(format!("now_ns is {now_ns}; it must be between {latest}, the last call's, and 2^62")));
        }
        self.0 = Time::from_nanos(now_ns);
        Ok(self.0)
    }
}

/// The sending end of a connection that is established. Times are in ns and never go back, offsets count the bytes of
/// the stream.
#[pyclass(module = "marklab._engine")]
pub(crate) struct TcpSender {
    inner: Sender,
    clock: Clock,
}

#[pymethods]
impl TcpSender {
    /// A sender whose host has these settings: the JSON of `transport`, as for `simulate`.
    #[new]
    fn new(transport: &str) -> PyResult<TcpSender> {
        let transport = described(transport)?;
        Ok(TcpSender { inner: Sender::new(transport.sender(), transport.control(true)), clock: Clock::default() })
    }

    /// The application writes more bytes.
    fn write(&mut self, bytes: u64) -> PyResult<()> {
        if bytes > LARGEST - self.inner.written() {
            return Err(refuse(format!("bytes is {bytes}; a stream has at most 2^62")));
        }
        self.inner.write(bytes);
        Ok(())
    }

    /// The next segment, if window and data allow one: offset, length, whether it is a retransmission, whether it
    /// carries CWR, and whether it ends the data written so far.
    fn next_segment(&mut self, now_ns: u64) -> PyResult<Option<Outgoing>> {
        let outgoing = self.inner.next_segment(self.clock.advance(now_ns)?);
        Ok(outgoing.map(|segment| (segment.offset, segment.len, segment.retransmission, segment.cwr, segment.last)))
    }

    /// An acknowledgement arrives. `sacks` are ranges `(start, end)`; `one_way_ns` is the delay of the acknowledged data,
    /// if it is measured.
    #[pyo3(signature = (now_ns, ack, sacks, ece, one_way_ns = None))]
    fn on_ack(
        &mut self,
        now_ns: u64,
        ack: u64,
        sacks: Vec<(u64, u64)>,
        ece: bool,
        one_way_ns: Option<u64>,
    ) -> PyResult<()> {
        if let Some((start, end)) = sacks.iter().find(|(start, end)| start >= end) {
            return Err(refuse(format!("sacks has {start}..{end}, which is empty")));
        }
        let now = self.clock.advance(now_ns)?;
        self.inner.on_ack(now, AckEvent { ack, sacks: &sacks, ece, one_way: one_way_ns.map(Duration::from_nanos) });
        Ok(())
    }

    /// The deadline has passed.
    fn on_timeout(&mut self, now_ns: u64) -> PyResult<()> {
        let now = self.clock.advance(now_ns)?;
        if self.inner.deadline().is_none_or(|deadline| now < deadline) {
            return Err(refuse(format!("the deadline is not due at {now_ns} ns")));
        }
        self.inner.on_timeout(now);
        Ok(())
    }

    /// When `on_timeout` is due, unless an acknowledgement arrives before.
    #[getter]
    fn deadline_ns(&self) -> Option<u64> {
        self.inner.deadline().map(Time::nanos)
    }

    /// Congestion window in bytes.
    #[getter]
    fn cwnd(&self) -> u64 {
        self.inner.window().cwnd
    }

    /// Slow-start threshold in bytes; None before the first reduction.
    #[getter]
    fn ssthresh(&self) -> Option<u64> {
        Some(self.inner.window().ssthresh).filter(|&ssthresh| ssthresh < u64::MAX)
    }

    /// First unacknowledged byte.
    #[getter]
    fn snd_una(&self) -> u64 {
        self.inner.snd_una()
    }

    /// Next new byte.
    #[getter]
    fn snd_nxt(&self) -> u64 {
        self.inner.snd_nxt()
    }

    /// Estimate of the bytes in the network.
    #[getter]
    fn pipe(&self) -> u64 {
        self.inner.pipe()
    }

    /// `open`, `disorder`, `cwr`, `recovery` or `loss`, as Linux calls them.
    #[getter]
    fn state(&self) -> &'static str {
        match self.inner.state() {
            CaState::Open => "open",
            CaState::Disorder => "disorder",
            CaState::Cwr => "cwr",
            CaState::Recovery => "recovery",
            CaState::Loss => "loss",
        }
    }

    /// DCTCP's alpha, or None.
    #[getter]
    fn alpha(&self) -> Option<f64> {
        self.inner.control().alpha()
    }
}

/// The receiving end of a connection.
#[pyclass(module = "marklab._engine")]
pub(crate) struct TcpReceiver {
    inner: Receiver,
    clock: Clock,
}

impl TcpReceiver {
    /// An acknowledgement as a host sends it.
    fn ack(&self, next: u64, ece: bool) -> Ack {
        (next, ece, self.inner.sack_blocks().as_slice().to_vec())
    }
}

#[pymethods]
impl TcpReceiver {
    /// A receiver whose host has these settings: the JSON of `transport`, as for `simulate`.
    #[new]
    fn new(transport: &str) -> PyResult<TcpReceiver> {
        Ok(TcpReceiver { inner: Receiver::new(described(transport)?.receiver(true)), clock: Clock::default() })
    }

    /// A segment arrives; `ce` is congestion experienced. Returns the acknowledgements to send now, in this order: next
    /// expected byte, echo, and selectively acknowledged ranges.
    fn on_segment(&mut self, now_ns: u64, offset: u64, len: u32, ce: bool, cwr: bool) -> PyResult<Vec<Ack>> {
        if len == 0 || offset > LARGEST {
            return Err(refuse(format!("a segment of {len} bytes from {offset} is empty or beyond 2^62")));
        }
        let AckPlan { earlier, now } = self.inner.on_segment(self.clock.advance(now_ns)?, offset, len, ce, cwr);
        let now = now.map(|ece| (self.inner.rcv_nxt(), ece));
        Ok(earlier.into_iter().chain(now).map(|(next, ece)| self.ack(next, ece)).collect())
    }

    /// The deadline has passed. Returns the acknowledgement to send.
    fn on_ack_timer(&mut self, now_ns: u64) -> PyResult<Ack> {
        let now = self.clock.advance(now_ns)?;
        if self.inner.deadline().is_none_or(|deadline| now < deadline) {
            return Err(refuse(format!("the deadline is not due at {now_ns} ns")));
        }
        let ece = self.inner.on_ack_timer();
        Ok(self.ack(self.inner.rcv_nxt(), ece))
    }

    /// When `on_ack_timer` is due, unless an acknowledgement is sent before.
    #[getter]
    fn deadline_ns(&self) -> Option<u64> {
        self.inner.deadline().map(Time::nanos)
    }

    /// Next expected byte.
    #[getter]
    fn rcv_nxt(&self) -> u64 {
        self.inner.rcv_nxt()
    }
}
