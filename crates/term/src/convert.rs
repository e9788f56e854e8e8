//! Conversion of terms between families.
//!
//! Each type and each large constant is converted once, so shared nodes stay shared. A function translates
//! names. Between families over [`Name`](crate::name::Name), it is the identity.

use crate::arg::GenericArg;
use crate::constant::{Const, ConstData};
use crate::family::TypeFamily;
use crate::leaf::Leaf;
use crate::meta::{LARGE, TermError};
use crate::region::Region;
use crate::ty::{AliasTy, ApplicationTy, DynBound, DynTy, FnTy, Ty, TyData, WitnessTy};
use foldhash::fast::FixedState;
use hashbrown::HashMap;

/// Converts terms of family `F` to terms of family `G`.
pub struct Converter<'c, F: TypeFamily, G: TypeFamily, N> {
    to: &'c G,
    name: N,
    seen: HashMap<usize, (Ty<F>, Ty<G>), FixedState>,
    /// Converted constants, as `seen`. Only large ones are stored.
    seen_consts: HashMap<usize, (Const<F>, Const<G>), FixedState>,
}

impl<F: TypeFamily, G: TypeFamily, N> std::fmt::Debug for Converter<'_, F, G, N> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Converter").field("to", self.to).finish_non_exhaustive()
    }
}

/// Converts a type between families with the same names.
pub fn convert_ty<F: TypeFamily, G: TypeFamily<Name = F::Name>>(
    to: &G,
    ty: &Ty<F>,
) -> Result<Ty<G>, TermError> {
    Converter::new(to, |name| name).ty(ty)
}

impl<'c, F: TypeFamily, G: TypeFamily, N: FnMut(F::Name) -> G::Name> Converter<'c, F, G, N> {
    /// Creates a converter to `to`.
    pub fn new(to: &'c G, name: N) -> Self {
        Self { to, name, seen: HashMap::default(), seen_consts: HashMap::default() }
    }

    /// Converts a type.
    pub fn ty(&mut self, ty: &Ty<F>) -> Result<Ty<G>, TermError> {
        if let Some((_, done)) = self.seen.get(&ty.address()) {
            return Ok(done.clone());
        }
        let result = match ty.data() {
            TyData::Apply(ApplicationTy { name, args }) => {
                let args = self.args(args)?;
                Ty::apply(self.to, (self.name)(name), &args)
            }
            TyData::Dyn(data) => self.dynamic(data),
            TyData::Fn(FnTy { name, arity, signature }) => {
                let signature = self.args(signature)?;
                Ty::function(self.to, (self.name)(name), arity, &signature)
            }
            TyData::GeneratorWitness(WitnessTy { name, arity, types }) => {
                let types = self.args(types)?;
                let name = (self.name)(name);
                Ty::new(self.to, TyData::GeneratorWitness(WitnessTy { name, arity, types: &types }))
            }
            TyData::Alias(AliasTy { name, args }) => {
                let args = self.args(args)?;
                Ty::alias(self.to, (self.name)(name), &args)
            }
            TyData::Placeholder(placeholder) => {
                self.leaf(Leaf::Placeholder(placeholder)).ty_data().intern(self.to)
            }
            TyData::InferenceVar(var) => Ty::new(self.to, TyData::InferenceVar(var)),
            TyData::BoundVariable(var) => Ty::new(self.to, TyData::BoundVariable(var)),
            TyData::Error(proof) => Ok(Ty::error(self.to, proof)),
        }?;
        self.seen.insert(ty.address(), (ty.clone(), result.clone()));
        Ok(result)
    }

    fn dynamic(&mut self, data: DynTy<'_, F>) -> Result<Ty<G>, TermError> {
        let DynTy { bounds, region } = data;
        let mut converted = Vec::with_capacity(bounds.len());
        for DynBound { arity, kind, name, args } in bounds {
            let args = self.args(args)?;
            let args = self.to.intern_args(&args);
            converted.push(DynBound { arity: *arity, kind: *kind, name: (self.name)(*name), args });
        }
        let region = self.region(region);
        Ty::new(self.to, TyData::Dyn(DynTy { bounds: &converted, region }))
    }

    fn leaf(&mut self, leaf: Leaf<F::Name>) -> Leaf<G::Name> {
        leaf.rename(&mut self.name)
    }

    /// Converts a region.
    pub fn region(&mut self, region: Region<F>) -> Region<G> {
        match (region, region.leaf()) {
            (_, Some(leaf)) => self.leaf(leaf).region(),
            (Region::Static, None) => Region::Static,
            (_, None) => Region::Erased,
        }
    }

    /// Converts a constant.
    pub fn constant(&mut self, constant: &Const<F>) -> Result<Const<G>, TermError> {
        if let Some((_, known)) = self.seen_consts.get(&constant.address()) {
            return Ok(known.clone());
        }
        let converted = self.new_constant(constant)?;
        if constant.meta().weight >= LARGE {
            self.seen_consts.insert(constant.address(), (constant.clone(), converted.clone()));
        }
        Ok(converted)
    }

    fn new_constant(&mut self, constant: &Const<F>) -> Result<Const<G>, TermError> {
        match constant.data() {
            ConstData::Value(value) => Const::new(self.to, ConstData::Value(value)),
            ConstData::Placeholder(placeholder) => {
                Const::new(self.to, self.leaf(Leaf::Placeholder(placeholder)).const_data())
            }
            ConstData::Infer(var) => Const::new(self.to, ConstData::Infer(var)),
            ConstData::Bound(var) => Const::new(self.to, ConstData::Bound(var)),
            ConstData::Expr(op, args) => Const::expr(self.to, op, &self.args(args)?),
            ConstData::Alias(name, args) => {
                let args = self.args(args)?;
                Const::new(self.to, ConstData::Alias((self.name)(name), &args))
            }
            ConstData::Error(proof) => Const::new(self.to, ConstData::Error(proof)),
        }
    }

    /// Converts a list of arguments.
    pub fn args(&mut self, args: &[GenericArg<F>]) -> Result<Vec<GenericArg<G>>, TermError> {
        args.iter()
            .map(|arg| {
                Ok(match arg {
                    GenericArg::Ty(ty) => GenericArg::Ty(self.ty(ty)?),
                    GenericArg::Region(region) => GenericArg::Region(self.region(*region)),
                    GenericArg::Const(constant) => GenericArg::Const(self.constant(constant)?),
                })
            })
            .collect()
    }
}
