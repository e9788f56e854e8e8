//! Operators that move elements, and operators that derive constants from shapes.

use typeloom_types::dtype::Dtype;

use super::form::{Form, Lowered, Operand, bounded, known_total, refuse, total};
use super::{LoweringRule, rule};

pub(super) const RULES: &[LoweringRule] = &[
    rule("Flatten", flatten),
    rule("Expand", expand),
    rule("Tile", tile),
    rule("Pad", pad),
    rule("Shape", shape),
    rule("Size", size),
    rule("ConstantOfShape", constant_of_shape),
    rule("EyeLike", eye_like),
    rule("Range", range),
    rule("DepthToSpace", depth_to_space),
    rule("SpaceToDepth", space_to_depth),
    rule("Trilu", trilu),
];

fn flatten(f: &mut Form<'_>) -> Lowered {
    let x = f.input(0)?;
    let rank = x.rank()?;
    let given = f.int("axis", 1);
    let axis = if given == rank as i64 { rank } else { f.axis(given, rank)? };
    let shape = x.shape().unwrap_or_default();
    let target = match (known_total(&shape[..axis]), known_total(&shape[axis..])) {
        (Some(0), _) | (_, Some(0)) => return refuse("a tensor without elements"),
        (Some(outer), inner) => [outer, inner.unwrap_or(-1)],
        (None, Some(inner)) => [-1, inner],
        (None, None) if axis == 1 => [0, -1],
        (None, None) => return refuse("more than one extent of its result is not a number"),
    };
    Ok(f.reshape(&x, &target))
}

fn wanted(f: &Form<'_>) -> Lowered<Vec<Option<i64>>> {
    let found = f.outputs.first().and_then(Option::as_ref).and_then(Operand::shape);
    found.map_or_else(|| refuse("the rank of its result is not known"), Ok)
}

fn expand(f: &mut Form<'_>) -> Lowered {
    let x = f.input(0)?;
    let target = wanted(f)?;
    f.expand(&x, &target)
}

fn tile(f: &mut Form<'_>) -> Lowered {
    let x = f.input(0)?;
    let (own, target) = (x.shape().unwrap_or_default(), wanted(f)?);
    let repeats = f.constant_ints(1).ok().flatten();
    let mut y = x.clone();
    for axis in 0..x.rank()? {
        let times = match (&repeats, own[axis], target.get(axis).copied().flatten()) {
            (Some(repeats), ..) if repeats.get(axis) == Some(&1) => continue,
            (Some(repeats), Some(_), _) if repeats.len() == own.len() => repeats[axis],
            (_, Some(extent), Some(wanted)) if extent > 0 => wanted / extent,
            (_, Some(_) | None, _) => return refuse(format!("extent {axis} of the result is not a number")),
        };
        let extent = x.extent(axis)?;
        if times == 1 {
            continue;
        }
        let count = bounded(extent * times)?;
        let indices: Vec<i64> = (0..count as i64).map(|at| at % extent.max(1)).collect();
        y = f.gather(&y, axis, &[count as i64], &indices);
    }
    Ok(y)
}

fn pad(f: &mut Form<'_>) -> Lowered {
    let x = f.input(0)?;
    let rank = x.rank()?;
    let mode = f.text("mode", "constant");
    let pads = match f.ints("pads").or_else(|| f.ints("paddings")) {
        Some(pads) => pads,
        None => f.constant_ints(1)?.unwrap_or_default(),
    };
    let axes: Vec<usize> = match f.constant_ints(3)? {
        Some(axes) => axes.iter().map(|axis| f.axis(*axis, rank)).collect::<Lowered<_>>()?,
        None => (0..rank).collect(),
    };
    if pads.len() != 2 * axes.len() {
        return refuse("its pads are not two for each axis");
    }
    let value = match f.optional(2)? {
        Some(value) => value,
        None => {
            let value = f.float("value", 0.0);
            f.number(&x, value)
        }
    };
    let mut y = x.clone();
    for (at, axis) in axes.iter().enumerate() {
        let (begin, end) = (pads[at], pads[at + axes.len()]);
        if begin == 0 && end == 0 {
            continue;
        }
        let extent = x.extent(*axis)?;
        let count = bounded((extent + begin + end).max(0))? as i64;
        if extent == 0 {
            return refuse("a tensor without elements");
        }
        let positions: Vec<i64> = (0..count).map(|position| position - begin).collect();
        let indices: Vec<i64> = positions
            .iter()
            .map(|position| match mode.as_str() {
                "reflect" if extent > 1 => {
                    let around = position.rem_euclid(2 * (extent - 1));
                    around.min(2 * (extent - 1) - around)
                }
                "wrap" => position.rem_euclid(extent),
                _ => (*position).clamp(0, extent - 1),
            })
            .collect();
        y = f.gather(&y, *axis, &[count], &indices);
        match mode.as_str() {
            "reflect" | "wrap" | "edge" => {}
            "constant" => {
                let mut dims = vec![1; rank];
                dims[*axis] = count;
                let inside: Vec<bool> =
                    positions.iter().map(|position| (0..extent).contains(position)).collect();
                if inside.contains(&false) {
                    let inside = f.mask(&dims, &inside);
                    y = f.select(&inside, &y, &value);
                }
            }
            other => return refuse(format!("`mode` = `{other}` is not known")),
        }
    }
    Ok(y)
}

fn shape(f: &mut Form<'_>) -> Lowered {
    let x = f.input(0)?;
    let extents = x.shape().ok_or(()).or_else(|()| refuse("the rank of its input is not known"))?;
    let rank = extents.len() as i64;
    let bound = |given: i64| if given < 0 { given + rank } else { given }.clamp(0, rank) as usize;
    let (start, end) = (bound(f.int("start", 0)), bound(f.int("end", rank)));
    let part = extents.get(start..end.max(start)).unwrap_or_default();
    let numbers: Option<Vec<f64>> = part.iter().map(|extent| extent.map(|extent| extent as f64)).collect();
    let Some(numbers) = numbers else { return refuse("the extents are not all numbers") };
    Ok(f.host(Dtype::I64, &[numbers.len() as i64], &numbers))
}

fn size(f: &mut Form<'_>) -> Lowered {
    let count = total(f.input(0)?.extents()?)?;
    Ok(f.host(Dtype::I64, &[], &[count as f64]))
}

fn result_dtype(f: &Form<'_>) -> Lowered<Dtype> {
    let found = f.outputs.first().and_then(Option::as_ref).map(Operand::dtype);
    found.map_or_else(|| refuse("the element type of its result is not known"), Ok)
}

fn constant_of_shape(f: &mut Form<'_>) -> Lowered {
    let target = wanted(f)?;
    let dtype = result_dtype(f)?;
    let value = match f.tensor_attribute("value") {
        Some(numbers) => numbers,
        None if f.has("value") => return refuse(format!("its value is {}", dtype.type_node().id)),
        None => vec![0.0],
    };
    let [value] = value[..] else { return refuse("its value is not one number") };
    let one = f.literal(dtype, value);
    f.expand(&one, &target)
}

fn eye_like(f: &mut Form<'_>) -> Lowered {
    let extents = f.input(0)?.extents()?;
    let [rows, columns] = extents[..] else { return refuse("its input is not a matrix") };
    bounded(rows * columns)?;
    let k = f.int("k", 0);
    let numbers: Vec<f64> = (0..rows)
        .flat_map(|row| (0..columns).map(move |column| if column == row + k { 1.0 } else { 0.0 }))
        .collect();
    // The solved type of the result has the element type, with the default of the attribute.
    f.pass_over(&["dtype"]);
    let dtype = result_dtype(f)?;
    Ok(f.tensor(dtype, &[rows, columns], &numbers))
}

/// The values `start + i * step`.
fn range(f: &mut Form<'_>) -> Lowered {
    let (start, delta) = (f.input(0)?, f.input(2)?);
    let [Some(count)] = wanted(f)?[..] else { return refuse("the extent of its result is not a number") };
    let numbers: Vec<f64> = (0..bounded(count)?).map(|at| at as f64).collect();
    let numbers = f.tensor(start.dtype(), &[count], &numbers);
    let steps = f.mul(&numbers, &delta);
    Ok(f.add(&steps, &start))
}

/// The batch, which no rule changes, and the three other extents of an image.
fn picture(x: &Operand) -> Lowered<(Option<i64>, [i64; 3])> {
    if x.rank()? != 4 {
        return refuse("its input has not four axes");
    }
    let batch = x.shape().and_then(|shape| shape[0]);
    Ok((batch, [x.extent(1)?, x.extent(2)?, x.extent(3)?]))
}

fn depth_to_space(f: &mut Form<'_>) -> Lowered {
    let x = f.input(0)?;
    let (batch, [channels, height, width]) = picture(&x)?;
    let block = f.int("blocksize", 1);
    if block < 1 || channels % (block * block) != 0 {
        return refuse(format!("blocks of {block} do not divide {channels} channels"));
    }
    let depth = channels / (block * block);
    let crd = f.text("mode", "DCR") == "CRD";
    let (split, perm): ([i64; 5], [usize; 6]) = if crd {
        ([depth, block, block, height, width], [0, 1, 4, 2, 5, 3])
    } else {
        ([block, block, depth, height, width], [0, 3, 4, 1, 5, 2])
    };
    let with_batch = |extents: &[i64]| -> Vec<Option<i64>> {
        std::iter::once(batch).chain(extents.iter().copied().map(Some)).collect()
    };
    let parts = f.reshape_to(&x, &with_batch(&split))?;
    let moved = f.transpose(&parts, &perm);
    f.reshape_to(&moved, &with_batch(&[depth, height * block, width * block]))
}

fn space_to_depth(f: &mut Form<'_>) -> Lowered {
    let x = f.input(0)?;
    let (batch, [channels, height, width]) = picture(&x)?;
    let block = f.int("blocksize", 1);
    if block < 1 || height % block != 0 || width % block != 0 {
        return refuse(format!("blocks of {block} do not divide {height} and {width}"));
    }
    let (rows, columns) = (height / block, width / block);
    let with_batch = |extents: &[i64]| -> Vec<Option<i64>> {
        std::iter::once(batch).chain(extents.iter().copied().map(Some)).collect()
    };
    let parts = f.reshape_to(&x, &with_batch(&[channels, rows, block, columns, block]))?;
    let crd = f.text("mode", "DCR") == "CRD";
    let moved = f.transpose(&parts, if crd { &[0, 1, 3, 5, 2, 4] } else { &[0, 3, 5, 1, 2, 4] });
    f.reshape_to(&moved, &with_batch(&[channels * block * block, rows, columns]))
}

fn trilu(f: &mut Form<'_>) -> Lowered {
    let x = f.input(0)?;
    let rank = x.rank()?;
    if rank < 2 {
        return refuse("its input is no matrix");
    }
    let (rows, columns) = (x.extent(rank - 2)?, x.extent(rank - 1)?);
    bounded(rows * columns)?;
    let upper = f.int("upper", 1) != 0;
    let zero = f.number(&x, 0.0);
    let k = match (f.optional(1)?, f.constant_ints(1)) {
        (None, _) => 0,
        (Some(_), Ok(Some(k))) if k.len() == 1 => k[0],
        (Some(k), Ok(_) | Err(_)) => {
            // Compares the distance of a column from the diagonal with a number that is known at run time.
            let from: Vec<f64> =
                (0..rows).flat_map(|row| (0..columns).map(move |column| (column - row) as f64)).collect();
            let from = f.tensor(k.dtype(), &[rows, columns], &from);
            let cleared = if upper { f.less(&from, &k) } else { f.greater(&from, &k) };
            return Ok(f.select(&cleared, &zero, &x));
        }
    };
    let kept: Vec<bool> = (0..rows)
        .flat_map(|row| {
            (0..columns).map(move |column| {
                let from = column - row;
                if upper { from >= k } else { from <= k }
            })
        })
        .collect();
    let kept = f.mask(&[rows, columns], &kept);
    Ok(f.select(&kept, &x, &zero))
}
