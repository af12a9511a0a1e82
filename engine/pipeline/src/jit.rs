// SPDX-License-Identifier: MIT OR Apache-2.0
//! Machine code by Cranelift, which computes the same as the interpreter.
//!
//! Each [`Stage`] becomes one function. Slots of a packet stay in the `Phv`; locals are SSA values, or lie on the stack
//! if they belong to a header stack. Values of up to 64 bits are `i64`, of up to 128 bits `i128`, always with zeros
//! above their width. Wider values lie in memory, and calls compute them. A construct that has no code is refused
//! ([`JitError::Unsupported`]); it never runs in another way.
//!
//! - `context`: the data that generated code receives, and the functions that it calls;
//! - `shapes`: how values are held, for all of the following;
//! - `generator`: storage and control flow;
//! - `wide`: memory, and the values that are kept there;
//! - `expr`, `parse`, `data`, `calls`, `tables`, `objects`: code for these parts of a program.

mod calls;
mod context;
mod data;
mod expr;
mod generator;
mod objects;
mod parse;
mod shapes;
mod tables;
mod wide;

use std::sync::Arc;

use cranelift_codegen::Context as CodegenContext;
use cranelift_codegen::ir::{AbiParam, UserFuncName, types};
use cranelift_codegen::settings::{self, Configurable};
use cranelift_frontend::FunctionBuilderContext;
use cranelift_jit::{JITBuilder, JITModule};
use cranelift_module::{FuncId, Linkage, Module, default_libcall_names};
use marklab_p4::ir::Program;
use marklab_p4::source::Span;
use thiserror::Error;

use crate::layout::Layout;
use crate::{DROP_PORT, Engine, Field, Origin, Packet, Phv, Stage, State};
use context::{Context, Referred};
use generator::Generator;

/// Why a program has no machine code.
#[derive(Clone, PartialEq, Debug, Error)]
pub enum JitError {
    /// A construct that only the interpreter runs.
    #[error("the JIT does not compile {what}")]
    Unsupported {
        /// The construct.
        what: String,
        /// Its place in the source.
        span: Span,
    },
    /// The code generator failed. This is a defect of the lab or of the platform.
    #[error("code generation failed: {0}")]
    Backend(String),
}

type Result<T> = std::result::Result<T, JitError>;

fn unsupported<T>(what: impl Into<String>, span: Span) -> Result<T> {
    Err(JitError::Unsupported { what: what.into(), span })
}

fn backend(error: impl std::fmt::Display) -> JitError {
    JitError::Backend(error.to_string())
}

type StageFn = unsafe extern "C" fn(context: *mut Context, phv: *mut u8);

/// A program as machine code. All switches that run the program can share it.
pub struct Jit {
    /// `None` only while being dropped.
    module: Option<JITModule>,
    /// By stage; `None` for stages that the program does not have.
    stages: [Option<StageFn>; Stage::ALL.len()],
    /// By stage: output of its deparser, if it has one.
    deparsers: [Deparser; Stage::ALL.len()],
    referred: Referred,
    origin: Origin,
}

/// Output of a deparser.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Deparser {
    /// Right in front of the payload: the deparser emits a fixed list of headers, so their total length is known
    /// before.
    InPlace,
    /// A buffer, which grows if the deparser emits in a loop.
    Buffer,
}

// SAFETY: after `compile` nothing changes the module. The code is only read and run, and has no state of its own.
#[expect(unsafe_code, reason = "the module is kept only to own the code's memory")]
unsafe impl Send for Jit {}
// SAFETY: as above.
#[expect(unsafe_code, reason = "the module is kept only to own the code's memory")]
unsafe impl Sync for Jit {}

impl std::fmt::Debug for Jit {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Jit").finish_non_exhaustive()
    }
}

impl Jit {
    /// Compiles a program, with this layout of packet states.
    ///
    /// # Errors
    ///
    /// [`JitError::Unsupported`] names the first construct that cannot be compiled.
    ///
    /// # Panics
    ///
    /// If the layout is another program's.
    pub fn compile(program: &Arc<Program>, layout: &Arc<Layout>) -> Result<Jit> {
        let origin = Origin::new(program, layout);
        let mut flags = settings::builder();
        for (name, value) in [("opt_level", "speed"), ("is_pic", "false"), ("use_colocated_libcalls", "false")] {
            flags.set(name, value).map_err(backend)?;
        }
        let isa = cranelift_native::builder().map_err(backend)?.finish(settings::Flags::new(flags)).map_err(backend)?;
        let mut builder = JITBuilder::with_isa(isa, default_libcall_names());
        context::declare_symbols(&mut builder);
        let mut module = JITModule::new(builder);
        let mut referred = Referred::default();
        let mut function_context = FunctionBuilderContext::new();
        let mut ids = [None; Stage::ALL.len()];
        for stage in Stage::ALL.into_iter().filter(|stage| stage.used_by(program)) {
            let mut code = module.make_context();
            let pointer = module.target_config().pointer_type();
            code.func.signature.params.extend([AbiParam::new(pointer), AbiParam::new(pointer)]);
            let name = format!("stage_{stage:?}");
            let id = module.declare_function(&name, Linkage::Local, &code.func.signature).map_err(backend)?;
            code.func.name = UserFuncName::user(0, id.as_u32());
            let mut generator =
                Generator::new(program, layout, &mut module, &mut code.func, &mut function_context, &mut referred);
            generator.stage(stage)?;
            generator.finish();
            define(&mut module, id, &mut code)?;
            ids[stage as usize] = Some(id);
        }
        module.finalize_definitions().map_err(backend)?;
        let function = |id: FuncId| {
            let code = module.get_finalized_function(id);
            // SAFETY: every stage was declared above with two pointer parameters, no result and the platform's C
            // calling convention, and `module`, which owns the code, lives as long as the `Jit`.
            #[expect(unsafe_code, reason = "generated code is called through a function pointer")]
            unsafe {
                std::mem::transmute::<*const u8, StageFn>(code)
            }
        };
        let stages = ids.map(|id| id.map(function));
        debug_assert_eq!(module.target_config().pointer_type(), types::I64);
        let deparsers = Stage::ALL.map(|stage| deparser(program, stage, &mut referred));
        Ok(Jit { module: Some(module), stages, deparsers, referred, origin })
    }
}

fn deparser(program: &Program, stage: Stage, referred: &mut Referred) -> Deparser {
    let body = stage.deparser(program).map(|deparser| &program.blocks[deparser.index()].body);
    match body {
        Some(body) if data::plain_emits(program, body).is_none() => {
            let known = data::emit_capacity(program, body).unwrap_or(0);
            referred.emitted_bytes = referred.emitted_bytes.max(known);
            Deparser::Buffer
        }
        _ => Deparser::InPlace,
    }
}

fn define(module: &mut JITModule, id: FuncId, code: &mut CodegenContext) -> Result<()> {
    module.define_function(id, code).map_err(|error| JitError::Backend(format!("{error:?}")))?;
    module.clear_context(code);
    Ok(())
}

impl Drop for Jit {
    fn drop(&mut self) {
        if let Some(module) = self.module.take() {
            // SAFETY: the function pointers in `stages` are not called any more, and were never handed out.
            #[expect(unsafe_code, reason = "the module frees its memory only by this call")]
            unsafe {
                module.free_memory();
            }
        }
    }
}

impl Jit {
    #[inline]
    fn stage(&self, stage: Stage, context: *mut Context, phv: &mut Phv) {
        let code = self.stages[stage as usize].expect("the program has this stage");
        // SAFETY: `context` is valid for this call and meets the conditions in `context.rs`; `phv` has the layout that
        // the code was compiled for, and the state has the tables and arrays of its program (`Origin::check`).
        #[expect(unsafe_code, reason = "generated code is called through a function pointer")]
        unsafe {
            code(context, phv.bytes_mut().as_mut_ptr());
        }
    }

    /// Puts the output of a stage's deparser in front of the payload.
    #[inline(always)]
    fn put_front(&self, stage: Stage, state: &State, packet: &mut Packet, phv: &Phv, emitted: usize) {
        match self.deparsers[stage as usize] {
            Deparser::InPlace => packet.move_front(phv.payload_offset(), emitted),
            Deparser::Buffer => packet.replace_front(phv.payload_offset(), &state.emitted[..emitted]),
        }
    }
}

impl Engine for Jit {
    fn run(&self, stage: Stage, state: &mut State, packet: &mut Packet, phv: &mut Phv) {
        self.origin.check(state, phv);
        let emitted = context::enter(state, packet, &self.referred, |context| self.stage(stage, context, phv));
        if let Some(emitted) = emitted {
            self.put_front(stage, state, packet, phv, emitted);
        }
    }

    // As the default implementation, but enters generated code's context only once.
    fn run_out(&self, state: &mut State, packet: &mut Packet, phv: &mut Phv, egress_spec: Field) -> bool {
        self.origin.check(state, phv);
        let mut kept = true;
        let emitted = context::enter(state, packet, &self.referred, |context| {
            self.stage(Stage::Egress, context, phv);
            kept = phv.get(egress_spec) != DROP_PORT;
            if kept {
                self.stage(Stage::Deparse, context, phv);
            }
        });
        if let Some(emitted) = emitted {
            self.put_front(Stage::Deparse, state, packet, phv, emitted);
        }
        kept
    }
}
