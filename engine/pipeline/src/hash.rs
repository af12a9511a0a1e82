//! Hash and checksum algorithms of v1model, over whole bytes.
//!
//! Parameters are those of BMv2 (`src/bm_sim/calculations.cpp`). The input is the concatenation of the fields, most
//! significant bit first, padded with zeros at the end to a whole byte.

use crc::{CRC_16_ARC, CRC_32_ISO_HDLC, Crc, Table};
use marklab_p4::ir::HashAlgorithm;

static CRC32: Crc<u32, Table<16>> = Crc::<u32, Table<16>>::new(&CRC_32_ISO_HDLC);
static CRC16: Crc<u16, Table<16>> = Crc::<u16, Table<16>>::new(&CRC_16_ARC);

/// Hash of `data`; `None` for `HashAlgorithm.random`, which BMv2 does not offer either.
pub fn hash(algorithm: HashAlgorithm, data: &[u8]) -> Option<u64> {
    use HashAlgorithm::*;
    Some(match algorithm {
        Crc32 | Crc32Custom => u64::from(crc32(data)),
        Crc16 | Crc16Custom => u64::from(CRC16.checksum(data)),
        Csum16 => u64::from(csum16(data)),
        Xor16 => u64::from(words16(data).fold(0, |sum, word| sum ^ word)),
        Identity => data.iter().take(8).fold(0, |value, &byte| value << 8 | u64::from(byte)),
        Random => return None,
    })
}

/// CRC-32 (IEEE 802.3).
pub(crate) fn crc32(data: &[u8]) -> u32 {
    CRC32.checksum(data)
}

/// Internet checksum (RFC 1071): the complement of the ones' complement sum of 16-bit words.
pub fn csum16(data: &[u8]) -> u16 {
    !fold(words16(data).map(u64::from).sum())
}

/// Ones' complement sum of 16-bit words, folded; any 16-bit aligned sum of larger words folds to the same.
pub(crate) fn fold(mut sum: u64) -> u16 {
    while sum > 0xffff {
        sum = (sum & 0xffff) + (sum >> 16);
    }
    sum as u16
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
    }

    #[test]
    fn the_example_of_rfc_1071() {
        assert_eq!(csum16(&[0x00, 0x01, 0xf2, 0x03, 0xf4, 0xf5, 0xf6, 0xf7]), !0xddf2);
        assert_eq!(csum16(&[]), 0xffff);
    }
}
