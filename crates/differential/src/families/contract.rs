//! Products: `MatMul`, `Gemm`, `Einsum`.

use typeloom_types::dtype::Dtype;

use super::{floats, int, is_float};
use crate::build::{Builder, Var};

/// A second operand for a matrix product with this extent.
fn weight(b: &mut Builder<'_>, shape: &[usize]) -> Option<String> {
    if shape.iter().product::<usize>() > 600 {
        return None;
    }
    Some(b.weight(Dtype::F32, shape))
}

fn last(b: &Builder<'_>, x: &Var) -> Option<usize> {
    x.shape(b.lead())?.last().copied()
}

pub(super) fn product(b: &mut Builder<'_>) -> Option<()> {
    let x = floats(b, 1, 4)?;
    let rank = x.rank()?;
    match b.choices.below(3) {
        0 => {
            let columns = b.choices.below(4) + 1;
            let shape = [last(b, &x)?, columns];
            let w = weight(b, &shape)?;
            b.simple("MatMul", &[&x.name, &w]).map(|_| ())
        }
        1 if rank >= 2 => {
            let mut order: Vec<i64> = (0..super::signed(rank)).collect();
            order.swap(rank - 1, rank - 2);
            let turned = b.node("Transpose", &[&x.name], vec![super::ints("perm", &order)], 1)?.pop()?;
            b.simple("MatMul", &[&x.name, &turned.name]).map(|_| ())
        }
        _ => {
            let y = b.any(|var| is_float(var) && var.rank().is_some_and(|rank| rank > 0))?;
            b.simple("MatMul", &[&x.name, &y.name]).map(|_| ())
        }
    }
}

pub(super) fn affine(b: &mut Builder<'_>) -> Option<()> {
    let x = floats(b, 2, 2)?;
    let transposed = b.choices.percent(50);
    let columns = b.choices.below(4) + 1;
    let inner = if transposed { x.shape(b.lead())?[0] } else { x.shape(b.lead())?[1] };
    let w = weight(b, &[columns, inner])?;
    let attributes = vec![int("transA", i64::from(transposed)), int("transB", 1)];
    if b.choices.percent(50) {
        return b.node("Gemm", &[&x.name, &w], attributes, 1).map(|_| ());
    }
    let shape: Vec<usize> = b.choices.pick(&[vec![columns], vec![1, columns], vec![1], vec![]]).clone();
    let bias = weight(b, &shape)?;
    b.node("Gemm", &[&x.name, &w, &bias], attributes, 1).map(|_| ())
}

pub(super) fn einsum(b: &mut Builder<'_>) -> Option<()> {
    let x = floats(b, 1, 3)?;
    let equation: &'static str = match x.rank()? {
        1 => b.choices.pick::<&str>(&["i->", "i,j->ij", "i,i->"]),
        2 => b.choices.pick::<&str>(&["ij->ji", "ij->i", "ij,jk->ik", "ij,ij->j", "...j,...j->..."]),
        _ => b.choices.pick::<&str>(&["bij->bji", "bij,bkj->bik", "bij->b", "...ij->...ji"]),
    };
    let attributes = vec![super::text("equation", equation)];
    if !equation.contains(',') {
        return b.node("Einsum", &[&x.name], attributes, 1).map(|_| ());
    }
    let rank = x.rank();
    let y = if b.choices.percent(50) { x.clone() } else { b.any(|var| is_float(var) && var.rank() == rank)? };
    b.node("Einsum", &[&x.name, &y.name], attributes, 1).map(|_| ())
}
