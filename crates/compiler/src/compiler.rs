//! The compiler: bindings, policies, and the pipeline of passes.
//!
//! Example of [`Compiler`]:
//!
//! ```
//! use typeloom_compiler::compiler::Compiler;
//! use typeloom_module::graph::Graph;
//! use typeloom_module::module::Module;
//!
//! struct Scale;
//!
//! impl Module for Scale {
//!     fn name(&self) -> &str {
//!         "scale"
//!     }
//!
//!     fn body(&self, g: &mut Graph) {
//!         let x = g.input("x").of("float[N, 3]");
//!         let factor = g.input("factor");
//!         g.output("y", &(&x * &factor));
//!     }
//! }
//!
//! let artifact = Compiler::new().compile(&Scale)?;
//! assert_eq!(artifact.type_of("factor"), Some("tensor.f32"));
//! assert_eq!(artifact.type_of("y"), Some("tensor.f32"));
//! # Ok::<(), typeloom_compiler::error::BuildError>(())
//! ```

use std::collections::BTreeMap;
use std::fmt;
use std::rc::Rc;
use std::sync::Arc;

use typeloom_contracts::aggregator::Aggregator;
use typeloom_contracts::backend::Backend;
use typeloom_contracts::codec::Codec;
use typeloom_contracts::data_source::DataSource;
use typeloom_contracts::index::Index;
use typeloom_contracts::model::Model;
use typeloom_contracts::peer_selector::PeerSelector;
use typeloom_contracts::protocol::Protocol;
use typeloom_contracts::role::Role;
use typeloom_module::Set;
use typeloom_module::bindings::Bindings;
use typeloom_module::program::{Program, ProgramIr, SlotInfo};
use typeloom_module::registry::Registry;
use typeloom_onnx::text::{PrintOptions, print_model};
use typeloom_ops::described::Operators;
use typeloom_solver::model::Mode;

use crate::artifact::Artifact;
use crate::assign_backend;
use crate::effects::Effects;
use crate::error::BuildError;
use crate::pass::Pass;
use crate::passes::StandardPass;
use crate::report::CompileReport;
use crate::stage::{Parsed, Stage};
use crate::unit::{Coercion, Unit};

/// Compiles modules and ONNX models.
#[derive(Clone, Default)]
pub struct Compiler {
    bindings: Bindings,
    mode: Mode,
    coercion: Coercion,
    without: Vec<String>,
    inserted: Vec<(Side, String, Rc<dyn Pass>)>,
    printed: Vec<String>,
    /// The slot of ONNX operators that have none.
    default_slot: Option<String>,
    operators: Option<Arc<Operators>>,
}

impl fmt::Debug for Compiler {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { bindings, mode, coercion, without, inserted, printed, default_slot, operators } = self;
        let inserted: Vec<_> = inserted.iter().map(|(side, at, pass)| (side, at, pass.name())).collect();
        f.debug_struct("Compiler")
            .field("bindings", bindings)
            .field("mode", mode)
            .field("coercion", coercion)
            .field("without", without)
            .field("inserted", &inserted)
            .field("printed", printed)
            .field("default_slot", default_slot)
            .field("operators", operators)
            .finish()
    }
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Side {
    Before,
    After,
}

/// A pass of a pipeline.
enum Scheduled {
    Standard(StandardPass),
    User(Rc<dyn Pass>),
}

impl Scheduled {
    fn name(&self) -> &str {
        match self {
            Self::Standard(pass) => pass.name(),
            Self::User(pass) => pass.name(),
        }
    }
}

impl Scheduled {
    /// Whether the pass is checked to keep all nodes with side effects in order. Debug builds check standard
    /// passes too, except those that copy functions and parts, and insert receives.
    fn keeps_effects(&self) -> bool {
        match self {
            Self::Standard(
                StandardPass::Expand | StandardPass::InferPeerClasses | StandardPass::Partition,
            ) => false,
            Self::Standard(_) => cfg!(debug_assertions),
            Self::User(_) => true,
        }
    }
}

macro_rules! binds {
    ($($method:ident $contract:ident $doc:literal;)*) => {
        impl Compiler {
            $(
                #[doc = concat!("Binds ", $doc, " to a slot.")]
                #[must_use]
                pub fn $method<T: $contract>(mut self, slot: &str) -> Self {
                    self.bindings = self.bindings.$method::<T>(slot);
                    self
                }
            )*
        }
    };
}

binds! {
    bind_backend Backend "a backend";
    bind_index Index "an index";
    bind_model Model "a model";
    bind_aggregator Aggregator "an aggregator";
    bind_codec Codec "a codec";
    bind_data_source DataSource "a data source";
    bind_peer_selector PeerSelector "a peer selector";
    bind_protocol Protocol "a protocol";
}

impl Compiler {
    /// Returns a strict compiler: every value needs a type, every slot a component, and no casts are
    /// inserted.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Accepts values of unresolved types, and slots without a component.
    #[must_use]
    pub fn with_permissive_types(mut self) -> Self {
        self.mode = Mode::Permissive;
        self
    }

    /// Binds a backend to `slot` and assigns every ONNX operator without a slot to it, so that an unmodified
    /// model compiles for this backend. The session runs branches and loops, with their bodies on the
    /// backend, and operators on sequences, optionals and strings. A backend that stores a single element
    /// type gets the nodes whose data has this type. The type can be bound to the slot before, as by the
    /// compiler of components.
    #[must_use]
    pub fn run_on_backend<T: Backend>(mut self, slot: &str) -> Self {
        self.default_slot = Some(slot.to_owned());
        let bound = self.bindings.get(slot);
        let is_bound =
            bound.is_some_and(|it| it.role == Role::Backend && it.component == std::any::type_name::<T>());
        if is_bound { self } else { self.bind_backend::<T>(slot) }
    }

    /// Sets the policy for edges whose two ends are declared with different types.
    #[must_use]
    pub fn with_coercion(mut self, coercion: Coercion) -> Self {
        self.coercion = coercion;
        self
    }

    /// Adds declared and described operators to the registered ones: [`Operators`] contains operator sets and
    /// operator files, as for a check.
    #[must_use]
    pub fn with_operators(mut self, operators: Operators) -> Self {
        self.operators = Some(Arc::new(operators));
        self
    }

    /// Replaces all bindings.
    #[must_use]
    pub fn with_bindings(mut self, bindings: impl Into<Bindings>) -> Self {
        self.bindings = bindings.into();
        self
    }

    /// Leaves a pass out. The compilation fails if no pass has this name, or if later passes rely on the
    /// pass.
    #[must_use]
    pub fn without_pass(mut self, name: &str) -> Self {
        self.without.push(name.to_owned());
        self
    }

    /// Adds a pass before another.
    #[must_use]
    pub fn with_pass_before(mut self, name: &str, pass: impl Pass + 'static) -> Self {
        self.inserted.push((Side::Before, name.to_owned(), Rc::new(pass)));
        self
    }

    /// Adds a pass after another.
    #[must_use]
    pub fn with_pass_after(mut self, name: &str, pass: impl Pass + 'static) -> Self {
        self.inserted.push((Side::After, name.to_owned(), Rc::new(pass)));
        self
    }

    /// Prints the IR after a pass, in ONNX's textual syntax, into the report.
    #[must_use]
    pub fn print_after(mut self, name: &str) -> Self {
        self.printed.push(name.to_owned());
        self
    }

    /// Names of the standard passes, in order.
    #[must_use]
    pub fn pass_names() -> Vec<String> {
        StandardPass::ALL.iter().map(|pass| pass.name().to_owned()).collect()
    }

    /// Compiles a module, a model or the bytes of a model.
    ///
    /// # Errors
    /// All errors of the first pass that fails.
    #[track_caller]
    pub fn compile(&self, program: impl Program) -> Result<Artifact, BuildError> {
        self.compile_ir(program.into_ir()?)
    }

    /// Compiles a recorded program.
    ///
    /// # Errors
    /// As [`compile`](Self::compile).
    pub fn compile_ir(&self, mut ir: ProgramIr) -> Result<Artifact, BuildError> {
        let exports = std::mem::take(&mut ir.exports);
        if exports.is_empty() {
            return self.compile_one(ir);
        }
        let is_exported = |slot: &str| exports.iter().any(|function| function.slots.contains_key(slot));
        let own = self.of_slots(|slot| ir.slots.contains_key(slot) || !is_exported(slot));
        let main = own.compile_one(ir)?;
        let mut functions = BTreeMap::new();
        for function in exports {
            let name = function.program.name().to_owned();
            let compiler = self.of_slots(|slot| function.slots.contains_key(slot));
            functions.insert(name, compiler.compile_one(function)?);
        }
        main.with_functions(functions)
    }

    /// The compiler with the bindings of some slots.
    fn of_slots(&self, keep: impl Fn(&str) -> bool) -> Self {
        Self { bindings: self.bindings.of_slots(keep), ..self.clone() }
    }

    /// Compiles a program without public functions other than its main function.
    fn compile_one(&self, ir: ProgramIr) -> Result<Artifact, BuildError> {
        match self.run(ir, &self.pipeline()?)? {
            Stage::Exported(exported) => Ok(Artifact::new(exported)),
            stage => Err(BuildError::WrongStage { pass: "artifact".to_owned(), stage: stage.name() }),
        }
    }

    /// Compiles up to and including a pass, and returns the program at the stage that it has reached.
    ///
    /// # Errors
    /// As [`compile`](Self::compile).
    #[track_caller]
    pub fn compile_until(&self, program: impl Program, name: &str) -> Result<Stage, BuildError> {
        let known = Self::pass_names();
        if !known.iter().any(|pass| pass == name) {
            return Err(BuildError::UnknownPass { name: name.to_owned(), known });
        }
        let pipeline = self.pipeline()?;
        let end = pipeline.iter().position(|scheduled| scheduled.name() == name).map_or(0, |at| at + 1);
        self.run(program.into_ir()?, &pipeline[..end])
    }

    /// Runs the passes of `pipeline` in order.
    fn run(&self, ir: ProgramIr, pipeline: &[Scheduled]) -> Result<Stage, BuildError> {
        let ProgramIr { mut program, mut facts, mut slots, exports: _, locations } = ir;
        let mut bindings = self.bindings.clone();
        if let Some(operators) = &self.operators {
            bindings = bindings.with_operators(Arc::clone(operators));
        }
        let registry = Registry::of(&bindings)?;
        registry.import(&mut program);
        let mut assigned = Set::default();
        if let Some(slot) = &self.default_slot {
            slots.entry(slot.clone()).or_insert(SlotInfo { role: Role::Backend, location: None });
            assigned = assign_backend::to_backend(&program, &mut facts, slot, &bindings)?;
        }
        // Casts resolve a conflict only if the pass that inserts them runs.
        let is_skipped = |pass: StandardPass| self.without.iter().any(|name| name == pass.name());
        let coercion = if is_skipped(StandardPass::InsertCastOps) { Coercion::Never } else { self.coercion };
        let mut stage = Stage::Parsed(Parsed {
            unit: Unit {
                program,
                facts,
                slots,
                locations,
                bindings,
                assigned,
                mode: self.mode,
                coercion,
                report: CompileReport::default(),
            },
        });
        for scheduled in pipeline {
            let name = scheduled.name();
            if self.without.iter().any(|skipped| skipped == name) {
                if let Scheduled::Standard(pass) = scheduled {
                    stage = pass.skip(stage)?;
                }
                continue;
            }
            let keeps_effects = scheduled.keeps_effects();
            let effects = keeps_effects.then(|| Effects::of(&registry, &stage.unit().program));
            match scheduled {
                Scheduled::Standard(pass) => stage = pass.run(stage)?,
                Scheduled::User(pass) => pass.run(stage.unit_mut())?,
            }
            let unit = stage.unit_mut();
            if let Some(effects) = effects {
                let failed = |message| BuildError::Pass { pass: name.to_owned(), message };
                effects.check(&registry, &unit.program, &unit.facts).map_err(failed)?;
            }
            unit.report.passes.push(name.to_owned());
            if self.printed.iter().any(|printed| printed == name) {
                let text = print_model(&unit.model(), &PrintOptions::display()).text;
                unit.report.printed.push((name.to_owned(), text));
            }
        }
        Ok(stage)
    }

    /// All passes in order, skipped ones included.
    fn pipeline(&self) -> Result<Vec<Scheduled>, BuildError> {
        let mut pipeline: Vec<Scheduled> = StandardPass::ALL.into_iter().map(Scheduled::Standard).collect();
        let position = |pipeline: &[Scheduled], name: &str| {
            pipeline.iter().position(|pass| pass.name() == name).ok_or_else(|| BuildError::UnknownPass {
                name: name.to_owned(),
                known: pipeline.iter().map(|pass| pass.name().to_owned()).collect(),
            })
        };
        for (side, name, pass) in &self.inserted {
            let at = position(&pipeline, name)?;
            let at = if *side == Side::Before { at } else { at + 1 };
            pipeline.insert(at, Scheduled::User(Rc::clone(pass)));
        }
        for name in &self.without {
            let at = position(&pipeline, name)?;
            if matches!(pipeline[at], Scheduled::Standard(pass) if pass.is_required()) {
                return Err(BuildError::RequiredPass { name: name.clone() });
            }
        }
        for name in &self.printed {
            position(&pipeline, name)?;
        }
        Ok(pipeline)
    }
}
