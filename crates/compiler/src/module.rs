//! Modules: authored units of computation.

use indexmap::IndexMap;
use typeloom_onnx::messages::{ModelProto, OperatorSetIdProto};
use typeloom_ops::table::Table;

use crate::authoring::{AuthoringError, AuthoringErrorKind};
use crate::graph::Graph;
use crate::graph::recorder::SlotUse;
use crate::names;
use crate::place::Place;

/// The IR version of what is recorded: the first that has metadata on nodes.
const IR_VERSION: i64 = 10;

/// A unit of computation: a name and a body that records itself into a graph.
///
/// The body says what is computed and nothing about types: those come from what is connected.
///
/// ```
/// use typeloom_compiler::graph::Graph;
/// use typeloom_compiler::module::{Module, record};
///
/// struct Scorer;
///
/// impl Module for Scorer {
///     fn name(&self) -> &str {
///         "scorer"
///     }
///
///     fn body(&self, g: &mut Graph) {
///         let query = g.input("query");
///         let weights = g.input("weights");
///         let scores = query.matmul(&weights).relu();
///         g.output("scores", &scores);
///     }
/// }
///
/// let recorded = record(&Scorer)?;
/// assert_eq!(recorded.model.graph.unwrap().node.len(), 2);
/// # Ok::<(), Vec<typeloom_compiler::authoring::AuthoringError>>(())
/// ```
pub trait Module {
    /// The module's name: that of the function that it exports.
    fn name(&self) -> &str;

    /// Records the module.
    fn body(&self, g: &mut Graph);
}

impl<M: Module + ?Sized> Module for &M {
    fn name(&self) -> &str {
        (**self).name()
    }

    fn body(&self, g: &mut Graph) {
        (**self).body(g);
    }
}

/// A recorded module.
#[derive(Clone, Debug)]
pub struct Recorded {
    /// The graph, with the modules that it calls as functions.
    pub model: ModelProto,
    /// Its slots, those of called modules included, by name.
    pub slots: IndexMap<String, SlotUse>,
    /// Where the author's program makes its ports and declares types, by value.
    pub places: IndexMap<String, Place>,
}

/// Records a module.
///
/// # Errors
/// Every mistake of the recording, in its order.
#[track_caller]
pub fn record(module: &dyn Module) -> Result<Recorded, Vec<AuthoringError>> {
    let mut graph = Graph::new(module.name().to_owned(), Vec::new());
    let place = Place::here();
    if module.name().trim().is_empty() {
        graph.recorder.borrow_mut().error(AuthoringErrorKind::NamelessModule, place);
    }
    module.body(&mut graph);
    graph.finish(place)
}

/// A model around a graph, with every domain that a recording can use.
pub(crate) fn imports() -> Vec<OperatorSetIdProto> {
    let import = |domain: &str, version: i64| OperatorSetIdProto {
        domain: Some(domain.to_owned()),
        version: Some(version),
        ..OperatorSetIdProto::default()
    };
    let newest = |domain: &str| Table::get().domain(domain).map_or(1, |domain| i64::from(domain.newest));
    let own = [
        names::TYPES_DOMAIN,
        names::WIRE_DOMAIN,
        names::COMPOSITE_DOMAIN,
        names::IMPORT_DOMAIN,
        names::PEERS_DOMAIN,
        names::MODULE_DOMAIN,
    ];
    let roles = typeloom_contracts::role::Role::ALL.iter().map(|role| role.domain());
    std::iter::once(import("", newest("")))
        .chain(std::iter::once(import("ai.onnx.ml", newest("ai.onnx.ml"))))
        .chain(
            own.into_iter().chain(roles.filter(|domain| !domain.is_empty())).map(|domain| import(domain, 1)),
        )
        .chain(
            typeloom_contracts::protocol::Protocols::registered()
                .map(|opset| import(opset.domain, i64::from(opset.version))),
        )
        .collect()
}

pub(crate) fn model_of(graph: typeloom_onnx::messages::GraphProto) -> ModelProto {
    ModelProto {
        ir_version: Some(IR_VERSION),
        producer_name: Some("typeloom".into()),
        graph: Some(graph),
        opset_import: imports(),
        ..ModelProto::default()
    }
}
