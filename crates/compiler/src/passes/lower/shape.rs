//! Operators that move elements, and operators that derive constants from shapes.

use typeloom_tensor::value_type::Dim;

use super::form::{
    Form, Lowered, Operand, OrRefusal, along, bounded, fixed, known_total, number_of, refuse, total,
};
use super::{LoweringRule, rule};

pub(super) const RULES: &[LoweringRule] = &[
    rule("Flatten", flatten),
    rule("Expand", |f| f.input(0)?.expand(&f.output_shape()?)),
    rule("Tile", tile),
    rule("Pad", pad),
    rule("Shape", shape),
    rule("Size", |f| Ok(f.host(&[], &[total(f.input(0)?.extents()?)?]))),
    rule("ConstantOfShape", constant_of_shape),
    rule("EyeLike", eye_like),
    rule("Range", range),
    rule("DepthToSpace", depth_to_space),
    rule("SpaceToDepth", space_to_depth),
    rule("Trilu", trilu),
];

fn flatten(f: Form<'_>) -> Lowered<'_> {
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
    Ok(x.reshape(&target))
}

fn tile(f: Form<'_>) -> Lowered<'_> {
    let x = f.input(0)?;
    let (own, target) = (x.shape().unwrap_or_default(), f.output_shape()?);
    let repeats = f.constant_ints(1).ok().flatten();
    let mut y = x;
    for axis in 0..x.rank()? {
        let times = match (&repeats, number_of(&own[axis]), target.get(axis).and_then(number_of)) {
            (Some(repeats), ..) if repeats.get(axis) == Some(&1) => continue,
            (Some(repeats), Some(_), _) if repeats.len() == own.len() => repeats[axis],
            (_, Some(extent), Some(wanted)) if extent > 0 => wanted / extent,
            (_, Some(_) | None, _) => return refuse(format!("extent {axis} of the result is not a number")),
        };
        let extent = x.extent(axis)?;
        if times == 1 {
            continue;
        }
        let count = bounded(extent * times)? as i64;
        let indices: Vec<i64> = (0..count).map(|at| at % extent.max(1)).collect();
        y = y.gather(axis, &[count], &indices);
    }
    Ok(y)
}

fn pad(f: Form<'_>) -> Lowered<'_> {
    let x = f.input(0)?;
    let rank = x.rank()?;
    let mode = f.text("mode", "constant");
    let pads = match f.ints("pads").or_else(|| f.ints("paddings")) {
        Some(pads) => pads,
        None => f.constant_ints(1)?.unwrap_or_default(),
    };
    let axes: Vec<usize> = match f.constant_ints(3)? {
        Some(axes) => axes.iter().map(|axis| f.axis(*axis, rank)).collect::<OrRefusal<_>>()?,
        None => (0..rank).collect(),
    };
    if pads.len() != 2 * axes.len() {
        return refuse("it does not have two pads per axis");
    }
    let value = f.optional(2)?.unwrap_or_else(|| x.attribute("value", 0.0));
    let mut y = x;
    for (axis, (begin, end)) in axes.iter().zip(pads.iter().zip(&pads[axes.len()..])) {
        if (*begin, *end) == (0, 0) {
            continue;
        }
        let extent = x.extent(*axis)?;
        let count = bounded((extent + begin + end).max(0))? as i64;
        if extent == 0 {
            return refuse("a tensor without elements");
        }
        let positions = || (0..count).map(|position| position - begin);
        let source = |position: i64| match mode.as_str() {
            "reflect" if extent > 1 => {
                let around = position.rem_euclid(2 * (extent - 1));
                around.min(2 * (extent - 1) - around)
            }
            "wrap" => position.rem_euclid(extent),
            _ => position.clamp(0, extent - 1),
        };
        y = y.gather(*axis, &[count], &positions().map(source).collect::<Vec<i64>>());
        match mode.as_str() {
            "reflect" | "wrap" | "edge" => {}
            "constant" => {
                let inside: Vec<bool> = positions().map(|position| (0..extent).contains(&position)).collect();
                if inside.contains(&false) {
                    y = f.mask(&along(rank, *axis, count), &inside).select(y, value);
                }
            }
            other => return refuse(format!("`mode` = `{other}` is not known")),
        }
    }
    Ok(y)
}

fn shape(f: Form<'_>) -> Lowered<'_> {
    let Some(shape) = f.input(0)?.shape() else { return refuse("the rank of its input is not known") };
    let rank = shape.len() as i64;
    let bound = |given: i64| if given < 0 { given + rank } else { given }.clamp(0, rank) as usize;
    let (start, end) = (bound(f.int("start", 0)), bound(f.int("end", rank)));
    let part = shape.get(start..end.max(start)).unwrap_or_default();
    let numbers: Option<Vec<i64>> = part.iter().map(number_of).collect();
    let Some(numbers) = numbers else { return refuse("the extents are not all numbers") };
    Ok(f.host(&[numbers.len() as i64], &numbers))
}

fn constant_of_shape(f: Form<'_>) -> Lowered<'_> {
    let target = f.output_shape()?;
    let dtype = f.output_dtype(0)?;
    let value = match f.tensor_attribute("value") {
        Some(numbers) => numbers,
        None if f.has("value") => return refuse(format!("its value is {}", dtype.type_node().id)),
        None => vec![0.0],
    };
    let [value] = value[..] else { return refuse("its value is not one number") };
    f.literal(dtype, value).expand(&target)
}

/// A value for each element of a matrix, by its row and column.
fn each_element<T>(rows: i64, columns: i64, value: impl Fn(i64, i64) -> T) -> Vec<T> {
    let value = &value;
    (0..rows).flat_map(|row| (0..columns).map(move |column| value(row, column))).collect()
}

fn eye_like(f: Form<'_>) -> Lowered<'_> {
    let extents = f.input(0)?.extents()?;
    let [rows, columns] = extents[..] else { return refuse("its input is not a matrix") };
    bounded(rows * columns)?;
    let k = f.int("k", 0);
    let numbers = each_element(rows, columns, |row, column| f64::from(u8::from(column == row + k)));
    // The solved type of the result has the element type, with the default of the attribute.
    f.ignore_attributes(&["dtype"]);
    Ok(f.tensor(f.output_dtype(0)?, &[rows, columns], &numbers))
}

/// The values `start + i * step`.
fn range(f: Form<'_>) -> Lowered<'_> {
    let (start, delta) = (f.input(0)?, f.input(2)?);
    let count = match &f.output_shape()?[..] {
        [count] => number_of(count),
        _ => None,
    };
    let Some(count) = count else { return refuse("the extent of its result is not a number") };
    let numbers = f.iota(start.dtype(), &[count])?;
    Ok(numbers * delta + start)
}

/// The batch, which no rule changes, and the three other extents of an image.
fn image_extents(x: Operand<'_>) -> OrRefusal<(Dim, [i64; 3])> {
    if x.rank()? != 4 {
        return refuse("its input does not have four axes");
    }
    let batch = x.shape().map(|shape| shape[0].clone()).unwrap_or_default();
    Ok((batch, [x.extent(1)?, x.extent(2)?, x.extent(3)?]))
}

fn with_batch(batch: &Dim, extents: &[i64]) -> Vec<Dim> {
    std::iter::once(batch.clone()).chain(extents.iter().copied().map(fixed)).collect()
}

fn depth_to_space(f: Form<'_>) -> Lowered<'_> {
    let x = f.input(0)?;
    let (batch, [channels, height, width]) = image_extents(x)?;
    let block = f.int("blocksize", 1);
    if block < 1 || channels % (block * block) != 0 {
        return refuse(format!("blocks of {block} do not divide {channels} channels"));
    }
    let depth = channels / (block * block);
    let (split, perm): ([i64; 5], [usize; 6]) = if f.text("mode", "DCR") == "CRD" {
        ([depth, block, block, height, width], [0, 1, 4, 2, 5, 3])
    } else {
        ([block, block, depth, height, width], [0, 3, 4, 1, 5, 2])
    };
    let moved = x.reshape_to(&with_batch(&batch, &split))?.transpose(&perm);
    moved.reshape_to(&with_batch(&batch, &[depth, height * block, width * block]))
}

fn space_to_depth(f: Form<'_>) -> Lowered<'_> {
    let x = f.input(0)?;
    let (batch, [channels, height, width]) = image_extents(x)?;
    let block = f.int("blocksize", 1);
    if block < 1 || height % block != 0 || width % block != 0 {
        return refuse(format!("blocks of {block} do not divide {height} and {width}"));
    }
    let (rows, columns) = (height / block, width / block);
    let parts = x.reshape_to(&with_batch(&batch, &[channels, rows, block, columns, block]))?;
    let is_crd = f.text("mode", "DCR") == "CRD";
    let moved = parts.transpose(if is_crd { &[0, 1, 3, 5, 2, 4] } else { &[0, 3, 5, 1, 2, 4] });
    moved.reshape_to(&with_batch(&batch, &[channels * block * block, rows, columns]))
}

fn trilu(f: Form<'_>) -> Lowered<'_> {
    let x = f.input(0)?;
    let rank = x.rank()?;
    if rank < 2 {
        return refuse("its input is not a matrix");
    }
    let (rows, columns) = (x.extent(rank - 2)?, x.extent(rank - 1)?);
    bounded(rows * columns)?;
    let is_upper = f.int("upper", 1) != 0;
    let k = match (f.optional(1)?, f.constant_int(1)) {
        (None, _) => 0,
        (Some(_), Some(k)) => k,
        (Some(k), None) => {
            // Compares the distance of a column from the diagonal with a number that is known at run time.
            let from = each_element(rows, columns, |row, column| (column - row) as f64);
            let from = f.tensor(k.dtype(), &[rows, columns], &from);
            let cleared = if is_upper { from.less(k) } else { from.greater(k) };
            return Ok(cleared.select(0.0, x));
        }
    };
    let is_kept = |row, column| if is_upper { column - row >= k } else { column - row <= k };
    Ok(f.mask(&[rows, columns], &each_element(rows, columns, is_kept)).select(x, 0.0))
}
