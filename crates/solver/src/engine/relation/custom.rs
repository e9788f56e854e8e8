//! Custom relations: [`PortAccess`] over the slots of the solver.
//!
//! Types are nodes of the tree, and constant extents are numbers. Both are read and narrowed in place, so a
//! relation sees its own narrowing. Malformed attributes are reported after the relation ran, independently
//! of its result.

use std::cell::RefCell;
use std::sync::Arc;

use typeloom_dim::DimId;
use typeloom_dim::shape::DimVec;
use typeloom_onnx::DecodeError;
use typeloom_onnx::text::escape;
use typeloom_types::lattice::{Lattice, NodeNo};
use typeloom_types::relation::custom::{KnownExtents, PortAccess};
use typeloom_types::relation::{CustomRelation, PortRef, RelationError, RelationResult};

use crate::elem::Elem;
use crate::program::Initializer;
use crate::rule::tree::{node_of, tree_name};
use crate::rule::{Port, RuleCx, RuleError};
use crate::signature::AttributeKind;
use crate::solve_error::SolveErrorKind;
use crate::ty::{Clash, Head};
use crate::universe::Universe;

/// Whether a custom relation runs again when the type of a port narrows.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Waits {
    Yes,
    No,
}

/// Runs a custom relation.
pub(super) fn run<'a>(
    cx: &mut RuleCx<'_, 'a>,
    name: &'static str,
    relation: CustomRelation,
) -> Result<Waits, SolveErrorKind<'a>> {
    let universe = Arc::clone(cx.tables().types.universe());
    let node = Node { cx: RefCell::new(cx), universe, malformed: RefCell::new(None) };
    let result = relation(&node);
    let Node { malformed, .. } = node;
    if let Some(error) = malformed.into_inner() {
        return Err(SolveErrorKind::Malformed(error));
    }
    match result {
        RelationResult::Failed(failure) => Err(SolveErrorKind::Relation { relation: name, failure }),
        RelationResult::Satisfied => Ok(Waits::No),
        RelationResult::Refined | RelationResult::Defer => Ok(Waits::Yes),
    }
}

/// Runs the relation again when the type of a port narrows. Shapes and constants wake their readers anyway.
pub(super) fn wait(cx: &mut RuleCx<'_, '_>) {
    for port in super::ports(cx) {
        if let Some(ty) = cx.ty(port)
            && !cx.types().is_concrete(ty)
        {
            cx.wait_for(ty);
        }
    }
}

/// Access of a custom relation to a node.
struct Node<'n, 'r, 'a> {
    cx: RefCell<&'n mut RuleCx<'r, 'a>>,
    universe: Arc<Universe>,
    malformed: RefCell<Option<DecodeError>>,
}

impl<'a> Node<'_, '_, 'a> {
    /// The value of an attribute. A malformed attribute is absent and recorded.
    fn attribute<T>(&self, read: impl FnOnce(&RuleCx<'_, 'a>) -> Result<Option<T>, RuleError>) -> Option<T> {
        match read(&self.cx.borrow()) {
            Ok(value) => value,
            Err(failure) => {
                if let RuleError::Malformed(error) = failure {
                    self.malformed.borrow_mut().get_or_insert(error);
                }
                None
            }
        }
    }

    /// A list attribute. An attribute of another kind is absent.
    fn list<T>(
        &self,
        name: &str,
        kind: AttributeKind,
        read: impl FnOnce(&RuleCx<'_, 'a>) -> Result<Option<T>, RuleError>,
    ) -> Option<T> {
        self.attribute(|cx| {
            let found = cx.attr(name)?.and_then(|attribute| AttributeKind::from_onnx(attribute.kind));
            if found == Some(kind) { read(cx) } else { Ok(None) }
        })
    }

    /// Narrows a shape to extents; `before` is the known one.
    fn set_shape(
        &self,
        port: PortRef,
        dims: &[Option<u64>],
        before: &Option<KnownExtents>,
    ) -> Result<(), RelationError> {
        let cx = &mut **self.cx.borrow_mut();
        let Some(at) = Port::of_ref(port).filter(|at| cx.has(*at)) else { return Ok(()) };
        let failure = |found: &Option<KnownExtents>| {
            let found = found.as_deref().map_or_else(|| "no shape".into(), show);
            RelationError::new(format!("the shape of {port}"), [port], show(dims), found)
        };
        if before.as_ref().is_some_and(|before| before.len() != dims.len()) {
            return Err(failure(before));
        }
        let known = cx.shape(at);
        let mut wanted = DimVec::with_capacity(dims.len());
        for (axis, dim) in dims.iter().enumerate() {
            let constant = dim.map(i64::try_from).transpose().map_err(|_| failure(before))?;
            wanted.push(match (constant, &known) {
                (Some(extent), _) => cx.dims().constant(extent),
                (None, Some(known)) => known[axis],
                (None, None) => cx.fresh(),
            });
        }
        cx.set_shape(at, &wanted).map_err(|_| failure(before))
    }
}

impl PortAccess for Node<'_, '_, '_> {
    fn lattice(&self) -> &Lattice {
        self.universe.lattice()
    }

    fn input_count(&self) -> usize {
        self.cx.borrow().input_count()
    }

    fn output_count(&self) -> usize {
        self.cx.borrow().output_count()
    }

    fn bound(&self, port: PortRef) -> Option<NodeNo> {
        let mut cx = self.cx.borrow_mut();
        let ty = cx.ty(Port::of_ref(port)?)?;
        Some(node_of(cx.types(), ty))
    }

    fn narrow(&self, port: PortRef, node: NodeNo) -> Result<bool, RelationError> {
        let cx = &mut **self.cx.borrow_mut();
        let Some(at) = Port::of_ref(port) else { return Ok(false) };
        let before = super::knowledge_at(cx, at);
        cx.narrow_to_node(at, node).map_err(|Clash| {
            let id = self.universe.lattice().node(node).map_or("", |node| node.id);
            cx.not_under(at, id, format!("the type of {port}"))
        })?;
        Ok(super::knowledge_at(cx, at) != before)
    }

    fn shape(&self, port: PortRef) -> Option<KnownExtents> {
        let mut cx = self.cx.borrow_mut();
        let at = Port::of_ref(port)?;
        let Some(shape) = cx.shape(at) else {
            let ty = cx.ty(at)?;
            return (cx.types().head(ty) == Head::Scalar).then(Vec::new);
        };
        let dims = cx.dims();
        let extent = |dim: &DimId| dims.as_constant(*dim).and_then(|extent| u64::try_from(extent).ok());
        Some(shape.iter().map(extent).collect())
    }

    fn refine_shape(&self, port: PortRef, dims: &[Option<u64>]) -> Result<bool, RelationError> {
        let before = self.shape(port);
        self.set_shape(port, dims, &before)?;
        Ok(self.shape(port) != before)
    }

    fn copy_extents(&self, port: PortRef, from: &[Option<(PortRef, usize)>]) -> Result<bool, RelationError> {
        let before = self.shape(port);
        let cx = &mut **self.cx.borrow_mut();
        let Some(at) = Port::of_ref(port).filter(|at| cx.has(*at)) else { return Ok(false) };
        let known = cx.shape(at);
        if known.as_ref().is_some_and(|known| known.len() != from.len()) {
            let found = before.as_deref().map_or_else(|| "no shape".into(), show);
            let expected = format!("rank {}", from.len());
            return Err(RelationError::new(format!("the shape of {port}"), [port], expected, found));
        }
        let mut wanted = DimVec::with_capacity(from.len());
        for (axis, source) in from.iter().enumerate() {
            let source =
                source.and_then(|(source, axis)| cx.shape(Port::of_ref(source)?)?.get(axis).copied());
            wanted.push(match (source, &known) {
                (Some(extent), _) => extent,
                (None, Some(known)) => known[axis],
                (None, None) => cx.fresh(),
            });
        }
        cx.set_shape(at, &wanted).map_err(|failure| {
            let found = known.as_deref().map_or_else(String::new, |known| text(cx, known));
            let message = match failure {
                RuleError::Relation(failure) => return *failure,
                _ => format!("the shape of {port}"),
            };
            RelationError::new(message, [port], text(cx, &wanted), found)
        })?;
        Ok(cx.shape(at) != known)
    }

    fn attr_int(&self, name: &str) -> Option<i64> {
        self.attribute(|cx| cx.attr_int(name))
    }

    fn attr_ints(&self, name: &str) -> Option<Vec<i64>> {
        self.list(name, AttributeKind::Ints, |cx| cx.attr_ints(name))
    }

    fn attr_float(&self, name: &str) -> Option<f32> {
        self.attribute(|cx| cx.attr_float(name))
    }

    fn attr_str(&self, name: &str) -> Option<&str> {
        self.attribute(|cx| cx.attr_str(name))
    }

    fn constant_ints(&self, port: PortRef) -> Option<Vec<i64>> {
        self.cx.borrow_mut().const_ints(Port::of_ref(port)?)
    }

    fn attr_floats(&self, name: &str) -> Option<Vec<f32>> {
        self.list(name, AttributeKind::Floats, |cx| cx.attr_floats(name))
    }

    fn attr_strs(&self, name: &str) -> Option<Vec<&str>> {
        let strings = self.list(name, AttributeKind::Strings, |cx| cx.attr_strings(name))?;
        strings.into_iter().map(|bytes| std::str::from_utf8(bytes).ok()).collect()
    }

    fn metadata(&self, key: &str) -> Option<&str> {
        self.cx.borrow_mut().metadata(key)
    }

    fn instantiate(&self, params: &str, results: &str) -> Result<bool, RelationError> {
        super::instantiate::instantiate(&mut self.cx.borrow_mut(), &self.universe, params, results)
    }

    fn share(&self, port: PortRef, name: &str) -> Result<bool, RelationError> {
        let cx = &mut **self.cx.borrow_mut();
        let Some(at) = Port::of_ref(port) else { return Ok(false) };
        let before = super::knowledge_at(cx, at);
        cx.share(at, name).map_err(|(shared, first)| {
            let expected = cx.core().type_of(Some(shared), None);
            let expected = tree_name(&expected, &self.universe);
            let first = escape(cx.frame().body.value_name(first));
            cx.not_under(at, &format!("{expected} as `{first}`"), format!("the type of {port}"))
        })?;
        Ok(super::knowledge_at(cx, at) != before)
    }

    fn fall_back(&self, port: PortRef, node: NodeNo) {
        if let Some(at) = Port::of_ref(port) {
            self.cx.borrow_mut().fall_back(at, node);
        }
    }

    fn bundle(&self, composite: PortRef, children: &[(&str, PortRef)]) -> Result<bool, RelationError> {
        let Some(composite) = Port::of_ref(composite) else { return Ok(false) };
        super::composite::bundle(&mut self.cx.borrow_mut(), composite, &ports_of(children))
    }

    fn unbundle(&self, composite: PortRef, children: &[(&str, PortRef)]) -> Result<bool, RelationError> {
        let Some(composite) = Port::of_ref(composite) else { return Ok(false) };
        super::composite::unbundle(&mut self.cx.borrow_mut(), composite, &ports_of(children))
    }

    fn attr_tensor(&self, name: &str) -> Option<(NodeNo, KnownExtents)> {
        let (elem, dims) = self.attribute(|cx| {
            let constant = match cx.attr_tensor(name)? {
                Some(tensor) => Some(Initializer::Dense(tensor)),
                None => cx.attr_sparse_tensor(name)?.map(Initializer::Sparse),
            };
            Ok(constant.map(|constant| constant.number_and_dims()).transpose()?)
        })?;
        let leaf = self.universe.tensor_leaf(Elem::from_onnx(elem)?)?;
        Some((leaf, dims.into_iter().map(|dim| u64::try_from(dim).ok()).collect()))
    }
}

fn ports_of<'c>(children: &[(&'c str, PortRef)]) -> Vec<(&'c str, Port)> {
    children.iter().filter_map(|(name, port)| Some((*name, Port::of_ref(*port)?))).collect()
}

fn text(cx: &RuleCx<'_, '_>, shape: &[DimId]) -> String {
    typeloom_dim::shape::display(&cx.tables().dims, shape).to_string()
}

fn show(dims: &[Option<u64>]) -> String {
    let dims: Vec<String> =
        dims.iter().map(|dim| dim.map_or_else(|| "?".into(), |dim| dim.to_string())).collect();
    format!("[{}]", dims.join(", "))
}
