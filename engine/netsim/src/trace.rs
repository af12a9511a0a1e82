//! Records of a queue over time, and captures of frames.

use std::fs::File;
use std::io::{self, BufWriter};
use std::path::Path;
use std::time::Duration as StdDuration;

use marklab_pipeline::Packet;
use marklab_tm::Depth;
use marklab_units::{Duration, Time};
use pcap_file::pcap::{PcapHeader, PcapPacket, PcapWriter};
use pcap_file::{DataLink, TsResolution};

/// A queue during one interval in which something happened.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct TraceRow {
    /// Start of the interval.
    pub time: Time,
    /// Content at the end of the interval.
    pub last: Depth,
    /// Largest number of packets during the interval.
    pub max_packets: u64,
    /// Longest sojourn among packets that left in the interval.
    pub max_sojourn: Duration,
    /// Packets that left in the interval.
    pub departed: u64,
    /// Packets marked among these.
    pub marked: u64,
}

/// Rows of one queue, oldest first. Between rows the queue stays as it was.
#[derive(Clone, Debug)]
pub struct QueueTrace {
    interval: Duration,
    rows: Vec<TraceRow>,
}

impl QueueTrace {
    pub(crate) fn new(interval_ns: u64) -> QueueTrace {
        QueueTrace { interval: Duration::from_nanos(interval_ns.max(1)), rows: Vec::new() }
    }

    /// The rows.
    pub fn rows(&self) -> &[TraceRow] {
        &self.rows
    }

    fn row(&mut self, now: Time, depth: Depth) -> &mut TraceRow {
        let start = now.nanos() - now.nanos() % self.interval.nanos();
        let time = Time::from_nanos(start);
        if self.rows.last().is_none_or(|row| row.time != time) {
            let before = self.rows.last().map_or(0, |row| row.last.packets);
            self.rows.push(TraceRow {
                time,
                last: depth,
                max_packets: before,
                max_sojourn: Duration::ZERO,
                departed: 0,
                marked: 0,
            });
        }
        let at = self.rows.len() - 1;
        let row = &mut self.rows[at];
        row.last = depth;
        row.max_packets = row.max_packets.max(depth.packets);
        row
    }

    /// A packet came; the queue now holds `depth`.
    pub(crate) fn arrived(&mut self, now: Time, depth: Depth) {
        self.row(now, depth);
    }

    /// A packet left after `sojourn`; the queue now holds `depth`.
    pub(crate) fn departed(&mut self, now: Time, depth: Depth, sojourn: Duration, marked: bool) {
        let row = self.row(now, depth);
        row.max_sojourn = row.max_sojourn.max(sojourn);
        row.departed += 1;
        row.marked += u64::from(marked);
    }
}

/// A pcap file being written, with ns timestamps and whole frames.
pub(crate) struct CaptureFile {
    writer: PcapWriter<BufWriter<File>>,
}

impl CaptureFile {
    pub(crate) fn create(path: &Path) -> io::Result<CaptureFile> {
        let header = PcapHeader {
            ts_resolution: TsResolution::NanoSecond,
            datalink: DataLink::ETHERNET,
            snaplen: 65_535,
            ..PcapHeader::default()
        };
        let writer = PcapWriter::with_header(BufWriter::new(File::create(path)?), header).map_err(to_io)?;
        Ok(CaptureFile { writer })
    }

    pub(crate) fn write(&mut self, now: Time, packet: &Packet) -> io::Result<()> {
        let timestamp = StdDuration::from_nanos(now.nanos());
        let bytes = packet.to_vec();
        let record = PcapPacket::new(timestamp, packet.len() as u32, &bytes);
        self.writer.write_packet(&record).map(|_| ()).map_err(to_io)
    }

    /// Writes out what is left.
    pub(crate) fn finish(self) -> io::Result<()> {
        use std::io::Write as _;
        self.writer.into_writer().flush()
    }
}

fn to_io(error: pcap_file::PcapError) -> io::Error {
    match error {
        pcap_file::PcapError::IoError(error) => error,
        other => io::Error::other(other),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_row_sums_up_its_interval() {
        let mut trace = QueueTrace::new(100);
        let at = Time::from_nanos;
        let depth = |packets| Depth { packets, bytes: packets * 10 };
        trace.arrived(at(10), depth(1));
        trace.arrived(at(20), depth(2));
        trace.departed(at(30), depth(1), Duration::from_nanos(20), true);
        trace.departed(at(250), depth(0), Duration::from_nanos(230), false);
        let rows: Vec<_> =
            trace.rows().iter().map(|row| (row.time.nanos(), row.last.packets, row.max_packets, row.marked)).collect();
        assert_eq!(rows, [(0, 1, 2, 1), (200, 0, 1, 0)]);
        assert_eq!(trace.rows()[1].max_sojourn.nanos(), 230);
    }
}
