// SPDX-License-Identifier: MIT OR Apache-2.0
//! Hash and checksum algorithms of v1model and TNA, over whole bytes.
//!
//! Parameters are those of BMv2 (`src/bm_sim/calculations.cpp`). The input is the concatenation of the fields, most
//! significant bit first, padded with zeros at the end to a whole byte.

use crc::{CRC_16_ARC, Crc, Table};
use marklab_p4::ir::{Crc as CrcParameters, DataField, HashAlgorithm};

static CRC16: Crc<u16, Table<16>> = Crc::<u16, Table<16>>::new(&CRC_16_ARC);

/// `CRC32[k][b]`: effect of a byte `b` that `k` others follow.
static CRC32: [[u32; 256]; 4] = crc32_tables();

/// Hash of `data`; `None` for `HashAlgorithm.random`, which BMv2 does not have either.
pub fn hash(algorithm: HashAlgorithm, data: &[u8]) -> Option<u64> {
    use HashAlgorithm::*;
    Some(match algorithm {
        Crc32 | Crc32Custom => u64::from(crc32(data)),
        Crc16 | Crc16Custom => u64::from(CRC16.checksum(data)),
        Csum16 => u64::from(csum16(data)),
        Xor16 => u64::from(words16(data).fold(0, |sum, word| sum ^ word)),
        Identity => data.iter().take(8).fold(0, |value, &byte| value << 8 | u64::from(byte)),
        Xor8 => data.iter().fold(0, |sum, &byte| sum ^ u64::from(byte)),
        Xor32 => {
            words16(data).enumerate().fold(0, |sum, (place, word)| sum ^ u64::from(word) << (16 * (1 - place % 2)))
        }
        Crc(parameters) => bitwise_crc(parameters, data),
        Random => return None,
    })
}

/// Any CRC, bit by bit. The highest bit of its register is at bit 63.
fn bitwise_crc(parameters: CrcParameters, data: &[u8]) -> u64 {
    let shift = 64 - u32::from(parameters.width);
    let mut crc = parameters.init << shift;
    for &byte in data {
        let byte = if parameters.reflected { byte.reverse_bits() } else { byte };
        crc ^= u64::from(byte) << 56;
        for _ in 0..8 {
            let carry = crc >> 63 == 1;
            crc = crc << 1 ^ if carry { parameters.poly << shift } else { 0 };
        }
    }
    let crc = if parameters.reflected { crc.reverse_bits() } else { crc >> shift };
    crc ^ parameters.xor_out
}

/// CRC-32 (IEEE 802.3), four bytes at a time and then single bytes, since a 5-tuple has 13. General libraries process
/// short input byte by byte; more than four tables would displace a switch's state from the cache.
pub(crate) fn crc32(mut data: &[u8]) -> u32 {
    let mut crc = u32::MAX;
    while let Some((chunk, rest)) = data.split_first_chunk::<4>() {
        let [a, b, c, d] = (u32::from_le_bytes(*chunk) ^ crc).to_le_bytes().map(usize::from);
        crc = CRC32[3][a] ^ CRC32[2][b] ^ CRC32[1][c] ^ CRC32[0][d];
        data = rest;
    }
    for &byte in data {
        crc = CRC32[0][usize::from(byte ^ crc as u8)] ^ crc >> 8;
    }
    !crc
}

const fn crc32_tables() -> [[u32; 256]; 4] {
    let mut tables = [[0; 256]; 4];
    let mut byte = 0;
    while byte < 256 {
        let mut crc = byte as u32;
        let mut bit = 0;
        while bit < 8 {
            crc = if crc & 1 == 1 { crc >> 1 ^ 0xedb8_8320 } else { crc >> 1 };
            bit += 1;
        }
        tables[0][byte] = crc;
        byte += 1;
    }
    let mut at = 0;
    while at < 3 * 256 {
        let crc: u32 = tables[at / 256][at % 256];
        tables[at / 256 + 1][at % 256] = tables[0][(crc & 0xff) as usize] ^ crc >> 8;
        at += 1;
    }
    tables
}

/// Internet checksum (RFC 1071): the complement of the ones' complement sum of 16-bit words.
pub fn csum16(data: &[u8]) -> u16 {
    !fold(words16(data).map(u64::from).sum())
}

/// Folds a ones' complement sum of 16-bit words. Any 16-bit aligned sum of larger words folds to the same value.
pub(crate) fn fold(mut sum: u64) -> u16 {
    while sum > 0xffff {
        sum = (sum & 0xffff) + (sum >> 16);
    }
    sum as u16
}

/// The same data as if it belonged to no header, so that fields of invalid headers are part of it.
pub(crate) fn of_any_header(data: &[DataField]) -> Vec<DataField> {
    data.iter().map(|field| DataField { header: None, ..field.clone() }).collect()
}

fn words16(data: &[u8]) -> impl Iterator<Item = u16> {
    data.chunks(2).map(|pair| u16::from_be_bytes([pair[0], pair.get(1).copied().unwrap_or(0)]))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn check_values_of_the_catalogues() {
        let check = b"123456789";
        assert_eq!(hash(HashAlgorithm::Crc32, check), Some(0xcbf4_3926));
        assert_eq!(hash(HashAlgorithm::Crc16, check), Some(0xbb3d));
        assert_eq!(hash(HashAlgorithm::Identity, check), Some(0x3132_3334_3536_3738));
        assert_eq!(hash(HashAlgorithm::Xor16, &[0x12, 0x34, 0xff]), Some(0x1234 ^ 0xff00));
        assert_eq!(hash(HashAlgorithm::Random, check), None);
        assert_eq!(hash(HashAlgorithm::Xor8, &[0x12, 0x34, 0xff]), Some(0x12 ^ 0x34 ^ 0xff));
        assert_eq!(hash(HashAlgorithm::Xor32, &[1, 2, 3, 4, 0xff]), Some(0x0102_0304 ^ 0xff00_0000));
        let crc = |width, poly, init, xor_out, reflected| {
            let parameters = CrcParameters { width, poly, init, xor_out, reflected };
            hash(HashAlgorithm::Crc(parameters), check)
        };
        assert_eq!(crc(8, 0x07, 0, 0, false), Some(0xf4)); // CRC-8/SMBUS
        assert_eq!(crc(16, 0x1021, 0xffff, 0, false), Some(0x29b1)); // CRC-16/IBM-3740
        assert_eq!(crc(32, 0x04c1_1db7, 0xffff_ffff, 0xffff_ffff, true), Some(0xcbf4_3926)); // CRC-32/ISO-HDLC
        assert_eq!(crc(64, 0x42f0_e1eb_a9ea_3693, 0, 0, false), Some(0x6c40_df5f_0b49_7347)); // CRC-64/ECMA-182
    }

    proptest::proptest! {
        /// Oracle: the `crc` crate.
        #[test]
        fn crc32_of_any_length(data in proptest::collection::vec(proptest::prelude::any::<u8>(), 0..40)) {
            proptest::prop_assert_eq!(crc32(&data), Crc::<u32>::new(&crc::CRC_32_ISO_HDLC).checksum(&data));
        }
    }

    #[test]
    fn the_example_of_rfc_1071() {
        assert_eq!(csum16(&[0x00, 0x01, 0xf2, 0x03, 0xf4, 0xf5, 0xf6, 0xf7]), !0xddf2);
        assert_eq!(csum16(&[]), 0xffff);
    }
}
