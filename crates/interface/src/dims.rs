//! Dims as constants of a pool, and back: the only conversion between the two normal forms.
//!
//! [`Dims`] brings quotients and minima to a lowest form that can improve from version to version. A pool has
//! a smaller normal form, which is part of the format of bundles and decides digests. Both expand polynomials
//! ([`typeloom_dim::poly`]), so a dim is written node by node, and the pool changes nothing. A constant that
//! was made in a pool can become simpler when it is read: `(2*N + 1)//2` is read as `N`.
//!
//! **Invariant:** a dim that is written and read is an equal dim, up to the names of its leaves, and the same
//! one unless it is a quotient whose form depends on the order in which its divisor was computed:
//! `(A//C)//min(2, max(1, B))` is read as `A//(C*min(2, max(1, B)))`.

use std::collections::HashMap;

use typeloom_dim::{DimId, DimView, Dims};
use typeloom_pool::{ConstDescriptor, Descriptor, Idx, Pool, PoolError, Variable};

/// The maximum nesting of constructors and expressions that are read.
pub(crate) const MAX_DEPTH: usize = 64;

/// Writes a dim to a pool. `leaf` writes its symbols and variables.
///
/// Dims nest by a bounded number of levels, see [`typeloom_dim`].
pub(crate) fn encode(
    dims: &Dims,
    dim: DimId,
    pool: &mut Pool,
    leaf: &mut dyn FnMut(&mut Pool, DimId) -> Result<Idx, PoolError>,
) -> Result<Idx, PoolError> {
    let mut all = |parts: &[DimId], pool: &mut Pool| -> Result<Vec<Idx>, PoolError> {
        parts.iter().map(|part| encode(dims, *part, pool, leaf)).collect()
    };
    match dims.view(dim) {
        DimView::Constant(value) => pool.dim_const(value),
        DimView::Symbol | DimView::Variable => leaf(pool, dim),
        DimView::Sum(constant, terms) => {
            let mut summands = vec![pool.dim_const(constant)?];
            for (coefficient, part) in terms {
                let part = encode(dims, part, pool, leaf)?;
                summands.push(pool.dim_scale(coefficient, part)?);
            }
            pool.dim_add(&summands)
        }
        DimView::Product(parts) => {
            let parts = all(&parts, pool)?;
            pool.dim_mul(&parts)
        }
        DimView::FloorDiv(dividend, divisor) => {
            let parts = all(&[dividend, divisor], pool)?;
            pool.dim_floor_div(parts[0], parts[1])
        }
        DimView::Min(parts) => {
            let parts = all(&parts, pool)?;
            pool.dim_min(&parts)
        }
    }
}

/// The reason why a constant is not read.
pub(crate) enum DecodeError {
    /// It is not a constant of models.
    Kind,
    /// It is too large.
    Size,
}

/// The variables of a scheme as symbols and variables of an arena.
pub(crate) struct Variables<'n> {
    names: &'n [String],
    known: HashMap<u32, DimId>,
}

impl<'n> Variables<'n> {
    /// Variables with these names, empty for those without one. If there are no names, the symbols are `A`,
    /// `B`, ...
    pub(crate) fn named(names: &'n [String]) -> Self {
        Self { names, known: HashMap::new() }
    }

    fn get(&mut self, dims: &mut Dims, index: u32) -> DimId {
        *self.known.entry(index).or_insert_with(|| match self.names.get(index as usize).map(String::as_str) {
            Some("") => dims.fresh(),
            Some(name) => dims.symbol(name),
            None => dims.symbol(&letter(index)),
        })
    }
}

/// Reads a constant of a pool.
///
/// `parts` is the number of parts that can still be read: a shared expression can unfold to more than fits in
/// memory. `depth` is the number of levels around the constant.
pub(crate) fn decode(
    pool: &Pool,
    constant: Idx,
    depth: usize,
    dims: &mut Dims,
    variables: &mut Variables<'_>,
    parts: &mut usize,
) -> Result<DimId, DecodeError> {
    *parts = parts.checked_sub(1).ok_or(DecodeError::Size)?;
    if depth > MAX_DEPTH {
        return Err(DecodeError::Size);
    }
    let constant = match pool.get(constant) {
        Descriptor::Variable(Variable::Bound { depth: 0, index, .. }) => {
            return Ok(variables.get(dims, index));
        }
        Descriptor::Const(constant) => constant,
        _ => return Err(DecodeError::Kind),
    };
    let mut read = |part: Idx, dims: &mut Dims| decode(pool, part, depth + 1, dims, variables, parts);
    Ok(match constant {
        ConstDescriptor::Int(value) => dims.constant(value),
        ConstDescriptor::Symbol(name) => dims.symbol(&name),
        ConstDescriptor::Sum { constant, terms } => {
            let terms: Result<Vec<(i64, DimId)>, DecodeError> =
                terms.into_iter().map(|(coefficient, part)| Ok((coefficient, read(part, dims)?))).collect();
            dims.combination(constant, &terms?)
        }
        ConstDescriptor::Product(factors) => {
            let factors: Result<Vec<DimId>, _> = factors.into_iter().map(|part| read(part, dims)).collect();
            dims.product(&factors?)
        }
        ConstDescriptor::FloorDiv(dividend, divisor) => {
            let (dividend, divisor) = (read(dividend, dims)?, read(divisor, dims)?);
            dims.floor_div(dividend, divisor)
        }
        ConstDescriptor::Mod(dividend, divisor) => {
            let (dividend, divisor) = (read(dividend, dims)?, read(divisor, dims)?);
            dims.modulo(dividend, divisor)
        }
        ConstDescriptor::Min(items) => {
            let items: Result<Vec<DimId>, _> = items.into_iter().map(|part| read(part, dims)).collect();
            items?.into_iter().reduce(|a, b| dims.min(a, b)).ok_or(DecodeError::Kind)?
        }
        ConstDescriptor::Max(items) => {
            let items: Result<Vec<DimId>, _> = items.into_iter().map(|part| read(part, dims)).collect();
            items?.into_iter().reduce(|a, b| dims.max(a, b)).ok_or(DecodeError::Kind)?
        }
        ConstDescriptor::Unknown => dims.fresh(),
    })
}

/// The name of a variable without names: `A`, `B`, ..., `Z`, `A1`, ...
pub(crate) fn letter(index: u32) -> String {
    let letter = char::from(b'A' + u8::try_from(index % 26).unwrap_or(0));
    if index < 26 { letter.to_string() } else { format!("{letter}{}", index / 26) }
}
