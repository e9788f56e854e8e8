//! Recorded modules, and the model around a recorded graph.

use indexmap::IndexMap;
use typeloom_contracts::protocol::Protocols;
use typeloom_contracts::role::Role;
use typeloom_onnx::messages::{FunctionProto, ModelProto, OperatorSetIdProto, opset_import};
use typeloom_ops::table::Table;
use typeloom_program::domain::Domain;
use typeloom_program::facts::Facts;
use typeloom_program::program::Program;
use typeloom_program::read::add_function;
use typeloom_program::write::write;

use super::recorder::SlotUse;
use crate::Set;
use crate::location::SourceLocation;

/// IR version of recorded models: the first with metadata on nodes.
const IR_VERSION: i64 = 10;

/// A recorded module.
#[derive(Clone, Debug)]
pub struct Recorded {
    /// The main graph, and the called modules as functions.
    pub program: Program,
    pub facts: Facts,
    /// Slots by name, including those of called modules.
    pub slots: IndexMap<String, SlotUse>,
    /// Public functions of the program, without exports of their own.
    pub exports: Vec<Recorded>,
    /// Source locations of ports and declared types, by value.
    pub locations: IndexMap<String, SourceLocation>,
}

impl Recorded {
    pub(crate) fn new(
        mut program: Program,
        mut facts: Facts,
        functions: impl Iterator<Item = FunctionProto>,
        slots: IndexMap<String, SlotUse>,
        exports: Vec<Self>,
        locations: IndexMap<String, SourceLocation>,
    ) -> Self {
        functions.for_each(|function| add_function(&mut program, &mut facts, function));
        let mut used: Set<Domain> = [Domain::Onnx].into_iter().collect();
        used.extend(program.all_nodes().map(|node| program[node].domain.clone()));
        let mut opset_import = imports();
        opset_import.retain(|import| used.contains(&Domain::of(import.domain())));
        program.set_header(ModelProto {
            ir_version: Some(IR_VERSION),
            producer_name: "typeloom".into(),
            opset_import,
            ..ModelProto::default()
        });
        Self { program, facts, slots, exports, locations }
    }

    /// The recording as a message.
    #[must_use]
    pub fn model(&self) -> ModelProto {
        write(&self.program, &self.facts)
    }
}

/// Imports of every domain that a recording can use.
pub(crate) fn imports() -> Vec<OperatorSetIdProto> {
    let newest = |domain: &str| Table::get().domain(domain).map_or(1, |domain| i64::from(domain.newest));
    let roles = Role::ALL.iter().map(|role| role.domain());
    let published = [Domain::Onnx, Domain::Ml];
    let published = published.iter().map(|domain| opset_import(domain.name(), newest(domain.name())));
    let own = Domain::OF_MODULES;
    let own = own.iter().map(Domain::name).chain(roles.filter(|domain| !domain.is_empty()));
    published
        .chain(own.map(|domain| opset_import(domain, 1)))
        .chain(Protocols::registered().map(|opset| opset_import(opset.domain, i64::from(opset.version))))
        .collect()
}
