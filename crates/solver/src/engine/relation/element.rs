//! Shared element types of ports of different kinds, such as a scalar and a tensor.
//!
//! A relation on elements does not determine whether a port is a tensor or a scalar. Without other
//! information the value would stay unresolved although its elements are known: in `Add(x, y)`, `x` may be a
//! `tensor.f32` and `y` a graph input. Therefore kinds that are open after all proofs are *assumed*, in two
//! phases over the whole frame:
//!
//! 1. A port of unknown kind that shares its elements with a tensor is a tensor.
//! 2. Of the remaining ports, one that shares its elements with a scalar is a scalar.
//!
//! **Invariant:** assumptions start when the proofs end, so the order of nodes does not affect the result.
//! Declarations and seeds take precedence.
//!
//! **Invariant:** only kinds are assumed. Element types are always proved.

use smallvec::SmallVec;
use typeloom_types::relation::TypeRelation;

use super::{Ports, expand};
use crate::elem::ElemSet;
use crate::operators::{OpKind, Operators};
use crate::program::{StepId, ValueId};
use crate::rule::cx::Uncached;
use crate::rule::{Port, RuleCx, RuleError};
use crate::state::frame::Frame;
use crate::state::{Assumed, Core};
use crate::ty::{Clash, Head, Ty};

/// The required kind, for errors.
const ELEMENTS: &str = "a type with elements";

/// The kinds of the ports of one relation.
#[derive(Clone, Copy, Default)]
struct Kinds {
    tensor: bool,
    scalar: bool,
    unknown: bool,
}

impl Kinds {
    fn see(&mut self, head: Head) {
        match head {
            Head::Tensor => self.tensor = true,
            Head::Scalar => self.scalar = true,
            Head::Unknown(_) => self.unknown = true,
            Head::Sparse | Head::Container(..) | Head::Composite | Head::Leaf(_) | Head::Error => {}
        }
    }

    /// Whether an assumption of this phase decides the unknown kinds.
    fn decided_by(self, assumed: Assumed) -> bool {
        match assumed {
            Assumed::Nothing => false,
            Assumed::Tensors => self.tensor,
            Assumed::Scalars => self.tensor || self.scalar,
        }
    }
}

/// Unifies the element types of ports.
pub(super) fn same_element(cx: &mut RuleCx<'_, '_>, ports: &[Port]) -> Result<(), RuleError> {
    let mut kinds = Kinds::default();
    let mut known: Option<Port> = None;
    let mut unknown = SmallVec::<[(Port, Ty); 4]>::new();
    for port in ports.iter().copied() {
        let Some(ty) = require(cx, port)? else { continue };
        let head = cx.types().head(ty);
        kinds.see(head);
        match (head, known) {
            (Head::Unknown(_), _) => unknown.push((port, ty)),
            (_, None) => known = Some(port),
            (_, Some(known)) => cx.unify_element(known, port)?,
        }
    }
    if unknown.is_empty() {
        return Ok(());
    }
    if let Some(known) = known
        && kinds.decided_by(cx.tables().assumed)
    {
        for (port, ty) in unknown {
            assume(cx, ty, kinds).map_err(|Clash| RuleError::Kind { port, expected: ELEMENTS })?;
            cx.unify_element(known, port)?;
        }
        return Ok(());
    }
    let Uncached { frame, step, .. } = cx.uncached();
    frame.rare.undecided.push(step);
    Ok(())
}

/// Narrows an unknown kind to that of the other ports, or to the other kind if a bound excludes it.
fn assume(cx: &mut RuleCx<'_, '_>, ty: Ty, kinds: Kinds) -> Result<(), Clash> {
    let types = cx.types();
    let (tensor, scalar) = (types.tensor_of(ElemSet::ALL), types.scalar_of(ElemSet::ALL));
    let (first, second) = if kinds.tensor { (tensor, scalar) } else { (scalar, tensor) };
    types.unify(ty, first).or_else(|Clash| types.unify(ty, second))
}

/// The type at a port that must have elements. An unknown type is checked again when it is known.
pub(super) fn require(cx: &mut RuleCx<'_, '_>, port: Port) -> Result<Option<Ty>, RuleError> {
    let Some(ty) = cx.ty(port) else { return Ok(None) };
    match cx.types().head(ty) {
        Head::Error => Ok(None),
        Head::Tensor | Head::Sparse | Head::Scalar => Ok(Some(ty)),
        Head::Unknown(bound) => {
            let universe = cx.tables().types.universe();
            let above = |kind| bound.is_none_or(|bound| universe.lattice().is_subtype(kind, bound));
            if ![universe.tensor_node(), universe.scalar_node()].into_iter().flatten().any(above) {
                return Err(RuleError::Kind { port, expected: ELEMENTS });
            }
            cx.wait_for(ty);
            Ok(Some(ty))
        }
        Head::Container(..) | Head::Composite | Head::Leaf(_) => {
            Err(RuleError::Kind { port, expected: ELEMENTS })
        }
    }
}

/// Continues with assumptions, one phase at a time; returns whether steps were scheduled.
pub(crate) fn assume_kinds<'a>(
    core: &mut Core<'a>,
    operators: &Operators<'a>,
    frame: &mut Frame<'a>,
) -> bool {
    while !frame.rare.undecided.is_empty() {
        core.assumed = match core.assumed {
            Assumed::Nothing => {
                frame.rare.assumed = unknown_kinds(core, frame);
                Assumed::Tensors
            }
            Assumed::Tensors => Assumed::Scalars,
            Assumed::Scalars => return false,
        };
        let mut steps = std::mem::take(&mut frame.rare.undecided);
        steps.sort_unstable();
        steps.dedup();
        let mut woken = false;
        for step in steps {
            match decides(core, operators, frame, step) {
                Some(true) => {
                    frame.wake(step);
                    woken = true;
                }
                Some(false) => frame.rare.undecided.push(step),
                None => {}
            }
        }
        if woken {
            return true;
        }
    }
    false
}

/// Whether the phase decides a kind at the node; `None` if no kind is open.
fn decides<'a>(
    core: &mut Core<'a>,
    operators: &Operators<'a>,
    frame: &mut Frame<'a>,
    step: StepId,
) -> Option<bool> {
    let op = operators.op(frame.body.step(step).op);
    let OpKind::Declared(decl) = op.kind else { return None };
    let mut cx = RuleCx::new(core, frame, step, None, "");
    let mut open = None;
    for relation in decl.type_relations {
        let ports: Ports = match relation {
            TypeRelation::SameElementType(ports) => expand(&cx, ports),
            TypeRelation::ReduceOver { input, output } => expand(&cx, &[*input, *output]),
            TypeRelation::SameType(_)
            | TypeRelation::BroadcastShape { .. }
            | TypeRelation::Elementwise { .. }
            | TypeRelation::Custom { .. } => continue,
        };
        let mut kinds = Kinds::default();
        for port in ports {
            if let Some(ty) = cx.ty(port) {
                kinds.see(cx.types().head(ty));
            }
        }
        if kinds.unknown {
            let decided = kinds.decided_by(cx.tables().assumed);
            open = Some(open.unwrap_or(false) || decided);
        }
    }
    open
}

fn unknown_kinds(core: &mut Core<'_>, frame: &Frame<'_>) -> Vec<ValueId> {
    let unknown = |value: &ValueId| {
        frame.slots[value.index()].ty.is_none_or(|ty| matches!(core.types.head(ty), Head::Unknown(_)))
    };
    (0..frame.slots.len()).map(ValueId::new).filter(unknown).collect()
}
