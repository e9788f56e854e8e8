//! Builder of programs, which executes each node in all worlds when it is added.
//!
//! A node that fails in the leading world of its scope is rejected. A node that fails in another world is
//! kept only while [`Builder::permit`] is set; that world then ends within the scope. The behaviour of a
//! finished program in each world is therefore known.
//!
//! Bodies of `If`, `Loop`, `Scan` and of functions are scopes. The scope of a branch includes only the worlds
//! that enter the branch. The scope of a loop body has the values of the first iteration; the whole loop is
//! executed when it is added.

use std::collections::HashMap;

use typeloom_cpu::attributes::Attribute;
use typeloom_tensor::any_tensor::AnyTensor;
use typeloom_tensor::datum::Datum;
use typeloom_types::dtype::Dtype;

use crate::choices::Choices;
use crate::interpret::{Failure, Machine};
use crate::program::{Declaration, Declared, Function, Graph, Node};
use crate::world::{self, World};

/// A value of the program with its run-time values.
#[derive(Clone, Debug)]
pub struct Var {
    pub name: String,
    /// Run-time values by world; `None` in worlds that do not compute the value.
    pub values: Vec<Option<Datum>>,
}

impl Var {
    fn tensors(&self) -> impl Iterator<Item = Option<&AnyTensor>> {
        self.values.iter().flatten().map(Datum::as_tensor)
    }

    /// The element type, if this is a tensor.
    #[must_use]
    pub fn dtype(&self) -> Option<Dtype> {
        self.tensors().next().flatten().map(AnyTensor::dtype)
    }

    /// The rank, if this is a tensor with the same rank in every world.
    #[must_use]
    pub fn rank(&self) -> Option<usize> {
        let first = self.tensors().next().flatten()?.rank();
        self.tensors().all(|tensor| tensor.is_some_and(|it| it.rank() == first)).then_some(first)
    }

    /// Whether this is a vector of one element in every world.
    #[must_use]
    pub fn shape_is_one(&self) -> bool {
        self.tensors().all(|tensor| tensor.is_some_and(|it| it.shape() == [1]))
    }

    /// The shape in a world.
    #[must_use]
    pub fn shape(&self, world: usize) -> Option<&[usize]> {
        self.values.get(world)?.as_ref()?.as_tensor().map(AnyTensor::shape)
    }
}

/// Visibility of the enclosing graphs in a scope.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Surroundings {
    /// Values of the enclosing graphs can be read.
    Visible,
    /// The body of a function, which reads its inputs only.
    Hidden,
}

#[derive(Clone, Debug)]
struct Scope {
    graph: Graph,
    vars: Vec<Var>,
    active: Vec<bool>,
    surroundings: Surroundings,
}

/// A snapshot of the builder for [`Builder::undo`].
pub struct Mark {
    nodes: usize,
    constants: usize,
    vars: usize,
    functions: usize,
    active: Vec<Vec<bool>>,
}

/// Builder of a program.
pub struct Builder<'c> {
    /// The choices that determine the program.
    pub choices: &'c mut Choices,
    /// Whether nodes may fail in worlds other than the leading one.
    pub permit: bool,
    functions: Vec<Function>,
    scopes: Vec<Scope>,
    names: usize,
}

impl<'c> Builder<'c> {
    /// Creates a builder of a main graph with these inputs.
    pub fn new(inputs: Vec<Declaration>, worlds: &[World], choices: &'c mut Choices) -> Self {
        let vars = inputs.iter().enumerate().map(|(at, input)| Var {
            name: input.name.clone(),
            values: worlds.iter().map(|world| Some(world.inputs[at].clone())).collect(),
        });
        let scope = Scope {
            vars: vars.collect(),
            graph: Graph { name: "main".to_owned(), inputs, ..Graph::default() },
            active: vec![true; worlds.len()],
            surroundings: Surroundings::Hidden,
        };
        Self { choices, permit: false, functions: Vec::new(), scopes: vec![scope], names: 0 }
    }

    /// Returns the main graph and the functions.
    ///
    /// # Panics
    /// If a scope is still open.
    #[must_use]
    pub fn finish(mut self) -> (Graph, Vec<Function>) {
        let scope = self.scopes.pop().expect("the main scope is open until the end");
        (scope.graph, self.functions)
    }

    fn scope(&mut self) -> &mut Scope {
        self.scopes.last_mut().expect("the main scope is open until the end")
    }

    fn top(&self) -> &Scope {
        self.scopes.last().expect("the main scope is open until the end")
    }

    /// Nesting depth of the current scope; the main graph has depth 1.
    #[must_use]
    pub fn depth(&self) -> usize {
        self.scopes.len()
    }

    /// Whether each world is active in this scope.
    #[must_use]
    pub fn active(&self) -> &[bool] {
        &self.top().active
    }

    /// The leading world: the first active one.
    #[must_use]
    pub fn lead(&self) -> usize {
        self.active().iter().position(|active| *active).unwrap_or(0)
    }

    /// Returns an unused name.
    pub fn name(&mut self, prefix: &str) -> String {
        self.names += 1;
        format!("{prefix}{}", self.names)
    }

    /// The readable values, those of the innermost scope last.
    #[must_use]
    pub fn vars(&self) -> Vec<&Var> {
        let hidden = self.scopes.iter().rposition(|scope| scope.surroundings == Surroundings::Hidden);
        let readable = &self.scopes[hidden.unwrap_or(0)..];
        let active = self.active();
        let has_value =
            |var: &&Var| active.iter().zip(&var.values).all(|(active, it)| !active || it.is_some());
        readable.iter().flat_map(|scope| &scope.vars).filter(has_value).collect()
    }

    /// The values added in this scope.
    #[must_use]
    pub fn own_vars(&self) -> Vec<Var> {
        self.top().vars.clone()
    }

    /// The value of this name, restricted to the active worlds.
    #[must_use]
    pub fn var(&self, name: &str) -> Option<Var> {
        let mut found = self.vars().into_iter().find(|var| var.name == name)?.clone();
        for (value, active) in found.values.iter_mut().zip(self.active()) {
            if !active {
                *value = None;
            }
        }
        Some(found)
    }

    /// Selects a value with a property, preferably a recent one.
    pub fn any(&mut self, fits: impl Fn(&Var) -> bool) -> Option<Var> {
        let names: Vec<String> = self.vars().iter().map(|var| var.name.clone()).collect();
        let fitting: Vec<Var> =
            names.iter().filter_map(|name| self.var(name)).filter(|var| fits(var)).collect();
        if fitting.is_empty() {
            return None;
        }
        let last = fitting.len().min(5);
        let at = if self.choices.percent(50) {
            fitting.len() - 1 - self.choices.below(last)
        } else {
            self.choices.below(fitting.len())
        };
        Some(fitting[at].clone())
    }

    /// Returns a snapshot of the builder.
    #[must_use]
    pub fn mark(&self) -> Mark {
        let scope = self.top();
        Mark {
            nodes: scope.graph.nodes.len(),
            constants: scope.graph.constants.len(),
            vars: scope.vars.len(),
            functions: self.functions.len(),
            active: self.scopes.iter().map(|scope| scope.active.clone()).collect(),
        }
    }

    /// Restores a snapshot taken in the same or an enclosing scope.
    pub fn undo(&mut self, mark: Mark) {
        self.scopes.truncate(mark.active.len());
        for (scope, active) in self.scopes.iter_mut().zip(mark.active) {
            scope.active = active;
        }
        self.functions.truncate(mark.functions);
        let scope = self.scope();
        scope.graph.nodes.truncate(mark.nodes);
        scope.graph.constants.truncate(mark.constants);
        scope.vars.truncate(mark.vars);
    }

    /// Adds a constant, as an initializer or a node.
    pub fn constant(&mut self, tensor: AnyTensor) -> String {
        let name = self.name("c");
        let values = vec![Some(Datum::Tensor(tensor.clone())); self.active().len()];
        let in_function = self.top().surroundings == Surroundings::Hidden && self.depth() > 1;
        let as_node = in_function || self.choices.percent(30);
        let scope = self.scope();
        if as_node {
            scope.graph.nodes.push(Node {
                op: "Constant".to_owned(),
                outputs: vec![name.clone()],
                attributes: vec![("value", Attribute::Tensor(tensor))],
                ..Node::default()
            });
        } else {
            scope.graph.constants.push((name.clone(), tensor));
        }
        scope.vars.push(Var { name: name.clone(), values });
        name
    }

    /// Adds a constant vector of integers.
    ///
    /// # Panics
    /// Never: the shape matches the number of elements.
    pub fn ints(&mut self, values: &[i64]) -> String {
        self.constant(AnyTensor::from_slice(&[values.len()], values).expect("a vector"))
    }

    /// Adds a constant integer.
    pub fn int(&mut self, value: i64) -> String {
        self.constant(AnyTensor::from_scalar(value))
    }

    /// Adds a constant integer from `low` to `high`, inclusive.
    pub fn int_between(&mut self, low: i64, high: i64) -> String {
        let value = self.choices.between(low, high);
        self.int(value)
    }

    /// Adds a constant vector of one integer from `low` to `high`, inclusive.
    pub fn one_between(&mut self, low: i64, high: i64) -> String {
        let value = self.choices.between(low, high);
        self.ints(&[value])
    }

    /// Adds a constant tensor of small elements.
    pub fn weight(&mut self, dtype: Dtype, shape: &[usize]) -> String {
        let tensor = world::tensor(dtype, shape, self.choices);
        self.constant(tensor)
    }

    /// Adds a node of the standard operator set.
    pub fn node(
        &mut self,
        op: &str,
        inputs: &[impl AsRef<str>],
        attributes: Vec<(&'static str, Attribute)>,
        outputs: usize,
    ) -> Option<Vec<Var>> {
        let inputs = inputs.iter().map(|name| name.as_ref().to_owned()).collect();
        self.control(op, inputs, outputs, attributes, Vec::new())
    }

    /// Adds a node with nested graphs.
    pub fn control(
        &mut self,
        op: &str,
        inputs: Vec<String>,
        outputs: usize,
        attributes: Vec<(&'static str, Attribute)>,
        graphs: Vec<(&'static str, Graph)>,
    ) -> Option<Vec<Var>> {
        let outputs = (0..outputs).map(|_| self.name("v")).collect();
        self.add(Node { op: op.to_owned(), domain: "", inputs, outputs, attributes, graphs })
    }

    /// Adds a node with one output and no attributes.
    pub fn simple(&mut self, op: &str, inputs: &[impl AsRef<str>]) -> Option<Var> {
        self.node(op, inputs, Vec::new(), 1)?.pop()
    }

    /// Executes a node in all active worlds and adds it, unless it fails in a world that must succeed.
    pub fn add(&mut self, node: Node) -> Option<Vec<Var>> {
        let lead = self.lead();
        let mut active = self.active().to_vec();
        let mut vars: Vec<Var> = node
            .outputs
            .iter()
            .map(|name| Var { name: name.clone(), values: vec![None; active.len()] })
            .collect();
        let visible = self.vars();
        let by_name: HashMap<&str, &Var> = visible.iter().map(|var| (var.name.as_str(), *var)).collect();
        let machine = Machine::new(&self.functions);
        for (world, takes_part) in active.iter_mut().enumerate() {
            if !*takes_part {
                continue;
            }
            let known = |name: &str| by_name.get(name).and_then(|var| var.values[world].clone());
            match machine.node(&node, &known, &mut |_, _| {}) {
                Ok(values) if values.len() >= vars.len() => {
                    for (var, value) in vars.iter_mut().zip(values) {
                        var.values[world] = Some(value);
                    }
                }
                Err(Failure::Rejected(_)) if self.permit && world != lead => *takes_part = false,
                Ok(_) | Err(_) => return None,
            }
        }
        let scope = self.scope();
        scope.active = active;
        scope.graph.nodes.push(node);
        scope.vars.extend(vars.iter().cloned());
        Some(vars)
    }

    /// Enters a nested graph with these active worlds and these inputs. The first `scalars` inputs have rank
    /// 0 in every iteration.
    pub fn enter(&mut self, inputs: Vec<Var>, scalars: usize, active: Vec<bool>, surroundings: Surroundings) {
        let name = self.name("g");
        // ONNX Runtime needs the element types of inputs, and the shapes of counters and conditions. Inputs
        // of functions have neither.
        let element = |(at, var): (usize, &Var)| match surroundings {
            Surroundings::Visible => {
                let shape = (at < scalars).then(Vec::new);
                var.dtype().map(|dtype| Declared { dtype, shape })
            }
            Surroundings::Hidden => None,
        };
        let declare =
            |(at, var): (usize, &Var)| Declaration { name: var.name.clone(), ty: element((at, var)) };
        let graph =
            Graph { name, inputs: inputs.iter().enumerate().map(declare).collect(), ..Graph::default() };
        self.scopes.push(Scope { graph, vars: inputs, active, surroundings });
    }

    /// Leaves a nested graph with these outputs.
    ///
    /// # Panics
    /// If no scope is open.
    pub fn leave(&mut self, outputs: &[String]) -> Graph {
        let mut graph = self.scopes.pop().expect("a scope was entered").graph;
        graph.outputs = outputs.iter().map(|name| Declaration { name: name.clone(), ty: None }).collect();
        graph
    }

    /// Adds a function and returns its name.
    pub fn function(&mut self, graph: Graph) -> String {
        let name = self.name("F");
        self.functions.push(Function { name: name.clone(), graph });
        name
    }
}
