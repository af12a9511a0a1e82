// SPDX-License-Identifier: MIT OR Apache-2.0
//! Captures with comments (pcapng).

use std::borrow::Cow;
use std::fs::File;
use std::io::{BufWriter, Write as _};
use std::path::PathBuf;
use std::time::Duration;

use pcap_file::pcapng::PcapNgWriter;
use pcap_file::pcapng::blocks::enhanced_packet::{EnhancedPacketBlock, EnhancedPacketOption};
use pcap_file::pcapng::blocks::interface_description::{InterfaceDescriptionBlock, InterfaceDescriptionOption};
use pcap_file::{DataLink, PcapError};
use pyo3::exceptions::PyOSError;
use pyo3::prelude::*;

/// Times in ns: the exponent of ten, negated.
const NANOSECONDS: u8 = 9;

/// Time in ns, index of the interface, stored bytes, length on the line, and comment.
type Packet = (u64, u32, Vec<u8>, u32, String);

/// Writes packets with comments and the names of interfaces, as a pcapng file. Raises OSError if it cannot be written.
#[pyfunction]
pub(crate) fn write_comments(path: PathBuf, interfaces: Vec<String>, packets: Vec<Packet>) -> PyResult<()> {
    let failed = |error: PcapError| PyOSError::new_err(format!("{}: {error}", path.display()));
    let file = File::create(&path).map_err(|error| failed(PcapError::IoError(error)))?;
    let mut writer = PcapNgWriter::new(BufWriter::new(file)).map_err(failed)?;
    for name in interfaces {
        let options = vec![
            InterfaceDescriptionOption::IfName(Cow::Owned(name)),
            InterfaceDescriptionOption::IfTsResol(NANOSECONDS),
        ];
        let interface = InterfaceDescriptionBlock { linktype: DataLink::ETHERNET, snaplen: 0, options };
        writer.write_pcapng_block(interface).map_err(failed)?;
    }
    for (ns, interface_id, data, original_len, comment) in packets {
        let packet = EnhancedPacketBlock {
            interface_id,
            timestamp: Duration::from_nanos(ns),
            original_len,
            data: Cow::Owned(data),
            options: vec![EnhancedPacketOption::Comment(Cow::Owned(comment))],
        };
        writer.write_pcapng_block(packet).map_err(failed)?;
    }
    writer.into_inner().flush().map_err(|error| failed(PcapError::IoError(error)))
}
