//! Helpers for the parameters and children of terms.

use typeloom_term::ty::PlaceholderId;
use typeloom_term::{Boxed, Const, ConstData, GenericArg, Name, Region, Symbol, TermError, Ty, TyData};

use crate::item::ParamKind;

/// A parameter as an argument.
pub(crate) fn param_arg(
    cx: &Boxed,
    symbol: Symbol,
    kind: &ParamKind,
) -> Result<GenericArg<Boxed>, TermError> {
    let name = Name::Param(symbol);
    Ok(match kind {
        ParamKind::Region => Region::param(name).into(),
        ParamKind::Type => Ty::param(cx, name)?.into(),
        ParamKind::Const(_) => Const::param(cx, name)?.into(),
    })
}

/// The parameter that an argument is.
pub(crate) fn param(arg: &GenericArg<Boxed>) -> Option<Symbol> {
    let id = match arg {
        GenericArg::Ty(ty) => match ty.data() {
            TyData::Placeholder(placeholder) => placeholder.id,
            _ => return None,
        },
        GenericArg::Region(Region::Placeholder(placeholder)) => placeholder.id,
        GenericArg::Region(_) => return None,
        GenericArg::Const(constant) => match constant.data() {
            ConstData::Placeholder(placeholder) => placeholder.id,
            _ => return None,
        },
    };
    match id {
        PlaceholderId::Named(Name::Param(symbol)) => Some(symbol),
        PlaceholderId::Named(_) | PlaceholderId::Fresh(_) => None,
    }
}

/// The direct children of a term, each with a label for its position.
pub(crate) fn children(arg: &GenericArg<Boxed>) -> Vec<(String, GenericArg<Boxed>)> {
    let GenericArg::Ty(ty) = arg else { return Vec::new() };
    let numbered = |args: &[GenericArg<Boxed>], word: &str| -> Vec<(String, GenericArg<Boxed>)> {
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

/// The type parameter that an argument is.
pub(crate) fn type_param(arg: &GenericArg<Boxed>) -> Option<Symbol> {
    arg.as_ty().and_then(|_| param(arg))
}
