// SPDX-License-Identifier: MIT OR Apache-2.0
//! Instances of parsers and controls.

use rustc_hash::FxHashMap;

use crate::typed::{BlockId, Expr, ExprKind, InstanceId, VarId};
use crate::types::{Type, TypeParamId};

use super::value::Bound;

/// Index of an instance of a parser or control.
pub(super) type ScopeId = usize;

/// An instance of a parser or control.
#[derive(Debug)]
pub(super) struct Scope {
    pub(super) block: BlockId,
    /// Constructor parameters.
    pub(super) bound: Bound,
    /// Its control-plane name.
    pub(super) path: String,
    pub(super) types: Vec<(TypeParamId, Type)>,
    /// Instances of parsers and controls: those declared in it, and those given to its constructor.
    pub(super) children: FxHashMap<InstanceId, ScopeId>,
    pub(super) given: FxHashMap<VarId, ScopeId>,
}

impl Scope {
    /// The instance that `expr.apply()` applies.
    pub(super) fn applied(&self, expr: &Expr) -> Option<ScopeId> {
        match &expr.kind {
            ExprKind::Instance(id) => self.children.get(id).copied(),
            ExprKind::Var(id) => self.given.get(id).copied(),
            _ => None,
        }
    }
}
