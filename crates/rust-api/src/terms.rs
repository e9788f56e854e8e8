//! Helpers for the parameters and children of terms.

use typeloom_term::{
    Arity, BoundVar, Boxed, Const, ConstData, GenericArg, Name, Region, Symbol, TermError, Ty, TyData,
};

use crate::item::{Arg, Param, ParamKind, Type};

/// Generic arguments with the names they belong to.
type NamedArguments = Vec<(Name, Arg)>;

/// A parameter as an argument.
pub(crate) fn param_arg(cx: &Boxed, symbol: Symbol, kind: &ParamKind) -> Result<Arg, TermError> {
    let name = Name::Param(symbol);
    Ok(match kind {
        ParamKind::Region => Region::param(name).into(),
        ParamKind::Type => Ty::param(cx, name)?.into(),
        ParamKind::Const(_) => Const::param(cx, name)?.into(),
    })
}

/// The parameter, if an argument is one.
pub(crate) fn param(arg: &Arg) -> Option<Symbol> {
    match arg.as_param()? {
        Name::Param(symbol) => Some(symbol),
        _ => None,
    }
}

/// The direct children of a term, each with a label for its position.
pub(crate) fn children(arg: &Arg) -> Vec<(String, Arg)> {
    let GenericArg::Ty(ty) = arg else { return Vec::new() };
    let numbered = |args: &[Arg], word: &str| -> Vec<(String, Arg)> {
        args.iter().enumerate().map(|(index, arg)| (format!("{word} {index}"), arg.clone())).collect()
    };
    match ty.data() {
        TyData::Apply(app) => match (app.name, app.args) {
            (Name::Ref(_), [region, inner]) => {
                vec![("lifetime".to_owned(), region.clone()), ("referent".to_owned(), inner.clone())]
            }
            (Name::RawPtr(_), [inner]) => vec![("pointee".to_owned(), inner.clone())],
            (Name::Slice, [inner]) => vec![("element".to_owned(), inner.clone())],
            (Name::Array, [inner, len]) => {
                vec![("element".to_owned(), inner.clone()), ("length".to_owned(), len.clone())]
            }
            (Name::Tuple, args) => numbered(args, "element"),
            (_, args) => numbered(args, "argument"),
        },
        TyData::Alias(alias) => numbered(alias.args, "argument"),
        TyData::Fn(function) => {
            let mut list = numbered(function.inputs(), "parameter");
            list.extend(function.output().map(|output| ("result".to_owned(), output.clone().into())));
            list
        }
        TyData::Dyn(dynamic) => {
            let mut list = Vec::new();
            for bound in dynamic.bounds {
                list.extend(numbered(&bound.args, "bound argument"));
            }
            list.push(("lifetime".to_owned(), dynamic.region.into()));
            list
        }
        TyData::GeneratorWitness(witness) => numbered(witness.types, "type"),
        TyData::Placeholder(_) | TyData::InferenceVar(_) | TyData::BoundVariable(_) | TyData::Error(_) => {
            Vec::new()
        }
    }
}

/// The applications in types outside of binders and bounds: a name with its arguments, the outer ones first.
pub(crate) fn applications<'t>(types: impl IntoIterator<Item = &'t Type>) -> Vec<(Name, Vec<Arg>)> {
    let mut stack: Vec<Type> = types.into_iter().cloned().collect();
    let mut found = Vec::new();
    while let Some(ty) = stack.pop() {
        let TyData::Apply(app) = ty.data() else { continue };
        stack.extend(app.args.iter().filter_map(GenericArg::as_ty).cloned());
        found.push((app.name, app.args.to_vec()));
    }
    found
}

/// The type parameter, if an argument is one.
pub(crate) fn type_param(arg: &Arg) -> Option<Symbol> {
    arg.as_ty().and_then(|_| param(arg))
}

/// All terms in types, in pre-order.
pub(crate) fn subterms<'t>(types: impl IntoIterator<Item = &'t Type>) -> Vec<Arg> {
    let mut stack: Vec<Arg> = types.into_iter().map(|ty| ty.clone().into()).collect();
    stack.reverse();
    let mut found = Vec::new();
    while let Some(arg) = stack.pop() {
        stack.extend(children(&arg).into_iter().rev().map(|(_, child)| child));
        found.push(arg);
    }
    found
}

/// The values of parameters, by position.
pub(crate) fn values<'a>(
    params: impl Iterator<Item = Symbol> + Clone + 'a,
    args: &'a [Arg],
) -> impl Fn(Name) -> Option<Arg> + 'a {
    move |name| {
        let index = params.clone().position(|symbol| Name::Param(symbol) == name)?;
        args.get(index).cloned()
    }
}

/// A binder for parameters: its arity, and the variable of each parameter.
pub(crate) fn binder<'p>(
    cx: &Boxed,
    params: impl IntoIterator<Item = &'p Param>,
) -> Result<(Arity, NamedArguments), TermError> {
    let mut arity = Arity::NONE;
    let mut bound = Vec::new();
    for param in params {
        let count = match &param.kind {
            ParamKind::Region => &mut arity.regions,
            ParamKind::Type => &mut arity.types,
            ParamKind::Const(_) => &mut arity.consts,
        };
        let var = BoundVar::innermost(u32::from(*count));
        *count = count.checked_add(1).ok_or(TermError::TooMany)?;
        let arg = match &param.kind {
            ParamKind::Region => Region::Bound(var).into(),
            ParamKind::Type => Ty::new(cx, TyData::BoundVariable(var))?.into(),
            ParamKind::Const(_) => Const::new(cx, ConstData::Bound(var))?.into(),
        };
        bound.push((Name::Param(param.symbol), arg));
    }
    Ok((arity, bound))
}

/// The arguments of a trait after the type that implements it.
pub(crate) fn with_self(this: &Type, args: &[Arg]) -> Vec<Arg> {
    std::iter::once(this.clone().into()).chain(args.iter().cloned()).collect()
}

/// The value of a name in a list.
pub(crate) fn find(list: &[(Name, Arg)], name: Name) -> Option<Arg> {
    list.iter().find(|(own, _)| *own == name).map(|(_, arg)| arg.clone())
}
