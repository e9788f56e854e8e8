//! Graphs of a few dozen nodes over symbolic shapes, generated from a seed.

use std::fmt::Write as _;

use typeloom_onnx::text::model_bytes as model_from_text;

use crate::laws::change::Numbers;

/// A generated value of rank 2 or 3.
struct Made {
    name: String,
    rank: usize,
}

/// Generates the bytes of a model. Most models are well typed; an operator may reject its inputs.
pub(crate) fn model(seed: u64) -> Vec<u8> {
    let mut numbers = Numbers::new(seed);
    let mut values = vec![
        Made { name: "a".to_owned(), rank: 3 },
        Made { name: "b".to_owned(), rank: 3 },
        Made { name: "c".to_owned(), rank: 2 },
    ];
    let mut nodes = String::new();
    for at in 0..8 + numbers.below(24) {
        let one = pick(&mut numbers, &values, None);
        let name = format!("v{at}");
        let other = pick(&mut numbers, &values, Some(values[one].rank));
        let (x, y) = (&values[one].name, &values[other].name);
        let own = values[one].rank;
        let (line, made) = match numbers.below(12) {
            0 => (format!("Relu({x})"), own),
            1 => (format!("Add({x}, {y})"), own),
            2 => (format!("Transpose({x})"), own),
            3 => (format!("Concat <axis = {}> ({x}, {x})", numbers.below(own)), own),
            4 => (format!("Concat <axis = {}> ({x}, {y})", numbers.below(own)), own),
            5 => (format!("ReduceSum <keepdims = 1> ({x}, one)"), own),
            6 => (format!("Reshape({x}, flat)"), 2),
            7 if own == 2 => (format!("Unsqueeze({x}, one)"), 3),
            7 => (format!("Reshape({x}, merged)"), 2),
            8 => (format!("Softmax({x})"), own),
            9 => (format!("Slice({x}, one, many, one)"), own),
            10 => {
                let _ = write!(nodes, "\n   {name}t = Transpose <perm = [{}]> ({x})", swapped(own));
                (format!("MatMul({x}, {name}t)"), own)
            }
            _ => {
                let _ = write!(nodes, "\n   {name}s = Shape({x})");
                (format!("Expand({x}, {name}s)"), own)
            }
        };
        let _ = write!(nodes, "\n   {name} = {line}");
        values.push(Made { name, rank: made });
    }
    let last = values.last().map_or("a", |made| made.name.as_str());
    let text = format!(
        "<ir_version: 10, opset_import: [\"\" : 21]>
g (float[N, S, 4] a, float[N, 1, 4] b, float[S, 4] c) => ({last})
<int64[1] one = {{1}}, int64[1] many = {{9223372036854775807}}, int64[2] flat = {{-1, 4}}, int64[2] merged = {{0, -1}}> {{{nodes}
}}"
    );
    model_from_text(&text).unwrap_or_else(|error| panic!("{text}\n{error}"))
}

/// Returns the position of a random value, of the given rank if there is one.
fn pick(numbers: &mut Numbers, values: &[Made], rank: Option<usize>) -> usize {
    let fits: Vec<usize> =
        (0..values.len()).filter(|at| rank.is_none_or(|rank| values[*at].rank == rank)).collect();
    fits[numbers.below(fits.len())]
}

fn swapped(rank: usize) -> &'static str {
    if rank == 2 { "1, 0" } else { "0, 2, 1" }
}
