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
//! | `d` mentions an extent that has no name, or the rank is unknown | the claim is open: it can only be assumed |
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

use crate::dim::shape::{DimVec, ShapeId, paired};
use crate::dim::{Bind, Decision, DimId};
use crate::map::Map;
use crate::program::{DeclarationKind, ValueId};
use crate::state::Core;
use crate::state::claim::Claim;
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
    let mut verifier = Verifier { inputs: None, names: Map::default() };
    if frame.number == 0 {
        verifier.define_names(core, frame);
    }
    for value in body.values() {
        for declaration in body.declarations(value) {
            if is_given(frame, value, declaration.kind)
                || frame.value_errors.contains_key(&value)
                || frame.is_shapeless(value)
            {
                continue;
            }
            // Malformed types were reported when the value was typed.
            let Ok(declared) = core.read_declared(declaration.ty, declaration.kind) else { continue };
            verifier.value(core, frame, value, &declared, declaration.kind);
        }
    }
}

struct Verifier {
    /// The symbols that inputs declare, computed on demand.
    inputs: Option<BTreeSet<DimId>>,
    /// Symbols that no input declares, with the extent that their first use names.
    names: Map<DimId, DimId>,
}

impl Verifier {
    /// Gives each symbol that no input declares the known extent of one of its uses, if there is one, so that
    /// its meaning does not depend on the order of its uses.
    fn define_names<'a>(&mut self, core: &mut Core<'a>, frame: &Frame<'a>) {
        let body = Arc::clone(&frame.body);
        for value in body.values() {
            let Some(derived) = frame.slots[value.index()].shape else { continue };
            for declaration in body.declarations(value) {
                if is_given(frame, value, declaration.kind) {
                    continue;
                }
                let Ok(declared) = core.read_declared(declaration.ty, declaration.kind) else { continue };
                let Some(claimed) = declared.shape.filter(|claimed| *claimed != derived) else { continue };
                for (derived, claimed) in paired(&core.shapes, derived, claimed).unwrap_or_default() {
                    let derived = core.dims.resolve(derived);
                    if derived == claimed
                        || core.dims.as_symbol(claimed).is_none()
                        || core.dims.is_anonymous(derived)
                    {
                        continue;
                    }
                    let inputs = self
                        .inputs
                        .get_or_insert_with(|| crate::analysis::conditions::input_symbols(core, frame));
                    if !inputs.contains(&claimed) {
                        self.names.entry(claimed).or_insert(derived);
                    }
                }
            }
        }
    }

    fn value<'a>(
        &mut self,
        core: &mut Core<'a>,
        frame: &mut Frame<'a>,
        value: ValueId,
        declared: &Declared,
        declared_in: DeclarationKind,
    ) {
        let Some(claimed) = declared.shape else { return };
        let slot = frame.slots[value.index()];
        if slot.ty.is_some_and(|ty| core.types.innermost(ty) == Types::ERROR) {
            return;
        }
        let Some(derived) = slot.shape else {
            frame.open_claims.push(value);
            return;
        };
        if derived == claimed {
            return;
        }
        let (mut dims, claimed): (DimVec, DimVec) =
            (core.shapes.get(derived).into(), core.shapes.get(claimed).into());
        if dims.len() != claimed.len() {
            let kind = core.contradiction(frame, value, declared, declared_in, None);
            frame.report_value(value, kind);
            return;
        }
        let (mut is_open, mut is_named) = (false, false);
        for (axis, claimed) in claimed.iter().enumerate() {
            let claim = Claim {
                value,
                declared_in,
                axis,
                declared: core.dims.resolve(*claimed),
                derived: core.dims.resolve(dims[axis]),
                broadcast: None,
            };
            match self.axis(core, frame, claim) {
                Verdict::Accepted => {}
                Verdict::Refuted => {
                    let kind = core.contradiction(frame, value, declared, declared_in, Some(axis));
                    frame.report_value(value, kind);
                    return;
                }
                Verdict::Claimed(claim) => frame.claims.push(claim),
                Verdict::Open => is_open = true,
                Verdict::Named => {
                    dims[axis] = *claimed;
                    is_named = true;
                }
            }
        }
        if is_open {
            frame.open_claims.push(value);
        }
        if is_named {
            frame.slots[value.index()].shape = Some(core.shapes.intern(&dims));
        }
    }

    fn axis<'a>(&mut self, core: &mut Core<'a>, frame: &mut Frame<'a>, claim: Claim) -> Verdict {
        let Claim { declared, derived, .. } = claim;
        if core.dims.is_anonymous(declared) {
            return Verdict::Accepted;
        }
        match core.dims.compare(derived, declared) {
            Decision::Equal => return Verdict::Accepted,
            Decision::Different => return Verdict::Refuted,
            Decision::Undecided => {}
        }
        let has_symbols = !core.dims.symbols_of(declared).is_empty();
        // Symbols inside a function are independent of those of the caller.
        if frame.number != 0 && has_symbols {
            return Verdict::Accepted;
        }
        let symbols = core.dims.symbols_of(declared);
        let inputs =
            self.inputs.get_or_insert_with(|| crate::analysis::conditions::input_symbols(core, frame));
        if symbols.iter().any(|symbol| !inputs.contains(symbol)) {
            return match core.dims.as_symbol(declared) {
                Some(_) => self.name(core, frame, claim),
                None => Verdict::Accepted,
            };
        }
        compare_known(core, frame, claim)
    }

    /// Compares a symbol that no input declares. Its first use defines it.
    fn name<'a>(&mut self, core: &mut Core<'a>, frame: &mut Frame<'a>, claim: Claim) -> Verdict {
        let Claim { declared: symbol, derived, .. } = claim;
        if let Some(known) = self.names.get(&symbol).copied() {
            let known = core.dims.resolve(known);
            return match core.dims.compare(derived, known) {
                Decision::Equal => Verdict::Accepted,
                Decision::Different => Verdict::Refuted,
                Decision::Undecided if known == symbol || core.dims.is_anonymous(known) => {
                    match core.dims.is_anonymous(derived) {
                        true => Verdict::Open,
                        false => Verdict::Accepted,
                    }
                }
                Decision::Undecided => compare_known(core, frame, Claim { declared: known, ..claim }),
            };
        }
        self.names.insert(symbol, derived);
        if !core.dims.is_anonymous(derived) {
            return Verdict::Accepted;
        }
        if core.dims.is_variable(derived) && core.dims.bind(derived, symbol) == Bind::Bound {
            self.names.insert(symbol, symbol);
            core.dims.names_unknown(symbol);
        }
        Verdict::Named
    }
}

/// Compares a declared extent over the symbols of inputs with the derived one.
fn compare_known(core: &Core<'_>, frame: &Frame<'_>, claim: Claim) -> Verdict {
    // A value of a nested graph exists only in runs that reach it, for which the symbols may be restricted.
    let decidable = frame.number == 0 && !frame.is_conditional_in(frame.body.value(claim.value).graph);
    if let Some(broadcast) = core.broadcast_of(claim.derived)
        && decidable
        && [broadcast.0, broadcast.1].iter().all(|dim| !core.dims.is_anonymous(*dim))
    {
        return Verdict::Claimed(Claim { broadcast: Some(broadcast), ..claim });
    }
    if core.dims.is_unknown(claim.derived) {
        return Verdict::Open;
    }
    if decidable { Verdict::Claimed(claim) } else { Verdict::Accepted }
}

impl<'a> Core<'a> {
    /// Keeps the declared shape of a graph input with unknown extents, for reports. Conditions of operators
    /// on an unknown extent do not narrow the input.
    pub(crate) fn keep_declared_input(&mut self, frame: &mut Frame<'a>, value: ValueId) {
        let Some(shape) = frame.slots[value.index()].shape else {
            frame.open_inputs.insert(value, None);
            return;
        };
        let dims: DimVec = self.shapes.get(shape).into();
        if dims.iter().any(|dim| self.dims.is_anonymous(*dim)) {
            frame.open_inputs.insert(value, Some(shape));
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

    /// Shows the readers of a value its declared extents for unknown derived ones.
    pub(crate) fn assume_declared(&mut self, frame: &mut Frame<'a>, value: ValueId, declared: &Declared) {
        let Some(claimed) = declared.shape else { return };
        let seen = frame.shape_read(value);
        let shape = match seen {
            None => claimed,
            Some(seen) => {
                let Some(axes) = paired(&self.shapes, seen, claimed) else { return };
                let shown = axes.into_iter().map(|(derived, declared)| {
                    let is_unknown = self.dims.is_unknown(derived) && !self.dims.is_anonymous(declared);
                    let is_open = is_unknown && self.dims.compare(derived, declared) == Decision::Undecided;
                    if is_open { declared } else { derived }
                });
                let shown: DimVec = shown.collect();
                self.shapes.intern(&shown)
            }
        };
        if seen != Some(shape) {
            frame.assumed_shapes.insert(value, shape);
            frame.refined(value);
        }
    }
}
