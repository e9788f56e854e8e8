//! Lowering of types, constants and generic arguments.
//!
//! [`Lower::ty`] converts a type of the JSON to a term. The term is independent of notation: aliases are
//! expanded, elided lifetimes are parameters or the lifetime that the rules of elision give, and default
//! arguments are present (or absent, for the standard library).
//!
//! ```text
//! pub type Pair<T> = (T, T);
//! fn first(of: &Pair<u8>) -> &u8
//! input    &'_0 (u8, u8)      `'_0` is a new parameter of the function
//! output   &'_0 u8            the only lifetime of the inputs
//! ```
//!
//! The conversion is a traversal of the type. The context is in the [`Sig`]: `elided` and `impl_trait` are
//! the meaning of an elided lifetime and of `impl Trait` at this point, and `object` is the default lifetime
//! of a trait object that comes next. The body of an alias is lowered once; each use replaces its parameters.
//!
//! **Invariant:** `object` is valid for one type. [`Lower::ty`] takes it and resets it to `'static`, and the
//! places that have another default set it before each call.
//!
//! **Limits:** types nest by at most [`MAX_LEVEL`] levels, chains of aliases by [`MAX_ALIASES`], and the
//! number of lowered types is limited in proportion to the items of the crate. A term that unfolds to 65,535
//! parts or more is too large. A constant is a literal, a parameter, an arithmetic expression, or the name of
//! a constant whose value is a literal; any other text is an opaque name. The name of a constant outside of
//! the current module is searched in the whole crate, which is linear in its items. A name that cannot be
//! resolved becomes an error type, and not an error of the conversion.

use rustdoc_types::{
    Abi as JsonAbi, FunctionHeader, FunctionPointer, FunctionSignature, GenericArg as JsonArg, GenericArgs,
    GenericParamDefKind, Generics, Id, ItemEnum, ItemKind, Path, Term, Type as JsonType,
};
use typeloom_term::name::{Abi, Mutability, Safety, Variadic};
use typeloom_term::parse::{Scope, parse_ty};
use typeloom_term::subst::replace_params;
use typeloom_term::{
    Arity, BoundVar, Boxed, Const, ConstData, ConstValue, Fold, GenericArg, Name, Region, Symbol, Symbols,
    Ty, TyData,
};

use super::generics::{Elided, ImplTrait};
use super::{Alias, ItemError, Lower, MAX_ALIASES, MAX_LEVEL, Sig, Unresolved};
use crate::item::{Arg, ParamKind, Role, Type};
use crate::predicate::{self, Predicate};
use crate::std_facts::std_facts;
use crate::terms::{find, values, with_self};

/// The name of a calling convention after `extern`.
pub(super) fn abi_text(abi: &JsonAbi) -> Option<String> {
    let named =
        |name: &str, unwind: bool| Some(if unwind { format!("{name}-unwind") } else { name.to_owned() });
    match abi {
        JsonAbi::Rust => None,
        JsonAbi::C { unwind } => named("C", *unwind),
        JsonAbi::Cdecl { unwind } => named("cdecl", *unwind),
        JsonAbi::Stdcall { unwind } => named("stdcall", *unwind),
        JsonAbi::Fastcall { unwind } => named("fastcall", *unwind),
        JsonAbi::Aapcs { unwind } => named("aapcs", *unwind),
        JsonAbi::Win64 { unwind } => named("win64", *unwind),
        JsonAbi::SysV64 { unwind } => named("sysv64", *unwind),
        JsonAbi::System { unwind } => named("system", *unwind),
        JsonAbi::Other(text) => Some(text.trim_matches('"').to_owned()),
    }
}

impl Lower<'_> {
    /// Lowers a type.
    pub(super) fn ty(&mut self, ty: &JsonType, sig: &mut Sig) -> Result<Type, ItemError> {
        let too_large = || ItemError::TooLarge;
        self.budget = self.budget.checked_sub(1).filter(|_| self.level < MAX_LEVEL).ok_or_else(too_large)?;
        self.level += 1;
        let lowered = self.ty_inner(ty, sig);
        self.level -= 1;
        let lowered = lowered?;
        // Later passes may visit every node of a type as a tree, so its weight is bounded.
        if lowered.meta().weight == u16::MAX {
            return Err(too_large());
        }
        self.counts.occurrences += 1;
        self.distinct.insert(lowered.clone());
        Ok(lowered)
    }

    fn ty_inner(&mut self, ty: &JsonType, sig: &mut Sig) -> Result<Type, ItemError> {
        let object = std::mem::replace(&mut sig.object, Region::Static);
        match ty {
            JsonType::ResolvedPath(path) => self.path(path, sig),
            JsonType::DynTrait(dynamic) => {
                self.note("trait object");
                self.dynamic(dynamic, object, sig)
            }
            JsonType::Generic(name) => self.generic(name, sig),
            JsonType::Primitive(name) => self.primitive(name),
            JsonType::FunctionPointer(pointer) => {
                self.note("function pointer");
                self.function_pointer(pointer, sig)
            }
            JsonType::Tuple(types) => {
                self.note("tuple");
                let types = types
                    .iter()
                    .map(|ty| Ok(self.ty(ty, sig)?.into()))
                    .collect::<Result<Vec<_>, ItemError>>()?;
                Ok(Ty::apply(&self.cx, Name::Tuple, &types)?)
            }
            JsonType::Slice(element) => {
                self.note("slice");
                let element = self.ty(element, sig)?;
                Ok(Ty::apply(&self.cx, Name::Slice, &[element.into()])?)
            }
            JsonType::Array { type_, len } => {
                self.note("array");
                let element = self.ty(type_, sig)?;
                let len = self.constant(len, sig)?;
                Ok(Ty::apply(&self.cx, Name::Array, &[element.into(), len.into()])?)
            }
            JsonType::Pat { type_, __pat_unstable_do_not_use: pattern } => {
                self.note("pattern type");
                let base = self.ty(type_, sig)?;
                let name = Name::Pattern(self.symbols.intern(pattern));
                Ok(Ty::apply(&self.cx, name, &[base.into()])?)
            }
            JsonType::ImplTrait(bounds) => match sig.impl_trait {
                ImplTrait::Parameter => {
                    self.note("impl Trait in a parameter");
                    self.impl_trait(bounds, Role::Inferred, sig)
                }
                ImplTrait::Result => {
                    self.note("impl Trait in a result");
                    self.impl_trait(bounds, Role::Existential, sig)
                }
            },
            JsonType::Infer => {
                self.note("inferred type");
                Ok(self.error_type(Unresolved::Inferred))
            }
            JsonType::RawPointer { is_mutable, type_ } => {
                self.note("raw pointer");
                let inner = self.ty(type_, sig)?;
                Ok(Ty::apply(&self.cx, Name::RawPtr(mutability(*is_mutable)), &[inner.into()])?)
            }
            JsonType::BorrowedRef { lifetime, is_mutable, type_ } => {
                self.note("reference");
                let region = self.region(lifetime.as_deref(), sig)?;
                sig.object = region;
                let inner = self.ty(type_, sig)?;
                Ok(Ty::apply(&self.cx, Name::Ref(mutability(*is_mutable)), &[region.into(), inner.into()])?)
            }
            JsonType::QualifiedPath { name, args, self_type, trait_ } => {
                self.note("associated type");
                let this = self.ty(self_type, sig)?;
                self.projection(name, args.as_deref(), &this, trait_.as_ref(), sig)
            }
        }
    }

    fn generic(&mut self, name: &str, sig: &mut Sig) -> Result<Type, ItemError> {
        if name == "Self" {
            self.note("Self");
            if let Some(this) = &sig.this {
                return Ok(this.clone());
            }
        } else {
            self.note("parameter");
        }
        if let Some(GenericArg::Ty(ty)) = sig.scope.get(name) {
            return Ok(ty.clone());
        }
        Ok(self.error_type(Unresolved::Parameter(name.to_owned())))
    }

    fn primitive(&mut self, name: &str) -> Result<Type, ItemError> {
        self.note("primitive");
        let name = match name {
            "never" => Name::Never,
            "unit" => Name::Tuple,
            other => match Name::primitive(other) {
                Some(name) => name,
                None => return Ok(self.error_type(Unresolved::Primitive(other.to_owned()))),
            },
        };
        Ok(Ty::apply(&self.cx, name, &[])?)
    }

    /// A path to a type: a definition, or an alias, which is expanded.
    fn path(&mut self, path: &Path, sig: &mut Sig) -> Result<Type, ItemError> {
        if let Some(item) = self.get(path.id)
            && let ItemEnum::TypeAlias(_) = &item.inner
        {
            self.note("alias");
            return self.expand(path, sig);
        }
        let name = self.name(path.id, &path.path);
        let kind = self.krate.paths.get(&path.id).map(|summary| summary.kind);
        if kind.is_none() && self.get(path.id).is_none() {
            // A definition that the JSON omits is known by its name only.
            self.note("hidden definition");
        } else {
            self.note("definition");
        }
        let mut args = self.generic_args_in(Some(path), path.args.as_deref(), sig)?.0;
        if kind == Some(ItemKind::TypeAlias) {
            return self.known_alias(&name, &args);
        }
        match self.get(path.id).and_then(|item| generics_of(&item.inner)) {
            Some(generics) => self.fill(generics, &mut args, None)?,
            None => self.drop_defaults(&name, &mut args)?,
        }
        let symbol = self.symbols.intern(&name);
        let name = if kind == Some(ItemKind::ExternType) { Name::Foreign(symbol) } else { Name::Adt(symbol) };
        Ok(Ty::apply(&self.cx, name, &args)?)
    }

    /// An alias of another crate: expanded if the table of facts has it.
    fn known_alias(&mut self, name: &str, args: &[Arg]) -> Result<Type, ItemError> {
        // The standard library has two paths for the types of C.
        let name = &name.replace("std::os::raw::", "core::ffi::primitives::");
        let Some(text) = std_facts().alias(name, args.len()) else {
            let name = Name::Free(self.symbols.intern(name));
            return Ok(Ty::alias(&self.cx, name, args)?);
        };
        let body = self.parse(text)?;
        let parameter = Name::Param(self.symbols.intern("T"));
        Ok(replace_params(&self.cx, &body, |name| {
            (name == parameter).then(|| args.first().cloned()).flatten()
        })?)
    }

    /// Parses a type of the table of facts, with the parameter `T`.
    fn parse(&mut self, text: &str) -> Result<Type, ItemError> {
        let scope = Scope::new().types(["T"]);
        match parse_ty(&self.cx, self.symbols, &scope, &std_facts().with_definitions(text)) {
            Ok(ty) => Ok(ty),
            Err(_) => Ok(self.error_type(Unresolved::Text(text.to_owned()))),
        }
    }

    /// Removes trailing arguments of the standard library's types that are defaults.
    fn drop_defaults(&mut self, name: &str, args: &mut Vec<Arg>) -> Result<(), ItemError> {
        let regions = args.iter().filter(|arg| arg.as_region().is_some()).count();
        for (index, text) in &std_facts().of_type(name).defaults {
            let default = self.parse(text)?;
            if args.len() == regions + index + 1 && args.last().and_then(GenericArg::as_ty) == Some(&default)
            {
                args.pop();
            }
        }
        Ok(())
    }

    /// Adds elided lifetimes and default arguments.
    pub(super) fn fill(
        &mut self,
        generics: &Generics,
        args: &mut Vec<Arg>,
        this: Option<&Type>,
    ) -> Result<(), ItemError> {
        let regions = |args: &[Arg]| args.iter().filter(|arg| arg.as_region().is_some()).count();
        let declared =
            generics.params.iter().filter(|p| matches!(p.kind, GenericParamDefKind::Lifetime { .. }));
        for _ in regions(args)..declared.count() {
            args.insert(0, Region::Erased.into());
        }
        if args.len() >= generics.params.len() {
            return Ok(());
        }
        // A default can mention earlier parameters.
        let mut scope = Sig::new();
        scope.this = this.cloned();
        for (index, param) in generics.params.iter().enumerate() {
            if let Some(arg) = args.get(index) {
                scope.scope.insert(param.name.clone(), arg.clone());
                continue;
            }
            let arg: Arg = match &param.kind {
                GenericParamDefKind::Lifetime { .. } => Region::Erased.into(),
                GenericParamDefKind::Type { default: Some(default), .. } => {
                    self.ty(default, &mut scope)?.into()
                }
                GenericParamDefKind::Const { default: Some(default), .. } => {
                    self.constant(default, &mut scope)?.into()
                }
                GenericParamDefKind::Type { default: None, .. }
                | GenericParamDefKind::Const { default: None, .. } => break,
            };
            scope.scope.insert(param.name.clone(), arg.clone());
            args.push(arg);
        }
        Ok(())
    }

    fn expand(&mut self, path: &Path, sig: &mut Sig) -> Result<Type, ItemError> {
        let alias = self.alias(path.id)?;
        self.errors.extend(alias.errors.iter().cloned());
        let mut args = self.generic_args(path.args.as_deref(), sig)?.0;
        if let Some(generics) = self.get(path.id).and_then(|item| generics_of(&item.inner)) {
            self.fill(generics, &mut args, None)?;
        }
        Ok(replace_params(&self.cx, &alias.body, values(alias.params.iter().copied(), &args))?)
    }

    /// The target of an alias of this crate.
    fn alias(&mut self, id: Id) -> Result<Alias, ItemError> {
        if let Some(alias) = self.aliases.get(&id) {
            return Ok(alias.clone());
        }
        let name = || self.get(id).and_then(|item| item.name.clone()).unwrap_or_default();
        if self.expanding.contains(&id) || self.expanding.len() >= MAX_ALIASES {
            return Err(ItemError::Aliases { name: name() });
        }
        let Some(ItemEnum::TypeAlias(alias)) = self.get(id).map(|item| &item.inner) else {
            return Err(ItemError::Aliases { name: name() });
        };
        self.expanding.push(id);
        let here = std::mem::replace(&mut self.here, self.modules.get(&id).copied());
        let mut sig = Sig::new();
        let mut params = Vec::new();
        for param in &alias.generics.params {
            let symbol = self.fresh(&param.name);
            let kind = match &param.kind {
                GenericParamDefKind::Lifetime { .. } => ParamKind::Region,
                GenericParamDefKind::Type { .. } => ParamKind::Type,
                GenericParamDefKind::Const { type_, .. } => ParamKind::Const(self.ty(type_, &mut sig)?),
            };
            sig.scope.insert(param.name.clone(), crate::terms::param_arg(&self.cx, symbol, &kind)?);
            params.push(symbol);
        }
        let before = self.errors.len();
        let body = self.ty(&alias.type_, &mut sig)?;
        self.here = here;
        self.expanding.pop();
        let errors = self.errors.split_off(before);
        let alias = Alias { params, body, errors };
        self.aliases.insert(id, alias.clone());
        Ok(alias)
    }

    /// A named or elided lifetime.
    pub(super) fn region(&mut self, name: Option<&str>, sig: &mut Sig) -> Result<Region<Boxed>, ItemError> {
        match name {
            Some("'static") => Ok(Region::Static),
            Some("'_") | None => Ok(match sig.elided {
                Elided::Is(region) => region,
                Elided::Bound => {
                    let symbol = self.fresh("'_");
                    sig.bound.push(symbol);
                    Region::param(Name::Param(symbol))
                }
                Elided::Fresh => {
                    let symbol = self.unique(sig, "'_0");
                    sig.param(symbol, ParamKind::Region, Role::Inferred);
                    Region::param(Name::Param(symbol))
                }
            }),
            Some(name) => match sig.scope.get(name) {
                Some(GenericArg::Region(region)) => Ok(*region),
                _ => Ok(Region::Error(self.unresolved(Unresolved::Lifetime(name.to_owned())))),
            },
        }
    }

    /// The arguments of a path, and the result of `Fn(A) -> B`.
    pub(super) fn generic_args(
        &mut self,
        args: Option<&GenericArgs>,
        sig: &mut Sig,
    ) -> Result<(Vec<Arg>, Option<Type>), ItemError> {
        self.generic_args_in(None, args, sig)
    }

    /// The arguments of a path to `container`, which determines the default lifetimes of trait objects.
    fn generic_args_in(
        &mut self,
        container: Option<&Path>,
        args: Option<&GenericArgs>,
        sig: &mut Sig,
    ) -> Result<(Vec<Arg>, Option<Type>), ItemError> {
        let mut list: Vec<Arg> = Vec::new();
        match args {
            None | Some(GenericArgs::ReturnTypeNotation) => {}
            Some(GenericArgs::AngleBracketed { args, constraints: _ }) => {
                for arg in args {
                    list.push(match arg {
                        JsonArg::Lifetime(name) => self.region(Some(name), sig)?.into(),
                        JsonArg::Type(ty) => {
                            let index = list.iter().filter(|arg| arg.as_region().is_none()).count();
                            let lifetime = container.and_then(|path| self.object_in(path, index));
                            let regions = || list.iter().filter_map(GenericArg::as_region);
                            if let Some(region) = lifetime.and_then(|lifetime| regions().nth(lifetime)) {
                                sig.object = region;
                            }
                            self.ty(ty, sig)?.into()
                        }
                        JsonArg::Const(constant) => {
                            self.constant(constant.value.as_deref().unwrap_or(&constant.expr), sig)?.into()
                        }
                        JsonArg::Infer => self.ty(&JsonType::Infer, sig)?.into(),
                    });
                }
            }
            Some(GenericArgs::Parenthesized { inputs, output }) => {
                let (inputs, output, names) = self.function_types(inputs, output.as_ref(), sig)?;
                let inputs: Vec<Arg> = inputs.into_iter().map(Into::into).collect();
                list.push(Ty::apply(&self.cx, Name::Tuple, &inputs)?.into());
                sig.of_bound.extend(names);
                return Ok((list, Some(output)));
            }
        }
        Ok((list, None))
    }

    /// The parameters and the result of a function type, and the names of the elided lifetimes of the
    /// parameters, which belong to its binder.
    fn function_types<'j>(
        &mut self,
        inputs: impl IntoIterator<Item = &'j JsonType>,
        output: Option<&JsonType>,
        sig: &mut Sig,
    ) -> Result<(Vec<Type>, Type, Vec<Symbol>), ItemError> {
        let elided = std::mem::replace(&mut sig.elided, Elided::Bound);
        let outer = std::mem::take(&mut sig.bound);
        let inputs = inputs.into_iter().map(|ty| self.ty(ty, sig)).collect::<Result<Vec<_>, _>>()?;
        sig.elided = Elided::Is(elided_result(&inputs));
        let output = match output {
            Some(ty) => self.ty(ty, sig)?,
            None => Ty::apply(&self.cx, Name::Tuple, &[])?,
        };
        sig.elided = elided;
        Ok((inputs, output, std::mem::replace(&mut sig.bound, outer)))
    }

    fn function_pointer(&mut self, pointer: &FunctionPointer, sig: &mut Sig) -> Result<Type, ItemError> {
        let FunctionPointer {
            sig: FunctionSignature { inputs, output, is_c_variadic },
            generic_params,
            header,
        } = pointer;
        let (mut names, hidden) = self.enter(generic_params, sig);
        let inputs = inputs.iter().map(|(_, ty)| ty);
        let (types, output, elided) = self.function_types(inputs, output.as_ref(), sig)?;
        names.extend(elided);
        self.leave(hidden, sig);
        let variadic = if *is_c_variadic { Variadic::CVariadic } else { Variadic::Fixed };
        let name = self.fn_ptr(header, variadic);
        let signature: Vec<Arg> = types.into_iter().chain([output]).map(Into::into).collect();
        let (arity, signature) = self.bind(&names, &signature)?;
        Ok(Ty::function(&self.cx, name, arity, &signature)?)
    }

    /// Binds some of the lifetimes in terms.
    pub(super) fn bind<T: Fold<Boxed>>(&self, names: &[Symbol], value: &T) -> Result<(Arity, T), ItemError> {
        let arity = Arity::regions(u16::try_from(names.len()).unwrap_or(u16::MAX));
        let bound = |name: Name| {
            let index = names.iter().position(|symbol| Name::Param(*symbol) == name)?;
            Some(Region::Bound(BoundVar::innermost(u32::try_from(index).ok()?)).into())
        };
        Ok((arity, replace_params(&self.cx, value, bound)?))
    }

    pub(super) fn fn_ptr(&mut self, header: &FunctionHeader, variadic: Variadic) -> Name {
        let safety = if header.is_unsafe { Safety::Unsafe } else { Safety::Safe };
        let abi = match abi_text(&header.abi) {
            None => Abi::Rust,
            Some(text) => Abi::Named(self.symbols.intern(&text)),
        };
        Name::FnPtr(safety, variadic, abi)
    }

    /// `<this as Trait>::name<args>`
    fn projection(
        &mut self,
        name: &str,
        args: Option<&GenericArgs>,
        this: &Type,
        of: Option<&Path>,
        sig: &mut Sig,
    ) -> Result<Type, ItemError> {
        let own = self.generic_args(args, sig)?.0;
        let Some(of) = of else {
            let name = Name::Inherent(self.symbols.intern(name));
            return Ok(Ty::alias(&self.cx, name, &with_self(this, &own))?);
        };
        let (symbol, mut all) = self.trait_ref(of, this, sig)?;
        let item = self.item_symbol(symbol, name);
        if of.args.is_none() {
            match self.args_of_bound(symbol, item, this, sig) {
                Some(args) => all = args,
                None => self.has_later_bound |= self.has_parameters(of),
            }
        }
        all.extend(own);
        Ok(Ty::alias(&self.cx, Name::Projection(item), &all)?)
    }

    /// Whether a trait can have parameters: a trait of the crate, or an operator of the standard library.
    fn has_parameters(&self, of: &Path) -> bool {
        match self.get(of.id).map(|item| &item.inner) {
            Some(ItemEnum::Trait(definition)) => !definition.generics.params.is_empty(),
            Some(_) => false,
            None => self.name(of.id, &of.path).starts_with("core::ops::"),
        }
    }

    /// The arguments of the trait for a projection such as `F::Output`, which omits them, from a bound of
    /// `F`.
    fn args_of_bound(&self, of: Symbol, item: Symbol, this: &Type, sig: &Sig) -> Option<Vec<Arg>> {
        let is_this = |args: &[Arg]| args.first().and_then(GenericArg::as_ty) == Some(this);
        sig.predicates.iter().chain(&sig.later).find_map(|bound| {
            match predicate::view(self.symbols, bound)? {
                (Arity::NONE, Predicate::Trait(other, args)) if other == of && is_this(args) => {
                    Some(args.to_vec())
                }
                (Arity::NONE, Predicate::Projection(other, args, _)) if other == item && is_this(args) => {
                    Some(args.to_vec())
                }
                _ => None,
            }
        })
    }

    /// The type or constant after `=` in a bound.
    pub(super) fn term(&mut self, term: &Term, sig: &mut Sig) -> Result<Arg, ItemError> {
        Ok(match term {
            Term::Type(ty) => self.ty(ty, sig)?.into(),
            Term::Constant(constant) => {
                self.constant(constant.value.as_deref().unwrap_or(&constant.expr), sig)?.into()
            }
        })
    }

    /// A constant from its text: a literal, a parameter, an expression, or the name of a constant.
    pub(super) fn constant(&mut self, text: &str, sig: &mut Sig) -> Result<Const<Boxed>, ItemError> {
        self.note("constant");
        let mut text = text.trim();
        while let Some(inner) = text.strip_prefix('{').and_then(|rest| rest.strip_suffix('}')) {
            text = inner.trim();
        }
        if let Some(value) = literal(text) {
            return Ok(Const::new(&self.cx, ConstData::Value(value))?);
        }
        if let Some(GenericArg::Const(constant)) = sig.scope.get(text) {
            return Ok(constant.clone());
        }
        if let Some(value) = self.named_constant(text) {
            return Ok(Const::new(&self.cx, ConstData::Value(value))?);
        }
        // An expression, with the parameters in scope.
        let params = sig.scope.iter().filter(|(_, arg)| arg.as_const().is_some());
        let scope = Scope::new().consts(params.clone().map(|(name, _)| name.as_str()));
        if let Some(constant) = parse_constant(self.symbols, &scope, text) {
            let names: Vec<(Name, Arg)> =
                params.map(|(name, arg)| (Name::Param(self.symbols.intern(name)), arg.clone())).collect();
            let constant = replace_params(&self.cx, &constant, |name| find(&names, name))?;
            return Ok(typeloom_term::normal::fold_constant(&self.cx, &constant)?);
        }
        let name = Name::ConstItem(self.symbols.intern(text));
        Ok(Const::new(&self.cx, ConstData::Alias(name, &[]))?)
    }

    /// The value of a constant of this crate.
    fn named_constant(&self, text: &str) -> Option<ConstValue> {
        let last = text.rsplit("::").next()?;
        let found = |id: &Id| match self.get(*id).map(|item| (&item.name, &item.inner)) {
            Some((Some(name), ItemEnum::Constant { type_: _, const_ })) if name == last => {
                literal(const_.value.as_deref().unwrap_or(&const_.expr))
            }
            _ => None,
        };
        // A constant in the current module has priority.
        if last == text
            && let Some(ItemEnum::Module(here)) =
                self.here.and_then(|id| self.get(id)).map(|item| &item.inner)
            && let Some(value) = here.items.iter().find_map(found)
        {
            return Some(value);
        }
        let mut values = self.krate.index.keys().filter_map(found);
        let value = values.next()?;
        // If several constants have the name, only the compiler could resolve it, unless their values are
        // equal.
        values.all(|other| other == value).then_some(value)
    }
}

/// The lifetime of elided lifetimes in a result: the only one in the parameters.
pub(super) fn elided_result(inputs: &[Type]) -> Region<Boxed> {
    match super::regions::all(inputs)[..] {
        [only] => only,
        _ => Region::Erased,
    }
}

pub(super) fn generics_of(inner: &ItemEnum) -> Option<&Generics> {
    match inner {
        ItemEnum::Struct(of) => Some(&of.generics),
        ItemEnum::Enum(of) => Some(&of.generics),
        ItemEnum::Union(of) => Some(&of.generics),
        ItemEnum::Trait(of) => Some(&of.generics),
        ItemEnum::TraitAlias(of) => Some(&of.generics),
        ItemEnum::TypeAlias(of) => Some(&of.generics),
        _ => None,
    }
}

fn mutability(is_mutable: bool) -> Mutability {
    if is_mutable { Mutability::Mutable } else { Mutability::Shared }
}

/// A constant from its text; parameters of `scope` are placeholders.
fn parse_constant(symbols: &mut Symbols, scope: &Scope, text: &str) -> Option<Const<Boxed>> {
    let array = parse_ty(&Boxed::new(), symbols, scope, &format!("[(); {{ {text} }}]")).ok()?;
    match array.data() {
        TyData::Apply(app) => app.args.get(1)?.as_const().cloned(),
        _ => None,
    }
}

/// The value of a literal: `3`, `0x1f_u8`, `-1`, `true`, `'a'`.
fn literal(text: &str) -> Option<ConstValue> {
    match parse_constant(&mut Symbols::new(), &Scope::new(), text)?.data() {
        ConstData::Value(value) => Some(value),
        _ => None,
    }
}
