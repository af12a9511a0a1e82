//! Captures of frames.

use std::fs::File;
use std::io::{self, BufWriter};
use std::path::Path;
use std::time::Duration as StdDuration;

use marklab_pipeline::Packet;
use marklab_units::Time;
use pcap_file::pcap::{PcapHeader, PcapPacket, PcapWriter};
use pcap_file::{DataLink, TsResolution};

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
