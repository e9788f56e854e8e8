//! Artifacts: compiled programs, in memory and in files.
//!
//! A file is an ONNX model: the typed IR, with the types of the program's exports as a bundle in its
//! metadata. Loading does not trust the file: it checks the IR again, compares the stamps with the results of
//! the passes and the exports with the bundle, and compares the components with the needs of the slots.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::OnceLock;

use bytes::Bytes;
use typeloom_interface::recorded::{FUNCTION, INTERFACE, PARTS, SLOTS};
use typeloom_interface::{self as interface, Interface};
use typeloom_module::bindings::Bindings;
use typeloom_onnx::messages::{FunctionProto, ModelProto, StringStringEntryProto, metadata_entry};
use typeloom_onnx::prost::Message as _;
use typeloom_onnx::text::{PrintOptions, print_model};
use typeloom_pool::compat::Direction;
use typeloom_pool::{Idx, Pool, TypedModule};
use typeloom_program::domain::Domain;
use typeloom_program::facts::{Facts, Placement};
use typeloom_program::program::{NodeId, Port, Program};
use typeloom_program::read::{ReadError, read};
use typeloom_program::write::{stated_type, write};
use typeloom_solver::diagnostic::{Code, Diagnostic, Location};
use typeloom_solver::model::Mode;
use typeloom_tensor::value_type::ValueType;

use crate::error::BuildError;
use crate::passes::export_interface::{interface_of_part, provided};
use crate::report::CompileReport;
use crate::solve_program::{Solution, solve};
use crate::stage::{Dispatch, Exported, Exports};
use crate::unit::Unit;

pub mod not_an_artifact;
mod stamps;

use not_an_artifact::NotAnArtifact;

/// A compiled program.
#[derive(Clone)]
pub struct Artifact {
    pub program: Program,
    pub facts: Facts,
    /// The types of the public functions, of the parts and of the slots.
    pub interface: TypedModule,
    /// The types that `interface` describes.
    exports: Exports,
    /// The public functions other than the main function, as programs, by name.
    pub functions: BTreeMap<String, Artifact>,
    /// The effects of the passes; empty for a loaded artifact.
    pub report: CompileReport,
    /// The program as a message, once it was asked for.
    model: OnceLock<ModelProto>,
}

/// Error of loading a file.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum LoadError {
    /// The bytes are not a compiled program.
    #[error(transparent)]
    NotAnArtifact(#[from] NotAnArtifact),
    /// The IR does not type-check.
    #[error(transparent)]
    IllTyped(#[from] BuildError),
    /// The interface of the IR differs from the recorded one.
    #[error("the program differs from its recorded interface: {differences}")]
    InterfaceDiffers {
        /// The path to each difference.
        differences: String,
    },
    /// A stamp differs from the result of the pass that writes it.
    #[error("{location}: {message}")]
    Stamp {
        /// The node, value or part with the stamp.
        location: String,
        message: String,
    },
    /// A component does not provide what its slot needs.
    #[error("slot `{slot}` needs {needs}, but {found} is bound to it{}", path(.differences))]
    Component {
        slot: String,
        /// The type that the program was compiled for.
        needs: String,
        found: String,
        /// The path to each difference.
        differences: Vec<String>,
    },
}

fn not_an_artifact(reason: impl Into<NotAnArtifact>) -> LoadError {
    LoadError::NotAnArtifact(reason.into())
}

impl LoadError {
    /// The diagnostics of the error.
    #[must_use]
    pub fn diagnostics(&self) -> Vec<Diagnostic> {
        let code = match self {
            Self::IllTyped(error) => return error.diagnostics(),
            Self::NotAnArtifact(_) => Code::MalformedFile,
            Self::InterfaceDiffers { .. } | Self::Stamp { .. } => Code::ProgramInterface,
            Self::Component { .. } => Code::SlotBinding,
        };
        vec![Diagnostic::new(code, self.to_string(), Location::default())]
    }
}

fn path(differences: &[String]) -> String {
    if differences.is_empty() { String::new() } else { format!(": {}", differences.join("; ")) }
}

impl fmt::Debug for Artifact {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let exports: Vec<&String> = self.interface.exports.keys().collect();
        f.debug_struct("Artifact").field("exports", &exports).finish_non_exhaustive()
    }
}

impl Artifact {
    pub(crate) fn new(exported: Exported) -> Self {
        let Exported { unit: Unit { program, facts, report, .. }, interface, exports } = exported;
        let (functions, model) = (BTreeMap::new(), OnceLock::new());
        Self { program, facts, interface, exports, functions, report, model }
    }

    /// The program as an ONNX message, with facts as metadata. It is made when it is first asked for.
    #[must_use]
    pub fn model(&self) -> &ModelProto {
        self.model.get_or_init(|| write(&self.program, &self.facts))
    }

    /// The artifact with the program of a message, which is not checked, and without parts: what a caller can
    /// make of the public fields, for tests of linking and loading.
    ///
    /// # Errors
    /// [`ReadError`].
    pub fn with_model(self, model: ModelProto) -> Result<Self, ReadError> {
        let (program, facts) = read(model)?;
        Ok(Self { program, facts, model: OnceLock::new(), ..self })
    }

    /// The method of each node on a slot.
    #[must_use]
    pub fn dispatch(&self) -> Vec<Dispatch> {
        let resolved = |id: NodeId| {
            let Placement { slot, role, method, .. } = self.facts.placements.get(id)?;
            let node = &self.program[id];
            let output = node.outputs.iter().copied().flatten().next();
            Some(Dispatch {
                node: self.program.name_of(output).to_owned(),
                slot: slot.as_str().into(),
                role: *role,
                method: method.as_ref()?.as_str().into(),
                operator: node.op.as_str().into(),
            })
        };
        self.program.nodes_in(self.program.main()).filter_map(resolved).collect()
    }

    /// Adds public functions.
    pub(crate) fn with_functions(mut self, functions: BTreeMap<String, Self>) -> Result<Self, BuildError> {
        let Exports { pool, types, names } = &mut self.exports;
        for (name, function) in &functions {
            let own = function.interface.import(pool).map_err(BuildError::interface)?;
            types.extend(own.into_iter().filter(|(export, _)| export == name));
            names.extend(function.exports.names.get(name).map(|variables| (name.clone(), variables.clone())));
        }
        self.interface = self.exports.module().map_err(BuildError::interface)?;
        self.functions = functions;
        Ok(self)
    }

    /// Returns the id of the type node that a value of the main graph is stamped with.
    #[must_use]
    pub fn type_of(&self, value: &str) -> Option<&'static str> {
        self.value_type(value)?.node.map(|node| node.id)
    }

    /// Returns the type of a value of the main graph, with its shape.
    #[must_use]
    pub fn value_type(&self, value: &str) -> Option<ValueType> {
        let value = self.program.value_named(value)?;
        let graph = &self.program[self.program.main()];
        let port = graph.infos.iter().chain(&graph.outputs).chain(&graph.inputs);
        let new = Port::new(value);
        let port = port.into_iter().find(|port| port.value == value).unwrap_or(&new);
        stated_type(&self.facts, port).map(|ty| ty.value_type())
    }

    /// The parts of a program with sends as typed functions: one for each class of peers, the module's own
    /// peer first.
    pub fn parts(&self) -> impl Iterator<Item = &FunctionProto> {
        let functions = self.model().functions.iter();
        functions.filter(|function| Domain::of(function.domain()) == Domain::Partition)
    }

    /// The IR in ONNX's textual syntax.
    #[must_use]
    pub fn to_text(&self) -> String {
        print_model(self.model(), &PrintOptions::display()).text
    }

    /// Encodes the artifact as a file.
    ///
    /// # Errors
    /// [`BuildError::Interface`] if the types of the exports cannot be encoded.
    pub fn to_bytes(&self) -> Result<Vec<u8>, BuildError> {
        let bundle = self.exports.bundle().map_err(BuildError::interface)?;
        let mut model = self.model().clone();
        let own =
            |entry: &StringStringEntryProto| entry.key() == INTERFACE || entry.key().starts_with(FUNCTION);
        model.metadata_props.retain(|entry| !own(entry));
        model.metadata_props.push(metadata_entry(INTERFACE, hex::encode(bundle.as_bytes())));
        for (name, function) in &self.functions {
            let program = hex::encode(function.to_bytes()?);
            model.metadata_props.push(metadata_entry(format!("{FUNCTION}{name}"), program));
        }
        Ok(model.encode_to_vec())
    }

    /// Checks that the components meet the requirements of the program's slots, for the slots that `asked`
    /// selects.
    ///
    /// # Errors
    /// [`LoadError::Component`] with the path to each difference.
    pub fn check_components(
        &self,
        components: &Bindings,
        asked: impl Fn(&str) -> bool,
    ) -> Result<(), LoadError> {
        let Exports { mut pool, mut types, names: _ } = self.exports.clone();
        types.retain(|name, _| name.strip_prefix(SLOTS).is_some_and(&asked));
        check_components(&mut pool, &types, components)
    }

    /// Reads a file that is to run with these components.
    ///
    /// # Errors
    /// [`LoadError`]. A component that does not provide what its slot needs is reported with the path to each
    /// difference.
    pub fn load(bytes: &[u8], components: &Bindings) -> Result<Self, LoadError> {
        let mut model: ModelProto =
            typeloom_onnx::messages::read(Bytes::copy_from_slice(bytes)).map_err(not_an_artifact)?;
        let interface = model.metadata_props.iter().find(|entry| entry.key() == INTERFACE);
        let hex = interface.ok_or(NotAnArtifact::NoInterface)?.value();
        let bundle = hex::decode(hex).map_err(|_| NotAnArtifact::InterfaceNotHex)?;
        model.metadata_props.retain(|entry| entry.key() != INTERFACE);
        let functions = functions_of(&mut model, components)?;
        let mut pool = Pool::new();
        let roots = pool.import(&bundle).map_err(not_an_artifact)?;
        let recorded: BTreeMap<String, Idx> =
            roots.iter().map(|root| (root.label.clone(), root.ty)).collect();
        check_functions(&mut pool, &recorded, &functions)?;
        let mut own = recorded.clone();
        own.retain(|name, _| !functions.contains_key(name));
        check_components(&mut pool, &own, components)?;
        let mut parts = std::mem::take(&mut model.functions);
        model.functions = parts.extract_if(.., |it| Domain::of(it.domain()) != Domain::Partition).collect();
        let (mut program, mut facts) = read(model).map_err(not_an_artifact)?;
        check_interface(&mut pool, &own, (&mut program, &mut facts), &parts, components)?;
        let names = roots.into_iter().map(|root| (root.label, root.names)).collect();
        let mut exports = Exports { pool, types: recorded, names };
        let interface = exports.module().map_err(not_an_artifact)?;
        let (report, model) = (CompileReport::default(), OnceLock::new());
        Ok(Self { program, facts, interface, exports, functions, report, model })
    }
}

/// Takes the public functions out of the metadata of a compiled file and loads them.
fn functions_of(
    model: &mut ModelProto,
    components: &Bindings,
) -> Result<BTreeMap<String, Artifact>, LoadError> {
    let mut functions = BTreeMap::new();
    for entry in &model.metadata_props {
        let Some(name) = entry.key().strip_prefix(FUNCTION) else { continue };
        let program = hex::decode(entry.value())
            .map_err(|_| NotAnArtifact::FunctionNotHex { name: name.to_owned() })?;
        let program = Artifact::load(&program, components)?;
        if !program.functions.is_empty() || functions.insert(name.to_owned(), program).is_some() {
            return Err(NotAnArtifact::NestedFunctions { name: name.to_owned() }.into());
        }
    }
    model.metadata_props.retain(|entry| !entry.key().starts_with(FUNCTION));
    Ok(functions)
}

/// Compares the recorded types of public functions with those of their programs.
fn check_functions(
    pool: &mut Pool,
    recorded: &BTreeMap<String, Idx>,
    functions: &BTreeMap<String, Artifact>,
) -> Result<(), LoadError> {
    for (name, function) in functions {
        let claimed = recorded.get(name).map(|ty| pool.digest(*ty)).transpose().map_err(not_an_artifact)?;
        if claimed.is_none() || claimed.as_ref() != function.interface.exports.get(name) {
            let differences = format!("function `{name}` has another type or is not exported");
            return Err(LoadError::InterfaceDiffers { differences });
        }
    }
    Ok(())
}

/// Checks that the component of every slot meets the requirements of the compiled program.
fn check_components(
    pool: &mut Pool,
    recorded: &BTreeMap<String, Idx>,
    components: &Bindings,
) -> Result<(), LoadError> {
    let provided: BTreeMap<String, Idx> = provided(pool, components)?.into_iter().collect();
    for (name, needed) in recorded {
        let Some(slot) = name.strip_prefix(SLOTS) else { continue };
        let needs = pool.signature(*needed);
        let Some(found) = provided.get(slot) else {
            let (slot, found) = (slot.to_owned(), "nothing".to_owned());
            return Err(LoadError::Component { slot, needs, found, differences: Vec::new() });
        };
        let compat = pool.compat(*needed, *found, Direction::Full);
        if !compat.is_compatible() {
            let differences = compat.breaking.iter().map(difference).collect();
            let found = pool.signature(*found);
            return Err(LoadError::Component { slot: slot.to_owned(), needs, found, differences });
        }
    }
    Ok(())
}

fn difference(difference: &typeloom_pool::compat::Difference) -> String {
    let typeloom_pool::compat::Difference { path, old, new, .. } = difference;
    format!("{path}: {old} to {new}")
}

/// Checks the types of the program, its stamps and its parts, and compares its exports with the bundle. Notes
/// the types and the parts.
fn check_interface(
    pool: &mut Pool,
    recorded: &BTreeMap<String, Idx>,
    (program, facts): (&mut Program, &mut Facts),
    parts: &[FunctionProto],
    components: &Bindings,
) -> Result<(), LoadError> {
    let name = if program.name().is_empty() { interface::MAIN } else { program.name() }.to_owned();
    let Some(claimed) = recorded.get(&name) else {
        return Err(NotAnArtifact::NoExport { name }.into());
    };
    if let Some(program) = stamps::check_nodes(program, facts, components)? {
        typed(&program, facts, components)?;
    }
    stamps::check_operators(program, components)?;
    let solution = typed(program, facts, components)?;
    stamps::check_types(program, &solution.types)?;
    program.parts = stamps::check_parts(program, facts, parts, components)?;
    check_parts(pool, recorded, program, &solution.interface, &name)?;
    let found = solution.interface.to_pool(pool).map_err(not_an_artifact)?;
    facts.types = solution.types;
    if found == *claimed {
        return Ok(());
    }
    let claimed =
        Interface::from_pool(pool, *claimed, &solution.interface.universe).map_err(not_an_artifact)?;
    let comparison = interface::compare(
        &claimed,
        &solution.interface,
        Direction::Full,
        interface::PortIdentity::NameAndPosition,
    );
    let differences = comparison.to_string().lines().collect::<Vec<_>>().join("; ");
    Err(LoadError::InterfaceDiffers { differences })
}

/// Solves the types of the program.
fn typed(program: &Program, facts: &Facts, components: &Bindings) -> Result<Solution, LoadError> {
    let solution = solve(program, facts, components, Mode::Permissive)?;
    if !solution.is_ok() {
        return Err(LoadError::IllTyped(BuildError::TypeConstraintFailed(solution.diagnostics)));
    }
    Ok(solution)
}

/// Compares the exports other than the main function with the parts of the program.
fn check_parts(
    pool: &mut Pool,
    recorded: &BTreeMap<String, Idx>,
    program: &Program,
    whole: &Interface,
    main: &str,
) -> Result<(), LoadError> {
    let mut parts = BTreeMap::new();
    for part in &program.parts {
        let ty = interface_of_part(whole, program, part).to_pool(pool).map_err(not_an_artifact)?;
        parts.insert(format!("{PARTS}{}", part.name()), ty);
    }
    let is_other = |name: &&String| *name != main && !name.starts_with(SLOTS);
    let exported: Vec<(&String, &Idx)> = recorded.iter().filter(|(name, _)| is_other(name)).collect();
    let found: Vec<(&String, &Idx)> = parts.iter().collect();
    if found == exported {
        return Ok(());
    }
    let differs = |(name, ty): &&(&String, &Idx)| parts.get(*name) != Some(*ty);
    let names: Vec<&str> = exported.iter().filter(differs).map(|(name, _)| name.as_str()).collect();
    let differences = if names.is_empty() { "a part is not exported".to_owned() } else { names.join("; ") };
    Err(LoadError::InterfaceDiffers { differences })
}
