//! An index that computes on any backend, through `AnyTensor`: `cargo run --example index_over_backend`.
//!
//! `AnyTensor` has the abstract type `tensor`, so a component that stores it is not bound to an element type.
//! The types of the module determine it, and one index serves all element types.

use std::collections::BTreeMap;
use std::error::Error;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use typeloom as bb;
use typeloom::module::{Backend, Compiler, Graph, Index, Module, OperatorMethods};
use typeloom::run::{Components, Cpu, Executor, Verify, inputs};
use typeloom::types::AnyTensor;

/// The embedded backend with a counter of its calls.
#[derive(Clone, Default)]
struct Counted(Arc<AtomicUsize>);

impl Backend for Counted {
    type Tensor = AnyTensor;
    type Error = <Cpu as Backend>::Error;

    fn execute(
        &self,
        graph: &bb::GraphProto,
        inputs: Vec<AnyTensor>,
        attributes: &[bb::AttributeProto],
    ) -> Result<Vec<AnyTensor>, Self::Error> {
        self.0.fetch_add(1, Ordering::Relaxed);
        Cpu.execute(graph, inputs, attributes)
    }
}

/// An exact index: it stores vectors, and its backend computes distances.
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
            let distance = self.backend.sqrt(&self.backend.reduce_sum(&squares, None, false)?)?;
            // The contract of an index returns distances as 32-bit floats.
            let distance = self.backend.cast(&distance, bb::Dtype::F32)?;
            let distance = distance.as_slice::<f32>().ok().and_then(|all| all.first().copied());
            found.push((*id, distance.unwrap_or(f32::NAN)));
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

/// Scales a query and finds the nearest vectors.
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
    let compiler = Compiler::new().bind_backend::<Counted>("compute").bind_index::<Exact<Counted>>("near");
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

    // The same module at run time: an index with three vectors, and backends that count calls.
    let (own, of_index) = (Counted::default(), Counted::default());
    let mut index = Exact { backend: of_index.clone(), vectors: BTreeMap::new() };
    for (id, at) in [(1, [0.0f32, 0.0]), (2, [3.0, 4.0]), (3, [1.0, 0.0])] {
        index.add(id, &AnyTensor::from(at))?;
    }
    let components = Components::new().backend("compute", own.clone()).index("near", index);
    let artifact = components.compiler().compile(Nearest { query: "float[2]" })?;
    let executor = Executor::new(&artifact, &components)?;
    let inputs = inputs! { "query" => [0.5, 0.0], "scale" => [0.0] };
    for (name, value) in executor.run(inputs, Verify::EveryValue)?.outputs {
        lines.push(format!("{name}: {:?}", value.as_tensor().ok_or("a tensor")?));
    }
    let count = |of: &Counted| of.0.load(Ordering::Relaxed);
    lines.push(format!("the slot's backend ran {} graph, the index's {}", count(&own), count(&of_index)));
    Ok(lines)
}

#[expect(clippy::print_stdout, reason = "an example prints its results")]
pub(crate) fn main() -> Result<(), Box<dyn Error>> {
    for line in walk()? {
        println!("{line}");
    }
    Ok(())
}
