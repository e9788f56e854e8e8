//! The constraint problem of a repair, and its solution, as plain data.
//!
//! [`find`](super::find) builds a [`Problem`] from a checked model, [`choose`](super::choose) solves it, and
//! [`write`](super::write) edits the file according to the [`Solution`].

use std::collections::{BTreeMap, HashMap, HashSet};

use indexmap::IndexMap;
use petgraph::unionfind::UnionFind;
use typeloom_onnx::messages::TensorProto;
use typeloom_solver::elem::{Elem, ElemSet};
use typeloom_solver::model::ports::ClassId;
use typeloom_solver::program::GraphId;

use super::layout::{BodyId, Layout, NodeId, Site};
use super::loss::{StoredTensor, TensorLoss};
use crate::ids::ids;

ids! {
    /// One execution of a body: the run of the main graph, or one call of a function along one path of calls.
    CallId
}

impl CallId {
    pub(crate) const MAIN: Self = Self(0);
}

/// A call and its caller.
#[derive(Clone, Debug)]
pub(crate) struct Call {
    pub(crate) body: BodyId,
    /// The calling node; `None` for the main graph.
    pub(crate) caller: Option<(CallId, NodeId)>,
}

/// A value of a body: the graph that defines it, and its name.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub(crate) struct LocalValue<'a> {
    pub(crate) graph: GraphId,
    pub(crate) name: &'a str,
}

/// The uses of one value whose conversions are nodes of one graph.
#[derive(Clone, Debug)]
pub(crate) struct Uses<'a> {
    pub(crate) body: BodyId,
    pub(crate) value: LocalValue<'a>,
    /// The graph of the conversions. An output of a nested graph is converted in that graph, because graphs
    /// return only values that they define.
    pub(crate) graph: GraphId,
    /// Whether the value can be converted. Sequences cannot, nor can model inputs that are also model
    /// outputs.
    pub(crate) converts: bool,
    /// The tensor, if the value is one that the model stores.
    pub(crate) stored: Option<StoredTensor<'a>>,
    /// The input of the `Cast` that makes the value. Nodes can read it instead.
    pub(crate) source: Option<CastSource<'a>>,
    /// The declared element type, unless it belongs to the interface of the model. Keeping it is preferred.
    pub(crate) declared: Option<Elem>,
    /// The class of the port that defines the value, by call.
    pub(crate) makers: BTreeMap<CallId, ClassId>,
    /// The class of the port at each use, by call.
    pub(crate) readers: IndexMap<Site, BTreeMap<CallId, ClassId>>,
}

impl<'a> Uses<'a> {
    /// The input of the `Cast` that makes the value, if all readers of another type can read it instead. An
    /// output of a graph must be a value that the graph defines, so it has to have the type of the value.
    pub(crate) fn readable_source(&self, sets: &[ElemSet]) -> Option<CastSource<'a>> {
        let set = |class: &ClassId| sets[class.index()];
        let can_keep = |(call, reader): (&CallId, &ClassId)| {
            self.makers.get(call).is_some_and(|maker| !set(maker).intersect(set(reader)).is_empty())
        };
        let mut sites = self.readers.iter();
        self.source
            .filter(|_| sites.all(|(site, classes)| site.node.is_some() || classes.iter().all(can_keep)))
    }
}

/// The input of a `Cast`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct CastSource<'a> {
    pub(crate) value: LocalValue<'a>,
    pub(crate) class: ClassId,
}

/// A body with its calls.
#[derive(Clone, Debug, Default)]
pub(crate) struct BodyCalls {
    pub(crate) calls: Vec<CallId>,
    /// The imported version of the default operator set.
    pub(crate) version: i64,
}

/// Classes of ports with the element types that each can have, and the values between them.
#[derive(Debug, Default)]
pub(crate) struct Problem<'a> {
    pub(crate) classes: Vec<ElemSet>,
    pub(crate) calls: Vec<Call>,
    pub(crate) bodies: Vec<BodyCalls>,
    pub(crate) uses: Vec<Uses<'a>>,
    /// The position in `uses` of each value that the model stores.
    pub(crate) stored: HashMap<(BodyId, LocalValue<'a>), usize>,
    /// The classes of inputs of comparisons.
    pub(crate) compared: HashSet<ClassId>,
    /// For each call, the class of the port that defines each value.
    pub(crate) makers: Vec<HashMap<LocalValue<'a>, ClassId>>,
    /// The class of each output of a graph, with the position of its uses in `uses`.
    pub(crate) outputs: HashMap<(CallId, GraphId, usize), (ClassId, usize)>,
    /// The position of the node that defines a value. Collected for models with calls only.
    pub(crate) definitions: HashMap<(BodyId, LocalValue<'a>), usize>,
    /// The values that a node reads. Collected for models with calls only.
    pub(crate) operands: HashMap<(BodyId, NodeId), HashSet<LocalValue<'a>>>,
}

impl Problem<'_> {
    pub(crate) fn calls_of(&self, body: BodyId) -> &[CallId] {
        &self.bodies[body.index()].calls
    }

    /// The effect of a conversion on a stored value; `None` if the value is computed or not read.
    pub(crate) fn loss(
        &self,
        body: BodyId,
        value: LocalValue<'_>,
        from: Elem,
        to: Elem,
    ) -> Option<TensorLoss> {
        let at = self.stored.get(&(body, value))?;
        self.uses[*at].stored.as_ref()?.loss(from, to)
    }

    /// A number for each of the uses, which is equal where a class with several element types is shared.
    fn parts(&self) -> Vec<usize> {
        let mut parts = UnionFind::<usize>::new(self.uses.len());
        let mut first: HashMap<ClassId, usize> = HashMap::new();
        for (at, uses) in self.uses.iter().enumerate() {
            let classes = uses.makers.values().chain(uses.readers.values().flat_map(BTreeMap::values));
            for class in classes.filter(|class| self.classes[class.index()].single().is_none()) {
                parts.union(at, *first.entry(*class).or_insert(at));
            }
        }
        parts.into_labeling()
    }

    /// The calling node as diagnostics print it; `None` for the main graph.
    pub(crate) fn call_site(&self, layouts: &[Layout<'_>], call: CallId) -> Option<String> {
        let (caller, node) = self.calls[call.index()].caller?;
        Some(layouts[self.calls[caller.index()].body.index()].describe(node))
    }
}

/// The type into which a value is converted.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) enum Target<'a> {
    Elem(Elem),
    /// The type of another value, by `CastLike`.
    Like(LocalValue<'a>),
    /// No new node: the readers read the input of the `Cast` that makes the value.
    Source(LocalValue<'a>),
}

/// A conversion to insert.
#[derive(Clone, Debug)]
pub(crate) struct Conversion<'a> {
    pub(crate) value: LocalValue<'a>,
    /// The graph that gets the new node.
    pub(crate) graph: GraphId,
    pub(crate) target: Target<'a>,
    pub(crate) readers: Vec<Site>,
    /// The element types before and after, in one call.
    pub(crate) from: Elem,
    pub(crate) to: Elem,
}

impl Conversion<'_> {
    /// Whether one node of the body can be both conversions, although their element types may differ by call.
    pub(crate) fn is_same_node(&self, other: &Self) -> bool {
        let Self { value, graph, target, readers, from: _, to: _ } = self;
        (value, graph, target, readers) == (&other.value, &other.graph, &other.target, &other.readers)
    }
}

/// The reason why a necessary conversion is not made.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Refusal {
    /// The policy forbids it.
    Policy,
    /// It is unsafe.
    Unsafe,
}

/// A necessary conversion that is not made.
#[derive(Clone, Debug)]
pub(crate) struct RefusedConversion<'a> {
    pub(crate) reason: Refusal,
    pub(crate) body: BodyId,
    pub(crate) value: LocalValue<'a>,
    pub(crate) graph: GraphId,
    pub(crate) from: Elem,
    pub(crate) to: Elem,
}

/// The chosen element types and conversions.
#[derive(Debug)]
pub(crate) struct Solution<'p, 'a> {
    pub(crate) problem: &'p Problem<'a>,
    /// The element type of each class.
    pub(crate) elems: Vec<Option<Elem>>,
    /// The conversions of each call.
    pub(crate) conversions: Vec<Vec<Conversion<'a>>>,
    /// Uses without a solution, by position in [`Problem::uses`] and call.
    pub(crate) unsolved: HashSet<(usize, CallId)>,
    pub(crate) unsolved_values: HashSet<(CallId, LocalValue<'a>)>,
    pub(crate) refused: Vec<RefusedConversion<'a>>,
    /// Whether fewer conversions are impossible.
    pub(crate) is_proved: bool,
    /// The inputs of nodes `Cast`. A new conversion of the result reads the input instead.
    pub(crate) cast_inputs: HashMap<(BodyId, LocalValue<'a>), LocalValue<'a>>,
    /// The converted tensors of stored values. A node `Constant` replaces the conversion.
    pub(crate) folded: HashMap<(BodyId, LocalValue<'a>), TensorProto>,
}

impl<'a> Solution<'_, 'a> {
    /// The element type of a value in a call.
    pub(crate) fn value_elem(&self, call: CallId, value: LocalValue<'_>) -> Option<Elem> {
        let class = self.problem.makers[call.index()].get(&value)?;
        if self.unsolved_values.contains(&(call, value)) { None } else { self.elems[class.index()] }
    }

    /// Refuses the conversions of stored integers that do not keep them, with all conversions that follow
    /// from the same choice.
    pub(crate) fn withhold_wrapping(&mut self) {
        let problem = self.problem;
        let stored =
            problem.uses.iter().enumerate().filter(|(_, uses)| uses.converts && uses.stored.is_some());
        let stored: HashMap<_, usize> =
            stored.map(|(at, uses)| ((uses.body, uses.value, uses.graph), at)).collect();
        let mut wrapping = Vec::new();
        for (call, conversions) in problem.calls.iter().zip(&self.conversions) {
            for Conversion { value, graph, target: _, readers: _, from, to } in conversions {
                let Some(at) = stored.get(&(call.body, *value, *graph)) else { continue };
                if problem.uses[*at].stored.as_ref().is_some_and(|stored| stored.wraps(*from, *to)) {
                    wrapping.push(*at);
                    self.refused.push(RefusedConversion {
                        reason: Refusal::Unsafe,
                        body: call.body,
                        value: *value,
                        graph: *graph,
                        from: *from,
                        to: *to,
                    });
                }
            }
        }
        if wrapping.is_empty() {
            return;
        }
        let parts = problem.parts();
        let withheld: HashSet<usize> = wrapping.iter().map(|at| parts[*at]).collect();
        for (at, uses) in problem.uses.iter().enumerate().filter(|(at, _)| withheld.contains(&parts[*at])) {
            for call in uses.makers.keys() {
                self.unsolved.insert((at, *call));
                self.unsolved_values.insert((*call, uses.value));
                let is_other = |it: &Conversion<'_>| (it.value, it.graph) != (uses.value, uses.graph);
                self.conversions[call.index()].retain(is_other);
            }
        }
    }

    /// The element type of an output of a graph in a call.
    pub(crate) fn output_elem(&self, call: CallId, graph: GraphId, port: usize) -> Option<Elem> {
        let (class, uses) = self.problem.outputs.get(&(call, graph, port))?;
        if self.unsolved.contains(&(*uses, call)) { None } else { self.elems[class.index()] }
    }

    pub(crate) fn conversions(&self, call: CallId) -> &[Conversion<'a>] {
        &self.conversions[call.index()]
    }
}
