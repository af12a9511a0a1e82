// SPDX-License-Identifier: MIT OR Apache-2.0
//! The Tofino Native Architecture: `Switch` with one `Pipeline`, and its externs.
//!
//! Parameters of blocks are recognized by their types, since the intrinsic ones may be omitted. Ingress and egress
//! share only the bytes of the packet.

mod calls;
mod hashes;
mod objects;

use std::rc::Rc;

use crate::arch::rules;
use crate::diagnostics::Problem;
use crate::externs::{self, CoreHandle, Part};
use crate::ir::{self, Arch, Chip, Class, Gress, Tna};
use crate::lower::{Binding, ExternObject, Lowered, Lowerer, Object, ObjectId, PackageObject, Storage, Value};
use crate::source::Span;
use crate::types::Type;

pub(crate) use calls::{call_function, call_method};
pub(crate) use objects::{instantiate, table_properties};

/// Name of the architecture's package.
pub(crate) const PACKAGE: &str = "Switch";

/// Types of intrinsic metadata, and the names under which the switch finds their fields.
const INTRINSIC: [(&str, &str); 9] = [
    ("ingress_intrinsic_metadata_t", "ig_intr_md"),
    ("ingress_intrinsic_metadata_from_parser_t", "ig_intr_md_from_prsr"),
    ("ingress_intrinsic_metadata_for_deparser_t", "ig_intr_md_for_dprsr"),
    ("ingress_intrinsic_metadata_for_tm_t", "ig_intr_md_for_tm"),
    ("egress_intrinsic_metadata_t", "eg_intr_md"),
    ("egress_intrinsic_metadata_from_parser_t", "eg_intr_md_from_prsr"),
    ("egress_intrinsic_metadata_for_deparser_t", "eg_intr_md_for_dprsr"),
    ("egress_intrinsic_metadata_for_output_port_t", "eg_intr_md_for_oport"),
    ("ghost_intrinsic_metadata_t", "gh_intr_md"),
];

/// Storage that lives through one half of a pipeline: by type, in the order in which blocks name it.
#[derive(Default)]
struct Half {
    /// Prefix of names: both halves may use the same names for their headers.
    prefix: &'static str,
    storage: Vec<(Type, Storage)>,
}

/// Lowers the blocks of the first pipeline of a `Switch`.
pub(crate) fn lower(lowerer: &mut Lowerer<'_>, package: &PackageObject, span: Span) -> Lowered<Arch> {
    let shape = |name: &crate::token::Name| Problem::PackageShape { name: name.clone() };
    let pipes: Vec<_> = package.args.iter().flatten().collect();
    let [Value::Object(Object::Package(pipe))] = pipes[..] else {
        return match pipes.len() {
            0 | 1 => lowerer.fail(span, shape(&package.name)),
            _ => lowerer.unsupported(span, "a `Switch` of more than one pipeline"),
        };
    };
    let pipe = pipe.clone();
    let mut blocks = Vec::new();
    for arg in pipe.args.iter().flatten() {
        match arg {
            Value::Object(Object::Block(id)) => blocks.push(*id),
            _ => return lowerer.fail(span, shape(&pipe.name)),
        }
    }
    let (ghost, six) = match blocks[..] {
        [a, b, c, d, e, f] => (None, [a, b, c, d, e, f]),
        [a, b, c, d, e, f, ghost] => (Some(ghost), [a, b, c, d, e, f]),
        _ => return lowerer.fail(span, shape(&pipe.name)),
    };
    let [ig_parser, ingress, ig_deparser, eg_parser, egress, eg_deparser] = six;
    let chip = chip(lowerer);
    let mut half = Half { prefix: "ingress.", ..Half::default() };
    // All parts are lowered before an error in one of them ends the lowering.
    let parts = [(ig_parser, Part::Parser), (ingress, Part::Ingress), (ig_deparser, Part::Deparser)]
        .map(|(id, part)| lower_part(lowerer, id, part, &mut half));
    let mut half = Half { prefix: "egress.", ..Half::default() };
    let more = [(eg_parser, Part::Parser), (egress, Part::Egress), (eg_deparser, Part::Deparser)]
        .map(|(id, part)| lower_part(lowerer, id, part, &mut half));
    let mut half = Half { prefix: "ghost.", ..Half::default() };
    let ghost = ghost.map(|id| lower_part(lowerer, id, Part::Ingress, &mut half)).transpose()?;
    let gress = |[parser, control, deparser]: [Lowered<ir::BlockId>; 3]| -> Lowered<Gress> {
        Ok(Gress { parser: parser?, control: control?, deparser: deparser? })
    };
    let (ingress, egress) = (gress(parts), gress(more));
    let errors = lowerer.diagnostics.errors();
    rules::header_widths(lowerer);
    rules::tables(lowerer);
    rules::duplicate_names(lowerer);
    match lowerer.diagnostics.errors() > errors {
        true => Err(crate::lower::Failed),
        false => Ok(Arch::Tna(Tna { chip, ingress: ingress?, egress: egress?, ghost })),
    }
}

/// The chip that the program's interface is for: `QueueId_t` has 5 bits on Tofino 1 and 7 on Tofino 2.
fn chip(lowerer: &Lowerer<'_>) -> Chip {
    let wide = lowerer.program.fields.iter().any(|decl| &*decl.name == "ghost_intrinsic_metadata_t");
    if wide { Chip::Tofino2 } else { Chip::Tofino1 }
}

fn lower_part(lowerer: &mut Lowerer<'_>, id: ObjectId, part: Part, half: &mut Half) -> Lowered<ir::BlockId> {
    let decl = lowerer.objects[id.0 as usize].decl;
    let params = &lowerer.program.blocks[decl.index()].params;
    lowerer.part = part;
    let mut bindings = Vec::with_capacity(params.len());
    for param in params {
        if let Type::Extern(id, type_args) = &param.ty {
            let handle = if part == Part::Parser { CoreHandle::PacketIn } else { CoreHandle::PacketOut };
            let object = ExternObject { id: *id, type_args: type_args.clone(), handle: externs::Handle::Core(handle) };
            bindings.push(Binding::Value(Value::Object(Object::Extern(Rc::new(object)))));
            continue;
        }
        let storage = match half.storage.iter().find(|(ty, _)| *ty == param.ty) {
            Some((_, storage)) => storage.clone(),
            None => {
                let storage = allocate(lowerer, &param.ty, &param.name, half.prefix)?;
                half.storage.push((param.ty.clone(), storage.clone()));
                storage
            }
        };
        bindings.push(Binding::Place(storage.into()));
    }
    lowerer.block(id, bindings)
}

/// Allocates the slots of a parameter. Those of intrinsic metadata are recorded under the names that the switch uses.
fn allocate(lowerer: &mut Lowerer<'_>, ty: &Type, name: &str, prefix: &str) -> Lowered<Storage> {
    let program = lowerer.program;
    let decl = if let Type::Fields(id, _) = ty { Some(program.fields(*id)) } else { None };
    let known = decl.and_then(|decl| INTRINSIC.iter().find(|(ty, _)| *ty == &*decl.name));
    let Some((_, known)) = known else {
        return lowerer.allocate(ty, &format!("{prefix}{name}"), Class::Packet);
    };
    let storage = lowerer.allocate(ty, known, Class::Packet)?;
    let parts: &[Storage] = match &storage {
        Storage::Struct(parts) => parts,
        Storage::Header(header) => &header.fields,
        _ => &[],
    };
    for (field, part) in decl.iter().flat_map(|decl| &decl.fields).zip(parts) {
        if let Storage::Scalar(slot) = part {
            lowerer.out.intrinsics.push((format!("{known}.{}", field.name), *slot));
        }
    }
    Ok(storage)
}
