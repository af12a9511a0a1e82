// SPDX-License-Identifier: MIT OR Apache-2.0
//! Lowers the checked program to the flat IR: creates instances, inlines calls, scatters structs into slots.
//!
//! - [`object`]: instances of parsers, controls and externs;
//! - [`storage`], [`value`], [`place`]: where values live, what they are, how they are read and written;
//! - [`expr`], [`unbounded`], [`fold`]: expressions; [`call`]: inlining; [`stmt`]: statements;
//! - [`parser`], [`control`], [`table`]: the blocks.
//!
//! *Freezing* keeps the evaluation order of P4 (spec section 8): a value that was computed before an expression with
//! side effects is stored in a temporary.

mod call;
mod control;
mod expr;
pub(crate) mod fold;
pub(crate) mod names;
mod object;
mod parser;
mod place;
mod stmt;
mod storage;
mod table;
mod unbounded;
mod value;

use rustc_hash::{FxHashMap, FxHashSet};

use crate::diagnostics::{Diagnostics, Problem};
use crate::externs::{Handle, Kind, Part, TableProperties, TnaExterns};
use crate::ir;
use crate::source::Span;
use crate::typed::{self, ActionId, Call, FunctionId, InstanceId, VarId};
use crate::types::{FieldsId, Type, TypeParamId};

pub(crate) use expr::Argument;
pub(crate) use object::{BlockObject, NewExtern};
pub(crate) use storage::{Lvalue, Storage, flatten};
pub(crate) use value::{ExternObject, Object, ObjectId, PackageObject, Value};

/// Lowering failed; the reason has been reported.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Failed;

pub(crate) type Lowered<T> = Result<T, Failed>;

/// An architecture as lowering uses it: the interface between the language and its externs.
pub(crate) trait Architecture {
    /// The architecture's kind.
    fn kind(&self) -> Kind;

    /// Lowers the blocks that `main` names, after all instances are created.
    fn package(&self, lowerer: &mut Lowerer<'_>, package: &PackageObject, span: Span) -> Lowered<ir::Arch>;

    /// Creates an extern instance.
    fn instantiate(&self, lowerer: &mut Lowerer<'_>, new: &NewExtern<'_>) -> Lowered<Handle>;

    /// Calls a method of an extern instance.
    fn call_method(
        &self,
        lowerer: &mut Lowerer<'_>,
        object: &ExternObject,
        method: FunctionId,
        call: &Call,
        returns: &Type,
        span: Span,
    ) -> Lowered<Value>;

    /// Calls an extern function.
    fn call_function(
        &self,
        lowerer: &mut Lowerer<'_>,
        function: FunctionId,
        call: &Call,
        returns: &Type,
        span: Span,
    ) -> Lowered<Value>;

    /// Lowers the properties of a table that the language leaves to the architecture.
    fn table_properties(&self, lowerer: &mut Lowerer<'_>, table: &typed::Table, name: &str)
    -> Lowered<TableProperties>;
}

/// Lowers the instance `main`. `None` after an error.
pub(crate) fn lower(
    program: &typed::Program,
    main: InstanceId,
    architecture: &'static dyn Architecture,
    name: &str,
    diagnostics: &mut Diagnostics,
) -> Option<ir::Program> {
    let errors = diagnostics.errors();
    let mut lowerer = Lowerer::new(program, architecture, diagnostics);
    let result = lowerer.main(main);
    let Ok(arch) = result else {
        if lowerer.diagnostics.errors() == errors {
            let span = program.instances[main.index()].span;
            lowerer.diagnostics.error(span, Problem::Internal { what: "lowering failed without a reason".into() });
        }
        return None;
    };
    let out = lowerer.out;
    if diagnostics.errors() > errors {
        return None;
    }
    Some(ir::Program {
        name: name.to_string(),
        arch,
        slots: out.slots,
        headers: out.headers,
        stacks: out.stacks,
        blocks: out.blocks,
        actions: out.actions,
        called_actions: out.called_actions,
        tables: out.tables,
        registers: out.registers,
        register_actions: out.register_actions,
        math_units: out.math_units,
        filters: out.filters,
        counters: out.counters,
        meters: out.meters,
        profiles: out.profiles,
        value_sets: out.value_sets,
        foreign: out.foreign,
        errors: program.errors.iter().map(ToString::to_string).collect(),
        intrinsics: out.intrinsics,
    })
}

/// The parts of the program generated so far.
#[derive(Default, Debug)]
pub(crate) struct Output {
    pub(crate) slots: Vec<ir::Slot>,
    pub(crate) headers: Vec<ir::Header>,
    pub(crate) stacks: Vec<ir::Stack>,
    pub(crate) blocks: Vec<ir::Block>,
    pub(crate) actions: Vec<ir::Action>,
    pub(crate) called_actions: Vec<Span>,
    pub(crate) tables: Vec<ir::Table>,
    pub(crate) registers: Vec<ir::Register>,
    pub(crate) register_actions: Vec<ir::RegisterAction>,
    pub(crate) math_units: Vec<ir::MathUnit>,
    pub(crate) filters: Vec<ir::Filter>,
    pub(crate) counters: Vec<ir::Counter>,
    pub(crate) meters: Vec<ir::Meter>,
    pub(crate) profiles: Vec<ir::Profile>,
    pub(crate) value_sets: Vec<ir::ValueSet>,
    pub(crate) foreign: Vec<String>,
    pub(crate) intrinsics: Vec<(String, ir::SlotId)>,
}

/// The current meaning of a variable or parameter.
#[derive(Clone, Debug)]
pub(crate) enum Binding {
    Place(Lvalue),
    Value(Value),
}

/// An inlined body that is being lowered.
#[derive(Debug)]
struct Frame {
    kind: FrameKind,
    /// The block that `return` leaves.
    label: ir::Label,
    /// Destination of the result.
    result: Option<Lvalue>,
    /// Results to be copied to their arguments, also at an `exit`.
    copy_outs: Vec<(Lvalue, Lvalue, Type)>,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum FrameKind {
    /// A function or control.
    Inline,
    /// A directly called action.
    Action,
    /// An action that a table runs: `exit` sets this flag, if there is one; the code that applied the table does the
    /// rest.
    TableAction { exit_flag: Option<ir::SlotId> },
}

/// Maximum number of statements of a program, with its calls inlined.
const MAX_WORK: usize = 1 << 20;

pub(crate) struct Lowerer<'a> {
    pub(crate) program: &'a typed::Program,
    pub(crate) diagnostics: &'a mut Diagnostics,
    pub(crate) out: Output,
    /// Current binding of each variable.
    bindings: Vec<Option<Binding>>,
    /// The object of each instance declaration in the current block.
    instances: Vec<Option<Object>>,
    /// Current type arguments.
    types: FxHashMap<TypeParamId, Type>,
    pub(crate) objects: Vec<BlockObject>,
    /// Actions at top level, by block.
    global_actions: FxHashMap<(ir::BlockId, ActionId), ir::ActionId>,
    /// Members of header unions.
    unions: Vec<Vec<ir::HeaderId>>,
    /// The header to which a slot belongs as a field.
    pub(crate) slot_headers: FxHashMap<ir::SlotId, ir::HeaderId>,
    /// The type of every header.
    pub(crate) header_types: Vec<(FieldsId, ir::HeaderId)>,
    /// Where meters are declared.
    pub(crate) meter_spans: Vec<Span>,
    /// Source ranges of statements that apply sub-controls and sub-parsers. Statements that copy their arguments have
    /// the same range.
    pub(crate) applications: FxHashSet<Span>,
    /// The block being lowered.
    pub(crate) block: ir::BlockId,
    /// The role of that block.
    pub(crate) part: Part,
    /// The architecture of `main`.
    architecture: &'static dyn Architecture,
    /// Data of TNA's externs, besides their handles.
    pub(crate) tna: TnaExterns,
    /// The parser or control instance being lowered.
    object: Option<ObjectId>,
    next_label: u32,
    next_temp: u32,
    /// Number of statements emitted and bodies inlined.
    work: usize,
    /// Code being generated, innermost last.
    code: Vec<Vec<ir::Stmt>>,
    frames: Vec<Frame>,
    /// Labels of `break` and `continue` of the enclosing loops.
    loops: Vec<(ir::Label, ir::Label)>,
    parser: Option<parser::Builder>,
    /// Whether the argument of an `extract` is being lowered: `extract` checks the bounds of a stack's `next` itself.
    pub(crate) extracting: bool,
    /// Source range of new statements.
    span: Span,
}

impl<'a> Lowerer<'a> {
    fn new(
        program: &'a typed::Program,
        architecture: &'static dyn Architecture,
        diagnostics: &'a mut Diagnostics,
    ) -> Lowerer<'a> {
        Lowerer {
            program,
            diagnostics,
            out: Output::default(),
            bindings: vec![None; program.vars.len()],
            instances: vec![None; program.instances.len()],
            types: FxHashMap::default(),
            objects: Vec::new(),
            global_actions: FxHashMap::default(),
            unions: Vec::new(),
            slot_headers: FxHashMap::default(),
            header_types: Vec::new(),
            meter_spans: Vec::new(),
            applications: FxHashSet::default(),
            block: ir::BlockId(0),
            part: Part::Parser,
            architecture,
            tna: TnaExterns::default(),
            object: None,
            next_label: 0,
            next_temp: 0,
            work: 0,
            code: Vec::new(),
            frames: Vec::new(),
            loops: Vec::new(),
            parser: None,
            extracting: false,
            span: Span::default(),
        }
    }

    /// Creates all instances and lowers the blocks that `main` names.
    fn main(&mut self, main: InstanceId) -> Lowered<ir::Arch> {
        let span = self.program.instances[main.index()].span;
        self.make_globals()?;
        match self.instance(main) {
            Some(Object::Package(package)) => self.architecture.package(self, &package, span),
            _ => self.internal(span, "`main` is not a package"),
        }
    }

    /// Warns of a construct that runs here, but that BMv2's compiler refuses.
    pub(crate) fn beyond_bmv2(&mut self, what: &'static str, help: Option<&str>, span: Span) {
        if self.architecture.kind() == Kind::V1Model {
            let entry = self.diagnostics.warning(span, Problem::BeyondBmv2 { what });
            match help {
                Some(help) => entry.help(help).done(),
                None => entry.done(),
            }
        }
    }

    /// Warns of a loop that runs here, but of which BMv2's compiler keeps only the body.
    fn loop_runs_once(&mut self, span: Span) {
        if self.architecture.kind() == Kind::V1Model {
            let entry = self.diagnostics.warning(span, Problem::LoopRunsOnce {});
            entry.help("put it into an action, where it runs on both");
        }
    }

    /// Reports that something is not supported.
    pub(crate) fn unsupported<T>(&mut self, span: Span, what: impl Into<String>) -> Lowered<T> {
        self.diagnostics.error(span, Problem::Unsupported { what: what.into() });
        Err(Failed)
    }

    /// Reports an error in the program that is found only now.
    pub(crate) fn fail<T>(&mut self, span: Span, problem: Problem) -> Lowered<T> {
        self.diagnostics.error(span, problem);
        Err(Failed)
    }

    /// Reports an internal error, unless an error in the program may have caused it.
    pub(crate) fn internal<T>(&mut self, span: Span, what: impl Into<String>) -> Lowered<T> {
        if self.diagnostics.errors() == 0 {
            self.diagnostics.error(span, Problem::Internal { what: what.into() });
        }
        Err(Failed)
    }

    pub(crate) fn show(&self, ty: &Type) -> String {
        ty.show(self.program)
    }

    /// A type with the current type arguments substituted.
    pub(crate) fn concrete(&self, ty: &Type) -> Type {
        if self.types.is_empty() {
            return ty.clone();
        }
        ty.substitute(&|param| self.types.get(&param).cloned())
    }

    fn label(&mut self) -> ir::Label {
        self.next_label += 1;
        ir::Label(self.next_label - 1)
    }

    /// Adds a statement to the code being generated.
    pub(crate) fn emit(&mut self, kind: ir::StmtKind) {
        self.work += 1;
        let stmt = ir::Stmt { kind, span: self.span };
        self.code.last_mut().expect("code is only generated inside blocks").push(stmt);
    }

    /// Counts an inlined body: a few lines that call each other could require any number of them.
    fn count_inlined(&mut self, span: Span) -> Lowered<()> {
        self.work += 1;
        if self.work > MAX_WORK {
            return self
                .unsupported(span, format!("a program of more than {MAX_WORK} statements with its calls inlined"));
        }
        Ok(())
    }

    /// Runs `inner` and returns the code that it generates.
    fn collect<T>(&mut self, inner: impl FnOnce(&mut Self) -> Lowered<T>) -> Lowered<(Vec<ir::Stmt>, T)> {
        self.code.push(Vec::new());
        let result = inner(self);
        let code = self.code.pop().expect("pushed above");
        result.map(|value| (code, value))
    }

    /// Sets bindings, and returns the previous ones.
    fn bind(&mut self, new: Vec<(VarId, Binding)>) -> Vec<(VarId, Option<Binding>)> {
        new.into_iter().map(|(var, binding)| (var, self.bindings[var.index()].replace(binding))).collect()
    }

    /// Sets type arguments, and returns the previous ones.
    fn bind_types(&mut self, args: &[(TypeParamId, Type)]) -> Vec<(TypeParamId, Option<Type>)> {
        args.iter().map(|(param, arg)| (*param, self.types.insert(*param, arg.clone()))).collect()
    }

    fn unbind_types(&mut self, old: Vec<(TypeParamId, Option<Type>)>) {
        for (param, arg) in old.into_iter().rev() {
            match arg {
                Some(arg) => self.types.insert(param, arg),
                None => self.types.remove(&param),
            };
        }
    }

    fn unbind(&mut self, old: Vec<(VarId, Option<Binding>)>) {
        for (var, binding) in old.into_iter().rev() {
            self.bindings[var.index()] = binding;
        }
    }

    /// The value of a constant expression.
    pub(crate) fn number_of(&self, expr: &ir::Expr) -> Option<num_bigint::BigInt> {
        fold::number(expr)
    }

    /// A scalar changed in width or sign.
    pub(crate) fn cast_to(&self, expr: ir::Expr, ty: ir::Ty, span: Span) -> ir::Expr {
        fold::cast(expr, ty, span)
    }

    /// The current object of an instance declaration.
    pub(crate) fn instance(&self, id: InstanceId) -> Option<Object> {
        self.instances[id.index()].clone()
    }
}
