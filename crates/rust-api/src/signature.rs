//! Closed signatures, and the bundle of all signatures of a crate.
//!
//! Every public item with a type is a root of the bundle, labelled with its path. Its type is closed:
//! parameters are bound, conditions precede the signature (`{forall for<T> fn({trait Clone<T>}) -> fn(T)}`),
//! and an existential type is an opaque type with the name of the item. Equal digests of roots therefore mean
//! equal signatures, up to the names of parameters.

use std::collections::HashMap;

use typeloom_pool::{Bundle, ConvertError, ExportError, Pool};
use typeloom_term::name::{Abi, Safety, Variadic};
use typeloom_term::subst::replace_params;
use typeloom_term::{Arity, Boxed, GenericArg, Name, Symbols, TermError, Ty, TyData};

use crate::item::{Arg, Attribute, Item, Kind, PartLabel, Role, Type};
use crate::lower::{Api, Unresolved};
use crate::terms::{binder, find, param_arg};

/// Error of creating a bundle.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BundleError {
    /// A signature is not a pool type.
    #[error("the signature of `{item}` has no portable form: {source}")]
    Convert {
        /// Path of the item.
        item: String,
        /// The reason.
        source: ConvertError,
    },
    /// A name in a signature is not resolved.
    #[error("the signature of `{item}` is not resolved: {reason}")]
    Unresolved {
        /// Path of the item.
        item: String,
        /// The first unresolved name.
        reason: Unresolved,
    },
    /// The bundle exceeds a limit.
    #[error(transparent)]
    Export(#[from] ExportError),
}

/// Creates a bundle of the signatures of all public items that have a type: one root per item, labelled with
/// its path.
///
/// # Errors
/// If a signature is not a pool type, or there are too many signatures.
pub fn bundle(api: &Api, symbols: &mut Symbols) -> Result<Bundle, BundleError> {
    let mut pool = Pool::new();
    let mut roots = Vec::new();
    let mut labels: HashMap<String, usize> = HashMap::new();
    for item in &api.items {
        if let Some(reason) = item.unresolved.first() {
            return Err(BundleError::Unresolved { item: item.path.clone(), reason: reason.clone() });
        }
        let failed = |source: ConvertError| BundleError::Convert { item: item.path.clone(), source };
        let Some(ty) = signature(item, symbols).map_err(|error| failed(error.into()))? else { continue };
        let id = pool.intern_term(&Boxed::new(), symbols, &ty).map_err(failed)?;
        let label = crate::print::elide_lifetimes(&item.path);
        let number = labels.entry(label.clone()).or_insert(0);
        *number += 1;
        roots.push((if *number == 1 { label } else { format!("{label} #{number}") }, id));
    }
    let roots: Vec<(&str, _)> = roots.iter().map(|(label, id)| (label.as_str(), *id)).collect();
    Ok(pool.export(&roots)?)
}

/// The closed type of an item; `None` for items without a type.
///
/// Parameters of the item are bound and its conditions precede the signature: `fn find<T: Clone>(key: T)`
/// becomes `{forall for<T> fn({trait Clone<T>}, {trait Sized<T>}) -> fn(T)}`, and a function without
/// parameters and conditions becomes its function pointer. Two signatures that differ only in the names of
/// parameters therefore have one normal form. [`Item::parts`] contains the parts of a signature, in which the
/// parameters are free.
///
/// # Errors
/// If the type exceeds the limits of terms.
pub fn signature(item: &Item, symbols: &mut Symbols) -> Result<Option<Type>, TermError> {
    let cx = Boxed::new();
    let params: Vec<_> = item.params.iter().filter(|param| param.role != Role::Existential).collect();
    let args = params
        .iter()
        .map(|param| param_arg(&cx, param.symbol, &param.kind))
        .collect::<Result<Vec<Arg>, _>>()?;
    let of_type = |label: &PartLabel| item.part(label).map(|part| part.ty.clone());
    let body = match item.kind {
        Kind::Struct | Kind::Enum | Kind::Union => {
            Ty::apply(&cx, Name::Adt(symbols.intern(&item.path)), &args)?
        }
        Kind::ExternType => Ty::apply(&cx, Name::Foreign(symbols.intern(&item.path)), &[])?,
        Kind::Trait | Kind::TraitAlias => Ty::apply(&cx, Name::Trait(symbols.intern(&item.path)), &args)?,
        Kind::TraitType => Ty::alias(&cx, Name::Projection(symbols.intern(&item.path)), &args)?,
        Kind::Function | Kind::Method | Kind::TraitMethod => {
            let signature: Vec<Arg> = item
                .parts
                .iter()
                .filter(|part| matches!(part.label, PartLabel::Input(..) | PartLabel::Output))
                .map(|part| part.ty.clone().into())
                .collect();
            Ty::function(&cx, pointer(item, symbols), Arity::NONE, &signature)?
        }
        Kind::Impl => {
            let Some((name, args)) = item.implemented_trait() else { return Ok(None) };
            let mut facts = vec![GenericArg::from(Ty::apply(&cx, name, &args)?)];
            let values = item.parts.iter().filter(|part| matches!(part.label, PartLabel::Assoc(_)));
            facts.extend(values.map(|part| Arg::from(part.ty.clone())));
            Ty::apply(&cx, Name::Tuple, &facts)?
        }
        Kind::Variant => return Ok(None),
        Kind::Field
        | Kind::AssocConst
        | Kind::TraitConst
        | Kind::TypeAlias
        | Kind::Const
        | Kind::Static
        | Kind::ReExport
        | Kind::Macro => match of_type(&PartLabel::Type) {
            Some(ty) => ty,
            None => return Ok(None),
        },
    };
    close(item, &args, body, symbols).map(Some)
}

fn pointer(item: &Item, symbols: &mut Symbols) -> Name {
    let safety = if item.has(&Attribute::Safe(false)) { Safety::Unsafe } else { Safety::Safe };
    let is_variadic = item.has(&Attribute::CVariadic(true));
    let variadic = if is_variadic { Variadic::CVariadic } else { Variadic::Fixed };
    let abi = item.abi().map_or(Abi::Rust, |name| Abi::Named(symbols.intern(name)));
    Name::FnPtr(safety, variadic, abi)
}

/// Binds the parameters of an item, under its conditions.
fn close(item: &Item, args: &[Arg], body: Type, symbols: &mut Symbols) -> Result<Type, TermError> {
    let cx = Boxed::new();
    let params = item.params.iter().filter(|param| param.role != Role::Existential);
    let (arity, bound) = binder(&cx, params)?;
    // An existential type depends on all parameters of the item.
    let mut chosen: Vec<(Name, Arg)> = Vec::new();
    let existential = item.params.iter().filter(|param| param.role == Role::Existential);
    for (number, param) in existential.enumerate() {
        let name = symbols.intern(&format!("{}::impl#{number}", item.path));
        chosen.push((Name::Param(param.symbol), Ty::alias(&cx, Name::Opaque(name), args)?.into()));
    }
    let closed = |arg: &Arg| -> Result<Arg, TermError> {
        let open = replace_params(&cx, arg, |name| find(&chosen, name))?;
        replace_params(&cx, &open, |name| find(&bound, name))
    };
    let conditions: Vec<Arg> =
        item.predicates.iter().chain(&item.promises).map(|one| one.clone().into()).collect();
    if conditions.is_empty() && arity.is_empty() && chosen.is_empty() {
        return Ok(body);
    }
    // A function without conditions binds its parameters itself.
    if let (true, TyData::Fn(function)) = (conditions.is_empty(), body.data())
        && function.arity.is_empty()
    {
        let signature = function.signature.iter().map(closed).collect::<Result<Vec<_>, _>>()?;
        return Ty::function(&cx, function.name, arity, &signature);
    }
    let signature = conditions.iter().chain([&body.into()]).map(closed).collect::<Result<Vec<_>, _>>()?;
    Ty::function(&cx, Name::Forall, arity, &signature)
}
