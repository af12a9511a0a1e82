// SPDX-License-Identifier: MIT OR Apache-2.0
//! Captures of frames (pcap).

use std::fs::File;
use std::io::{self, BufWriter, Write as _};
use std::path::{Path, PathBuf};
use std::time::Duration as StdDuration;

use marklab_pipeline::Packet;
use marklab_units::Time;
use pcap_file::pcap::{PcapHeader, PcapPacket, PcapWriter};
use pcap_file::{DataLink, PcapError, TsResolution};
use thiserror::Error;

/// A capture that cannot be written.
#[derive(Debug, Error)]
#[error("{}: {error}", path.display())]
pub struct CaptureError {
    path: PathBuf,
    error: io::Error,
}

/// A pcap file being written, with ns timestamps and whole frames.
pub struct CaptureFile {
    path: PathBuf,
    /// Timestamp of the clock's time 0.
    clock_start: StdDuration,
    writer: PcapWriter<BufWriter<File>>,
}

impl std::fmt::Debug for CaptureFile {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("CaptureFile").field("path", &self.path).finish_non_exhaustive()
    }
}

impl CaptureFile {
    /// Creates a file, or truncates it. Timestamps are the switch's time plus `clock_start`, the time of another clock
    /// at the switch's time 0.
    ///
    /// # Errors
    ///
    /// [`CaptureError`] if the file cannot be created.
    pub fn create(path: &Path, clock_start: StdDuration) -> Result<CaptureFile, CaptureError> {
        let header = PcapHeader {
            ts_resolution: TsResolution::NanoSecond,
            datalink: DataLink::ETHERNET,
            snaplen: 65_535,
            ..PcapHeader::default()
        };
        let failed = |error| CaptureError { path: path.to_owned(), error };
        let file = File::create(path).map_err(failed)?;
        let writer = PcapWriter::with_header(BufWriter::new(file), header).map_err(|error| failed(to_io(error)))?;
        Ok(CaptureFile { path: path.to_owned(), clock_start, writer })
    }

    /// Writes a frame that passed at time `now`.
    ///
    /// # Errors
    ///
    /// [`CaptureError`] if the file cannot be written.
    pub fn write(&mut self, now: Time, packet: &Packet) -> Result<(), CaptureError> {
        let timestamp = self.clock_start + StdDuration::from_nanos(now.nanos());
        let bytes = packet.to_vec();
        let record = PcapPacket::new(timestamp, packet.len() as u32, &bytes);
        let written = self.writer.write_packet(&record);
        written.map(|_| ()).map_err(|error| CaptureError { path: self.path.clone(), error: to_io(error) })
    }

    /// Writes the buffered frames and closes the file.
    ///
    /// # Errors
    ///
    /// [`CaptureError`] if the file cannot be written.
    pub fn finish(self) -> Result<(), CaptureError> {
        let CaptureFile { path, writer, .. } = self;
        writer.into_writer().flush().map_err(|error| CaptureError { path, error })
    }
}

fn to_io(error: PcapError) -> io::Error {
    match error {
        PcapError::IoError(error) => error,
        other => io::Error::other(other),
    }
}
