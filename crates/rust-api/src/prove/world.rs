//! Knowledge for proofs: the impls and variances of a crate, the facts about the standard library, and the
//! assumptions.
//!
//! Impls are found by *matching*. The parameters of an impl are pattern variables, and the goal stays
//! unchanged. So a search binds no variables, and the value of an associated type depends only on its
//! arguments.

use std::collections::HashMap;

use typeloom_term::fold::{FoldState, super_fold_ty};
use typeloom_term::parse::{Scope, parse_ty};
use typeloom_term::program::{ConstEquation, Normalized};
use typeloom_term::subst::{Instantiation, instantiate_args, replace_params};
use typeloom_term::{
    AliasTy, ApplicationTy, Arity, Boxed, Const, Flags, Fold, Folder, GenericArg, InferenceTable, Meta, Name,
    Program, Region, Symbol, Symbols, TermError, Ty, TyData, Variance,
};

use crate::item::{Arg, Type};
use crate::lower::{AdtDef, Api, TraitDef};
use crate::predicate::{self, Predicate};
use crate::prove::variance::Variances;
use crate::std_facts::{self, std_facts};
use crate::terms::{applications, param, subterms, type_param, values, with_self};

/// Maximum number of lifetimes of a binder under which an associated type is evaluated.
const MAX_HIGHER: usize = 8;

/// The generic arguments of one name.
type Arguments<'t> = &'t [Arg];

/// Values of pattern variables.
pub(crate) type Bindings = HashMap<Symbol, Arg>;

/// Lifetimes that have to be equal, in patterns that match up to lifetimes.
pub(crate) type EqualLifetimes = Vec<(Region<Boxed>, Region<Boxed>)>;

/// The values of bound parameters.
pub(crate) fn bound(bindings: &Bindings) -> impl Fn(Name) -> Option<Arg> + '_ {
    |name| match name {
        Name::Param(symbol) => bindings.get(&symbol).cloned(),
        _ => None,
    }
}

/// An impl as a pattern.
#[derive(Clone, Debug)]
pub(crate) struct Rule {
    vars: Vec<Symbol>,
    /// The trait.
    pub(crate) of: Symbol,
    args: Vec<Arg>,
    pub(crate) conditions: Vec<Type>,
}

/// An associated type with a known value, as a pattern.
#[derive(Clone, Debug)]
struct Equation {
    vars: Vec<Symbol>,
    item: Symbol,
    args: Vec<Arg>,
    value: Type,
}

/// A crate and the standard library.
#[derive(Debug)]
pub(crate) struct World {
    pub(crate) cx: Boxed,
    rules: HashMap<Symbol, Vec<Rule>>,
    equations: HashMap<Symbol, Vec<Equation>>,
    pub(crate) traits: HashMap<Symbol, TraitDef>,
    pub(crate) adts: std::collections::BTreeMap<Symbol, AdtDef>,
    pub(crate) variances: Variances,
    /// Pattern variables for the lifetimes of a binder.
    pub(crate) higher: [Symbol; MAX_HIGHER],
}

impl World {
    pub(crate) fn new(api: &Api, symbols: &mut Symbols) -> Result<Self, TermError> {
        let mut world = Self {
            cx: Boxed::new(),
            rules: HashMap::new(),
            equations: HashMap::new(),
            traits: api.traits.clone(),
            adts: api.adts.clone(),
            variances: Variances::of(&api.adts, symbols),
            higher: std::array::from_fn(|index| symbols.intern(&format!("'higher#{index}"))),
        };
        for of in &api.impls {
            for (item, value) in &of.types {
                world.add_equation(*item, &of.params, of.args.clone(), value.clone());
            }
            world.add_rule(of.of, &of.params, of.args.clone(), of.predicates.clone());
        }
        world.add_std(symbols)?;
        Ok(world)
    }

    fn add_rule(&mut self, of: Symbol, vars: &[Symbol], args: Vec<Arg>, conditions: Vec<Type>) {
        self.rules.entry(of).or_default().push(Rule { vars: vars.to_vec(), of, args, conditions });
    }

    fn add_equation(&mut self, item: Symbol, vars: &[Symbol], args: Vec<Arg>, value: Type) {
        // A parameter that only a condition determines, such as `A` of
        // `impl<A, P: Deref<Target = A>> Tr for P`, would remain in the value.
        let bound: Vec<Symbol> = args
            .iter()
            .chain(&subterms(args.iter().filter_map(GenericArg::as_ty)))
            .filter_map(param)
            .collect();
        let is_open = |symbol: Symbol| vars.contains(&symbol) && !bound.contains(&symbol);
        if subterms([&value]).iter().filter_map(type_param).any(is_open) {
            return;
        }
        self.equations.entry(item).or_default().push(Equation { vars: vars.to_vec(), item, args, value });
    }

    /// Adds the impls of the standard library for known traits and types. A name is known if it has a symbol,
    /// because the crate or an added impl mentions it. Other names cannot occur in a goal.
    fn add_std(&mut self, symbols: &mut Symbols) -> Result<(), TermError> {
        for path in std_facts::LOOKED_UP.iter().copied().chain([predicate::OUTLIVES]) {
            symbols.intern(path);
        }
        let cx = self.cx;
        let vars: Vec<Symbol> = std_facts::PARAMETERS.map(|name| symbols.intern(name)).to_vec();
        let [t, u, v, w, x, n, m, ..] = std_facts::PARAMETERS;
        let scope = Scope::new().types([t, u, v, w, x]).consts([n, m]);
        // The table is a constant of this crate; a test parses all of it.
        let parse = |text: &str, symbols: &mut Symbols| {
            parse_ty(&cx, symbols, &scope, &std_facts().with_definitions(text)).ok()
        };
        let mut impls: Vec<_> = std_facts()
            .impls
            .iter()
            .flat_map(|line| line.traits.iter().map(move |(text, path)| (line, *text, *path)))
            .collect();
        let mut values: Vec<_> = std_facts().values.iter().collect();
        loop {
            let is_known = |definitions: &[&str], path: &str| {
                symbols.get(path).is_some() && definitions.iter().all(|path| symbols.get(path).is_some())
            };
            let (new_impls, others): (Vec<_>, Vec<_>) =
                impls.into_iter().partition(|(line, _, path)| is_known(&line.definitions, path));
            let (new_values, other_values): (Vec<_>, Vec<_>) =
                values.into_iter().partition(|line| is_known(&line.definitions, &line.item));
            (impls, values) = (others, other_values);
            if new_impls.is_empty() && new_values.is_empty() {
                return Ok(());
            }
            for (line, of, _) in new_impls {
                let (Some(this), Some(applied)) = (parse(line.this, symbols), parse(of, symbols)) else {
                    continue;
                };
                let mut conditions = Vec::new();
                for (subject, bound) in std_facts::conditions(line.conditions) {
                    let bound = if bound == "_" { of } else { bound };
                    let (Some(subject), Some(bound)) = (parse(subject, symbols), parse(bound, symbols))
                    else {
                        continue;
                    };
                    if let Some((of, args)) = trait_of(&bound, &subject) {
                        conditions.push(predicate::implements(&cx, Arity::NONE, of, &args)?);
                    }
                }
                if let Some((of, args)) = trait_of(&applied, &this) {
                    self.add_rule(of, &vars, args, conditions);
                }
            }
            for line in new_values {
                let (Some(this), Some(value)) = (parse(line.this, symbols), parse(line.value, symbols))
                else {
                    continue;
                };
                let arg = line.arg.and_then(|arg| parse(arg, symbols));
                let args = std::iter::once(this).chain(arg).map(GenericArg::from).collect();
                self.add_equation(symbols.intern(&line.item), &vars, args, value);
            }
        }
    }

    /// The impls of a trait.
    pub(crate) fn rules(&self, of: Symbol) -> &[Rule] {
        self.rules.get(&of).map_or(&[], Vec::as_slice)
    }

    /// The conditions under which a rule proves that `args[0]` implements `of`, and the lifetimes that have
    /// to be equal.
    pub(crate) fn apply(&self, rule: &Rule, of: Symbol, args: &[Arg]) -> Option<(Vec<Type>, EqualLifetimes)> {
        if rule.of != of || rule.args.len() != args.len() {
            return None;
        }
        let (bindings, lifetimes) = matched(&rule.args, args, &rule.vars)?;
        Some((self.substitute(&rule.conditions, &bindings)?, lifetimes))
    }

    /// An impl with variables of a table for its parameters: the trait with its arguments, and the
    /// conditions.
    pub(crate) fn open(
        &self,
        rule: &Rule,
        table: &mut InferenceTable<Boxed>,
    ) -> Result<(Type, Vec<Type>), TermError> {
        let mut terms = vec![Ty::apply(&self.cx, Name::Trait(rule.of), &rule.args)?];
        terms.extend(rule.conditions.iter().cloned());
        let mut terms = table.invert(&terms)?;
        let conditions = terms.split_off(1);
        Ok((terms.remove(0), conditions))
    }

    /// Terms under a binder as patterns, with [`Self::higher`] for its lifetimes. `None` for binders with
    /// more lifetimes or with other variables.
    pub(crate) fn pattern(&self, arity: Arity, args: &[Arg]) -> Option<Vec<Arg>> {
        let names = self
            .higher
            .get(..usize::from(arity.regions))
            .filter(|_| arity == Arity::regions(arity.regions))?;
        let regions = names.iter().map(|name| Region::param(Name::Param(*name))).collect();
        instantiate_args(&self.cx, args, &Instantiation { regions, ..Instantiation::default() }).ok()
    }

    /// The value of a pattern whose arguments match: the value comes last in `pattern`.
    pub(crate) fn matched_value(&self, pattern: &[Arg], args: &[Arg]) -> Option<Type> {
        let (value, patterns) = pattern.split_last()?;
        if patterns.len() != args.len() {
            return None;
        }
        let (bindings, _) = matched(patterns, args, &self.higher)?;
        self.substitute(value.as_ty()?, &bindings)
    }

    /// The clauses that the definitions in a type require.
    pub(crate) fn clauses_of(&self, ty: &Type) -> Result<Vec<Type>, TermError> {
        let mut clauses = Vec::new();
        for (name, args) in applications([ty]) {
            let Name::Adt(symbol) = name else { continue };
            let Some(adt) = self.adts.get(&symbol) else { continue };
            let value = values(adt.params.iter().map(|(symbol, _)| *symbol), &args);
            for predicate in &adt.predicates {
                clauses.push(replace_params(&self.cx, predicate, &value)?);
            }
        }
        Ok(clauses)
    }

    fn substitute<T: Fold<Boxed>>(&self, value: &T, bindings: &Bindings) -> Option<T> {
        replace_params(&self.cx, value, bound(bindings)).ok()
    }
}

/// The symbol of a trait that was parsed as a type, and its arguments with the self type first.
fn trait_of(of: &Type, this: &Type) -> Option<(Symbol, Vec<Arg>)> {
    let TyData::Apply(ApplicationTy { name: Name::Adt(symbol), args }) = of.data() else { return None };
    Some((symbol, with_self(this, args)))
}

/// The bindings and lifetimes under which patterns are equal to terms; see [`matches_arg`].
fn matched(patterns: &[Arg], terms: &[Arg], vars: &[Symbol]) -> Option<(Bindings, EqualLifetimes)> {
    let (mut bindings, mut lifetimes) = (Bindings::new(), EqualLifetimes::new());
    let mut pairs = patterns.iter().zip(terms);
    pairs
        .all(|(p, t)| matches_arg(p, t, vars, &mut bindings, &mut lifetimes))
        .then_some((bindings, lifetimes))
}

/// Whether a term matches a pattern up to lifetimes; sets the variables of the pattern, and collects the
/// lifetimes that have to be equal. Lifetimes under binders are not collected.
pub(crate) fn matches_arg(
    pattern: &Arg,
    term: &Arg,
    vars: &[Symbol],
    bindings: &mut Bindings,
    lifetimes: &mut EqualLifetimes,
) -> bool {
    let mut stack = vec![(pattern.clone(), term.clone())];
    while let Some((pattern, term)) = stack.pop() {
        if pattern == GenericArg::Region(Region::Erased) {
            continue;
        }
        let var = param(&pattern);
        if let Some(var) = var.filter(|var| vars.contains(var)) {
            let same_kind = std::mem::discriminant(&pattern) == std::mem::discriminant(&term);
            match bindings.get(&var) {
                _ if !same_kind => return false,
                Some(bound) => match (bound, &term) {
                    (GenericArg::Region(bound), GenericArg::Region(term)) => lifetimes.push((*bound, *term)),
                    _ if *bound != term => return false,
                    _ => {}
                },
                None => {
                    bindings.insert(var, term);
                }
            }
            continue;
        }
        // The lists of arguments that have to match.
        let lists: Vec<(Arguments<'_>, Arguments<'_>)> = match (&pattern, &term) {
            (GenericArg::Ty(p), GenericArg::Ty(t)) => match (p.data(), t.data()) {
                (TyData::Apply(p), TyData::Apply(t)) if p.name == t.name => vec![(p.args, t.args)],
                (TyData::Alias(p), TyData::Alias(t)) if p.name == t.name => vec![(p.args, t.args)],
                (TyData::Fn(p), TyData::Fn(t)) if p.name == t.name => vec![(p.signature, t.signature)],
                (TyData::Dyn(p), TyData::Dyn(t))
                    if p.bounds.iter().map(|p| p.name).eq(t.bounds.iter().map(|t| t.name)) =>
                {
                    stack.push((p.region.into(), t.region.into()));
                    p.bounds.iter().zip(t.bounds).map(|(p, t)| (&p.args[..], &t.args[..])).collect()
                }
                _ if p == t => Vec::new(),
                _ => return false,
            },
            (GenericArg::Region(Region::Bound(_)), GenericArg::Region(_)) => Vec::new(),
            (GenericArg::Region(p), GenericArg::Region(t)) => {
                lifetimes.push((*p, *t));
                Vec::new()
            }
            (GenericArg::Const(p), GenericArg::Const(t)) if p == t => Vec::new(),
            _ => return false,
        };
        if lists.iter().any(|(p, t)| p.len() != t.len()) {
            return false;
        }
        let pairs = lists.into_iter().flat_map(|(p, t)| p.iter().cloned().zip(t.iter().cloned()));
        stack.extend(pairs);
    }
    true
}

/// A world with assumptions: the program for an inference table.
#[derive(Clone, Debug)]
pub(crate) struct Knowledge<'w> {
    pub(crate) world: &'w World,
    pub(crate) symbols: &'w Symbols,
    equations: Vec<Equation>,
    /// Types that are assumed to be iterators.
    pub(crate) iterators: Vec<Type>,
    /// Types that are assumed to be `Clone`.
    pub(crate) clones: Vec<Type>,
}

impl<'w> Knowledge<'w> {
    /// Creates knowledge from a world and the equations among `facts`.
    pub(crate) fn new(world: &'w World, symbols: &'w Symbols, facts: &[Type]) -> Self {
        let mut equations = Vec::new();
        let mut iterators = Vec::new();
        let mut clones = Vec::new();
        for fact in facts {
            match predicate::view(symbols, fact) {
                Some((Arity::NONE, Predicate::Trait(of, [GenericArg::Ty(this), ..]))) => {
                    let is_below = |above| std_facts().above(symbols.resolve(of), above).is_some();
                    if is_below("core::iter::traits::iterator::Iterator") {
                        iterators.push(this.clone());
                    } else if is_below("core::clone::Clone") {
                        clones.push(this.clone());
                    }
                }
                Some((arity, Predicate::Projection(item, args, value @ GenericArg::Ty(ty))))
                    if !is_itself(item, args, ty) =>
                {
                    let all: Vec<Arg> = args.iter().chain([value]).cloned().collect();
                    let Some(mut args) = world.pattern(arity, &all) else { continue };
                    let Some(GenericArg::Ty(value)) = args.pop() else { continue };
                    let vars = world.higher[..usize::from(arity.regions)].to_vec();
                    equations.push(Equation { vars, item, args, value });
                }
                Some(_) | None => {}
            }
        }
        Self { world, symbols, equations, iterators, clones }
    }

    /// Whether the size of an associated type can be unknown.
    pub(crate) fn may_be_unsized(&self, item: Symbol) -> bool {
        std_facts().may_be_unsized(self.symbols.resolve(item))
            || self.world.traits.values().any(|definition| definition.unsized_items.contains(&item))
    }

    fn solve(&self, equation: &Equation, item: Symbol, args: &[Arg]) -> Option<Type> {
        if equation.item != item || args.len() < equation.args.len() {
            return None;
        }
        let (of, own) = args.split_at(equation.args.len());
        let (bindings, _) = matched(&equation.args, of, &equation.vars)?;
        let value = self.world.substitute(&equation.value, &bindings)?;
        if own.is_empty() {
            return Some(value);
        }
        // A generic associated type: its value is under a binder.
        let TyData::Fn(function) = value.data() else { return None };
        let with = Instantiation::from_args(own);
        let body = function.signature.last()?;
        typeloom_term::subst::instantiate(&self.world.cx, body.as_ty()?, &with).ok()
    }

    fn evaluate(&self, alias: AliasTy<'_, Boxed>) -> Normalized<Type> {
        let Name::Projection(item) = alias.name else { return Normalized::Rigid };
        let known = self.world.equations.get(&item).into_iter().flatten();
        for equation in self.equations.iter().chain(known) {
            if let Some(value) = self.solve(equation, item, alias.args) {
                return Normalized::To(value);
            }
        }
        if let Some(value) = self.by_rule(item, alias.args) {
            return Normalized::To(value);
        }
        let open = alias
            .args
            .iter()
            .any(|arg| arg.as_ty().is_some_and(|ty| ty.meta().flags.intersects(Flags::TY_INFER)));
        if open { Normalized::Ambiguous } else { Normalized::Rigid }
    }
}

fn is_itself(item: Symbol, args: &[Arg], value: &Type) -> bool {
    matches!(value.data(), TyData::Alias(alias) if alias.name == Name::Projection(item) && alias.args == args)
}

impl Program<Boxed> for Knowledge<'_> {
    fn variance(&self, _cx: &Boxed, name: Name, index: usize) -> Variance {
        self.world.variances.get(self.symbols, name, index)
    }

    fn normalize(&self, _cx: &Boxed, alias: AliasTy<'_, Boxed>) -> Normalized<Type> {
        match self.evaluate(alias) {
            Normalized::To(value) => Normalized::To(normalize(self, &value).unwrap_or(value)),
            other => other,
        }
    }

    fn equate(&self, _cx: &Boxed, _a: &Const<Boxed>, _b: &Const<Boxed>) -> ConstEquation {
        ConstEquation::Distinct
    }
}

/// Evaluates every associated type in a term that has a known value.
pub(crate) fn normalize<T: Fold<Boxed>>(knowledge: &Knowledge<'_>, value: &T) -> Result<T, TermError> {
    value.try_fold_with(&mut Evaluate { knowledge, state: FoldState::default(), budget: 256 })
}

struct Evaluate<'k, 'w> {
    knowledge: &'k Knowledge<'w>,
    state: FoldState<Boxed>,
    /// Number of remaining evaluations, because equations can form cycles.
    budget: usize,
}

impl Folder<Boxed> for Evaluate<'_, '_> {
    type Error = TermError;

    fn cx(&self) -> &Boxed {
        &self.knowledge.world.cx
    }

    fn state(&mut self) -> &mut FoldState<Boxed> {
        &mut self.state
    }

    fn skip(&self, meta: Meta) -> bool {
        !meta.flags.intersects(Flags::ALIAS)
    }

    fn fold_ty(&mut self, ty: &Ty<Boxed>) -> Result<Ty<Boxed>, TermError> {
        let folded = super_fold_ty(ty, self)?;
        let TyData::Alias(alias) = folded.data() else { return Ok(folded) };
        match self.knowledge.evaluate(alias) {
            Normalized::To(value) if self.budget > 0 => {
                self.budget -= 1;
                value.try_fold_with(self)
            }
            Normalized::To(_) | Normalized::Rigid | Normalized::Ambiguous => Ok(folded),
        }
    }
}
