//! Declared types: decoding them, and unifying them with inferred types.
//!
//! A model declares types in three lists: inputs, outputs and `value_info`. The three are not equal. The type
//! of an input is a fact, because callers must fulfil it; any other declared shape is a claim that the nodes
//! can refute:
//!
//! ```text
//! g (float[N, 2] x) => (float[M, 2] y) <float16[K, 2] h> { h = Relu (x)  y = Abs (h) }
//!
//! x   float[N, 2]   the shape of the slot
//! y   float[M, 2]   float is unified with the inferred element type; [M, 2] is compared later
//! h   float16       contradicts the inferred float: an error at h
//! ```
//!
//! [`Core::meet_declarations`] decodes the declarations of a value and unifies their element types. Shapes of
//! inputs meet those of seeds; other shapes are left to [`crate::analysis::claims`]. [`Core::snapshot`] is
//! the way back: from the tables of the solve to plain data.
//!
//! **Invariant:** a claim does not enter a slot here, except in a pass that assumes declarations, and there
//! only for readers of the value.
//!
//! **Invariant:** a declaration is cached by its bytes, and only if all its parts are equal for all values
//! that have it. An unknown extent or an open element type belongs to one value, so such a declaration is
//! decoded again.
//!
//! **Limits:** constructors and composites nest by at most [`MAX_TYPE_DEPTH`] levels; a deeper declared type
//! is malformed, and a deeper inferred one is shown as unknown. So is a composite with more than
//! [`MAX_CHILDREN`] children, those of nested ones included. A number that is no element type allows every
//! type.

use std::sync::Arc;

use smallvec::SmallVec;
use typeloom_dim::shape::{DimVec, ShapeId, paired};
use typeloom_dim::{Decision, DimId, is_placeholder};
use typeloom_onnx::prost::Message as _;
use typeloom_onnx::text::CompositeText;
use typeloom_onnx::view::{DimValue, ShapeView, TypeKindView, TypeView};
use typeloom_onnx::{DecodeError, ErrorKind};
use typeloom_tensor::value_type::Composite;

use crate::elem::{Elem, ElemSet};
use crate::program::{Body, Declaration, DeclarationKind, Origin, ValueId};
use crate::solution::{TensorType, Type};
use crate::solve_error::SolveErrorKind;
use crate::state::Core;
use crate::state::frame::Frame;
use crate::state::parts::{Part, Parts};
use crate::ty::{Children, Clash, Constructor, Head, Ty, Types};

/// Maximum nesting of type constructors.
const MAX_TYPE_DEPTH: usize = 32;
/// Maximum number of children of a composite, including those of nested composites.
pub(crate) const MAX_CHILDREN: usize = 4096;

/// The remaining size of a type that is converted to plain data.
struct Budget {
    /// The number of composites around.
    depth: usize,
    /// The number of children that may follow.
    left: usize,
}

/// A decoded declared type.
#[derive(Default)]
pub(crate) struct Declared {
    /// The type; `None` if the declaration gives none.
    pub(crate) ty: Option<Ty>,
    pub(crate) shape: Option<ShapeId>,
    /// The shapes of the children of a composite.
    pub(crate) parts: Option<Parts>,
    /// The axis and value of a negative extent.
    pub(crate) negative: Option<(usize, i64)>,
}

impl<'a> Core<'a> {
    /// Decodes a declared type of the model. Equal declarations are frequent, so the result is cached, unless
    /// it has parts that differ for each value: unknown extents and open element types.
    pub(crate) fn read_declared(
        &mut self,
        view: TypeView<'a>,
        kind: DeclarationKind,
    ) -> Result<Declared, DecodeError> {
        if let Some((ty, shape)) = self.declared.get(&view.bytes()).copied() {
            return Ok(Declared { ty: Some(ty), shape, ..Declared::default() });
        }
        let before = self.dims.variable_count();
        if kind == DeclarationKind::Input && self.assumptions.unnamed.is_some() {
            return self.read_type_with(view, self.assumptions.unnamed, 0);
        }
        let read = self.read_type(view)?;
        if let Declared { ty: Some(ty), shape, negative: None, parts: None } = read
            && ty.constant_elem().is_some()
            && self.dims.variable_count() == before
        {
            self.declared.insert(view.bytes(), (ty, shape));
        }
        Ok(read)
    }

    /// The rank of a declared dense tensor whose extents are all unset, so that it makes no claim about them.
    pub(crate) fn open_rank(&self, declaration: &Declaration<'a>) -> Option<usize> {
        let Declaration { ty, kind, .. } = declaration;
        let is_assumed = *kind == DeclarationKind::Input && self.assumptions.unnamed.is_some();
        if is_assumed || self.declared.get(&ty.bytes()).is_some() {
            return None;
        }
        let ty = ty.parse().ok().filter(|ty| ty.denotation.is_empty())?;
        let TypeKindView::Tensor { shape: Some(shape), .. } = ty.kind else { return None };
        let mut rank = 0;
        for dim in shape.dims() {
            if dim.ok()?.value != DimValue::Unknown {
                return None;
            }
            rank += 1;
        }
        Some(rank)
    }

    /// Decodes a type.
    pub(crate) fn read_type(&mut self, view: TypeView<'_>) -> Result<Declared, DecodeError> {
        self.read_type_with(view, None, 0)
    }

    /// Decodes a type with an assumed extent for axes without a name. `depth` is the number of composites
    /// around it.
    fn read_type_with(
        &mut self,
        view: TypeView<'_>,
        unnamed: Option<DimId>,
        depth: usize,
    ) -> Result<Declared, DecodeError> {
        let mut constructors = Vec::new();
        let mut declared = Declared::default();
        let mut next = Some(view);
        while let Some(view) = next.take() {
            if constructors.len() + depth > MAX_TYPE_DEPTH {
                let kind = ErrorKind::NestingTooDeep { limit: MAX_TYPE_DEPTH };
                return Err(DecodeError { offset: view.offset(), kind });
            }
            let ty = view.parse()?;
            match ty.kind {
                TypeKindView::None => {}
                TypeKindView::Opaque { domain, name } => {
                    if let Some(composite) = CompositeText::of_opaque(domain, name) {
                        self.read_composite(composite, unnamed, depth, &mut declared)?;
                    }
                }
                TypeKindView::Tensor { elem, shape } => {
                    declared.ty = Some(self.types.tensor_of(elem_set(elem)));
                    self.read_shape(shape, unnamed, &mut declared)?;
                }
                TypeKindView::Sparse { elem, shape } => {
                    declared.ty = Some(self.types.sparse_of(elem_set(elem)));
                    self.read_shape(shape, unnamed, &mut declared)?;
                }
                TypeKindView::Sequence(inner) => {
                    constructors.push(Constructor::Sequence);
                    next = inner;
                }
                TypeKindView::Optional(inner) => {
                    constructors.push(Constructor::Optional);
                    next = inner;
                }
                TypeKindView::Map { key, value } => {
                    let Some(key) = Elem::from_onnx(key) else { continue };
                    constructors.push(Constructor::Map(key));
                    next = value;
                }
            }
            let node = (!ty.denotation.is_empty()).then(|| self.node_of_denotation(ty.denotation)).flatten();
            if let Some(node) = node {
                let at = self.types.at_node(node);
                declared.ty = match declared.ty {
                    // ONNX tools read the message's own type; a denotation that contradicts it does not come
                    // from ONNX.
                    Some(known) => self.types.unify(known, at).map(|()| known).ok().or(Some(at)),
                    None => Some(at),
                };
            }
        }
        for constructor in constructors.into_iter().rev() {
            let inner = declared.ty.unwrap_or_else(|| self.types.fresh());
            declared.ty = Some(self.types.container(constructor, inner));
        }
        Ok(declared)
    }

    /// Decodes the children of a composite.
    fn read_composite(
        &mut self,
        composite: CompositeText,
        unnamed: Option<DimId>,
        depth: usize,
        declared: &mut Declared,
    ) -> Result<(), DecodeError> {
        let (mut list, mut parts) = (Vec::new(), Vec::new());
        for (name, ty) in composite.children {
            let bytes = ty.encode_to_vec();
            let child = self.read_type_with(TypeView::from_body(&bytes, 0), unnamed, depth + 1)?;
            let name: Arc<str> = name.into();
            declared.negative = declared.negative.or(child.negative);
            list.push((Arc::clone(&name), child.ty.unwrap_or_else(|| self.types.fresh())));
            parts.push((name, Part { shape: child.shape, parts: child.parts }));
        }
        declared.ty = Some(self.types.composite(list, composite.is_open));
        declared.parts = Parts::of(parts);
        Ok(())
    }

    fn node_of_denotation(&self, denotation: &str) -> Option<typeloom_types::lattice::NodeNo> {
        self.types.universe().lattice().lookup_denotation(denotation).map(|node| node.no)
    }

    fn read_shape(
        &mut self,
        shape: Option<ShapeView<'_>>,
        unnamed: Option<DimId>,
        declared: &mut Declared,
    ) -> Result<(), DecodeError> {
        let Some(shape) = shape else { return Ok(()) };
        let mut dims = DimVec::new();
        for (axis, dim) in shape.dims().enumerate() {
            dims.push(match dim?.value {
                DimValue::Value(extent) if extent >= 0 => self.dims.constant(extent),
                DimValue::Value(extent) => {
                    declared.negative.get_or_insert((axis, extent));
                    self.dims.fresh()
                }
                DimValue::Param(name) if is_placeholder(name) => {
                    self.has_placeholders = true;
                    unnamed.unwrap_or_else(|| self.dims.fresh())
                }
                DimValue::Param(name) if !name.trim().is_empty() => {
                    let dim = self.dims.declare(name).unwrap_or_else(|_| self.dims.symbol(name));
                    self.assumptions.substitute_in(&mut self.dims, dim)
                }
                DimValue::Param(_) | DimValue::Unknown => unnamed.unwrap_or_else(|| self.dims.fresh()),
            });
        }
        declared.shape = Some(self.shapes.intern(&dims));
        Ok(())
    }

    /// Decodes the declarations of a value and unifies their element types with the inferred one.
    ///
    /// The declared shape of a graph input becomes the shape of its slot. Every other declared shape is a
    /// claim, see [`crate::analysis::claims`], and never enters the slot. A pass that assumes declarations
    /// shows the claim to the readers of the value if the derived shape is unknown.
    pub(crate) fn meet_declarations(&mut self, frame: &mut Frame<'a>, value: ValueId) {
        let mut next = frame.body.value(value).declaration;
        while let Some(declaration) = next.map(|id| frame.body.declarations[id.index()]) {
            next = declaration.next;
            let declared = match self.read_declared(declaration.ty, declaration.kind) {
                // A false `shape {}` gives no information.
                Ok(declared) if frame.is_shapeless(value) => {
                    Declared { shape: None, parts: None, ..declared }
                }
                Ok(declared) => declared,
                Err(error) => {
                    frame.report_value(value, SolveErrorKind::Malformed(error));
                    continue;
                }
            };
            if let Some((axis, extent)) = declared.negative {
                frame.report_value(
                    value,
                    SolveErrorKind::NegativeDim { declared_in: Some(declaration.kind), axis, extent },
                );
            }
            let is_knowledge = is_given(frame, value, declaration.kind);
            let met = self.meet_element(frame, value, &declared, declaration.kind);
            let met = met.and_then(|()| match is_knowledge {
                true => self.meet_given(frame, value, &declared, declaration.kind),
                false => Ok(()),
            });
            if let Err(kind) = met {
                frame.report_value(value, kind);
                // If the caller contradicts the model, the rest is checked by the model.
                if frame.rare.seeded.contains(&value) {
                    let slot = &mut frame.slots[value.index()];
                    slot.ty = declared.ty.or(slot.ty);
                    slot.shape = declared.shape;
                }
            } else if !is_knowledge && self.trust.assumes() {
                self.assume_declared(frame, value, &declared);
            }
        }
    }

    /// Unifies the declared type of a value with the inferred one, without shapes.
    fn meet_element(
        &mut self,
        frame: &mut Frame<'a>,
        value: ValueId,
        declared: &Declared,
        declared_in: DeclarationKind,
    ) -> Result<(), SolveErrorKind<'a>> {
        let Some(ty) = declared.ty else { return Ok(()) };
        match frame.slots[value.index()].ty {
            None | Some(Types::ERROR) => frame.slots[value.index()].ty = Some(ty),
            Some(known) => {
                if let Err(Clash) = self.types.unify(known, ty) {
                    return Err(self.contradiction(frame, value, declared, declared_in, None));
                }
            }
        }
        self.trace_given(frame.number, value, crate::state::trace::Cause::Declared(declared_in));
        Ok(())
    }

    /// Meets the declared shape of a graph input with that of a seed.
    fn meet_given(
        &mut self,
        frame: &mut Frame<'a>,
        value: ValueId,
        declared: &Declared,
        declared_in: DeclarationKind,
    ) -> Result<(), SolveErrorKind<'a>> {
        if let Some(parts) = &declared.parts {
            frame.rare.parts.insert(value, parts.clone());
        }
        let Some(shape) = declared.shape else { return Ok(()) };
        let met = match frame.slots[value.index()].shape {
            None => Ok(shape),
            Some(known) => self.meet_shapes(known, shape),
        };
        let met = met.map_err(|axis| self.contradiction(frame, value, declared, declared_in, axis))?;
        frame.slots[value.index()].shape = Some(met);
        Ok(())
    }

    /// The error of a declaration that contradicts the derived type.
    pub(crate) fn contradiction(
        &mut self,
        frame: &Frame<'a>,
        value: ValueId,
        declared: &Declared,
        declared_in: DeclarationKind,
        axis: Option<usize>,
    ) -> SolveErrorKind<'a> {
        let slot = frame.slots[value.index()];
        let inferred = self.type_with(slot.ty, slot.shape, frame.rare.parts.get(&value));
        let declared = self.type_with(declared.ty, declared.shape, declared.parts.as_ref());
        SolveErrorKind::Contradiction { declared_in, declared, inferred, axis }
    }

    /// The type of a value, as plain data.
    pub(crate) fn snapshot(&mut self, frame: &Frame<'a>, value: ValueId) -> Type {
        let shape = match frame.open_inputs.get(&value) {
            Some(declared) => declared.map(|shape| self.declared_input(shape)),
            None => frame.shape_read(value),
        };
        self.type_with(frame.slots[value.index()].ty, shape, frame.rare.parts.get(&value))
    }

    /// A type of the tables, as plain data.
    pub(crate) fn type_of(&mut self, ty: Option<Ty>, shape: Option<ShapeId>) -> Type {
        self.type_with(ty, shape, None)
    }

    /// A type with the shapes of the children of composites, as plain data.
    pub(crate) fn type_with(
        &mut self,
        ty: Option<Ty>,
        shape: Option<ShapeId>,
        parts: Option<&Parts>,
    ) -> Type {
        self.type_within(ty, shape, parts, &mut Budget { depth: 0, left: MAX_CHILDREN })
    }

    /// The number of children of a composite, with those of nested composites; more than [`MAX_CHILDREN`] for
    /// a composite that is too large or nested too deeply.
    pub(crate) fn composite_size(&mut self, ty: Ty) -> usize {
        let mut budget = Budget { depth: 0, left: MAX_CHILDREN };
        match self.count_children(ty, &mut budget) {
            Some(()) => MAX_CHILDREN - budget.left,
            None => MAX_CHILDREN + 1,
        }
    }

    fn count_children(&mut self, ty: Ty, budget: &mut Budget) -> Option<()> {
        let inner = self.types.innermost(ty);
        let Some(Children { list, .. }) = self.types.children(inner) else { return Some(()) };
        budget.left = budget.left.checked_sub(list.len())?;
        if budget.depth >= MAX_TYPE_DEPTH {
            return None;
        }
        budget.depth += 1;
        for (_, child) in list.iter() {
            self.count_children(*child, budget)?;
        }
        budget.depth -= 1;
        Some(())
    }

    fn type_within(
        &mut self,
        ty: Option<Ty>,
        shape: Option<ShapeId>,
        parts: Option<&Parts>,
        budget: &mut Budget,
    ) -> Type {
        let Some(mut ty) = ty else { return Type::Unknown(None) };
        let mut constructors = Vec::new();
        let inner = loop {
            // Nodes can nest containers without limit; types that deep are not reported.
            if constructors.len() + budget.depth > MAX_TYPE_DEPTH {
                return Type::Unknown(None);
            }
            match self.types.head(ty) {
                Head::Unknown(bound) => break Type::Unknown(bound),
                Head::Tensor => break Type::Tensor(self.tensor_type(ty, shape)),
                Head::Sparse => break Type::Sparse(self.tensor_type(ty, shape)),
                Head::Scalar => break Type::Scalar(self.types.elems(ty).unwrap_or(ElemSet::ALL)),
                Head::Leaf(node) => break Type::Leaf(node),
                Head::Composite => break self.composite_type(ty, parts, budget),
                Head::Error => break Type::Error,
                Head::Container(constructor, element) => {
                    constructors.push(constructor);
                    ty = element;
                }
            }
        };
        Type::within(constructors, inner)
    }

    fn composite_type(&mut self, ty: Ty, parts: Option<&Parts>, budget: &mut Budget) -> Type {
        let Some(Children { list, is_open }) = self.types.children(ty) else { return Type::Unknown(None) };
        let Some(left) = budget.left.checked_sub(list.len()) else { return Type::Unknown(None) };
        budget.left = left;
        budget.depth += 1;
        let child = |(name, ty): &(Arc<str>, Ty)| {
            let part = parts.and_then(|parts| parts.get(name));
            let (shape, parts) = part.map_or((None, None), |part| (part.shape, part.parts.as_ref()));
            (Arc::clone(name), self.type_within(Some(*ty), shape, parts, budget))
        };
        let children = list.iter().map(child).collect();
        budget.depth -= 1;
        Type::Composite(Composite { children, is_open })
    }

    fn tensor_type(&mut self, ty: Ty, shape: Option<ShapeId>) -> TensorType {
        let elem = self.types.elems(ty).unwrap_or(ElemSet::ALL);
        let shape = shape.map(|shape| self.resolved(shape).as_slice().into());
        TensorType { elem, shape }
    }

    /// Whether two shapes certainly differ.
    pub(crate) fn shapes_differ(&mut self, a: ShapeId, b: ShapeId) -> bool {
        let differs = |(a, b): (_, _)| self.dims.compare(a, b) == Decision::Different;
        paired(&self.shapes, a, b).is_none_or(|axes| axes.into_iter().any(differs))
    }

    /// Whether the shapes in two composites certainly differ.
    pub(crate) fn parts_differ(&mut self, a: &Parts, b: &Parts) -> bool {
        a.iter().any(|(name, part)| {
            let Some(other) = b.get(name) else { return false };
            let nested = part.parts.as_ref().zip(other.parts.as_ref());
            part.shape.zip(other.shape).is_some_and(|(a, b)| self.shapes_differ(a, b))
                || nested.is_some_and(|(a, b)| self.parts_differ(a, b))
        })
    }

    /// The meet of two shapes.
    ///
    /// # Errors
    /// The contradictory axis, or `None` for different ranks.
    pub(crate) fn meet_shapes(&mut self, old: ShapeId, new: ShapeId) -> Result<ShapeId, Option<usize>> {
        let axes = paired(&self.shapes, old, new).ok_or(None)?.into_iter().enumerate();
        let met = axes.map(|(axis, (old, new))| self.meet_dim(old, new, false).ok_or(Some(axis)));
        let met = met.collect::<Result<DimVec, _>>()?;
        Ok(self.shapes.intern(&met))
    }

    /// The dims of a shape, resolved.
    pub(crate) fn resolved(&mut self, shape: ShapeId) -> DimVec {
        self.dims.resolve_all(self.shapes.get(shape))
    }

    /// The shapes that a body declares for a value. Malformed types are reported elsewhere.
    pub(crate) fn declared_shapes(&mut self, body: &Body<'a>, value: ValueId) -> SmallVec<[ShapeId; 2]> {
        let shape = |declaration: &Declaration<'a>| match self.declared.get(&declaration.ty.bytes()) {
            Some((_, shape)) => *shape,
            None => self.read_type(declaration.ty).ok()?.shape,
        };
        body.declarations(value).filter_map(shape).collect()
    }
}

/// Whether a declaration gives a value its shape: it is that of a model input.
pub(crate) fn is_given(frame: &Frame<'_>, value: ValueId, kind: DeclarationKind) -> bool {
    let record = frame.body.value(value);
    let is_input = matches!(record.origin, Origin::Input | Origin::InputWithDefault(_));
    frame.number == 0 && is_input && record.graph == frame.body.root() && kind == DeclarationKind::Input
}

/// The declared extents of the tensors in a type; none if it cannot be decoded.
pub(crate) fn dims_of(view: TypeView<'_>) -> impl Iterator<Item = DimValue<'_>> {
    let mut next = Some(view);
    let mut found = None;
    for _ in 0..MAX_TYPE_DEPTH {
        let Some(kind) = next.take().and_then(|view| view.parse().ok()).map(|ty| ty.kind) else { break };
        match kind {
            TypeKindView::Tensor { shape, .. } | TypeKindView::Sparse { shape, .. } => found = shape,
            TypeKindView::Sequence(inner) | TypeKindView::Optional(inner) => next = inner,
            TypeKindView::Map { value, .. } => next = value,
            TypeKindView::None | TypeKindView::Opaque { .. } => {}
        }
    }
    found
        .into_iter()
        .flat_map(|shape: ShapeView<'_>| shape.dims())
        .filter_map(Result::ok)
        .map(|dim| dim.value)
}

/// The set for a declared element type number; `UNDEFINED` and unknown numbers allow every type.
fn elem_set(number: i32) -> ElemSet {
    Elem::from_onnx(number).map_or(ElemSet::ALL, ElemSet::of)
}
