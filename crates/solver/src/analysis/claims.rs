//! Declared shapes as claims, which are verified against derived shapes.
//!
//! A declared shape of an output or an intermediate value claims that every run has that shape. When a body
//! is solved, each claim is compared with the derived shape, axis by axis. Let `d` be the derived and `c` the
//! declared extent:
//!
//! | case | outcome |
//! |---|---|
//! | `d = c` for all bindings | accepted |
//! | `d` and `c` never agree, or the ranks differ | [`SolveErrorKind::Contradiction`] |
//! | `d` and `c` are made of the symbols of inputs and differ as expressions | a [`Claim`], judged in [`crate::analysis::conditions`] |
//! | `c` is a symbol that no input declares | it names `d`; every other use of the name is compared with `d` |
//! | `d` has only extents of input axes without a name, and the symbols of inputs | as if these axes had names |
//! | `d` mentions another extent that has no name, or the rank is unknown | the claim is open: it can only be assumed |
//! | `d` changes from one iteration of a loop to the next | ignored: the declaration may hold in one of them |
//!
//! A name that an inner value declares for an axis is a label ([`ClaimWeight::Label`]): if the derived extent
//! refutes it, that is a warning.
//!
//! If a claim is open, the model is solved again with [`Trust::Assumed`]: the readers of a value see its
//! declared extents instead of the unknown ones. The first solve remains the proof. Results that need the
//! second one are reported as assumed and never written into a file.
//!
//! **Invariant:** a claim does not change the slot of a value, except for naming an unknown extent with a
//! name that has no other meaning.
//!
//! The cost is linear in the number of declared extents.

use std::collections::BTreeSet;
use std::sync::Arc;

use smallvec::SmallVec;
use typeloom_dim::shape::{DimVec, ShapeId, paired};
use typeloom_dim::{Bind, Decision, DimId};

use crate::map::{Map, Set};
use crate::program::{DeclarationKind, ValueId};
use crate::solve_error::{ClaimWeight, NamedAxis};
use crate::state::Core;
use crate::state::claim::{Claim, Trust};
use crate::state::declarations::{Declared, is_given};
use crate::state::frame::Frame;
use crate::ty::Types;

/// The result of the comparison of one axis.
enum Verdict {
    /// The extents agree.
    Accepted,
    /// The extents never agree.
    Refuted,
    /// The symbols decide.
    Claimed(Claim),
    /// The derived extent is unknown.
    Open,
    /// The declared symbol names the derived extent.
    Named,
}

/// Verifies the declared shapes of a solved body.
pub(crate) fn verify<'a>(core: &mut Core<'a>, frame: &mut Frame<'a>) {
    let body = Arc::clone(&frame.body);
    let mut verifier = Verifier { core, frame, inputs: None, names: Map::default(), unnamed: None };
    let mut open: SmallVec<[(ValueId, Declared, DeclarationKind); 1]> = SmallVec::new();
    for value in body.declared_values() {
        for declaration in body.declarations(value) {
            let Verifier { core, frame, .. } = &mut verifier;
            if is_given(frame, value, declaration.kind) {
                continue;
            }
            let derived = frame.slots[value.index()].shape;
            let rank = derived.map(|derived| core.shapes.get(derived).len());
            if rank.is_some() && core.open_rank(declaration) == rank {
                continue;
            }
            // Malformed types were reported when the value was typed.
            let Ok(declared) = core.read_declared(declaration.ty, declaration.kind) else { continue };
            let is_equal = declared.shape == derived || declared.shape.is_none();
            if is_equal && declared.parts.is_none() {
                continue;
            }
            if frame.number == 0 && !is_equal {
                verifier.define_names(value, derived, declared.shape);
            }
            open.push((value, declared, declaration.kind));
        }
    }
    for (value, declared, declared_in) in open {
        if !verifier.frame.rare.value_errors.contains_key(&value) && !verifier.frame.is_shapeless(value) {
            verifier.value(value, &declared, declared_in);
        }
    }
}

struct Verifier<'v, 'a> {
    core: &'v mut Core<'a>,
    frame: &'v mut Frame<'a>,
    /// The symbols that inputs declare, computed on demand.
    inputs: Option<BTreeSet<DimId>>,
    /// Symbols that no input declares, with the extent that their first use names.
    names: Map<DimId, (DimId, NamedAxis)>,
    /// The extents of input axes without a name, computed on demand.
    unnamed: Option<Set<DimId>>,
}

impl Verifier<'_, '_> {
    fn is_input_symbol(&mut self, symbol: DimId) -> bool {
        let Self { core, frame, inputs, .. } = self;
        let symbols = || crate::analysis::conditions::input_symbols(core, frame);
        inputs.get_or_insert_with(symbols).contains(&symbol)
    }

    /// Gives each symbol in a declared shape that no input declares the extent of the derived shape, if that
    /// is known. Before any claim is compared, so that the meaning of a symbol does not depend on the order
    /// of its uses.
    fn define_names(&mut self, value: ValueId, derived: Option<ShapeId>, claimed: Option<ShapeId>) {
        let pairs =
            derived.zip(claimed).and_then(|(derived, claimed)| paired(&self.core.shapes, derived, claimed));
        for (axis, (derived, claimed)) in pairs.unwrap_or_default().into_iter().enumerate() {
            let dims = &mut self.core.dims;
            let derived = dims.resolve(derived);
            if derived != claimed
                && dims.as_symbol(claimed).is_some()
                && !dims.is_anonymous(derived)
                && self.names.get(&claimed).is_none()
                && !self.is_input_symbol(claimed)
            {
                self.names.insert(claimed, (derived, NamedAxis { name: claimed, value, axis }));
            }
        }
    }

    fn value(&mut self, value: ValueId, declared: &Declared, declared_in: DeclarationKind) {
        if let (Some(claimed), Some(derived)) = (&declared.parts, self.frame.rare.parts.get(&value))
            && self.core.parts_differ(claimed, &derived.clone())
        {
            return self.refute(value, declared, declared_in, None);
        }
        let Some(claimed) = declared.shape else { return };
        let slot = self.frame.slots[value.index()];
        if slot.ty.is_some_and(|ty| self.core.types.innermost(ty) == Types::ERROR) {
            return;
        }
        let Some(derived) = slot.shape else {
            if !self.frame.rare.loops.states.contains(&value) {
                self.frame.rare.open_claims.push(value);
            }
            return;
        };
        if derived == claimed {
            return;
        }
        let shapes = &self.core.shapes;
        let (mut dims, claimed) =
            (DimVec::from_slice(shapes.get(derived)), DimVec::from_slice(shapes.get(claimed)));
        if dims.len() != claimed.len() {
            return self.refute(value, declared, declared_in, None);
        }
        let (mut is_open, mut is_named) = (false, false);
        let is_output = declared_in == DeclarationKind::Output
            && self.frame.body.value(value).graph == self.frame.body.root();
        for (axis, claimed) in claimed.iter().enumerate() {
            let derived = self.core.dims.resolve(dims[axis]);
            let declared_dim = self.core.dims.resolve(*claimed);
            if self.core.is_of_iteration(self.frame, derived) {
                continue;
            }
            let weight = match is_output || self.core.dims.as_constant(declared_dim).is_some() {
                true => ClaimWeight::Promise,
                false => ClaimWeight::Label,
            };
            let claim = Claim {
                value,
                declared_in,
                axis,
                declared: declared_dim,
                derived,
                broadcast: None,
                named: None,
                weight,
            };
            match self.axis(claim) {
                Verdict::Accepted => {}
                Verdict::Refuted => return self.refute(value, declared, declared_in, Some(axis)),
                Verdict::Claimed(claim) => self.frame.rare.claims.push(claim),
                Verdict::Open => is_open |= self.core.may_assume(declared_dim),
                Verdict::Named => {
                    dims[axis] = *claimed;
                    is_named = true;
                }
            }
        }
        if is_open {
            self.frame.rare.open_claims.push(value);
        }
        if is_named {
            self.frame.slots[value.index()].shape = Some(self.core.shapes.intern(&dims));
        }
    }

    fn refute(
        &mut self,
        value: ValueId,
        declared: &Declared,
        declared_in: DeclarationKind,
        axis: Option<usize>,
    ) {
        let kind = self.core.contradiction(self.frame, value, declared, declared_in, axis);
        self.frame.report_value(value, kind);
    }

    fn axis(&mut self, claim: Claim) -> Verdict {
        let Claim { declared, derived, .. } = claim;
        let core = &mut *self.core;
        if core.dims.is_anonymous(declared) {
            return Verdict::Accepted;
        }
        match (core.dims.compare(derived, declared), claim.weight) {
            (Decision::Equal, _) => return Verdict::Accepted,
            (Decision::Different, ClaimWeight::Promise) => return Verdict::Refuted,
            (Decision::Different, ClaimWeight::Label) => return self.refuted_name(claim),
            (Decision::Undecided, _) => {}
        }
        let symbols = core.dims.symbols_of(declared);
        // Symbols inside a function are independent of those of the caller.
        if self.frame.number != 0 && !symbols.is_empty() {
            return Verdict::Accepted;
        }
        if symbols.iter().any(|symbol| !self.is_input_symbol(*symbol)) {
            return match self.core.dims.as_symbol(declared) {
                Some(_) => self.name(claim),
                None => Verdict::Accepted,
            };
        }
        self.compare_known(claim)
    }

    /// A name for an axis whose extent is never the named one.
    fn refuted_name(&mut self, claim: Claim) -> Verdict {
        let is_known =
            !self.core.dims.is_anonymous(claim.derived) && !self.core.dims.is_anonymous(claim.declared);
        match is_known && self.is_decidable(claim.value) {
            true => Verdict::Claimed(claim),
            false => Verdict::Accepted,
        }
    }

    /// Compares a symbol that no input declares. Its first use defines it.
    fn name(&mut self, claim: Claim) -> Verdict {
        let Claim { declared: symbol, derived, .. } = claim;
        let core = &mut *self.core;
        if let Some((known, first)) = self.names.get(&symbol).copied() {
            let known = core.dims.resolve(known);
            let claim = Claim { declared: known, named: Some(first), ..claim };
            return match core.dims.compare(derived, known) {
                Decision::Equal => Verdict::Accepted,
                Decision::Different if core.dims.is_anonymous(derived) || core.dims.is_anonymous(known) => {
                    match claim.weight {
                        ClaimWeight::Promise => Verdict::Refuted,
                        ClaimWeight::Label => Verdict::Accepted,
                    }
                }
                Decision::Different => self.refuted_name(claim),
                Decision::Undecided if known == symbol || core.dims.is_anonymous(known) => {
                    match core.dims.is_anonymous(derived) {
                        true => Verdict::Open,
                        false => Verdict::Accepted,
                    }
                }
                Decision::Undecided => self.compare_known(claim),
            };
        }
        let first = NamedAxis { name: symbol, value: claim.value, axis: claim.axis };
        let is_anonymous = core.dims.is_anonymous(derived);
        if is_anonymous && core.dims.is_variable(derived) && core.dims.bind(derived, symbol) == Bind::Bound {
            self.names.insert(symbol, (symbol, first));
            core.dims.names_unknown(symbol);
        } else {
            self.names.insert(symbol, (derived, first));
        }
        if is_anonymous { Verdict::Named } else { Verdict::Accepted }
    }

    /// Compares a declared extent over the symbols of inputs with the derived one.
    fn compare_known(&mut self, claim: Claim) -> Verdict {
        let is_decidable = self.is_decidable(claim.value);
        if let Some(broadcast) = self.core.broadcast_of(claim.derived)
            && is_decidable
            && [broadcast.0, broadcast.1]
                .into_iter()
                .all(|dim| !self.core.dims.is_anonymous(dim) || self.is_free(dim))
        {
            return Verdict::Claimed(Claim { broadcast: Some(broadcast), ..claim });
        }
        let is_open = self.core.dims.is_unknown(claim.derived) && !self.is_free(claim.derived);
        match (is_open, is_decidable) {
            (true, _) => Verdict::Open,
            (false, true) => Verdict::Claimed(claim),
            (false, false) => Verdict::Accepted,
        }
    }

    /// Whether a false declaration of a value is false in every run. A value of a nested graph exists only in
    /// runs that reach it, for which the symbols may be restricted.
    fn is_decidable(&self, value: ValueId) -> bool {
        self.frame.number == 0 && !self.frame.is_conditional_in(self.frame.body.value(value).graph)
    }

    /// Whether the unknown parts of an extent, if there are any, are those of input axes without a name.
    fn is_free(&mut self, dim: DimId) -> bool {
        let Self { core, frame, unnamed, .. } = self;
        let variables = core.dims.variables_of(dim);
        if variables.is_empty() {
            return !core.dims.is_unknown(dim);
        }
        let unnamed = unnamed.get_or_insert_with(|| core.unnamed_extents(frame));
        variables.iter().all(|variable| unnamed.contains(variable))
    }
}

impl<'a> Core<'a> {
    /// Keeps the declared shape of a graph input with unknown extents, for reports. Conditions of operators
    /// on an unknown extent do not narrow the input.
    pub(crate) fn keep_declared_input(&mut self, frame: &mut Frame<'a>, value: ValueId) {
        let Some(shape) = frame.slots[value.index()].shape else {
            frame.open_inputs.insert(value, None);
            return;
        };
        if self.shapes.get(shape).iter().any(|dim| self.dims.is_anonymous(*dim)) {
            frame.open_inputs.insert(value, Some(shape));
            let dims = self.shapes.get(shape).iter().copied();
            frame.unnamed.extend(dims.filter(|dim| self.dims.is_variable(*dim)));
        }
    }

    /// The shape of a graph input as callers see it: an extent that operators narrow stays unknown.
    pub(crate) fn declared_input(&mut self, shape: ShapeId) -> ShapeId {
        let mut dims: DimVec = self.shapes.get(shape).into();
        for dim in &mut dims {
            let resolved = self.dims.resolve(*dim);
            let is_named = self.dims.is_unknown(resolved) && !self.dims.is_anonymous(resolved);
            if *dim != resolved && !self.dims.is_variable(resolved) && !is_named {
                *dim = self.dims.fresh();
            }
        }
        self.shapes.intern(&dims)
    }

    /// The extents of input axes without a name on which an operator puts no condition together with other
    /// unknown extents.
    pub(crate) fn unnamed_extents(&mut self, frame: &Frame<'a>) -> Set<DimId> {
        let mut unnamed = frame.unnamed.clone();
        if unnamed.is_empty() {
            return unnamed;
        }
        for equation in &frame.equations {
            let sides = [equation.left, equation.right].map(|side| self.dims.resolve(side));
            let variables: Vec<DimId> = sides.iter().flat_map(|side| self.dims.variables_of(*side)).collect();
            if variables.iter().any(|variable| !unnamed.contains(variable)) {
                unnamed.retain(|variable| !variables.contains(variable));
            }
        }
        unnamed
    }

    /// Whether a declared extent can be assumed: a text with operators is not, if the model has false ones.
    fn may_assume(&self, declared: DimId) -> bool {
        let is_plain = self.dims.as_constant(declared).is_some() || self.dims.as_symbol(declared).is_some();
        is_plain || self.trust != Trust::AssumedNames
    }

    /// Whether an extent changes from one iteration of a loop to the next.
    pub(crate) fn is_of_iteration(&self, frame: &Frame<'a>, dim: DimId) -> bool {
        let loops = &frame.rare.loops;
        if loops.unknown.is_empty() && loops.numbers.is_empty() {
            return false;
        }
        let is_index = |variable: &DimId| loops.numbers.values().any(|(index, _)| index == variable);
        self.dims.variables_of(dim).iter().any(|it| loops.unknown.contains(it) || is_index(it))
    }

    /// Shows the readers of a value its declared extents for unknown derived ones.
    pub(crate) fn assume_declared(&mut self, frame: &mut Frame<'a>, value: ValueId, declared: &Declared) {
        let Some(claimed) = declared.shape else { return };
        // The declaration may hold in the first iteration only.
        if frame.rare.loops.states.contains(&value) {
            return;
        }
        let seen = frame.shape_read(value);
        let shape = match seen {
            None => claimed,
            Some(seen) if seen == claimed => return,
            Some(seen) => {
                let Some(axes) = paired(&self.shapes, seen, claimed) else { return };
                let shown = axes.into_iter().map(|(derived, declared)| {
                    let is_unknown = self.dims.is_unknown(derived) && !self.dims.is_anonymous(declared);
                    let variables = self.dims.variables_of(derived);
                    let is_of_input =
                        !variables.is_empty() && variables.iter().all(|it| frame.unnamed.contains(it));
                    let is_unknown = is_unknown
                        && !is_of_input
                        && !self.is_of_iteration(frame, derived)
                        && self.may_assume(declared);
                    let is_open = is_unknown && self.dims.compare(derived, declared) == Decision::Undecided;
                    if is_open { declared } else { derived }
                });
                let shown: DimVec = shown.collect();
                self.shapes.intern(&shown)
            }
        };
        if seen != Some(shape) {
            frame.assumed_shapes.insert(value, shape);
            frame.wake_readers(value);
        }
    }
}
