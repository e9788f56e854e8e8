//! Old types in terms of the new definitions.
//!
//! A type or trait that gained parameters with defaults is still written with fewer arguments by everybody who used it
//! before. So the old items are read as they would be today: with the defaults filled in.
//!
//! A type that nobody can name is written by a public alias for it. Where the alias gives it another argument now, and
//! nobody can name that one either (or the one before), the alias is what there is to see, and the old items are read
//! with what the alias stands for today.

use std::collections::{HashMap, HashSet};

use typeloom_term::subst::replace_params;
use typeloom_term::{
    AliasTy, ApplicationTy, Boxed, GenericArg, Name, Symbol, Symbols, TermError, Ty, TyData,
};

use crate::compare::map_types::rewrite_types;
use crate::item::{Item, Kind, Label, Param, ParamKind, Type};
use crate::lower::param_arg;
use crate::prove::world::{Bindings, matches_arg};

/// What some names gained.
pub(crate) struct Upgrade {
    gained: HashMap<Symbol, (usize, Vec<Param>)>,
    /// What aliases stood for, by the definition that nobody can name, and what they stand for.
    rewritten: HashMap<Symbol, Vec<Rewrite>>,
    cx: Boxed,
}

/// What an alias stood for, over its parameters, and what it stands for.
struct Rewrite {
    vars: Vec<Symbol>,
    old: Type,
    new: Type,
}

impl Upgrade {
    /// The definitions that have more parameters than before, all of the additional ones with defaults, and the aliases
    /// of the crate `root` that give others to what nobody can name.
    pub(crate) fn new(old: &[Item], new: &[Item], root: &str, symbols: &Symbols) -> Result<Self, TermError> {
        let is_definition =
            |item: &&Item| matches!(item.kind, Kind::Struct | Kind::Enum | Kind::Union | Kind::Trait);
        let before: HashMap<&str, usize> =
            old.iter().filter(is_definition).map(|item| (item.path.as_str(), item.params.len())).collect();
        let mut gained = HashMap::new();
        for item in new.iter().filter(is_definition) {
            let Some(count) = before.get(item.path.as_str()).copied() else { continue };
            let more = item.params.get(count..).unwrap_or_default();
            if let (Some(symbol), false) = (symbols.get(&item.path), more.is_empty())
                && more.iter().all(|param| param.default.is_some())
            {
                gained.insert(symbol, (count, item.params.clone()));
            }
        }
        let cx = Boxed::new();
        let rewritten = rewritten(&cx, old, new, root, symbols)?;
        Ok(Self { gained, rewritten, cx })
    }

    /// An item as it would be read today.
    pub(crate) fn item(&self, item: &mut Item, symbols: &Symbols) -> Result<(), TermError> {
        if self.gained.is_empty() && self.rewritten.is_empty() {
            return Ok(());
        }
        // A projection carries the arguments of its trait.
        let mut projections = HashMap::new();
        for (symbol, gained) in &self.gained {
            projections.insert(symbols.resolve(*symbol).to_owned(), gained);
        }
        let fill = Fill { upgrade: self, projections, symbols, cx: &self.cx };
        rewrite_types(item, &self.cx, |ty| fill.today(ty))
    }
}

/// The application of a definition that a type is.
fn application(ty: &Type) -> Option<(Symbol, &[GenericArg<Boxed>])> {
    match ty.data() {
        TyData::Apply(ApplicationTy { name: Name::Adt(symbol), args }) => Some((symbol, args)),
        _ => None,
    }
}

/// The public aliases whose definition nobody can name, where an argument of it changed that nobody can name.
fn rewritten(
    cx: &Boxed,
    old: &[Item],
    new: &[Item],
    root: &str,
    symbols: &Symbols,
) -> Result<HashMap<Symbol, Vec<Rewrite>>, TermError> {
    let known: HashSet<&str> = old.iter().chain(new).map(|item| item.path.as_str()).collect();
    let is_nameless = |symbol: Symbol| {
        let path = symbols.resolve(symbol);
        path.split("::").next() == Some(root) && !known.contains(path)
    };
    let is_nameless_arg = |arg: &GenericArg<Boxed>| {
        arg.as_ty().and_then(application).is_some_and(|(symbol, _)| is_nameless(symbol))
    };
    let is_alias = |item: &&Item| item.kind == Kind::TypeAlias;
    let before: HashMap<&str, &Item> =
        old.iter().filter(is_alias).map(|item| (item.path.as_str(), item)).collect();
    let mut found: HashMap<Symbol, Vec<Rewrite>> = HashMap::new();
    for item in new.iter().filter(is_alias) {
        let Some(was) = before.get(item.path.as_str()) else { continue };
        let (Some(from), Some(to)) = (was.part(&Label::Type), item.part(&Label::Type)) else { continue };
        if was.params.len() != item.params.len() || from.ty == to.ty {
            continue;
        }
        // Both over the parameters of the old one.
        let renamed = |name: Name| {
            let at = item.params.iter().position(|param| Name::Param(param.symbol) == name)?;
            let param = was.params.get(at)?;
            param_arg(cx, param.symbol, &param.kind).ok()
        };
        let to = replace_params(cx, &to.ty, renamed)?;
        let (Some((name, of_old)), Some((other, of_new))) = (application(&from.ty), application(&to)) else {
            continue;
        };
        let excused = |(a, b): (&GenericArg<Boxed>, &GenericArg<Boxed>)| {
            a == b || is_nameless_arg(a) || is_nameless_arg(b)
        };
        if name == other
            && is_nameless(name)
            && of_old.len() == of_new.len()
            && of_old.iter().zip(of_new).all(excused)
            && was.params.iter().all(|param| !matches!(param.kind, ParamKind::Const(_)))
        {
            let vars = was.params.iter().map(|param| param.symbol).collect();
            found.entry(name).or_default().push(Rewrite { vars, old: from.ty.clone(), new: to });
        }
    }
    Ok(found)
}

struct Fill<'u> {
    upgrade: &'u Upgrade,
    projections: HashMap<String, &'u (usize, Vec<Param>)>,
    symbols: &'u Symbols,
    cx: &'u Boxed,
}

impl Fill<'_> {
    fn filled(
        &self,
        gained: &(usize, Vec<Param>),
        args: &[GenericArg<Boxed>],
    ) -> Result<Option<Vec<GenericArg<Boxed>>>, TermError> {
        let (count, params) = gained;
        if args.len() != *count {
            return Ok(None);
        }
        let mut args = args.to_vec();
        for param in params.iter().skip(*count) {
            let Some(default) = &param.default else { continue };
            let lookup = |name: Name| {
                let index = params.iter().position(|param| Name::Param(param.symbol) == name)?;
                args.get(index).cloned()
            };
            args.push(replace_params(self.cx, default, lookup)?);
        }
        Ok(Some(args))
    }

    /// What a type that nobody can name is today, where it is what an alias stood for.
    fn rewritten(&self, symbol: Symbol, ty: &Type) -> Result<Option<Type>, TermError> {
        for rewrite in self.upgrade.rewritten.get(&symbol).into_iter().flatten() {
            let mut bindings = Bindings::new();
            let (pattern, term) = (rewrite.old.clone().into(), ty.clone().into());
            if matches_arg(&pattern, &term, &rewrite.vars, &mut bindings)
                && rewrite.vars.iter().all(|var| bindings.contains_key(var))
            {
                let find = |name: Name| match name {
                    Name::Param(symbol) => bindings.get(&symbol).cloned(),
                    _ => None,
                };
                return replace_params(self.cx, &rewrite.new, find).map(Some);
            }
        }
        Ok(None)
    }

    /// What a type is today, if it is another one.
    fn today(&self, ty: &Type) -> Result<Option<Type>, TermError> {
        match ty.data() {
            TyData::Apply(ApplicationTy { name: name @ (Name::Adt(symbol) | Name::Trait(symbol)), args }) => {
                if let Some(gained) = self.upgrade.gained.get(&symbol)
                    && let Some(args) = self.filled(gained, args)?
                {
                    return Ty::apply(self.cx, name, &args).map(Some);
                }
                self.rewritten(symbol, ty)
            }
            TyData::Alias(AliasTy { name: name @ Name::Projection(symbol), args }) => {
                let of = self.symbols.resolve(symbol).rsplit_once("::").map_or("", |(of, _)| of);
                if let Some(gained) = self.projections.get(of)
                    && let Some(args) = self.filled(gained, args)?
                {
                    return Ty::alias(self.cx, name, &args).map(Some);
                }
                Ok(None)
            }
            _ => Ok(None),
        }
    }
}
