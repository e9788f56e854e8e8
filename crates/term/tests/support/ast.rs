//! Syntax trees of the recorded cases as terms, with the declarations that they use.

use serde_json::Value;
use std::collections::HashMap;
use typeloom_term::name::{Abi, Mutability, Safety, Variadic};
use typeloom_term::program::{ConstEquation, Normalized};
use typeloom_term::ty::{DynBoundKind, FnTy};
use typeloom_term::{
    AliasTy, Arity, BoundVar, Const, ConstOp, DynBound, GenericArg, Name, Program, Region, Symbols, Ty,
    TyData, TypeFamily, Variance,
};

/// Nominal types of the cases, with the variance of each argument.
const VARIANCES: &[(&str, &[Variance])] = {
    use Variance::{Bivariant as B, Contravariant as N, Covariant as P, Invariant as I};
    &[
        ("Box", &[P]),
        ("Vec", &[P]),
        ("Option", &[P]),
        ("CovL", &[P]),
        ("CovT", &[P]),
        ("ContraL", &[N]),
        ("ContraT", &[N]),
        ("InvL", &[I]),
        ("InvT", &[I]),
        ("Arr", &[P, I]),
        ("Biv", &[P, B]),
        ("Mix", &[P, N, I, P]),
        ("std::cell::Cell", &[I]),
        ("std::cell::RefCell", &[I]),
        ("std::collections::HashMap", &[P, P]),
        ("std::iter::Empty", &[P]),
        ("std::rc::Rc", &[P]),
        ("std::sync::Arc", &[P]),
        ("std::slice::Iter", &[P, P]),
        ("std::slice::IterMut", &[P, I]),
    ]
};

/// Traits that form sets in `dyn`.
const AUTO_TRAITS: &[&str] = &["Send", "Sync", "Unpin", "UnwindSafe", "RefUnwindSafe"];

/// The program in which the cases were recorded.
pub(crate) struct Declarations {
    pub(crate) symbols: Symbols,
    variances: HashMap<Name, &'static [Variance]>,
    into_iter_item: Name,
    vec: Name,
}

impl Declarations {
    pub(crate) fn new() -> Self {
        let mut symbols = Symbols::new();
        let variances =
            VARIANCES.iter().map(|(name, list)| (Name::Adt(symbols.intern(name)), *list)).collect();
        let into_iter_item = Name::Projection(symbols.intern("IntoIterator::Item"));
        let vec = Name::Adt(symbols.intern("Vec"));
        Self { symbols, variances, into_iter_item, vec }
    }
}

impl<F: TypeFamily<Name = Name>> Program<F> for Declarations {
    fn variance(&self, _cx: &F, name: Name, index: usize) -> Variance {
        let declared = self.variances.get(&name).and_then(|list| list.get(index)).copied();
        name.builtin_variance(index).or(declared).expect("every nominal type of the cases is declared")
    }

    fn normalize(&self, _cx: &F, alias: AliasTy<'_, F>) -> Normalized<Ty<F>> {
        if alias.name != self.into_iter_item {
            return Normalized::Rigid;
        }
        match alias.args.first().and_then(GenericArg::as_ty).map(Ty::data) {
            Some(TyData::Apply(app)) if app.name == self.vec => {
                Normalized::To(app.args[0].as_ty().expect("a vector has an element type").clone())
            }
            Some(TyData::InferenceVar(_)) => Normalized::Ambiguous,
            _ => Normalized::Rigid,
        }
    }

    fn equate(&self, _cx: &F, _a: &Const<F>, _b: &Const<F>) -> ConstEquation {
        ConstEquation::Distinct
    }
}

/// Builds terms from syntax trees.
pub(crate) struct Build<'a, F: TypeFamily<Name = Name>> {
    pub(crate) cx: &'a F,
    pub(crate) symbols: &'a mut Symbols,
    /// Variables of the table for `?0`, `?1`, ...
    pub(crate) vars: &'a [Ty<F>],
    binders: Vec<Vec<String>>,
}

impl<'a, F: TypeFamily<Name = Name>> Build<'a, F> {
    pub(crate) fn new(cx: &'a F, symbols: &'a mut Symbols, vars: &'a [Ty<F>]) -> Self {
        Self { cx, symbols, vars, binders: Vec::new() }
    }

    pub(crate) fn region(&mut self, name: &str) -> Region<F> {
        if name == "'static" {
            return Region::Static;
        }
        for (depth, binder) in self.binders.iter().rev().enumerate() {
            if let Some(index) = binder.iter().position(|bound| bound == name) {
                return Region::Bound(BoundVar::new(depth as u32, index as u32));
            }
        }
        Region::param(Name::Param(self.symbols.intern(name)))
    }

    fn constant(&mut self, text: &str) -> Const<F> {
        let text = text.trim_matches(['{', '}', ' ']);
        for (symbol, op) in [('+', ConstOp::Add), ('-', ConstOp::Sub), ('*', ConstOp::Mul)] {
            if let Some((a, b)) = text.split_once(symbol) {
                let (a, b) = (self.constant(a), self.constant(b));
                return Const::expr(self.cx, op, &[a.into(), b.into()]).unwrap();
            }
        }
        match text.parse() {
            Ok(value) => Const::int(self.cx, value),
            Err(_) => Const::param(self.cx, Name::Param(self.symbols.intern(text))).unwrap(),
        }
    }

    fn under<T>(&mut self, names: &Value, f: impl FnOnce(&mut Self) -> T) -> (Arity, T) {
        let names: Vec<String> =
            names.as_array().unwrap().iter().map(|name| name.as_str().unwrap().into()).collect();
        let arity = Arity::regions(names.len() as u16);
        self.binders.push(names);
        let result = f(self);
        self.binders.pop();
        (arity, result)
    }

    fn arg(&mut self, arg: &Value) -> GenericArg<F> {
        match arg.as_str() {
            Some(text) if text.starts_with('\'') => self.region(text).into(),
            Some(text) => self.constant(text).into(),
            None => self.ty(arg).into(),
        }
    }

    fn apply(&mut self, name: Name, args: &[GenericArg<F>]) -> Ty<F> {
        Ty::apply(self.cx, name, args).unwrap()
    }

    pub(crate) fn ty(&mut self, ast: &Value) -> Ty<F> {
        let text = |key: &str| ast[key].as_str().unwrap();
        let mutability = || if ast["mut"] == true { Mutability::Mutable } else { Mutability::Shared };
        match text("k") {
            "prim" => self.apply(Name::primitive(text("name")).unwrap(), &[]),
            "never" => self.apply(Name::Never, &[]),
            "var" => self.vars[ast["i"].as_u64().unwrap() as usize].clone(),
            "param" => {
                let name = Name::Param(self.symbols.intern(text("name")));
                Ty::param(self.cx, name).unwrap()
            }
            "tuple" => {
                let args: Vec<_> =
                    ast["tys"].as_array().unwrap().iter().map(|ty| self.ty(ty).into()).collect();
                self.apply(Name::Tuple, &args)
            }
            "slice" => {
                let element = self.ty(&ast["ty"]);
                self.apply(Name::Slice, &[element.into()])
            }
            "array" => {
                let element = self.ty(&ast["ty"]);
                let len = self.constant(text("len"));
                self.apply(Name::Array, &[element.into(), len.into()])
            }
            "ref" => {
                let region = self.region(text("lt"));
                let inner = self.ty(&ast["ty"]);
                self.apply(Name::Ref(mutability()), &[region.into(), inner.into()])
            }
            "ptr" => {
                let inner = self.ty(&ast["ty"]);
                self.apply(Name::RawPtr(mutability()), &[inner.into()])
            }
            "adt" => {
                let name = Name::Adt(self.symbols.intern(text("name")));
                let args: Vec<_> = ast["args"].as_array().unwrap().iter().map(|arg| self.arg(arg)).collect();
                self.apply(name, &args)
            }
            "proj" => {
                let path = format!("{}::{}", text("trait"), text("name"));
                let name = Name::Projection(self.symbols.intern(&path));
                let this = self.ty(&ast["self"]);
                Ty::alias(self.cx, name, &[this.into()]).unwrap()
            }
            "fn" => self.function(ast),
            "dyn" => self.dynamic(ast),
            other => panic!("a kind of type that the test does not know: {other}"),
        }
    }

    fn function(&mut self, ast: &Value) -> Ty<F> {
        let safety = if ast["unsafe"] == true { Safety::Unsafe } else { Safety::Safe };
        let variadic = if ast["variadic"] == true { Variadic::CVariadic } else { Variadic::Fixed };
        let abi = ast["abi"].as_str().map_or(Abi::Rust, |abi| Abi::Named(self.symbols.intern(abi)));
        let (arity, signature) = self.under(&ast["for"], |this| {
            let mut list: Vec<GenericArg<F>> =
                ast["ins"].as_array().unwrap().iter().map(|ty| this.ty(ty).into()).collect();
            let output = match &ast["out"] {
                Value::Null => this.apply(Name::Tuple, &[]),
                output => this.ty(output),
            };
            list.push(output.into());
            list
        });
        let name = Name::FnPtr(safety, variadic, abi);
        Ty::new(self.cx, TyData::Fn(FnTy { name, arity, signature: &signature })).unwrap()
    }

    fn dynamic(&mut self, ast: &Value) -> Ty<F> {
        let mut bounds = Vec::new();
        for bound in ast["bounds"].as_array().unwrap() {
            let name = bound["trait"].as_str().unwrap();
            let (arity, args) = self.under(&bound["for"], |this| {
                bound["args"].as_array().unwrap().iter().map(|arg| this.arg(arg)).collect::<Vec<_>>()
            });
            let auto = AUTO_TRAITS.contains(&name);
            let kind = if auto { DynBoundKind::AutoTrait } else { DynBoundKind::Trait };
            let trait_name = Name::Trait(self.symbols.intern(name));
            bounds.push(DynBound { arity, kind, name: trait_name, args: self.cx.intern_args(&args) });
            for assoc in bound["assoc"].as_array().unwrap() {
                let path = format!("{name}::{}", assoc[0].as_str().unwrap());
                let (arity, value) = self.under(&bound["for"], |this| this.ty(&assoc[1]));
                let mut args = args.clone();
                args.push(value.into());
                let name = Name::Projection(self.symbols.intern(&path));
                let args = self.cx.intern_args(&args);
                bounds.push(DynBound { arity, kind: DynBoundKind::Projection, name, args });
            }
        }
        let region = self.region(ast["lt"].as_str().unwrap_or("'static"));
        Ty::new(self.cx, TyData::Dyn(typeloom_term::DynTy { bounds: &bounds, region })).unwrap()
    }
}
