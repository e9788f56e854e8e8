//! A type family over a foreign representation: the types of rustdoc's data model are viewed as terms without
//! conversion.
//!
//! A handle of a foreign type is a reference to it. [`TypeFamily::ty_data`] converts it on each access; names
//! borrow the text of the foreign type. Only the lists of handles are stored, on first access, because a view
//! borrows them. Nodes that relations build (copies with other arguments) are stored as terms. The laws of
//! [`TypeFamily`] hold across both.

use crate::json;
use std::hash::{Hash, Hasher};
use std::sync::OnceLock;

use rustdoc_types::{GenericArg as DocArg, GenericArgs, ItemEnum, Type};
use typeloom_rust_api::read;
use typeloom_term::family::Node;
use typeloom_term::infer::RegionFacts;
use typeloom_term::program::{ConstEquation, Normalized};
use typeloom_term::ty::WitnessTy;
use typeloom_term::{
    AliasTy, ApplicationTy, Arity, Const, ConstData, ConstValue, DynTy, FnTy, GenericArg, InferenceTable,
    Meta, Placeholder, Program, Region, TermError, Ty, TyData, TypeFamily, Variance,
};

/// A name: a word for the kind of type, and the text of the foreign type.
type DocName = (&'static str, &'static str);

#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
struct Doc;

type Args = &'static [GenericArg<Doc>];

/// A handle: one reference.
#[derive(Clone, Copy, Debug)]
struct DocTy(&'static DocNode);

#[derive(Debug)]
enum DocNode {
    /// A foreign type, with the handles of its parts and its metadata after the first access.
    Foreign(&'static Type, OnceLock<(Meta, Args)>),
    /// A node that a relation has built.
    Own(Meta, TyData<'static, Doc>),
}

#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
struct DocConst(&'static (Meta, ConstData<'static, Doc>));

/// Leaks the value. A compiler would use an arena.
fn keep<T>(value: T) -> &'static T {
    Box::leak(Box::new(value))
}

fn foreign(ty: &'static Type) -> Ty<Doc> {
    Ty::from_interned(DocTy(keep(DocNode::Foreign(ty, OnceLock::new()))))
}

fn region(name: Option<&'static str>) -> Region<Doc> {
    match name {
        Some("'static") => Region::Static,
        Some(name) => Region::param(("lifetime", name)),
        None => Region::Erased,
    }
}

/// The handles of the parts of a foreign type.
fn parts(ty: &'static Type) -> Vec<GenericArg<Doc>> {
    match ty {
        Type::Tuple(types) => types.iter().map(|ty| foreign(ty).into()).collect(),
        Type::Slice(inner) | Type::RawPointer { type_: inner, .. } => vec![foreign(inner).into()],
        Type::BorrowedRef { lifetime, type_, .. } => {
            vec![region(lifetime.as_deref()).into(), foreign(type_).into()]
        }
        Type::Array { type_, len } => {
            let value = ConstData::Value(ConstValue::Int(len.parse().expect("a literal")));
            vec![foreign(type_).into(), Const::new(&Doc, value).expect("a leaf").into()]
        }
        Type::ResolvedPath(path) => match path.args.as_deref() {
            Some(GenericArgs::AngleBracketed { args, .. }) => args
                .iter()
                .filter_map(|arg| match arg {
                    DocArg::Type(ty) => Some(foreign(ty).into()),
                    DocArg::Lifetime(name) => Some(region(Some(name)).into()),
                    DocArg::Const(_) | DocArg::Infer => None,
                })
                .collect(),
            _ => Vec::new(),
        },
        Type::FunctionPointer(pointer) => {
            let output = pointer.sig.output.as_ref().unwrap_or_else(|| keep(Type::Tuple(Vec::new())));
            let inputs = pointer.sig.inputs.iter().map(|(_, ty)| ty);
            inputs.chain([output]).map(|ty| foreign(ty).into()).collect()
        }
        _ => Vec::new(),
    }
}

/// The content of a foreign type over the handles of its parts.
fn view(ty: &'static Type, args: Args) -> TyData<'static, Doc> {
    let name: DocName = match ty {
        Type::Generic(name) => return TyData::Placeholder(Placeholder::named(("param", name.as_str()))),
        Type::FunctionPointer(_) => {
            return TyData::Fn(FnTy { name: ("fn", ""), arity: Arity::NONE, signature: args });
        }
        Type::ResolvedPath(path) => ("path", path.path.as_str()),
        Type::Primitive(name) => ("primitive", name.as_str()),
        Type::Tuple(_) => ("tuple", ""),
        Type::Slice(_) => ("slice", ""),
        Type::Array { .. } => ("array", ""),
        Type::RawPointer { is_mutable: true, .. } => ("pointer", "mut"),
        Type::RawPointer { .. } => ("pointer", "const"),
        Type::BorrowedRef { is_mutable: true, .. } => ("reference", "mut"),
        Type::BorrowedRef { .. } => ("reference", ""),
        _ => panic!("the crate below has no such type: {ty:?}"),
    };
    TyData::Apply(ApplicationTy { name, args })
}

impl DocTy {
    fn look(self) -> (Meta, TyData<'static, Doc>) {
        match self.0 {
            DocNode::Own(meta, data) => (*meta, *data),
            DocNode::Foreign(ty, parts_of) => {
                let (meta, args) = *parts_of.get_or_init(|| {
                    let args: Args = parts(ty).leak();
                    (view(ty, args).meta().expect("rustdoc's types are not deep"), args)
                });
                (meta, view(ty, args))
            }
        }
    }
}

impl PartialEq for DocTy {
    fn eq(&self, other: &Self) -> bool {
        std::ptr::eq(self.0, other.0) || self.look().1 == other.look().1
    }
}
impl Eq for DocTy {}
impl Hash for DocTy {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.look().1.hash(state);
    }
}
impl Node for DocTy {
    fn meta(&self) -> Meta {
        self.look().0
    }
    fn address(&self) -> usize {
        std::ptr::from_ref(self.0).addr()
    }
}
impl Node for DocConst {
    fn meta(&self) -> Meta {
        self.0.0
    }
    fn address(&self) -> usize {
        std::ptr::from_ref(self.0).addr()
    }
}

fn kept<T: Clone>(list: &[T]) -> &'static [T] {
    list.to_vec().leak()
}

impl TypeFamily for Doc {
    type Name = DocName;
    type InternedTy = DocTy;
    type InternedConst = DocConst;
    type InternedArgs = Vec<GenericArg<Self>>;
    const IDENTITY: bool = false;

    fn intern_ty(&self, data: TyData<'_, Self>) -> Result<DocTy, TermError> {
        let meta = data.meta()?;
        let data = match data {
            TyData::Apply(ApplicationTy { name, args }) => {
                TyData::Apply(ApplicationTy { name, args: kept(args) })
            }
            TyData::Alias(AliasTy { name, args }) => TyData::Alias(AliasTy { name, args: kept(args) }),
            TyData::Dyn(DynTy { bounds, region }) => TyData::Dyn(DynTy { bounds: kept(bounds), region }),
            TyData::Fn(FnTy { name, arity, signature }) => {
                TyData::Fn(FnTy { name, arity, signature: kept(signature) })
            }
            TyData::GeneratorWitness(WitnessTy { name, arity, types }) => {
                TyData::GeneratorWitness(WitnessTy { name, arity, types: kept(types) })
            }
            TyData::Placeholder(placeholder) => TyData::Placeholder(placeholder),
            TyData::InferenceVar(var) => TyData::InferenceVar(var),
            TyData::BoundVariable(var) => TyData::BoundVariable(var),
            TyData::Error(proof) => TyData::Error(proof),
        };
        Ok(DocTy(keep(DocNode::Own(meta, data))))
    }

    fn intern_const(&self, data: ConstData<'_, Self>) -> Result<DocConst, TermError> {
        let meta = data.meta()?;
        let data = match data {
            ConstData::Expr(op, operands) => ConstData::Expr(op, kept(operands)),
            ConstData::Alias(name, args) => ConstData::Alias(name, kept(args)),
            ConstData::Value(value) => ConstData::Value(value),
            ConstData::Placeholder(placeholder) => ConstData::Placeholder(placeholder),
            ConstData::Infer(var) => ConstData::Infer(var),
            ConstData::Bound(var) => ConstData::Bound(var),
            ConstData::Error(proof) => ConstData::Error(proof),
        };
        Ok(DocConst(keep((meta, data))))
    }

    fn intern_args(&self, args: &[GenericArg<Self>]) -> Self::InternedArgs {
        args.to_vec()
    }

    fn ty_data(ty: &DocTy) -> TyData<'_, Self> {
        ty.look().1
    }

    fn const_data(constant: &DocConst) -> ConstData<'_, Self> {
        constant.0.1
    }
}

/// The variances of the foreign types: every part is covariant, except behind `mut`.
struct DocProgram;

impl Program<Doc> for DocProgram {
    fn variance(&self, _: &Doc, (_, detail): DocName, index: usize) -> Variance {
        if detail == "mut" && index > 0 { Variance::Invariant } else { Variance::Covariant }
    }
    fn normalize(&self, _: &Doc, _: AliasTy<'_, Doc>) -> Normalized<Ty<Doc>> {
        Normalized::Rigid
    }
    fn equate(&self, _: &Doc, _: &Const<Doc>, _: &Const<Doc>) -> ConstEquation {
        ConstEquation::Distinct
    }
}

const SOURCE: &str = "
pub fn long<T>(_: Option<(&'static T, [u8; 3])>) {}
pub fn short<'a, T>(_: Option<(&'a T, [u8; 3])>) {}
pub fn longer_array<T>(_: Option<(&'static T, [u8; 4])>) {}
pub fn takes_short<'a>(_: fn(&'a u8) -> *const u16) {}
pub fn takes_long(_: fn(&'static u8) -> *const u16) {}
pub fn mutable<'a>(_: &'a mut &'static str) {}
pub fn mutable_short<'a>(_: &'a mut &'a str) {}
";

#[test]
fn terms_of_rustdocs_own_types_relate_without_conversion() {
    let krate = keep(read(&json::of("foreign", SOURCE)).expect("rustdoc wrote it"));
    let first = |name: &str| -> &'static Type {
        let item = krate.index.values().find(|item| item.name.as_deref() == Some(name)).expect("it is there");
        let ItemEnum::Function(function) = &item.inner else { panic!("it is a function") };
        &function.sig.inputs[0].1
    };
    let subtype = |a: &str, b: &str| {
        let mut table = InferenceTable::new(Doc);
        let open = table.sub(&DocProgram, &foreign(first(a)), &foreign(first(b)));
        open.is_ok_and(|open| open.is_empty()) && table.regions().check(&RegionFacts::new()).is_ok()
    };
    assert!(subtype("long", "short") && !subtype("short", "long"));
    assert!(!subtype("longer_array", "long"));
    assert!(subtype("takes_short", "takes_long") && !subtype("takes_long", "takes_short"));
    assert!(!subtype("mutable", "mutable_short") && subtype("mutable", "mutable"));

    // The laws: a view is stable, storing it gives an equal node, and two views of one type are equal.
    for name in ["long", "short", "takes_long", "mutable"] {
        let ty = foreign(first(name));
        assert_eq!(ty.data(), ty.data());
        assert_eq!(ty.meta(), ty.data().meta().expect("small"));
        let stored = ty.data().intern(&Doc).expect("small");
        assert_eq!((stored, stored.meta()), (ty, ty.meta()));
        assert_eq!(foreign(first(name)), ty);
    }
    // A variable is bound to a part of a foreign type, which is the foreign type itself and no copy.
    let mut table = InferenceTable::new(Doc);
    let var = table.new_ty_var().expect("the table has capacity");
    let ty = foreign(first("long"));
    let TyData::Apply(app) = ty.data() else { panic!("a vector") };
    let vector = Ty::apply(&Doc, app.name, &[var.into()]).expect("small");
    assert!(table.eq(&DocProgram, &vector, &ty).expect("they unify").is_empty());
    let bound = table.resolve(&var).expect("small");
    assert!(matches!(bound.interned().0, DocNode::Foreign(..)), "{bound:?}");
}
