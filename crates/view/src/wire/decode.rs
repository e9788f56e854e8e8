//! Decodes scenes.
//!
//! The page of a model contains its scene as bytes. They are not trusted: [`decode`] accepts any bytes, and
//! returns a scene with the invariants of [`crate::scene`], or an [`Error`] that names the column. For a node
//! that reads two values, the column `inputs` has two codes:
//!
//! ```text
//! y = Add (a, b), after an output with the position 7
//! codes 1, 5      1: distance 0 before the last output, so `a` is value 7
//!                 5: distance 1, so `b` is value 6
//! ```
//!
//! Columns refer to each other, so the order is fixed: tables of texts, extents and types, the tree of groups, nodes, nested
//! graphs, values, ports of graphs, marks, changes, targets. A node refers to values before these are decoded; the
//! number of values is at the beginning, so the positions can be checked.
//!
//! **Invariant:** a number from the bytes is compared with the length of its table before it is an index.
//! After that, the decoder indexes without further checks.
//!
//! **Invariant:** each item of a list uses at least one byte of a column ([`counted`]), and a shared item has
//! at most [`MAX_SHARED`] bytes, an extent at most [`MAX_EXTENT`]. So the memory is bounded by a multiple of the input.
//!
//! **Invariant:** groups nest by at most [`MAX_GROUPS`] levels in [`MAX_GRAPHS`] nested graphs, and have at
//! most [`MAX_CHILDREN`] children. The tree is read with an explicit stack.
//!
//! Parts that follow from others, such as the readers of a value, are computed by `derive` at the end. The
//! bytes of other versions of the format are an error.

use typeloom_solver::diagnostic::{Code, Severity, SourceLine};

use super::bytes::{Reader, name, signed};
use super::columns::Input;
use super::{Error, MAX_GRAPHS, MAX_GROUPS, MAX_SHARED};
use crate::scene::{
    About, Attribute, Cause, Change, Child, Evidence, Extent, ExtentId, Form, Group, GroupId, GroupKind,
    MAX_CHILDREN, MAX_ELEMENTS, MAX_EXTENT, Maker, Mark, Node, NodeId, Operator, OperatorId, Preview,
    PreviewId, RuleId, Scene, Sizes, Symbol, Type, TypeId, Value, ValueId, derive, tree,
};

/// The scene in some bytes.
///
/// # Errors
/// If the bytes are no scene of this version.
pub fn decode(bytes: &[u8]) -> Result<Scene, Error> {
    let mut input = Input::split(bytes)?;
    let mut sizes = [0; 3];
    for size in &mut sizes {
        let number = input.counts.number()?;
        // Ids have 32 bits.
        *size = usize::try_from(number)
            .ok()
            .filter(|size| *size < u32::MAX as usize)
            .ok_or_else(|| input.counts.invalid("a number is too large"))?;
    }
    let [nodes, values, graphs] = sizes;
    input.node_operator.has(nodes)?;
    input.value_kind.has(values)?;
    input.graphs.has(graphs)?;
    if graphs == 0 {
        return Err(input.counts.invalid("there is no graph"));
    }
    let mut decoder = Decoder { nodes, values, input, scene: Scene::default(), sites: Vec::new() };
    decoder.scene.about = decoder.about()?;
    decoder.tables()?;
    decoder.types()?;
    decoder.groups(graphs)?;
    decoder.nodes()?;
    let roots = decoder.bodies()?;
    decoder.values(&roots)?;
    decoder.ports(&roots)?;
    decoder.marks()?;
    super::changes::read(&mut decoder.scene, &mut decoder.input.changes)?;
    super::targets::read(&mut decoder.scene, &mut decoder.input.targets)?;
    let Decoder { input, mut scene, .. } = decoder;
    input.finish()?;
    derive::complete(&mut scene);
    Ok(scene)
}

struct Decoder<'a> {
    nodes: usize,
    values: usize,
    input: Input<'a>,
    scene: Scene,
    /// The group and slot of each node.
    sites: Vec<(GroupId, u32)>,
}

impl Decoder<'_> {
    fn about(&mut self) -> Result<About, Error> {
        let input = &mut self.input.about;
        let mut about =
            About { title: input.text()?.to_owned(), producer: input.text()?.to_owned(), ..About::default() };
        about.unreported = input.text()?.to_owned();
        let Sizes { file, parameters, initializers, constants } = &mut about.sizes;
        for size in [file, parameters, initializers, constants] {
            *size = input.number()?;
        }
        for texts in [&mut about.opsets, &mut about.equations] {
            for _ in 0..input.count()? {
                texts.push(input.text()?.to_owned());
            }
        }
        for _ in 0..input.count()? {
            let name = input.text()?.to_owned();
            let value = input.position(self.values + 1)?.checked_sub(1).map(ValueId::new);
            about.symbols.push(Symbol { name, value, axis: input.small()? });
        }
        Ok(about)
    }

    fn tables(&mut self) -> Result<(), Error> {
        let Self { input, scene, .. } = self;
        for _ in 0..input.operators.count()? {
            let domain = input.operators.text()?.to_owned();
            scene.operators.push(Operator { domain, name: input.operators.text()?.to_owned() });
        }
        for _ in 0..input.rules.count()? {
            scene.rules.push(input.rules.text()?.to_owned());
        }
        Ok(())
    }

    fn types(&mut self) -> Result<(), Error> {
        let Self { input, scene, .. } = self;
        for _ in 0..input.extents.count()? {
            scene.extents.push(extent(&mut input.extents)?);
        }
        let extents = scene.extents.len();
        let lists = table(&mut input.type_texts, text_list)?;
        for _ in 0..input.types.count()? {
            let texts = match input.types.position(lists.len() + 2)? {
                0 => return Err(input.types.invalid("a type has no texts")),
                1 => text_list(&mut input.long_type_texts)?,
                at => lists[at - 2].clone(),
            };
            let mut shapes = Vec::new();
            for _ in 1..texts.len() {
                shapes.push(extent_list(&mut input.types, extents)?);
            }
            scene.types.push(Type { texts, shapes });
        }
        for _ in 0..input.previews.count()? {
            let input = &mut input.previews;
            let form = match input.byte()? {
                0 => {
                    scene.previews.push(Preview::Text(input.text()?.to_owned()));
                    continue;
                }
                1 => Form::Scalar,
                2 => Form::List,
                3 => Form::Beginning,
                _ => return Err(input.invalid("the form of a small tensor is unknown")),
            };
            let elements = extent_list(input, extents)?;
            if elements.len() > MAX_ELEMENTS {
                return Err(input.invalid("a small tensor has too many elements"));
            }
            scene.previews.push(Preview::Extents { elements, form });
        }
        Ok(())
    }

    /// Reads the tree of groups of each graph. The nodes of nested graphs are set later.
    fn groups(&mut self, graphs: usize) -> Result<(), Error> {
        let classes = table(&mut self.input.classes, text)?;
        let mut last = 0;
        let mut label = String::new();
        for graph in 0..graphs {
            let kind = match (self.input.graphs.byte()?, graph) {
                (0, 0) => GroupKind::Main,
                (1, 1..) => GroupKind::Function,
                (2, 1..) => {
                    // A node of an earlier graph.
                    let node = self.input.graphs.position_from(last, self.sites.len())?;
                    last = signed(node);
                    GroupKind::Body { node: NodeId::new(node) }
                }
                (_, _) => return Err(self.input.graphs.invalid("the kind of a graph is unknown")),
            };
            let parent = kind.owner().map(|node| self.sites[node.index()].0);
            label = self.label(&label)?;
            let root = self.add(Group { kind, label: label.clone(), parent, ..Group::default() })?;
            if self.scene.groups[root.index()].kind == GroupKind::Function {
                self.scene.functions.push(root);
            }
            label = self.tree(root, &classes, label)?;
        }
        if self.sites.len() != self.nodes {
            return Err(self.input.runs.invalid("groups have too few nodes"));
        }
        Ok(())
    }

    fn label(&mut self, previous: &str) -> Result<String, Error> {
        let Input { label_shared, label_lengths, label_texts, .. } = &mut self.input;
        name(label_shared, label_lengths, label_texts, previous)
    }

    fn add(&mut self, mut group: Group) -> Result<GroupId, Error> {
        let id = GroupId::new(self.scene.groups.len());
        let first = self.next_node();
        group.nodes = first..first;
        self.scene.groups.push(group);
        Ok(id)
    }

    fn next_node(&self) -> u32 {
        tree::position(self.sites.len())
    }

    /// Reads the groups of one graph; returns the last label.
    fn tree(&mut self, root: GroupId, classes: &[String], mut label: String) -> Result<String, Error> {
        let mut open = vec![root];
        while let Some(group) = open.last().copied() {
            for _ in 0..self.input.runs.number()? {
                if self.sites.len() == self.nodes {
                    return Err(self.input.runs.invalid("groups have too many nodes"));
                }
                let node = Child::Node(NodeId::new(self.sites.len()));
                let slot = self.list(group, node)?;
                self.sites.push((group, slot));
            }
            let kind = match self.input.brackets.byte()? {
                0 => {
                    let end = self.next_node();
                    self.scene.groups[group.index()].nodes.end = end;
                    open.pop();
                    continue;
                }
                1 => {
                    let class = match self.input.group_class.position(classes.len() + 2)? {
                        0 => String::new(),
                        1 => text(&mut self.input.long_classes)?,
                        at => classes[at - 2].clone(),
                    };
                    GroupKind::Scope { class }
                }
                2 => GroupKind::Part,
                _ => return Err(self.input.brackets.invalid("the kind of a group is unknown")),
            };
            if open.len() > MAX_GROUPS {
                return Err(self.input.brackets.invalid("groups are too deep"));
            }
            label = self.label(&label)?;
            let depth = self.scene.groups[group.index()].depth + 1;
            let slot = self.list(group, Child::Group(GroupId::new(self.scene.groups.len())))?;
            let parent = Some(group);
            let inner = Group { kind, label: label.clone(), parent, slot, depth, ..Group::default() };
            open.push(self.add(inner)?);
        }
        Ok(label)
    }

    /// Adds a child to a group; returns its slot.
    fn list(&mut self, group: GroupId, child: Child) -> Result<u32, Error> {
        let children = &mut self.scene.groups[group.index()].children;
        if children.len() == MAX_CHILDREN {
            return Err(self.input.runs.invalid("a group has too many children"));
        }
        children.push(child);
        Ok(tree::position(children.len() - 1))
    }

    fn nodes(&mut self) -> Result<(), Error> {
        let values = self.values;
        let Input { attributes, sources, .. } = &mut self.input;
        let attributes = table(attributes, attribute_list)?;
        let sources = table(sources, source_line)?;
        let mut previous = String::new();
        let (mut position, mut line) = (-1_i64, 0_i64);
        let mut ports = Ports::default();
        for at in 0..self.nodes {
            let Self { input, scene, sites, .. } = self;
            let (group, slot) = sites[at];
            let operator = OperatorId::new(input.node_operator.position(scene.operators.len())?);
            let own =
                name(&mut input.node_shared, &mut input.node_lengths, &mut input.node_texts, &previous)?;
            previous.clone_from(&own);
            let distance = input.node_position.signed()?;
            let own_position = input.node_position.at(position + 1, distance, u32::MAX as usize)?;
            position = signed(own_position);
            let node_attributes = match input.node_attributes.position(attributes.len() + 2)? {
                0 => Vec::new(),
                1 => attribute_list(&mut input.long_attributes)?,
                at => attributes[at - 2].clone(),
            };
            let source_at = input.node_source.position_from(line, sources.len() + 2)?;
            line = signed(source_at);
            let source = match source_at {
                0 => None,
                1 => Some(source_line(&mut input.long_sources)?),
                at => Some(sources[at - 2].clone()),
            };
            let mut node = Node {
                operator,
                name: own,
                position: tree::position(own_position),
                group,
                slot,
                attributes: node_attributes,
                inputs: Vec::new(),
                outputs: Vec::new(),
                captures: Vec::new(),
                bodies: Vec::new(),
                callee: None,
                source: source.map(Box::new),
                marks: Vec::new(),
                change: Change::Same,
                differences: Vec::new(),
                old_reads: Vec::new(),
            };
            for _ in 0..counted(&mut input.input_count, &input.inputs)? {
                let code = input.inputs.number()?;
                node.inputs.push(match code.checked_sub(1) {
                    None => None,
                    Some(code) => Some(ports.read(&input.inputs, code, values)?),
                });
            }
            for _ in 0..counted(&mut input.capture_count, &input.captures)? {
                let code = input.captures.number()?;
                node.captures.push(ports.read(&input.captures, code, values)?);
            }
            for _ in 0..counted(&mut input.output_count, &input.outputs)? {
                let code = input.outputs.number()?;
                node.outputs.push(match code.checked_sub(1) {
                    None => None,
                    Some(code) => Some(ports.make(&input.outputs, code, values)?),
                });
            }
            let callee = input.node_callee.position(scene.functions.len() + 1)?;
            node.callee = callee.checked_sub(1).map(|at| scene.functions[at]);
            scene.nodes.push(node);
        }
        Ok(())
    }

    /// Lists the nested graphs at their nodes; returns all graphs.
    fn bodies(&mut self) -> Result<Vec<GroupId>, Error> {
        let Self { input, scene, .. } = self;
        let mut roots = Vec::new();
        let mut depths: Vec<usize> = Vec::with_capacity(scene.groups.len());
        for at in 0..scene.groups.len() {
            let id = GroupId::new(at);
            let owner = scene.groups[at].kind.owner();
            let around = scene.groups[at].parent.map_or(0, |parent| depths[parent.index()]);
            depths.push(around + usize::from(owner.is_some()));
            if depths[at] > MAX_GRAPHS {
                return Err(input.graphs.invalid("graphs are too deep"));
            }
            if let Some(node) = owner {
                scene.nodes[node.index()].bodies.push(id);
            }
            if scene.groups[at].kind.is_root() {
                roots.push(id);
            }
        }
        Ok(roots)
    }

    fn values(&mut self, roots: &[GroupId]) -> Result<(), Error> {
        let mut makers = vec![Maker::Undefined; self.values];
        for (at, node) in self.scene.nodes.iter().enumerate() {
            for (output, value) in node.outputs.iter().enumerate() {
                let Some(value) = value else { continue };
                let maker = &mut makers[value.index()];
                if *maker == Maker::Undefined {
                    *maker = Maker::Node { node: NodeId::new(at), output: tree::position(output) };
                }
            }
        }
        let (mut graph, mut ty) = (0_i64, None);
        let mut previous = String::new();
        for (at, made) in makers.into_iter().enumerate() {
            let Self { input, scene, .. } = self;
            let kind = input.value_kind.byte()?;
            let maker = match kind & 3 {
                0 => made,
                1 => Maker::Input,
                2 => Maker::Stored,
                _ => return Err(input.value_kind.invalid("the definition of a value is unknown")),
            };
            let evidence = match kind >> 2 & 3 {
                0 => Evidence::Proven,
                1 => Evidence::Assumed,
                2 => Evidence::Incomplete,
                _ => return Err(input.value_kind.invalid("the evidence for a type is unknown")),
            };
            if kind >> 5 != 0 {
                return Err(input.value_kind.invalid("the kind of a value is unknown"));
            }
            let own_type = match (input.value_type.position(scene.types.len() + 1)?.checked_sub(1), ty) {
                (Some(at), _) => TypeId::new(at),
                (None, Some(ty)) => ty,
                (None, None) => return Err(input.value_type.invalid("the first value has no type")),
            };
            ty = Some(own_type);
            graph = signed(input.value_graph.position_from(graph, roots.len())?);
            let base = match (input.value_base.byte()?, maker) {
                (0, _) => previous.as_str(),
                (1, Maker::Node { node, .. }) => scene.node(node).name.as_str(),
                (_, _) => return Err(input.value_base.invalid("the base of a name is unknown")),
            };
            let own = name(&mut input.value_shared, &mut input.value_lengths, &mut input.value_texts, base)?;
            previous.clone_from(&own);
            let preview = match kind >> 4 & 1 {
                0 => None,
                _ => Some(PreviewId::new(input.value_preview.position(scene.previews.len())?)),
            };
            let cause = self.cause(at, maker)?;
            self.scene.values.push(Value {
                name: own,
                ty: own_type,
                evidence,
                // The position was checked.
                graph: roots[usize::try_from(graph).unwrap_or_default()],
                maker,
                is_output: false,
                preview,
                cause,
                marks: Vec::new(),
                change: Change::Same,
                old_type: None,
                old_name: None,
            });
        }
        Ok(())
    }

    fn cause(&mut self, at: usize, maker: Maker) -> Result<Option<Cause>, Error> {
        let Self { input, scene, .. } = self;
        let own = match maker {
            Maker::Node { node, .. } => Some(node),
            Maker::Input | Maker::Stored | Maker::Undefined => None,
        };
        let code = input.value_cause.number()?;
        let without_maker =
            input.value_cause.invalid("the cause of a value is the node that makes it, but there is none");
        let mut rule = || Ok::<_, Error>(RuleId::new(input.cause_rule.position(scene.rules.len())?));
        Ok(Some(match code {
            0 => return Ok(None),
            1 => Cause::Input,
            2 => Cause::Declared,
            3 => Cause::Stored,
            4 => Cause::Given,
            5 => Cause::Argument,
            6 => Cause::Rule { node: None, rule: rule()? },
            7 => Cause::Rule { rule: rule()?, node: Some(own.ok_or(without_maker)?) },
            8 => {
                let rule = rule()?;
                Cause::Rule { node: Some(NodeId::new(input.cause_nodes.position(self.nodes)?)), rule }
            }
            9 => {
                let rule = rule()?;
                let node = NodeId::new(input.cause_nodes.position(self.nodes)?);
                let next = input.cause_values.position_from(signed(at), self.values)?;
                Cause::Tie { node, rule, next: ValueId::new(next) }
            }
            10.. => {
                let rule = rule()?;
                let node = own.ok_or(without_maker)?;
                let port = usize::try_from(code - 10).ok();
                let next = port.and_then(|port| *scene.node(node).inputs.get(port)?);
                let next = next.ok_or_else(|| input.value_cause.invalid("the node has no such input"))?;
                Cause::Tie { node, rule, next }
            }
        }))
    }

    fn ports(&mut self, roots: &[GroupId]) -> Result<(), Error> {
        let Self { input, scene, values, .. } = self;
        for root in roots {
            let mut last = -1;
            let mut lists = [Vec::new(), Vec::new()];
            for list in &mut lists {
                for _ in 0..input.ports.count()? {
                    let at = input.ports.position_from(last + 1, *values)?;
                    last = signed(at);
                    list.push(ValueId::new(at));
                }
            }
            let [inputs, outputs] = lists;
            for output in &outputs {
                scene.values[output.index()].is_output = true;
            }
            let group = &mut scene.groups[root.index()];
            (group.inputs, group.outputs) = (inputs, outputs);
        }
        Ok(())
    }

    fn marks(&mut self) -> Result<(), Error> {
        let input = &mut self.input.marks;
        for _ in 0..input.count()? {
            let code = Code::from_name(input.text()?).ok_or_else(|| input.invalid("a code is unknown"))?;
            let severity = match input.byte()? {
                0 => Severity::Error,
                1 => Severity::Warning,
                _ => return Err(input.invalid("a severity is unknown")),
            };
            let (message, report) = (input.text()?.to_owned(), input.text()?.to_owned());
            let parts = super::messages::read(input, self.nodes, self.values)?;
            let (mut nodes, mut values) = (Vec::new(), Vec::new());
            for _ in 0..input.count()? {
                nodes.push(NodeId::new(input.position(self.nodes)?));
            }
            for _ in 0..input.count()? {
                values.push(ValueId::new(input.position(self.values)?));
            }
            self.scene.marks.push(Mark {
                code: code.name(),
                severity,
                message,
                report,
                parts,
                nodes,
                values,
            });
        }
        Ok(())
    }
}

/// The number of items of one list, each of at least one byte in another column.
fn counted(counts: &mut Reader<'_>, items: &Reader<'_>) -> Result<usize, Error> {
    let count = usize::try_from(counts.number()?).map_err(|_| counts.invalid("a number is too large"))?;
    items.has(count)?;
    Ok(count)
}

/// The short items that nodes share.
fn table<T>(
    input: &mut Reader<'_>,
    item: impl Fn(&mut Reader<'_>) -> Result<T, Error>,
) -> Result<Vec<T>, Error> {
    let mut items = Vec::new();
    for _ in 0..input.count()? {
        let before = input.length();
        items.push(item(input)?);
        if before - input.length() > MAX_SHARED {
            return Err(input.invalid("a shared item is too long"));
        }
    }
    Ok(items)
}

fn extent(input: &mut Reader<'_>) -> Result<Extent, Error> {
    let kind = match input.byte()? {
        0 => return Ok(Extent::Number(input.signed()?)),
        1 => Extent::Symbol,
        2 => Extent::Expression,
        3 => Extent::Unknown,
        4 => return Ok(Extent::Rest),
        _ => return Err(input.invalid("the kind of an extent is unknown")),
    };
    let text = input.text()?;
    if text.len() > MAX_EXTENT {
        return Err(input.invalid("an extent is too long"));
    }
    Ok(kind(text.to_owned()))
}

fn extent_list(input: &mut Reader<'_>, extents: usize) -> Result<Vec<ExtentId>, Error> {
    let mut list = Vec::new();
    for _ in 0..input.count()? {
        list.push(ExtentId::new(input.position(extents)?));
    }
    Ok(list)
}

/// The texts of a type, at least one.
fn text_list(input: &mut Reader<'_>) -> Result<Vec<String>, Error> {
    let mut texts = Vec::new();
    for _ in 0..input.count()? {
        texts.push(text(input)?);
    }
    if texts.is_empty() { Err(input.invalid("a type has no texts")) } else { Ok(texts) }
}

fn text(input: &mut Reader<'_>) -> Result<String, Error> {
    Ok(input.text()?.to_owned())
}

fn attribute_list(input: &mut Reader<'_>) -> Result<Vec<Attribute>, Error> {
    let mut attributes = Vec::new();
    for _ in 0..input.count()? {
        let name = input.text()?.to_owned();
        attributes.push(Attribute { name, text: input.text()?.to_owned() });
    }
    Ok(attributes)
}

fn source_line(input: &mut Reader<'_>) -> Result<SourceLine, Error> {
    let file = input.text()?.to_owned();
    let line = input.small()?;
    let function = input.text()?.to_owned();
    Ok(SourceLine { file, line, function, text: input.text()?.to_owned() })
}

/// The last values, from which distances are counted.
#[derive(Default)]
struct Ports {
    output: i64,
    stored: i64,
}

impl Ports {
    fn read(&mut self, input: &Reader<'_>, code: u64, values: usize) -> Result<ValueId, Error> {
        let distance = super::bytes::unzigzag(code >> 1);
        if code & 1 == 1 {
            let at = input.at(self.stored + 1, distance, values)?;
            self.stored = signed(at);
            return Ok(ValueId::new(at));
        }
        let distance = distance.checked_neg().ok_or_else(|| input.invalid("a number is too large"))?;
        Ok(ValueId::new(input.at(self.output, distance, values)?))
    }

    fn make(&mut self, input: &Reader<'_>, code: u64, values: usize) -> Result<ValueId, Error> {
        let at = input.at(self.output + 1, super::bytes::unzigzag(code), values)?;
        self.output = signed(at);
        Ok(ValueId::new(at))
    }
}
