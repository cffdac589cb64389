//! A program as machine code.

use std::any::Any;
use std::mem;
use std::sync::Arc;

use cranelift_codegen::control::ControlPlane;
use cranelift_codegen::ir::{types, AbiParam, Function, InstBuilder, Signature, UserFuncName};
use cranelift_codegen::isa::{OwnedTargetIsa, TargetIsa};
use cranelift_codegen::settings::{self, Configurable};
use cranelift_codegen::Context as Compilation;
use cranelift_frontend::{FunctionBuilder, FunctionBuilderContext};

use crate::native::bounds::Extents;
use crate::native::code::MachineCode;
use crate::native::gen::{Gen, NotNative};
use crate::native::helpers;
use crate::program::action::Op;
use crate::program::expr::Expr;
use crate::program::field::Field;
use crate::program::parser::ParserOp;
use crate::program::Program;
use crate::state::context::{arrival, departure, Context, EntryPoint, Setting, Word};
use crate::state::options::Engine;

/// A step that the interpreter does for native code.
#[derive(Debug, PartialEq)]
pub(crate) enum RareStep {
    Ops(Vec<Op>),
    Test(Expr),
}

/// The steps that the interpreter does, each with the action's arguments where they are known; and whether it
/// also parses.
#[derive(Debug, Default, PartialEq)]
pub(crate) struct Rare {
    pub steps: Vec<(RareStep, Vec<u128>)>,
    pub parser: bool,
}

type NativeFn = unsafe extern "C" fn(*mut Context);

/// A program's machine code.
#[derive(Debug)]
pub(crate) struct Compiled {
    pub rare: Rare,
    code: MachineCode,
    /// The offset of each [`EntryPoint`] in `code`.
    places: [usize; 3],
}

impl Compiled {
    /// A program's machine code, which its pipelines share, if the engine wants it and it can be made.
    pub fn of(program: &Program, engine: Engine) -> Option<Arc<Compiled>> {
        if engine == Engine::Interpreter {
            return None;
        }
        let compile = || Some(Arc::new(Compiled::new(program).ok()?) as Arc<dyn Any + Send + Sync>);
        program.derived.get_or_init(compile).clone()?.downcast::<Compiled>().ok()
    }

    /// The machine code of a program; the reason if there is none.
    fn new(program: &Program) -> Result<Compiled, String> {
        let isa = isa()?;
        unusual(program)?;
        let mut rare = Rare::default();
        let mut code = Vec::new();
        let mut add = |rare: &mut Rare, body| {
            let function = function(&*isa, program, rare, body)?;
            code.resize(code.len().next_multiple_of(16), 0);
            let at = code.len();
            code.extend(function);
            Ok::<usize, String>(at)
        };
        let ingress = match add(&mut rare, ingress) {
            Ok(at) => at,
            Err(_) => {
                rare = Rare { parser: true, ..Rare::default() };
                add(&mut rare, ingress)?
            }
        };
        let egress = add(&mut rare, egress)?;
        let deparse = add(&mut rare, deparse)?;
        let code = MachineCode::new(&code).map_err(|error| error.to_string())?;
        Ok(Compiled { rare, code, places: [ingress, egress, deparse] })
    }

    /// Runs a function.
    ///
    /// # Safety
    ///
    /// The context's pointers must be those of a pipeline of this program that nothing else uses meanwhile,
    /// and `out` must have room for all headers.
    #[inline]
    pub unsafe fn run(&self, function: EntryPoint, context: &mut Context) {
        // SAFETY: `new` put a function of type `NativeFn` at each of these places.
        let entry: NativeFn = unsafe { mem::transmute(self.code.address(self.places[function as usize])) };
        // SAFETY: the caller's promise.
        unsafe { entry(context) }
    }
}

/// The target of native code: this machine.
fn isa() -> Result<OwnedTargetIsa, String> {
    if !cfg!(all(target_arch = "x86_64", unix)) {
        return Err("no native code for this kind of machine".to_owned());
    }
    let mut flags = settings::builder();
    let set = |flags: &mut settings::Builder, name, value| {
        flags.set(name, value).map_err(|error| error.to_string())
    };
    set(&mut flags, "opt_level", "speed")?;
    set(&mut flags, "enable_verifier", if cfg!(debug_assertions) { "true" } else { "false" })?;
    let isa = cranelift_native::builder()?;
    isa.finish(settings::Flags::new(flags)).map_err(|error| error.to_string())
}

/// Programs that native code takes for granted not to exist.
fn unusual(program: &Program) -> Result<(), String> {
    let standard = &program.standard;
    let fields = [standard.checksum_error, standard.parser_error, standard.mcast_grp, standard.priority];
    let required = [standard.egress_spec, standard.egress_port, standard.ingress_port];
    let wide = |field: &Field| field.width > 64;
    let colours = program.match_tables.iter().filter_map(|table| table.metered).map(|(_, field)| field);
    let checksums = program.verified.iter().chain(&program.updated).map(|checksum| checksum.field);
    let mut narrow = fields.into_iter().flatten().chain(required).chain(colours).chain(checksums);
    let steps: usize = program.bodies.iter().map(|body| body.ops.len()).sum();
    if narrow.any(|field| wide(&field)) {
        return Err("unusual fields".to_owned());
    }
    if program.layout.headers.iter().any(|header| header.variable.is_some()) {
        return Err("fields of variable length".to_owned());
    }
    if program.match_tables.iter().any(|table| table.follows) {
        return Err("a table after which the selected action says what follows".to_owned());
    }
    let primitive =
        |op: &ParserOp| matches!(op, ParserOp::Primitive(op) if !crate::native::parser::plain(op));
    if program.parser.states.iter().any(|state| state.ops.iter().any(primitive)) {
        return Err("unusual operations in the parser".to_owned());
    }
    // The interpreter stops a packet after this many: native code does not count.
    if steps + program.deparser.ops.len() > 50_000 {
        return Err("more steps than a packet may take".to_owned());
    }
    Ok(())
}

/// One function: the nodes up to the end of the control, and the steps at that end.
fn function(isa: &dyn TargetIsa, program: &Program, rare: &mut Rare, body: Emit) -> Result<Vec<u8>, String> {
    let call_conv = isa.default_call_conv();
    let mut signature = Signature::new(call_conv);
    signature.params.push(AbiParam::new(types::I64));
    let function = Function::with_name_signature(UserFuncName::user(0, 0), signature);
    let mut compilation = Compilation::for_function(function);
    let mut frontend = FunctionBuilderContext::new();
    let mut b = FunctionBuilder::new(&mut compilation.func, &mut frontend);
    let (first, end) = (b.create_block(), b.create_block());
    b.append_block_params_for_function_params(first);
    b.switch_to_block(first);
    let context = b.block_params(first)[0];
    let mut extents = Extents::default();
    extents.within(context, mem::size_of::<Context>());
    let mut gen = Gen { b, program, rare, context, phv: context, extents, end, call_conv };
    let phv = gen.get(Word::phv);
    gen.phv = gen.extents.within(phv, program.layout.initial.len());
    body(&mut gen).map_err(|NotNative| "a step that must be native is not".to_owned())?;
    let Gen { mut b, extents, .. } = gen;
    b.ins().return_(&[]);
    b.seal_all_blocks();
    b.finalize();
    let within = extents.check(&compilation.func);
    debug_assert!(within.is_ok(), "{within:?}");
    within?;
    let code = compilation
        .compile(isa, &mut ControlPlane::default())
        .map_err(|error| format!("Cranelift: {:?}", error.inner))?;
    if !code.buffer.relocs().is_empty() {
        return Err("code with relocations".to_owned());
    }
    Ok(code.code_buffer().to_vec())
}

type Emit = fn(&mut Gen<'_>) -> Result<(), NotNative>;

/// Sets fields from words of the context.
fn set_all(gen: &mut Gen<'_>, fields: &[Setting]) -> Result<(), NotNative> {
    for &(field, word) in fields {
        if let Some(field) = field {
            let value = gen.get(word);
            gen.set_field(field, value)?;
        }
    }
    Ok(())
}

fn ingress(gen: &mut Gen<'_>) -> Result<(), NotNative> {
    let [first, last] = arrival(&gen.program.standard);
    set_all(gen, &first)?;
    let (restored, context) = (gen.get(Word::restored), gen.context);
    gen.when(restored, |gen| {
        gen.call(helpers::restore as *const u8, &[context]);
    });
    set_all(gen, &last)?;
    if gen.rare.parser {
        gen.call(helpers::parse as *const u8, &[context]);
    } else {
        gen.parser()?;
    }
    gen.verify();
    gen.control(gen.program.ingress);
    gen.b.switch_to_block(gen.end);
    gen.summarise();
    Ok(())
}

fn egress(gen: &mut Gen<'_>) -> Result<(), NotNative> {
    let standard = &gen.program.standard;
    set_all(gen, &departure(standard))?;
    gen.control(gen.program.egress);
    gen.b.switch_to_block(gen.end);
    let spec = gen.field_bits(standard.egress_spec)?;
    gen.put(Word::egress_spec, spec);
    Ok(())
}

fn deparse(gen: &mut Gen<'_>) -> Result<(), NotNative> {
    gen.deparse();
    let end = gen.end;
    gen.b.ins().jump(end, &[]);
    gen.b.switch_to_block(end);
    Ok(())
}

#[cfg(all(test, target_arch = "x86_64", unix))]
#[allow(clippy::unwrap_used)] // A test fails by panicking.
#[path = "tests/compile.rs"]
mod tests;
