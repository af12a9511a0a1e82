// SPDX-License-Identifier: MIT OR Apache-2.0
//! Hash algorithms of TNA.

use crate::arch::args::{enum_member, number, object};
use crate::externs::{self, TnaHandle as Handle};
use crate::ir::{Crc, HashAlgorithm};
use crate::lower::{Lowered, Lowerer, NewExtern};

/// The algorithm of a `Hash`; `None` for `IDENTITY`.
pub(super) fn algorithm(lowerer: &mut Lowerer<'_>, new: &NewExtern<'_>) -> Lowered<Option<HashAlgorithm>> {
    let plain = |width, poly| HashAlgorithm::Crc(Crc { width, poly, init: 0, xor_out: 0, reflected: false });
    let first = new.args.first().and_then(Option::as_ref);
    Ok(Some(match (enum_member(lowerer, first, "HashAlgorithm_t").as_deref(), object(new, 1)) {
        (_, Some(externs::Handle::Tna(Handle::Polynomial(crc)))) => HashAlgorithm::Crc(crc),
        (Some("IDENTITY"), _) => return Ok(None),
        (Some("XOR8"), _) => HashAlgorithm::Xor8,
        (Some("XOR16"), _) => HashAlgorithm::Xor16,
        (Some("XOR32"), _) => HashAlgorithm::Xor32,
        (Some("CRC8"), _) => plain(8, 0x07),
        (Some("CRC16"), _) => HashAlgorithm::Crc16,
        (Some("CRC32"), _) => HashAlgorithm::Crc32,
        (Some("CRC64"), _) => plain(64, 0x42f0_e1eb_a9ea_3693),
        (name, _) => {
            let name = name.unwrap_or("of that kind").to_string();
            return lowerer.unsupported(new.span, format!("a hash `{name}` without a polynomial"));
        }
    }))
}

/// `CRCPolynomial(coeff, reversed, msb, extended, init, xor)`
pub(super) fn polynomial(lowerer: &mut Lowerer<'_>, new: &NewExtern<'_>) -> Lowered<Crc> {
    let ty = new.type_args.first().and_then(|ty| lowerer.scalar_ty(ty));
    let width = ty.map_or(32, |ty| ty.width);
    let (reversed, msb, extended): (u8, u8, u8) =
        (number(lowerer, new, 1)?, number(lowerer, new, 2)?, number(lowerer, new, 3)?);
    if msb != 0 || extended != 0 || width > 64 {
        return lowerer.unsupported(new.span, "a polynomial with its highest coefficient, or of more than 64 bits");
    }
    let (poly, init, xor_out) = (number(lowerer, new, 0)?, number(lowerer, new, 4)?, number(lowerer, new, 5)?);
    Ok(Crc { width: width as u8, poly, init, xor_out, reflected: reversed != 0 })
}
