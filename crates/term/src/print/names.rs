//! Generated names of bound variables.
//!
//! Terms and pool types have no names of bound variables, so printers generate them: `T` to `Z` for types,
//! `'x` to `'z` for lifetimes, `A` to `S` for constants, and then the same letters with a number.
//!
//! **Invariant:** the name of a variable depends on the names that the printed term uses and on the binders
//! around the variable only. Equal terms therefore have equal texts, and a part of a term is printed with the
//! names of the whole.

use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::ops::ControlFlow;

use crate::arg::GenericArg;
use crate::binder::{PerKind, Universe, VarKind};
use crate::family::TypeFamily;
use crate::leaf::Leaf;
use crate::meta::{Flags, Meta};
use crate::name::{Name, Symbol, Symbols};
use crate::ty::{ApplicationTy, Placeholder, PlaceholderId, Ty, TyData};
use crate::visit::{Visit as _, VisitState, Visitor, super_visit_ty};

/// Generates the names of bound variables, binder by binder.
///
/// ```
/// use typeloom_term::VarKind;
/// use typeloom_term::print::VariableNames;
///
/// let mut names = VariableNames::avoiding(["T"]);
/// assert_eq!([names.generate(VarKind::Ty), names.generate(VarKind::Region)], ["U", "'x"]);
/// let scope = names.scope();
/// assert_eq!(names.generate(VarKind::Ty), "V");
/// names.leave(scope);
/// assert_eq!(names.generate(VarKind::Ty), "V");
/// ```
#[derive(Clone, Debug, Default)]
pub struct VariableNames {
    taken: HashSet<String>,
    next: PerKind<usize>,
}

/// The binders around a position, as returned by [`VariableNames::scope`].
#[derive(Clone, Copy, Debug)]
pub struct NameScope(PerKind<usize>);

impl VariableNames {
    /// Creates a generator that returns none of these names.
    #[must_use]
    pub fn avoiding<N: Into<String>>(names: impl IntoIterator<Item = N>) -> Self {
        Self { taken: names.into_iter().map(Into::into).collect(), next: PerKind::default() }
    }

    /// Creates a generator for terms that avoids their free names.
    #[must_use]
    pub fn of<F: TypeFamily<Name = Name>>(args: &[GenericArg<F>], symbols: &Symbols) -> Self {
        if !args.iter().any(has_binder) {
            return Self::default();
        }
        Self { taken: FreeNames::in_terms(args, symbols).found, next: PerKind::default() }
    }

    /// Returns the name of the next variable of a binder.
    pub fn generate(&mut self, kind: VarKind) -> String {
        loop {
            let next = self.next.of_mut(kind);
            let name = nth_name(kind, *next);
            *next += 1;
            if !self.taken.contains(&name) {
                return name;
            }
        }
    }

    /// Returns the current scope, for [`Self::leave`].
    #[must_use]
    pub fn scope(&self) -> NameScope {
        NameScope(self.next)
    }

    /// Releases the names that were generated since the scope was entered.
    pub fn leave(&mut self, scope: NameScope) {
        self.next = scope.0;
    }
}

fn nth_name(kind: VarKind, number: usize) -> String {
    let (first, letters) = match kind {
        VarKind::Ty => ("T", 7),
        VarKind::Region => ("'x", 3),
        VarKind::Const => ("A", 19),
    };
    let mut name = first.to_owned();
    let last = name.pop().expect("the names are not empty");
    let step = u8::try_from(number % letters).expect("there are few letters");
    name.push(char::from(u8::try_from(last).expect("it is ASCII") + step));
    match number / letters {
        0 => name,
        round => format!("{name}{round}"),
    }
}

fn has_binder<F: TypeFamily>(arg: &GenericArg<F>) -> bool {
    let flags = match arg {
        GenericArg::Ty(ty) => ty.meta().flags,
        GenericArg::Const(constant) => constant.meta().flags,
        GenericArg::Region(_) => Flags::NONE,
    };
    flags.intersects(Flags::BINDER)
}

/// Names for the variables that a relation has replaced by placeholders.
pub(super) type PlaceholderNames = BTreeMap<(VarKind, Universe, u32), String>;

/// Returns names of the terms' unnamed placeholders, and a generator that avoids all names.
pub(super) fn with_placeholders<F: TypeFamily<Name = Name>>(
    args: &[GenericArg<F>],
    symbols: &Symbols,
) -> (PlaceholderNames, VariableNames) {
    let FreeNames { found, unnamed, .. } = FreeNames::in_terms(args, symbols);
    let mut names = VariableNames { taken: found, next: PerKind::default() };
    let named = unnamed.into_iter().map(|key| (key, names.generate(key.0))).collect();
    (named, names)
}

/// Collects the names that can be equal to a generated one, and the placeholders without a name.
struct FreeNames<'s> {
    symbols: &'s Symbols,
    found: HashSet<String>,
    unnamed: BTreeSet<(VarKind, Universe, u32)>,
    state: VisitState,
}

impl<'s> FreeNames<'s> {
    fn in_terms<F: TypeFamily<Name = Name>>(args: &[GenericArg<F>], symbols: &'s Symbols) -> Self {
        let (found, unnamed) = (HashSet::new(), BTreeSet::new());
        let mut names = Self { symbols, found, unnamed, state: VisitState::default() };
        let ControlFlow::Continue(()) = args.visit_with(&mut names);
        names
    }

    fn add(&mut self, symbol: Option<Symbol>) {
        let text = symbol.map_or("", |symbol| self.symbols.resolve(symbol));
        let letter = text.trim_start_matches('\'').trim_end_matches(|c: char| c.is_ascii_digit());
        if letter.len() == 1 {
            self.found.insert(text.to_owned());
        }
    }
}

impl<F: TypeFamily<Name = Name>> Visitor<F> for FreeNames<'_> {
    type Break = std::convert::Infallible;

    fn state(&mut self) -> &mut VisitState {
        &mut self.state
    }

    fn skip(&self, _meta: Meta) -> bool {
        false
    }

    fn visit_ty(&mut self, ty: &Ty<F>) -> ControlFlow<Self::Break> {
        if let TyData::Apply(ApplicationTy { name, args: _ }) = ty.data() {
            self.add(name.symbol());
        }
        super_visit_ty(ty, self)
    }

    fn visit_leaf(&mut self, kind: VarKind, leaf: Leaf<Name>) -> ControlFlow<Self::Break> {
        match leaf {
            Leaf::Placeholder(Placeholder { universe: _, id: PlaceholderId::Named(name) }) => {
                self.add(name.symbol());
            }
            Leaf::Placeholder(Placeholder { universe, id: PlaceholderId::Fresh(index) }) => {
                self.unnamed.insert((kind, universe, index));
            }
            Leaf::Bound(_) | Leaf::Infer(_) | Leaf::Error(_) => {}
        }
        ControlFlow::Continue(())
    }
}
