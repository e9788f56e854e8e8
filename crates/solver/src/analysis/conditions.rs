//! Conditions of a graph on the symbols of its inputs.
//!
//! A solve never merges symbols. If an operator needs `N` and `M` to be equal, or an extent to be at least 4,
//! the condition is kept as an [`Equation`]. This module decides the equations of the nodes that always run,
//! and the declared extents that differ from derived ones ([`Claim`](crate::state::claim::Claim)).
//!
//! | the equations imply for a symbol of an input | error |
//! |---|---|
//! | the values between two bounds remain, or those of them with one remainder, at least three | [`SolveErrorKind::Restricted`], a warning, because callers expect bounds such as the 64 positions of a table |
//! | finitely many other values remain | [`SolveErrorKind::ForcedSymbol`]: an error, or a warning if it is broadcast against the declared extent of another input |
//! | it and other symbols have finitely many values together, as in `h*w = 400` | [`SolveErrorKind::ForcedSymbols`]: an error, or a warning if the constant comes from the declared type of another input |
//! | no value remains | the error of the node that needs it, an error |
//! | it equals another symbol of the inputs | [`SolveErrorKind::ForcedEquality`], a warning |
//! | it is restricted in another way | [`SolveErrorKind::Restricted`], a warning with a binding that fails |
//!
//! | the equations imply for a declared extent | error |
//! |---|---|
//! | it equals the derived one | no error |
//! | it differs under a binding with which the graph runs | [`SolveErrorKind::RefutedClaim`], an error |
//! | it agrees for finitely many values of a symbol only | [`SolveErrorKind::ForcedSymbol`], an error |
//! | it is a name of an axis of an inner value, and differs | [`SolveErrorKind::RefutedClaim`], a warning |
//!
//! Extents count as at least 1 here, because a caller does not expect a graph for empty tensors only. So
//! `batch*seq = 7*batch` leaves one value for `seq`.
//!
//! Algorithm: [`Dims::examine`](typeloom_dim::Dims::examine) decides each equation over the domain of the
//! equations before it, in the order of nodes. The equation then joins the domain. Undecided equations, and
//! those with a long result, are decided once more at the end, under all others. Restrictions of one symbol
//! are joined. The procedure is incomplete: an equation that is neither proved nor violated stays open and is
//! reported as such.
//!
//! The cost is at most [`MAX_EQUATIONS`] decisions, each of which is bounded. Further equations stay open.

mod claimed;
mod origin;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use origin::has_fixed_constants;
use typeloom_dim::{Condition, DimId, Domain, Relation, Verdict, drop_redundant, symbols_of};

use crate::program::{Body, Origin, StepId, ValueId};
use crate::rule::RuleError;
use crate::solution::{Equation, EquationSource, Requirement};
use crate::solve_error::Limit;
use crate::solve_error::{ErrorSite, SolveError, SolveErrorKind};
use crate::state::Core;
use crate::state::frame::Frame;

/// Maximum number of decided equations.
const MAX_EQUATIONS: usize = 1024;

/// Maximum number of restrictions that are compared with each other.
const MAX_COMPARED: usize = 64;

/// Maximum number of leaves in the text of a condition that is reported although later ones may simplify it.
const MAX_SIMPLE: usize = 12;

/// Maximum number of counterexamples that are compared with all conditions of the graph.
const MAX_REFINED: usize = 16;

/// Maximum number of decided claims.
const MAX_CLAIMS: usize = 1024;

/// The decisions about the equations and claims of a solved frame.
#[derive(Default)]
pub(crate) struct Decided<'a> {
    pub(crate) errors: Vec<SolveError<'a>>,
    /// The conditions on callers in their simplest form, and the undecided ones.
    pub(crate) requirements: Vec<Requirement>,
}

/// Decides the equations and claims of a solved frame.
pub(crate) fn decide<'a>(core: &mut Core<'a>, frame: &Frame<'a>) -> Decided<'a> {
    let errors = narrowed_inputs(core, frame);
    if frame.certain_equations().next().is_none() && frame.rare.claims.is_empty() {
        return Decided { errors, requirements: Vec::new() };
    }
    let mut facts = solve(core, frame);
    facts.claims(core, frame);
    facts.combine(core);
    facts.shorten(core);
    facts.decided.errors.extend(given_up(core, frame, &facts.decided.requirements));
    facts.decided.errors.extend(errors);
    facts.decided
}

/// The symbols that must equal another symbol or an expression, with that dim.
pub(crate) fn merged<'a>(core: &mut Core<'a>, frame: &Frame<'a>) -> Vec<(DimId, DimId)> {
    solve(core, frame).merged
}

fn solve<'a>(core: &mut Core<'a>, frame: &Frame<'a>) -> Facts<'a> {
    let mut equations: Vec<Equation> = frame.certain_equations().copied().collect();
    equations.sort_by_key(|equation| equation.step);
    let beyond = equations.split_off(equations.len().min(MAX_EQUATIONS));
    // An equation that several nodes need is decided once. It counts as based on constants of the graph if it
    // is so at one of the nodes.
    let mut unique: Vec<(Equation, bool)> = Vec::new();
    let mut at: BTreeMap<(DimId, DimId, Relation), usize> = BTreeMap::new();
    for equation in equations {
        let is_constant = |dim| core.dims.as_constant(dim).is_some();
        let is_open = !is_constant(equation.left) && !is_constant(equation.right);
        let by_constant = is_open || has_fixed_constants(core, frame, &equation);
        let position = *at.entry((equation.left, equation.right, equation.need)).or_insert(unique.len());
        match unique.get_mut(position) {
            Some((_, known)) => *known |= by_constant,
            None => unique.push((equation, by_constant)),
        }
    }
    // The assumptions of the case.
    let mut domain = Domain::nonempty();
    let assumed = core.dims.non_negative_facts().to_vec();
    let in_case = !assumed.is_empty();
    for dim in assumed {
        if !core.dims.is_anonymous(dim) {
            domain.assume(&mut core.dims, Condition::new(Relation::AtMost, DimId::ZERO, dim));
        }
    }
    let conditions = unique.iter().map(|(equation, _)| equation.condition());
    let conditions = conditions.chain(beyond.iter().map(Equation::condition));
    let mut facts = Facts {
        free: input_symbols(core, frame),
        shared: shared_symbols(core, frame),
        conditions: conditions.filter(|it| !is_anonymous(core, *it)).collect(),
        domain,
        in_case,
        merged: Vec::new(),
        reported: BTreeSet::new(),
        in_error: BTreeSet::new(),
        declared: Vec::new(),
        by_constant: true,
        decided: Decided::default(),
    };
    // Conditions of the graph alone come first, so that the result does not depend on the order of nodes.
    // Equations with the declared extents of other inputs come last.
    let mut open: Vec<Equation> = Vec::new();
    for by_constant in [true, false] {
        facts.by_constant = by_constant;
        let mut undecided: Vec<Equation> = Vec::new();
        for (equation, _) in unique.iter().filter(|(_, own)| *own == by_constant) {
            if !facts.use_equation(core, equation, Results::Short) {
                undecided.push(*equation);
            }
        }
        undecided.retain(|equation| !facts.use_equation(core, equation, Results::All));
        open.extend(undecided);
    }
    open.retain(|equation| !facts.use_equation(core, equation, Results::All));
    facts.join(core);
    facts.drop_implied(core);
    for equation in open.into_iter().chain(beyond) {
        let condition = equation.condition();
        facts.decided.requirements.push(Requirement { condition, equation, is_decided: false });
    }
    facts
}

/// The results of an examination that are used.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Results {
    /// Conditions of at most [`MAX_SIMPLE`] leaves.
    Short,
    /// All of them.
    All,
}

/// The symbols of some conditions.
fn symbols_of_all(core: &Core<'_>, conditions: &[Condition]) -> Vec<DimId> {
    let mut symbols: Vec<DimId> = conditions.iter().flat_map(|it| symbols_of(&core.dims, *it)).collect();
    symbols.sort_unstable();
    symbols.dedup();
    symbols
}

/// Whether a side of a condition has an unknown extent.
fn is_anonymous(core: &Core<'_>, condition: Condition) -> bool {
    core.dims.is_anonymous(condition.left) || core.dims.is_anonymous(condition.right)
}

/// The decisions so far.
struct Facts<'a> {
    /// The symbols that inputs declare.
    free: BTreeSet<DimId>,
    /// The symbols that several inputs declare.
    shared: BTreeSet<DimId>,
    /// The conditions of all equations.
    conditions: Vec<Condition>,
    /// The known restrictions of the bindings with which the graph runs.
    domain: Domain,
    /// Whether `domain` includes the assumptions of a case.
    in_case: bool,
    /// Symbols that equal another symbol or an expression.
    merged: Vec<(DimId, DimId)>,
    /// The symbols with a reported error.
    reported: BTreeSet<DimId>,
    /// Whether the current equations contain constants of the graph only.
    by_constant: bool,
    /// The symbols whose report is an error and not a warning.
    in_error: BTreeSet<DimId>,
    /// The values of symbols for which false declarations hold.
    declared: Vec<Condition>,
    decided: Decided<'a>,
}

impl<'a> Facts<'a> {
    /// Decides an equation; returns whether that was possible.
    fn use_equation(&mut self, core: &mut Core<'a>, equation: &Equation, results: Results) -> bool {
        let condition = equation.condition();
        if is_anonymous(core, condition) {
            return true;
        }
        match core.dims.examine(condition, &self.domain) {
            Verdict::Always => {}
            Verdict::Never => self.contradiction(core, equation),
            Verdict::Restricted { conditions }
                if results == Results::Short
                    && conditions.iter().map(|it| core.dims.condition_size(*it)).sum::<usize>()
                        > MAX_SIMPLE =>
            {
                return false;
            }
            Verdict::Only { symbol, values }
                if let Some(range) = core.dims.range_of_values(symbol, &values, &self.domain) =>
            {
                // The values of several symbols may depend on each other.
                if symbols_of(&core.dims, condition).len() > 1 {
                    self.require(condition, equation);
                    self.domain.assume(&mut core.dims, condition);
                }
                self.restricted(core, equation, &range);
                for bound in range {
                    self.domain.assume(&mut core.dims, bound);
                }
            }
            Verdict::Only { symbol, values } => {
                self.domain.assume(&mut core.dims, condition);
                if self.free.contains(&symbol) {
                    self.force(core, equation, symbol, values);
                }
            }
            Verdict::Equals { symbol, value } => self.determined(core, equation, symbol, value),
            Verdict::Restricted { conditions } => {
                for simple in conditions {
                    match self.is_free(core, simple) && core.dims.leaves_few(simple) {
                        true => self.force_several(core, equation, simple),
                        false => self.restricted(core, equation, &[simple]),
                    }
                    self.domain.assume(&mut core.dims, simple);
                }
            }
            Verdict::Undecided => return false,
        }
        true
    }

    /// Joins the restrictions of one symbol.
    fn join(&mut self, core: &mut Core<'a>) {
        let mut groups: BTreeMap<DimId, Vec<usize>> = BTreeMap::new();
        for (at, error) in self.decided.errors.iter().enumerate() {
            if let SolveErrorKind::Restricted { conditions, .. } = &error.kind
                && let [symbol] = symbols_of_all(core, conditions)[..]
            {
                groups.entry(symbol).or_default().push(at);
            }
        }
        let mut replaced: BTreeSet<usize> = BTreeSet::new();
        for (symbol, group) in groups.into_iter().filter(|(_, group)| group.len() > 1) {
            let mut restrictions: Vec<(Condition, Equation)> = Vec::new();
            for at in &group {
                if let SolveErrorKind::Restricted { conditions, equation, .. } =
                    &self.decided.errors[*at].kind
                {
                    restrictions.extend(conditions.iter().map(|condition| (*condition, *equation)));
                }
            }
            let conditions: Vec<Condition> = restrictions.iter().map(|(condition, _)| *condition).collect();
            let Some(joined) = core.dims.joined(&conditions, symbol, &Domain::nonempty()) else { continue };
            let old = |it: &Requirement| it.is_decided && conditions.contains(&it.condition);
            self.decided.requirements.retain(|requirement| !old(requirement));
            let mut last: Option<StepId> = None;
            for condition in joined {
                let Some(binding) = core.dims.counterexample(condition, &Domain::nonempty()) else {
                    continue;
                };
                // The node that needs it, or one that fails at the shown binding.
                let is_own = |(it, _): &&(Condition, Equation)| *it == condition;
                let fails = |(it, _): &&(Condition, Equation)| core.dims.holds(*it, &binding) == Some(false);
                let own = restrictions.iter().find(is_own);
                let Some((_, equation)) =
                    own.or_else(|| restrictions.iter().find(fails)).or(restrictions.first())
                else {
                    continue;
                };
                let Condition { relation: need, left, right } = condition;
                self.require(condition, &Equation { left, right, need, ..*equation });
                // One node has one report.
                if last.replace(equation.step) == Some(equation.step)
                    && let Some(SolveErrorKind::Restricted { conditions, .. }) =
                        self.decided.errors.last_mut().map(|error| &mut error.kind)
                {
                    conditions.push(condition);
                    continue;
                }
                let conditions = vec![condition];
                self.report(
                    equation,
                    SolveErrorKind::Restricted { conditions, equation: *equation, binding },
                );
            }
            replaced.extend(group);
        }
        let mut at = 0..;
        self.decided.errors.retain(|_| at.next().is_none_or(|at| !replaced.contains(&at)));
    }

    /// A binding that violates a condition and satisfies the known conditions of the graph.
    fn counterexample(
        &self,
        core: &mut Core<'a>,
        condition: Condition,
        domain: &Domain,
    ) -> Option<Vec<(DimId, i64)>> {
        let mut domain = domain.clone();
        for _ in 0..MAX_REFINED {
            let binding = core.dims.counterexample(condition, &domain)?;
            match self.conditions.iter().find(|it| core.dims.holds(**it, &binding) == Some(false)) {
                Some(violated) => domain.assume(&mut core.dims, *violated),
                None => return Some(binding),
            }
        }
        None
    }

    /// Removes restrictions that another one implies: an unrolled loop needs `seq >= 2`, `seq >= 3` and so
    /// on.
    fn drop_implied(&mut self, core: &mut Core<'a>) {
        let restricted = |error: &SolveError<'a>| match &error.kind {
            SolveErrorKind::Restricted { conditions, .. } => conditions.clone(),
            _ => Vec::new(),
        };
        let all: Vec<Condition> = self.decided.errors.iter().flat_map(restricted).collect();
        if all.len() > MAX_COMPARED {
            return;
        }
        let mut left = all.clone();
        drop_redundant(&mut left, |own, other| {
            symbols_of(&core.dims, *other) == symbols_of(&core.dims, *own) && {
                let mut domain = Domain::nonempty();
                domain.assume(&mut core.dims, *other);
                core.dims.examine(*own, &domain) == Verdict::Always
            }
        });
        if left.len() == all.len() {
            return;
        }
        let is_kept = |condition: &Condition| left.contains(condition) || !all.contains(condition);
        self.decided.errors.retain_mut(|error| {
            let SolveErrorKind::Restricted { conditions, .. } = &mut error.kind else { return true };
            conditions.retain(is_kept);
            !conditions.is_empty()
        });
        self.decided.requirements.retain(|requirement| is_kept(&requirement.condition));
        // A removed restriction may exclude the smallest failing binding.
        let mut domain = Domain::nonempty();
        for error in &mut self.decided.errors {
            let SolveErrorKind::Restricted { conditions, binding, .. } = &mut error.kind else { continue };
            let smallest = conditions.iter().find_map(|it| core.dims.counterexample(*it, &domain));
            if let Some(smallest) = smallest {
                *binding = smallest;
            }
            for condition in conditions {
                domain.assume(&mut core.dims, *condition);
            }
        }
    }

    fn is_free(&self, core: &Core<'a>, condition: Condition) -> bool {
        [condition.left, condition.right]
            .iter()
            .all(|dim| core.dims.symbols_of(*dim).iter().all(|symbol| self.free.contains(symbol)))
    }

    fn force(&mut self, core: &mut Core<'a>, equation: &Equation, symbol: DimId, values: Vec<i64>) {
        let condition = match values[..] {
            [value] => {
                let condition = Condition::new(Relation::Equal, symbol, core.dims.constant(value));
                self.domain.assume(&mut core.dims, condition);
                condition
            }
            _ => equation.condition(),
        };
        self.require(condition, equation);
        if self.reported.insert(symbol) {
            if self.by_constant {
                self.in_error.insert(symbol);
            }
            let is_described =
                matches!(equation.source, EquationSource::Ports { relation, .. } if relation.is_described);
            let is_certain = is_described || self.shared.contains(&symbol);
            let kind = SolveErrorKind::ForcedSymbol {
                symbol,
                fitting: values.clone(),
                values,
                equation: *equation,
                by_constant: self.by_constant,
                is_certain,
            };
            self.report(equation, kind);
        }
    }

    /// Reports a condition that leaves finitely many values of several symbols.
    fn force_several(&mut self, core: &Core<'a>, equation: &Equation, condition: Condition) {
        self.require(condition, equation);
        if self.by_constant {
            self.in_error.extend(symbols_of(&core.dims, condition));
        }
        let kind = SolveErrorKind::ForcedSymbols {
            condition,
            fitting: Vec::new(),
            equation: *equation,
            by_constant: self.by_constant,
        };
        self.report(equation, kind);
    }

    /// Finds the values of symbols that all conditions of the model and its declared types admit, for the
    /// proposed repairs.
    fn combine(&mut self, core: &mut Core<'a>) {
        for condition in std::mem::take(&mut self.declared) {
            self.domain.assume(&mut core.dims, condition);
        }
        for error in &mut self.decided.errors {
            match &mut error.kind {
                SolveErrorKind::ForcedSymbol { symbol, values, fitting, .. } => {
                    let mut remaining = values.clone();
                    remaining.retain(|value| {
                        let is_it = Condition::new(Relation::Equal, *symbol, core.dims.constant(*value));
                        core.dims.example(is_it, &self.domain).is_some()
                    });
                    if !remaining.is_empty() {
                        *fitting = remaining;
                    }
                }
                SolveErrorKind::ForcedSymbols { condition, fitting, .. } => {
                    let symbols = symbols_of(&core.dims, *condition);
                    let one = |symbol: &DimId| {
                        Some((*symbol, core.dims.value_under(*condition, *symbol, &self.domain)?))
                    };
                    *fitting = symbols.iter().map(one).collect::<Option<_>>().unwrap_or_default();
                }
                _ => {}
            }
        }
    }

    /// Simplifies the long equations of reports for extents that are at least as large as the reported
    /// conditions require.
    fn shorten(&mut self, core: &mut Core<'a>) {
        let mut bounds = Domain::nonempty();
        for condition in self.decided.requirements.iter().filter(|it| it.is_decided).map(|it| it.condition) {
            let least = core.dims.as_constant(condition.left);
            if let Some(least) = least.filter(|_| core.dims.as_symbol(condition.right).is_some())
                && matches!(condition.relation, Relation::AtMost | Relation::Divides | Relation::Equal)
            {
                let least = core.dims.constant(least);
                bounds.assume(&mut core.dims, Condition::new(Relation::AtMost, least, condition.right));
            }
        }
        for error in self.decided.errors.iter_mut().take(MAX_COMPARED) {
            let (SolveErrorKind::Restricted { equation, .. }
            | SolveErrorKind::ForcedSymbol { equation, .. }
            | SolveErrorKind::ForcedSymbols { equation, .. }
            | SolveErrorKind::ForcedEquality { equation, .. }) = &mut error.kind
            else {
                continue;
            };
            if core.dims.condition_size(equation.condition()) > MAX_SIMPLE {
                equation.left = core.dims.simplify(equation.left, &bounds);
                equation.right = core.dims.simplify(equation.right, &bounds);
            }
        }
    }

    /// Reports an equation that leaves one value for a symbol, depending on other symbols.
    fn determined(&mut self, core: &mut Core<'a>, equation: &Equation, symbol: DimId, value: DimId) {
        let condition = Condition::new(Relation::Equal, symbol, value);
        if self.is_free(core, condition) && core.dims.leaves_few(condition) {
            let plain = core.dims.plain_equation(condition);
            self.force_several(core, equation, plain);
        } else if core.dims.as_symbol(value).is_some() && self.is_free(core, condition) {
            let (left, right) = (symbol.min(value), symbol.max(value));
            let kind = SolveErrorKind::ForcedEquality { left, right, equation: *equation };
            self.report(equation, kind);
            self.require(condition, equation);
        } else {
            self.restricted(core, equation, &[condition]);
        }
        self.domain.assume(&mut core.dims, condition);
        self.merged.push((symbol, value));
    }

    /// Reports conditions on the symbols of inputs that one equation implies.
    fn restricted(&mut self, core: &mut Core<'a>, equation: &Equation, conditions: &[Condition]) {
        let mut conditions = conditions.to_vec();
        conditions.retain(|condition| self.is_free(core, *condition));
        let mut binding = None;
        conditions.retain(|condition| {
            let found = core.dims.counterexample(*condition, &self.domain);
            let is_open = found.is_some();
            binding = binding.take().or(found);
            is_open
        });
        let Some(binding) = binding else { return };
        for condition in &conditions {
            self.require(*condition, equation);
        }
        self.report(equation, SolveErrorKind::Restricted { conditions, equation: *equation, binding });
    }

    fn report(&mut self, equation: &Equation, kind: SolveErrorKind<'a>) {
        self.decided.errors.push(SolveError { site: ErrorSite::Step(equation.step), kind });
    }

    fn require(&mut self, condition: Condition, equation: &Equation) {
        let requirement = Requirement { condition, equation: *equation, is_decided: true };
        self.decided.requirements.push(requirement);
    }

    /// Reports an equation that contradicts the earlier ones.
    fn contradiction(&mut self, core: &mut Core<'a>, equation: &Equation) {
        let condition = equation.condition();
        // A contradiction with a reported symbol follows from that error.
        let mentions =
            |core: &Core<'a>, dim| core.dims.symbols_of(dim).iter().any(|s| self.in_error.contains(s));
        if mentions(core, equation.left) || mentions(core, equation.right) {
            return;
        }
        // The equation may hold for empty tensors.
        if let Verdict::Only { symbol, values } = core.dims.examine(condition, &Domain::extents())
            && self.free.contains(&symbol)
        {
            self.in_error.insert(symbol);
            let kind = SolveErrorKind::ForcedSymbol {
                symbol,
                fitting: values.clone(),
                values,
                equation: *equation,
                by_constant: true,
                is_certain: true,
            };
            return self.report(equation, kind);
        }
        match equation.source {
            EquationSource::Ports { left: at, right: other, relation } => {
                let (left, right) = (at.with(equation.left), other.with(equation.right));
                let failure = RuleError::Dims { left, right, relation };
                self.report(equation, SolveErrorKind::Rule { rule: equation.rule, failure });
            }
            EquationSource::Call | EquationSource::Declared(_) => {}
        }
    }
}

/// The limit that left a condition undecided, at the first value that needs it.
fn given_up<'a>(core: &Core<'a>, frame: &Frame<'a>, requirements: &[Requirement]) -> Option<SolveError<'a>> {
    let open = requirements.iter().find(|it| !it.is_decided).filter(|_| core.dims.has_given_up_proofs())?;
    let last = frame.body.last_step(open.equation.step);
    let value = frame.body.outputs(last).iter().flatten().copied().next()?;
    let kind = SolveErrorKind::LimitReached { value, limit: Limit::Proofs };
    Some(SolveError { site: frame.site_of(value), kind })
}

/// Reports unknown extents of graph inputs that operators need to be one number.
fn narrowed_inputs<'a>(core: &mut Core<'a>, frame: &Frame<'a>) -> Vec<SolveError<'a>> {
    let mut inputs: Vec<(ValueId, usize, i64)> = Vec::new();
    for (value, shape) in &frame.open_inputs {
        let Some(shape) = shape else { continue };
        let dims: typeloom_dim::shape::DimVec = core.shapes.get(*shape).into();
        for (axis, dim) in dims.into_iter().enumerate() {
            let solved = core.dims.resolve(dim);
            if solved != dim
                && let Some(extent) = core.dims.as_constant(solved)
            {
                inputs.push((*value, axis, extent));
            }
        }
    }
    inputs.sort_unstable();
    let error = |(value, axis, extent)| SolveError {
        site: ErrorSite::Value(value),
        kind: SolveErrorKind::NarrowedInput { value, axis, extent },
    };
    inputs.into_iter().map(error).collect()
}

/// The symbols in the declared shapes of the model's inputs.
pub(crate) fn input_symbols<'a>(core: &mut Core<'a>, frame: &Frame<'a>) -> BTreeSet<DimId> {
    let body = Arc::clone(&frame.body);
    let mut symbols = BTreeSet::new();
    if frame.number != 0 {
        return symbols;
    }
    for input in &body.graph(body.root()).inputs {
        match body.value(*input).origin {
            Origin::Input | Origin::InputWithDefault(_) => {}
            Origin::Initializer(_) | Origin::Step(_) | Origin::Undefined => continue,
        }
        add_declared_symbols(core, &body, *input, &mut symbols);
    }
    symbols
}

/// The symbols that several inputs of the model declare.
fn shared_symbols<'a>(core: &mut Core<'a>, frame: &Frame<'a>) -> BTreeSet<DimId> {
    let body = Arc::clone(&frame.body);
    let (mut known, mut shared) = (BTreeSet::new(), BTreeSet::new());
    for input in &body.graph(body.root()).inputs {
        for symbol in declared_symbols(core, &body, *input) {
            if !known.insert(symbol) {
                shared.insert(symbol);
            }
        }
    }
    shared
}

/// The symbols in the declared shapes of a value.
pub(crate) fn declared_symbols<'a>(core: &mut Core<'a>, body: &Body<'a>, value: ValueId) -> BTreeSet<DimId> {
    let mut symbols = BTreeSet::new();
    add_declared_symbols(core, body, value, &mut symbols);
    symbols
}

fn add_declared_symbols<'a>(
    core: &mut Core<'a>,
    body: &Body<'a>,
    value: ValueId,
    symbols: &mut BTreeSet<DimId>,
) {
    for shape in core.declared_shapes(body, value) {
        symbols.extend(core.shapes.get(shape).iter().flat_map(|dim| core.dims.symbols_of(*dim)));
    }
}
