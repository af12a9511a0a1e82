// SPDX-License-Identifier: MIT OR Apache-2.0
//! Where values live: types scattered into slots.

use std::rc::Rc;

use crate::ast::FieldsKind;
use crate::ir::{self, Class, HeaderId, Index, SlotId, StackId, Ty};
use crate::source::Span;
use crate::types::Type;

use super::{Lowered, Lowerer};

/// Maximum number of slots of a program: a stack of stacks could require any number.
const MAX_SLOTS: usize = 1 << 20;

/// The slots of a value, in the shape of its type.
#[derive(Clone, PartialEq, Debug)]
pub(crate) enum Storage {
    Scalar(SlotId),
    /// The slot of a `varbit`.
    Varbit(SlotId),
    /// Struct or tuple.
    Struct(Rc<[Storage]>),
    Header(Rc<HeaderStorage>),
    Union(Rc<[Storage]>),
    Stack(Rc<StackStorage>),
}

#[derive(PartialEq, Debug)]
pub(crate) struct HeaderStorage {
    pub(crate) id: HeaderId,
    pub(crate) fields: Vec<Storage>,
    /// The union to which it belongs: index into the lowerer's list.
    pub(crate) union: Option<usize>,
}

#[derive(PartialEq, Debug)]
pub(crate) struct StackStorage {
    /// The stack in the IR, if the elements are headers.
    pub(crate) id: Option<StackId>,
    pub(crate) elements: Vec<Storage>,
    /// `nextIndex` of stacks of headers and unions.
    pub(crate) next_index: Option<SlotId>,
}

/// A place in storage.
#[derive(Clone, Debug)]
pub(crate) enum Lvalue {
    /// Storage; with an index, the storage of element 0 of a header stack.
    Storage(Storage, Option<Index>),
    /// Bits `hi..=lo` of a scalar place.
    Slice(Rc<Lvalue>, u32, u32),
    /// A number of bits of a scalar place, starting at a run-time position.
    Bits(Rc<Lvalue>, Rc<ir::Expr>, u32),
    /// One of several places, by a run-time index: for arrays that are not header stacks.
    Choice(Rc<ir::Expr>, Rc<[Lvalue]>),
    /// No place: written values are discarded.
    Ignore,
}

impl From<Storage> for Lvalue {
    fn from(storage: Storage) -> Lvalue {
        Lvalue::Storage(storage, None)
    }
}

impl Lowerer<'_> {
    /// The scalar type of a type, if it is one.
    pub(crate) fn scalar_ty(&self, ty: &Type) -> Option<Ty> {
        match ty {
            Type::Bool => Some(Ty::BOOL),
            Type::Bits { width, signed } => Some(Ty { width: *width, signed: *signed }),
            Type::Error | Type::MatchKind => Some(Ty::bits(32)),
            Type::Enum(id) => match &self.program.enums[id.index()].underlying {
                Some(underlying) => self.scalar_ty(underlying),
                None => Some(Ty::bits(32)),
            },
            Type::New(id) => self.scalar_ty(&self.program.newtypes[id.index()].ty),
            _ => None,
        }
    }

    pub(crate) fn add_slot(&mut self, name: String, ty: Ty, class: Class) -> SlotId {
        self.out.slots.push(ir::Slot { name, ty, varbit_width: None, class });
        SlotId(self.out.slots.len() as u32 - 1)
    }

    /// The class for slots of the current block.
    pub(crate) fn local(&self) -> Class {
        Class::Local(self.block)
    }

    /// A nameless local scalar.
    pub(crate) fn temp(&mut self, ty: Ty) -> SlotId {
        self.next_temp += 1;
        let name = format!("$t{}", self.next_temp);
        self.add_slot(name, ty, self.local())
    }

    /// A nameless local value.
    pub(crate) fn temp_storage(&mut self, ty: &Type) -> Lowered<Storage> {
        self.next_temp += 1;
        let name = format!("$t{}", self.next_temp);
        self.allocate(ty, &name, self.local())
    }

    /// Creates slots for a value of a type.
    pub(crate) fn allocate(&mut self, ty: &Type, name: &str, class: Class) -> Lowered<Storage> {
        let ty = self.concrete(ty);
        self.allocate_in(&ty, name, class, None)
    }

    fn allocate_in(&mut self, ty: &Type, name: &str, class: Class, union: Option<usize>) -> Lowered<Storage> {
        if self.out.slots.len() > MAX_SLOTS {
            return self.unsupported(self.span, format!("more than {MAX_SLOTS} fields"));
        }
        if let Some(scalar) = self.scalar_ty(ty) {
            return Ok(Storage::Scalar(self.add_slot(name.to_string(), scalar, class)));
        }
        match ty {
            Type::Varbit(width) => Ok(Storage::Varbit(self.add_varbit(name, *width, class))),
            Type::Fields(id, args) => {
                let program = self.program;
                let decl = program.fields(*id);
                let part = |index: usize| (program.field_type(*id, args, index), decl.fields[index].name.clone());
                match decl.kind {
                    FieldsKind::Struct => {
                        let fields = (0..decl.fields.len()).map(|index| {
                            let (ty, field) = part(index);
                            self.allocate_in(&ty, &format!("{name}.{field}"), class, None)
                        });
                        Ok(Storage::Struct(fields.collect::<Lowered<Vec<_>>>()?.into()))
                    }
                    FieldsKind::Header => {
                        let parts: Vec<_> = (0..decl.fields.len()).map(part).collect();
                        let header = self.allocate_header(&parts, name, class, union)?;
                        if let Storage::Header(storage) = &header {
                            self.header_types.push((*id, storage.id));
                        }
                        Ok(header)
                    }
                    FieldsKind::Union => {
                        let union = self.unions.len();
                        self.unions.push(Vec::new());
                        let members = (0..decl.fields.len()).map(|index| {
                            let (ty, field) = part(index);
                            self.allocate_in(&ty, &format!("{name}.{field}"), class, Some(union))
                        });
                        let members = members.collect::<Lowered<Vec<_>>>()?;
                        let headers = members.iter().filter_map(|member| match member {
                            Storage::Header(header) => Some(header.id),
                            _ => None,
                        });
                        self.unions[union] = headers.collect();
                        Ok(Storage::Union(members.into()))
                    }
                }
            }
            Type::Tuple(parts) | Type::Sequence(parts, false) => {
                let fields = parts
                    .iter()
                    .enumerate()
                    .map(|(index, ty)| self.allocate_in(ty, &format!("{name}[{index}]"), class, None));
                Ok(Storage::Struct(fields.collect::<Lowered<Vec<_>>>()?.into()))
            }
            Type::Stack(element, len) => self.allocate_stack(element, *len, name, class),
            _ => {
                let what = format!("a variable of type `{}`", self.show(ty));
                self.unsupported(self.span, what)
            }
        }
    }

    fn add_varbit(&mut self, name: &str, width: u32, class: Class) -> SlotId {
        let slot = self.add_slot(name.to_string(), Ty::bits(width), class);
        let width_slot = self.add_slot(format!("{name}.$width"), Ty::bits(32), class);
        self.out.slots[slot.index()].varbit_width = Some(width_slot);
        slot
    }

    fn allocate_header(
        &mut self,
        parts: &[(Type, crate::token::Name)],
        name: &str,
        class: Class,
        union: Option<usize>,
    ) -> Lowered<Storage> {
        let valid = self.add_slot(format!("{name}.$valid"), Ty::BOOL, class);
        let fields = parts.iter().map(|(ty, field)| self.allocate_in(ty, &format!("{name}.{field}"), class, None));
        let fields = fields.collect::<Lowered<Vec<_>>>()?;
        let mut wire = Vec::new();
        fields.iter().for_each(|field| flatten(field, &mut wire));
        let id = HeaderId(self.out.headers.len() as u32);
        self.slot_headers.extend(wire.iter().map(|slot| (*slot, id)));
        self.out.headers.push(ir::Header { name: name.to_string(), valid, fields: wire });
        Ok(Storage::Header(Rc::new(HeaderStorage { id, fields, union })))
    }

    /// Elements are allocated one after another, so that those of a header stack are a stride apart.
    fn allocate_stack(&mut self, element: &Type, len: u32, name: &str, class: Class) -> Lowered<Storage> {
        let start = self.out.slots.len();
        let elements = (0..len).map(|index| self.allocate_in(element, &format!("{name}[{index}]"), class, None));
        let elements = elements.collect::<Lowered<Vec<_>>>()?;
        let stride = (self.out.slots.len() - start) as u32 / len.max(1);
        let next_index = matches!(elements.first(), Some(Storage::Header(_) | Storage::Union(_)))
            .then(|| self.add_slot(format!("{name}.$next"), Ty::bits(32), class));
        let id = match (elements.first(), next_index) {
            (Some(Storage::Header(first)), Some(next_index)) => {
                let id = StackId(self.out.stacks.len() as u32);
                let stack = ir::Stack { name: name.to_string(), first: first.id, len, stride, next_index };
                self.out.stacks.push(stack);
                Some(id)
            }
            _ => None,
        };
        Ok(Storage::Stack(Rc::new(StackStorage { id, elements, next_index })))
    }

    /// The validity bit of a header.
    pub(crate) fn valid_slot(&self, header: HeaderId) -> SlotId {
        self.out.headers[header.index()].valid
    }

    /// Reports a type that is not a struct where a struct is needed.
    pub(crate) fn expect_struct(&mut self, ty: &Type, span: Span) -> Lowered<()> {
        match ty {
            Type::Fields(id, _) if self.program.fields(*id).kind == FieldsKind::Struct => Ok(()),
            _ => {
                let problem = crate::diagnostics::Problem::StructNeeded { ty: self.show(ty) };
                self.fail(span, problem)
            }
        }
    }
}

/// The slots of storage in wire order.
pub(crate) fn flatten(storage: &Storage, to: &mut Vec<SlotId>) {
    match storage {
        Storage::Scalar(slot) | Storage::Varbit(slot) => to.push(*slot),
        Storage::Struct(parts) | Storage::Union(parts) => parts.iter().for_each(|part| flatten(part, to)),
        Storage::Header(header) => header.fields.iter().for_each(|part| flatten(part, to)),
        Storage::Stack(stack) => stack.elements.iter().for_each(|part| flatten(part, to)),
    }
}
