//! Old items in terms of the new definitions.
//!
//! If a type or trait gains parameters with defaults, existing code still names it with fewer arguments. The
//! old items are therefore compared with the defaults filled in.
//!
//! A type without a public path is used through a public alias. If an argument in the alias changed, and the
//! old or the new argument has no public path either, only the alias is visible to users. The old items are
//! then compared with the new target of the alias, and the impls and methods of the type are compared for
//! each of its aliases.

use std::collections::{HashMap, HashSet};

use typeloom_term::subst::replace_params;
use typeloom_term::{AliasTy, ApplicationTy, Boxed, Name, Symbol, Symbols, TermError, Ty, TyData};

use super::map_types::map_types;
use crate::item::{Arg, Item, Kind, Param, ParamKind, PartLabel, Role, Type};
use crate::prove::world::{Bindings, EqualLifetimes, bound, matches_arg};
use crate::terms::{param_arg, values};

/// Changed definitions and aliases that require no change of the code that uses them.
pub(crate) struct NewDefinitions {
    /// Definitions with additional parameters: the old number of parameters, and all new ones.
    extended: HashMap<Symbol, (usize, Vec<Param>)>,
    /// Changed aliases, by the definition without a public path that is their target.
    aliases: HashMap<Symbol, Vec<ChangedAlias>>,
    cx: Boxed,
}

/// The old and the new target of an alias, over its parameters.
struct ChangedAlias {
    params: Vec<Param>,
    vars: Vec<Symbol>,
    old: Type,
    new: Type,
}

impl NewDefinitions {
    /// Finds the definitions whose additional parameters all have defaults, and the aliases of the crate
    /// `root` whose target is a definition without a public path with changed arguments.
    pub(crate) fn new(old: &[Item], new: &[Item], root: &str, symbols: &Symbols) -> Result<Self, TermError> {
        let is_definition = |item: &&Item| item.kind.is_adt() || item.kind == Kind::Trait;
        let before: HashMap<&str, usize> =
            old.iter().filter(is_definition).map(|item| (item.path.as_str(), item.params.len())).collect();
        let mut extended = HashMap::new();
        for item in new.iter().filter(is_definition) {
            let Some(count) = before.get(item.path.as_str()).copied() else { continue };
            let more = item.params.get(count..).unwrap_or_default();
            if let (Some(symbol), false) = (symbols.get(&item.path), more.is_empty())
                && more.iter().all(|param| param.default.is_some())
            {
                extended.insert(symbol, (count, item.params.clone()));
            }
        }
        let cx = Boxed::new();
        let aliases = changed_aliases(&cx, old, new, root, symbols)?;
        Ok(Self { extended, aliases, cx })
    }

    /// Rewrites an old item in terms of the new definitions.
    pub(crate) fn apply(&self, item: &mut Item, symbols: &Symbols) -> Result<(), TermError> {
        if self.extended.is_empty() && self.aliases.is_empty() {
            return Ok(());
        }
        map_types(item, &self.cx, |ty| self.replacement(ty, symbols))
    }

    /// An impl or method of a type that users see through changed aliases, for each of these aliases. Any
    /// other item is returned as it is.
    pub(crate) fn instances(&self, item: Item) -> Result<Vec<Item>, TermError> {
        let this = item.part(&PartLabel::SelfType).map(|part| part.ty.clone());
        let aliases = this.as_ref().and_then(application).and_then(|(symbol, _)| self.aliases.get(&symbol));
        let (Some(this), Some(aliases)) = (this, aliases) else { return Ok(vec![item]) };
        let mut instances = Vec::new();
        for alias in aliases {
            instances.extend(self.instance(&item, &this, alias)?);
        }
        Ok(if instances.is_empty() { vec![item] } else { instances })
    }

    /// The item for the old target of an alias; `None` if it does not apply to that.
    fn instance(&self, item: &Item, this: &Type, alias: &ChangedAlias) -> Result<Option<Item>, TermError> {
        let own: Vec<Symbol> = item.params.iter().map(|param| param.symbol).collect();
        let mut bindings = Bindings::new();
        let (own_type, old_type) = (this.clone().into(), alias.old.clone().into());
        if !matches_arg(&own_type, &old_type, &own, &mut bindings, &mut EqualLifetimes::new()) {
            return Ok(None);
        }
        let mut instance = item.clone();
        instance.params.retain(|param| !bindings.contains_key(&param.symbol));
        // The remaining parameters need names that differ from those of the alias.
        if instance.params.iter().any(|param| alias.vars.contains(&param.symbol)) {
            return Ok(None);
        }
        let of_alias = alias.params.iter().cloned();
        let of_alias = of_alias.map(|param| Param { role: Role::Inferred, default: None, ..param });
        instance.params.splice(0..0, of_alias);
        for ty in instance.types_mut() {
            *ty = replace_params(&self.cx, ty, bound(&bindings))?;
        }
        Ok(Some(instance))
    }

    /// The type in terms of the new definitions, or `None` if they do not affect it.
    fn replacement(&self, ty: &Type, symbols: &Symbols) -> Result<Option<Type>, TermError> {
        match ty.data() {
            TyData::Apply(ApplicationTy { name: name @ (Name::Adt(symbol) | Name::Trait(symbol)), args }) => {
                match self.all_args(symbol, args)? {
                    Some(args) => Ty::apply(&self.cx, name, &args).map(Some),
                    None => self.new_target(symbol, ty),
                }
            }
            TyData::Alias(AliasTy { name: name @ Name::Projection(item), args }) => {
                // A projection has the arguments of its trait.
                let of = symbols.resolve(item).rsplit_once("::").and_then(|(of, _)| symbols.get(of));
                let Some(of) = of else { return Ok(None) };
                let args = self.all_args(of, args)?;
                args.map(|args| Ty::alias(&self.cx, name, &args)).transpose()
            }
            _ => Ok(None),
        }
    }

    /// The arguments of a definition with defaults for its additional parameters.
    fn all_args(&self, of: Symbol, args: &[Arg]) -> Result<Option<Vec<Arg>>, TermError> {
        let Some((count, params)) = self.extended.get(&of).filter(|(count, _)| *count == args.len()) else {
            return Ok(None);
        };
        let mut args = args.to_vec();
        for param in params.iter().skip(*count) {
            let Some(default) = &param.default else { continue };
            let symbols = params.iter().map(|param| param.symbol);
            let default = replace_params(&self.cx, default, values(symbols, &args))?;
            args.push(default);
        }
        Ok(Some(args))
    }

    /// The new target of an alias whose old target is the type.
    fn new_target(&self, symbol: Symbol, ty: &Type) -> Result<Option<Type>, TermError> {
        for alias in self.aliases.get(&symbol).into_iter().flatten() {
            let mut bindings = Bindings::new();
            let (pattern, term) = (alias.old.clone().into(), ty.clone().into());
            if matches_arg(&pattern, &term, &alias.vars, &mut bindings, &mut EqualLifetimes::new())
                && alias.vars.iter().all(|var| bindings.contains_key(var))
            {
                return replace_params(&self.cx, &alias.new, bound(&bindings)).map(Some);
            }
        }
        Ok(None)
    }
}

/// The definition at the head of a type, and its arguments.
fn application(ty: &Type) -> Option<(Symbol, &[Arg])> {
    match ty.data() {
        TyData::Apply(ApplicationTy { name: Name::Adt(symbol), args }) => Some((symbol, args)),
        _ => None,
    }
}

/// The public aliases of a definition without a public path, in which an argument without a public path
/// changed.
fn changed_aliases(
    cx: &Boxed,
    old: &[Item],
    new: &[Item],
    root: &str,
    symbols: &Symbols,
) -> Result<HashMap<Symbol, Vec<ChangedAlias>>, TermError> {
    let public: HashSet<&str> = old.iter().chain(new).map(|item| item.path.as_str()).collect();
    let is_private = |symbol: Symbol| {
        let path = symbols.resolve(symbol);
        path.split("::").next() == Some(root) && !public.contains(path)
    };
    let is_private_arg =
        |arg: &Arg| arg.as_ty().and_then(application).is_some_and(|(symbol, _)| is_private(symbol));
    let is_alias = |item: &&Item| item.kind == Kind::TypeAlias;
    let before: HashMap<&str, &Item> =
        old.iter().filter(is_alias).map(|item| (item.path.as_str(), item)).collect();
    let mut found: HashMap<Symbol, Vec<ChangedAlias>> = HashMap::new();
    for item in new.iter().filter(is_alias) {
        let Some(was) = before.get(item.path.as_str()) else { continue };
        let (Some(from), Some(to)) = (was.part(&PartLabel::Type), item.part(&PartLabel::Type)) else {
            continue;
        };
        if was.params.len() != item.params.len() || from.ty == to.ty {
            continue;
        }
        // Both targets over the parameters of the old alias.
        let renamed = |name: Name| {
            let at = item.params.iter().position(|param| Name::Param(param.symbol) == name)?;
            let param = was.params.get(at)?;
            param_arg(cx, param.symbol, &param.kind).ok()
        };
        let to = replace_params(cx, &to.ty, renamed)?;
        let (Some((name, of_old)), Some((other, of_new))) = (application(&from.ty), application(&to)) else {
            continue;
        };
        let is_allowed = |(a, b): (&Arg, &Arg)| a == b || is_private_arg(a) || is_private_arg(b);
        if name == other
            && is_private(name)
            && of_old.len() == of_new.len()
            && of_old.iter().zip(of_new).all(is_allowed)
            && was.params.iter().all(|param| !matches!(param.kind, ParamKind::Const(_)))
        {
            let vars = was.params.iter().map(|param| param.symbol).collect();
            let params = was.params.clone();
            found.entry(name).or_default().push(ChangedAlias { params, vars, old: from.ty.clone(), new: to });
        }
    }
    Ok(found)
}
