// SPDX-License-Identifier: MIT OR Apache-2.0
//! What a program asks of its switch, apart from changes of packet state.

use marklab_p4::ir::{DataField, ExternCall, Program, Request, StmtKind, visit};
use marklab_p4::source::Span;
use num_bigint::BigUint;

use crate::words::Bits;

/// A request to clone the packet.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct CloneRequest {
    /// True for egress-to-egress, false for ingress-to-egress.
    pub egress: bool,
    /// Session.
    pub session: u32,
    /// Field list whose members the clone keeps.
    pub field_list: Option<u32>,
}

/// A request for a copy of the packet (TNA).
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct MirrorRequest {
    /// Session.
    pub session: u32,
    /// Bytes in front of the packet.
    pub header: Vec<u8>,
}

/// A message for the control plane.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Digest {
    /// Name of its type.
    pub name: String,
    /// Values at the time of the call.
    pub values: Vec<BigUint>,
}

/// A call of `assert` or `assume` whose condition was false. BMv2 aborts in this case.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct FailedAssertion {
    /// True for `assume`.
    pub assume: bool,
    /// The condition in the source.
    pub span: Span,
}

/// Requests of one stage. If there are several calls of a kind, the last one counts, as in BMv2.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct Effects {
    /// `clone`.
    pub clone: Option<CloneRequest>,
    /// `resubmit`: the field list.
    pub resubmit: Option<u32>,
    /// `recirculate`: the field list.
    pub recirculate: Option<u32>,
    /// `digest`.
    pub digest: Option<Digest>,
    /// `truncate`: bytes. If there are several calls, the smallest value counts.
    pub truncate: Option<u32>,
    /// The first `assert` or `assume` that did not hold.
    pub failed_assertion: Option<FailedAssertion>,
    /// `log_msg`.
    pub log: Vec<String>,
    /// TNA: the ingress parser refused the packet.
    pub refused: bool,
    /// TNA: `Mirror.emit`.
    pub mirror: Option<MirrorRequest>,
    /// TNA: `Resubmit.emit`: bytes in front of the packet.
    pub resubmit_header: Option<Vec<u8>>,
    /// Whether anything above is set.
    pub any: bool,
}

impl Effects {
    /// Whether a program can make any of these requests.
    pub fn possible(program: &Program) -> bool {
        let asks = |stmt: &StmtKind| matches!(stmt, StmtKind::Extern(ExternCall::Request(_)));
        visit::any_statement(visit::bodies(&program.blocks, &program.actions, &program.register_actions), &asks)
    }

    /// Records that the parser refuses the packet.
    pub(crate) fn refuse(&mut self) {
        self.refused = true;
        self.any = true;
    }

    /// Returns the requests so far, and forgets them.
    pub fn take(&mut self) -> Effects {
        if self.any { std::mem::take(self) } else { Effects::default() }
    }

    /// Records a request whose operands have these values, in the order of [`Request::operands`].
    pub(crate) fn keep(&mut self, request: &Request, values: Vec<BigUint>) {
        let number = |at: usize| values.get(at).and_then(|value| u32::try_from(value).ok()).unwrap_or(u32::MAX);
        match request {
            Request::Clone { egress, field_list, .. } => {
                self.clone = Some(CloneRequest { egress: *egress, session: number(0), field_list: *field_list });
            }
            Request::Resubmit { field_list } => self.resubmit = Some(*field_list),
            Request::Recirculate { field_list } => self.recirculate = Some(*field_list),
            Request::MirrorEmit { data, .. } => {
                self.mirror = Some(MirrorRequest { session: number(0), header: packed(data, &values[1..]) });
            }
            Request::ResubmitEmit { data } => self.resubmit_header = Some(packed(data, &values)),
            Request::Truncate(_) => self.truncate = Some(self.truncate.unwrap_or(u32::MAX).min(number(0))),
            Request::Assert { .. } if values == [BigUint::from(1u32)] => return,
            Request::Assert { cond, assume } => {
                self.failed_assertion.get_or_insert(FailedAssertion { assume: *assume, span: cond.span });
            }
            Request::LogMsg { format, .. } => self.log.push(format_log(format, &values)),
            Request::Digest { name, .. } => self.digest = Some(Digest { name: name.clone(), values }),
        }
        self.any = true;
    }
}

/// Concatenates values in wire order.
fn packed(data: &[DataField], values: &[BigUint]) -> Vec<u8> {
    let mut bits = Bits::default();
    for (field, value) in data.iter().zip(values) {
        bits.push(value, field.expr.ty.width);
    }
    bits.into_bytes()
}

/// Replaces each `{}` by the next value.
fn format_log(format: &str, values: &[BigUint]) -> String {
    let mut pieces = format.split("{}");
    let mut text = pieces.next().unwrap_or_default().to_owned();
    let mut values = values.iter();
    for piece in pieces {
        match values.next() {
            Some(value) => text.push_str(&value.to_string()),
            None => text.push_str("{}"),
        }
        text.push_str(piece);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn log_messages_take_their_values_in_order() {
        let values = [BigUint::from(1u32), BigUint::from(2u32)];
        assert_eq!(format_log("a {} b {} c", &values), "a 1 b 2 c");
        assert_eq!(format_log("{}{}{}", &values), "12{}");
        assert_eq!(format_log("none", &values), "none");
    }
}
