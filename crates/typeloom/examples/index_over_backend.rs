//! An index that computes on whatever backend it is given, through `AnyTensor`: `cargo run --example index_over_backend`.
//!
//! `AnyTensor` stands at the abstract node `tensor`, so a component that stores it is bound to no element type: the
//! module's own types decide, and the same index serves them all.

use std::collections::BTreeMap;
use std::error::Error;
use std::fmt;

use typeloom as bb;
use typeloom::{
    AnyTensor, Backend, ByExecution, Compiler, Graph, GraphExecutor, Index, Module, OperatorMethods,
};

/// What can go wrong here.
#[derive(Debug)]
struct Unsupported(String);

impl fmt::Display for Unsupported {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl Error for Unsupported {}

/// A backend for what the index needs: `Sub`, `Mul` and `ReduceSum` of vectors of f32 and f64.
#[derive(Clone, Copy, Default)]
struct Small;

impl GraphExecutor for Small {
    type Tensor = AnyTensor;
    type Error = Unsupported;

    fn execute(
        &self,
        graph: &bb::GraphProto,
        inputs: Vec<AnyTensor>,
        _: &[bb::AttributeProto],
    ) -> Result<Vec<AnyTensor>, Unsupported> {
        let [node] = &graph.node[..] else { return Err(Unsupported("one node at a time".into())) };
        let result = match (node.op_type(), &inputs[..]) {
            ("Sub", [a, b]) => each(a, b, |x, y| x - y),
            ("Mul", [a, b]) => each(a, b, |x, y| x * y),
            ("ReduceSum", [a]) => numbers(a).and_then(|all| tensor(a.dtype(), &[all.iter().sum()])),
            (op, _) => Err(Unsupported(format!("{op} is not computed here"))),
        };
        Ok(vec![result?])
    }
}

fn each(a: &AnyTensor, b: &AnyTensor, f: fn(f64, f64) -> f64) -> Result<AnyTensor, Unsupported> {
    let all: Vec<f64> = numbers(a)?.iter().zip(numbers(b)?).map(|(x, y)| f(*x, y)).collect();
    tensor(a.dtype(), &all)
}

fn numbers(tensor: &AnyTensor) -> Result<Vec<f64>, Unsupported> {
    let wrong = |error| Unsupported(format!("{error}"));
    match tensor.dtype() {
        bb::Dtype::F64 => tensor.to_vec::<f64>().map_err(wrong),
        _ => Ok(tensor.to_vec::<f32>().map_err(wrong)?.into_iter().map(f64::from).collect()),
    }
}

fn tensor(dtype: bb::Dtype, all: &[f64]) -> Result<AnyTensor, Unsupported> {
    let made = match dtype {
        bb::Dtype::F64 => AnyTensor::from_slice(&[all.len()], all),
        #[expect(clippy::cast_possible_truncation, reason = "the tensor holds 32-bit floats")]
        _ => AnyTensor::from_vec(&[all.len()], all.iter().map(|x| *x as f32).collect()),
    };
    made.map_err(|error| Unsupported(format!("{error}")))
}

/// An exact index: it keeps vectors, and its backend computes distances.
#[derive(Default)]
struct Exact<B> {
    backend: B,
    vectors: BTreeMap<u64, AnyTensor>,
}

impl<B: Backend<Tensor = AnyTensor>> Index for Exact<B> {
    type Vector = AnyTensor;
    type Error = B::Error;

    fn add(&mut self, id: u64, vector: &AnyTensor) -> Result<(), B::Error> {
        self.vectors.insert(id, vector.clone());
        Ok(())
    }

    fn search(&self, query: &AnyTensor, k: usize) -> Result<Vec<(u64, f32)>, B::Error> {
        let mut found = Vec::new();
        for (id, vector) in &self.vectors {
            let difference = self.backend.sub(query, vector)?;
            let squares = self.backend.mul(&difference, &difference)?;
            let distance = self.backend.reduce_sum(&squares, None, false)?;
            let distance = numbers(&distance).ok().and_then(|all| all.first().copied()).unwrap_or(f64::NAN);
            #[expect(clippy::cast_possible_truncation, reason = "distances are 32-bit floats by contract")]
            found.push((*id, distance.sqrt() as f32));
        }
        found.sort_by(|a, b| a.1.total_cmp(&b.1));
        found.truncate(k);
        Ok(found)
    }

    fn remove(&mut self, id: u64) -> Result<bool, B::Error> {
        Ok(self.vectors.remove(&id).is_some())
    }

    fn train(&mut self, _: &[&AnyTensor]) -> Result<(), B::Error> {
        Ok(())
    }
}

/// Finds what is near to a query that is scaled first.
struct Nearest {
    query: &'static str,
}

impl Module for Nearest {
    fn name(&self) -> &str {
        "nearest"
    }

    fn body(&self, g: &mut Graph) {
        let query = g.input("query").of(self.query);
        let scale = g.input("scale");
        let compute = g.backend("compute");
        let (ids, distances) = g.index("near").search(&compute.mul(&query, &scale), 2);
        g.output("ids", &ids);
        g.output("distances", &distances);
    }
}

pub(crate) fn walk() -> Result<Vec<String>, Box<dyn Error>> {
    let compiler = Compiler::new()
        .bind_backend::<ByExecution<Small>>("compute")
        .bind_index::<Exact<ByExecution<Small>>>("near");
    let mut lines = Vec::new();
    for query in ["float[8]", "double[8]"] {
        let artifact = compiler.compile(Nearest { query })?;
        let of = |value| artifact.type_of(value).unwrap_or("?");
        lines.push(format!(
            "query {query}: scale {}, ids {}, distances {}",
            of("scale"),
            of("ids"),
            of("distances")
        ));
    }
    let mut index: Exact<ByExecution<Small>> = Exact::default();
    for (id, at) in [(1, [0.0f32, 0.0]), (2, [3.0, 4.0]), (3, [1.0, 0.0])] {
        index.add(id, &AnyTensor::from_slice(&[2], &at)?)?;
    }
    let found = index.search(&AnyTensor::from_slice(&[2], &[0.0f32, 0.0])?, 2)?;
    lines.push(format!("nearest to the origin: {found:?}"));
    Ok(lines)
}

#[expect(clippy::print_stdout, reason = "an example shows what it does")]
pub(crate) fn main() -> Result<(), Box<dyn Error>> {
    for line in walk()? {
        println!("{line}");
    }
    Ok(())
}
