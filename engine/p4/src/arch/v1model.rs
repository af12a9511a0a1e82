// SPDX-License-Identifier: MIT OR Apache-2.0
//! The v1model architecture: `V1Switch` and its externs, with the semantics of BMv2's simple_switch.

mod calls;
mod graph;
mod metadata;
mod objects;
mod rules;

use std::rc::Rc;

use crate::ast::BlockKind;
use crate::diagnostics::Problem;
use crate::externs::{self, CoreHandle, Part};
use crate::ir::{self, Arch, Class};
use crate::lower::{Binding, ExternObject, Lowered, Lowerer, Object, ObjectId, PackageObject, Storage, Value};
use crate::source::Span;
use crate::token::Name;
use crate::typed::{BlockId, Param};
use crate::types::Type;

pub(crate) use calls::{call_function, call_method};
pub(crate) use objects::{instantiate, table_properties};

/// Name of the architecture's package.
pub(crate) const PACKAGE: &str = "V1Switch";

/// Storage that lives from the parser to the deparser.
#[derive(Debug)]
struct Packet {
    headers: Storage,
    metadata: Storage,
    standard: Storage,
}

/// Lowers the six blocks of a `V1Switch`.
pub(crate) fn lower(lowerer: &mut Lowerer<'_>, package: &PackageObject, span: Span) -> Lowered<Arch> {
    let mut blocks = Vec::with_capacity(6);
    for arg in &package.args {
        match arg {
            Some(Value::Object(Object::Block(id))) => blocks.push(*id),
            _ => return lowerer.fail(span, Problem::PackageShape { name: package.name.clone() }),
        }
    }
    let [parser, verify, ingress, egress, compute, deparser] = blocks[..] else {
        return lowerer.fail(span, Problem::PackageShape { name: package.name.clone() });
    };
    for (id, count) in [(parser, 4), (verify, 2), (ingress, 3), (egress, 3), (compute, 2), (deparser, 2)] {
        if params(lowerer, id).1.len() != count {
            return lowerer.fail(span, Problem::PackageShape { name: package.name.clone() });
        }
    }
    let packet = packet(lowerer, parser)?;
    let mut part = |id, part| lower_part(lowerer, id, part, &packet);
    // All parts are lowered before an error in one of them ends the lowering.
    let parser = part(parser, Part::Parser);
    let verify_checksum = part(verify, Part::VerifyChecksum);
    let ingress = part(ingress, Part::Ingress);
    let egress = part(egress, Part::Egress);
    let compute_checksum = part(compute, Part::ComputeChecksum);
    let deparser = part(deparser, Part::Deparser);
    let arch = Arch::V1Model {
        parser: parser?,
        verify_checksum: verify_checksum?,
        ingress: ingress?,
        egress: egress?,
        compute_checksum: compute_checksum?,
        deparser: deparser?,
    };
    rules::check(lowerer, &arch)?;
    Ok(arch)
}

fn params<'a>(lowerer: &Lowerer<'a>, id: ObjectId) -> (BlockId, &'a [Param]) {
    let decl = lowerer.objects[id.0 as usize].decl;
    (decl, &lowerer.program.blocks[decl.index()].params)
}

/// Creates the slots of headers and metadata, with the names that the parser uses.
fn packet(lowerer: &mut Lowerer<'_>, parser: ObjectId) -> Lowered<Packet> {
    let (_, params) = params(lowerer, parser);
    let [_, headers, metadata, standard] = params else {
        let span = params.first().map_or(Span::default(), |param| param.span);
        return lowerer.internal(span, "a parser of v1model has four parameters");
    };
    header_types(lowerer, headers)?;
    lowerer.expect_struct(&metadata.ty, metadata.span)?;
    let mut make = |param: &Param, name: &Name| lowerer.allocate(&param.ty, name, Class::Packet);
    let packet = Packet {
        headers: make(headers, &headers.name)?,
        metadata: make(metadata, &metadata.name)?,
        standard: make(standard, &"standard_metadata".into())?,
    };
    metadata::record(lowerer, &metadata.ty, &packet.metadata);
    metadata::record_standard(lowerer, &standard.ty, &packet.standard);
    Ok(packet)
}

/// Checks that the type argument `H` is a struct of headers, header stacks and header unions.
fn header_types(lowerer: &mut Lowerer<'_>, param: &Param) -> Lowered<()> {
    lowerer.expect_struct(&param.ty, param.span)?;
    let Type::Fields(id, args) = &param.ty else { return Ok(()) };
    let program = lowerer.program;
    for (index, field) in program.fields(*id).fields.iter().enumerate() {
        let ty = program.field_type(*id, args, index);
        let element = match &ty {
            Type::Stack(element, _) => element,
            other => other,
        };
        let fits = matches!(element, Type::Fields(id, _) if program.fields(*id).kind != crate::ast::FieldsKind::Struct);
        if !fits {
            let problem = Problem::HeadersType { field: field.name.clone(), ty: lowerer.show(&ty) };
            return lowerer.fail(field.span, problem);
        }
    }
    Ok(())
}

fn lower_part(lowerer: &mut Lowerer<'_>, id: ObjectId, part: Part, packet: &Packet) -> Lowered<ir::BlockId> {
    let (decl, params) = params(lowerer, id);
    let is_parser = lowerer.program.blocks[decl.index()].kind == BlockKind::Parser;
    debug_assert_eq!(is_parser, part == Part::Parser, "the checker has compared the types");
    lowerer.part = part;
    let place = |storage: &Storage| Binding::Place(storage.clone().into());
    let object = |handle| {
        let Some(Param { ty: Type::Extern(id, type_args), .. }) = params.first() else { return None };
        let object = ExternObject { id: *id, type_args: type_args.clone(), handle: externs::Handle::Core(handle) };
        Some(Binding::Value(Value::Object(Object::Extern(Rc::new(object)))))
    };
    let (headers, metadata, standard) = (place(&packet.headers), place(&packet.metadata), place(&packet.standard));
    let bindings = match part {
        Part::Parser => {
            let packet_in = object(CoreHandle::PacketIn);
            packet_in.into_iter().chain([headers, metadata, standard]).collect()
        }
        Part::Ingress | Part::Egress => vec![headers, metadata, standard],
        Part::VerifyChecksum | Part::ComputeChecksum => vec![headers, metadata],
        Part::Deparser => object(CoreHandle::PacketOut).into_iter().chain([headers]).collect(),
    };
    lowerer.block(id, bindings)
}
