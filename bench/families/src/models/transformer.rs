//! Decoder layers as exporters write them, without weights.
//!
//! Lengths are symbols and every reshape reads its target from `Shape`, so typing a layer needs the values of
//! small integer tensors. Weights are declared inputs: the graph is that of a real model, the file is small.

use std::io::{self, Write};

use super::write_model;
use crate::model::{
    Attribute::{Int, Ints},
    Element::{Float, Int64},
    Graph,
};

const WIDTH: &str = "64";
const INNER: &str = "128";
const VOCAB: &str = "256";
const HEADS: &str = "4";
const HEAD: &str = "16";

/// A decoder of `layers` layers over token ids and a cache.
pub(super) fn decoder(layers: u64, out: &mut dyn Write) -> io::Result<u64> {
    let mut graph = Graph::new("decoder");
    graph.input("tokens", Int64, &["batch", "seq"]);
    graph.input("embed", Float, &[VOCAB, WIDTH]);
    graph.ints("zero", &[], &[0]);
    graph.ints("one", &[], &[1]);
    graph.ints("first", &[1], &[0]);
    graph.ints("heads", &[1], &[4]);
    graph.ints("head", &[1], &[16]);
    graph.ints("width", &[1], &[64]);
    graph.ints("last", &[1], &[-1]);
    graph.floats("two", &[]);
    graph.floats("epsilon", &[]);
    graph.floats("scale", &[]);
    graph.node("Gather", &["embed", "tokens"], "h0", &[]);
    for layer in 0..layers {
        Layer { graph: &mut graph, prefix: format!("layer{layer}.") }
            .write(&format!("h{layer}"), &format!("h{}", layer + 1));
    }
    graph.input("unembed", Float, &[WIDTH, VOCAB]);
    graph.node("MatMul", &[&format!("h{layers}"), "unembed"], "logits", &[]);
    graph.output("logits", Float, &["batch", "seq", VOCAB]);
    write_model(out, &[], &graph)
}

/// A layer under construction. Its names have a prefix; names of the whole graph are marked with `$`.
struct Layer<'a> {
    graph: &'a mut Graph,
    prefix: String,
}

impl Layer<'_> {
    fn write(mut self, from: &str, to: &str) {
        let (from, to) = (format!("${from}"), format!("${to}"));
        self.norm(&from, "norm1");
        for part in ["query", "key", "value"] {
            self.weight(part, WIDTH, WIDTH);
            self.heads(part);
        }
        for part in ["key", "value"] {
            let past = self.name(&format!("past_{part}"));
            self.graph.input(&past, Float, &["batch", HEADS, "past", HEAD]);
            self.node_with(
                "Concat",
                &[&format!("past_{part}"), &format!("{part}.heads")],
                part,
                &[Int("axis", 2)],
            );
            let present = self.name(part);
            self.graph.output(&present, Float, &["batch", HEADS, "past + seq", HEAD]);
        }
        self.node_with("Transpose", &["key"], "key.t", &[Ints("perm", &[0, 1, 3, 2])]);
        self.node("MatMul", &["query.heads", "key.t"], "scores");
        self.node("Mul", &["scores", "$scale"], "scaled");
        self.node_with("Softmax", &["scaled"], "weights", &[Int("axis", -1)]);
        self.node("MatMul", &["weights", "value"], "mixed");
        self.node_with("Transpose", &["mixed"], "mixed.t", &[Ints("perm", &[0, 2, 1, 3])]);
        self.lengths("merge");
        self.node_with("Concat", &["merge.batch", "merge.seq", "$width"], "merge.shape", &[Int("axis", 0)]);
        self.node("Reshape", &["mixed.t", "merge.shape"], "merged");
        self.weight("out", WIDTH, WIDTH);
        self.node("MatMul", &["merged", "out.weight"], "attended");
        self.node("Add", &[&from, "attended"], "middle");
        self.norm("middle", "norm2");
        self.weight("gate", WIDTH, INNER);
        self.weight("up", WIDTH, INNER);
        self.weight("down", INNER, WIDTH);
        self.node("MatMul", &["norm2", "gate.weight"], "gate");
        self.node("Sigmoid", &["gate"], "gate.open");
        self.node("Mul", &["gate", "gate.open"], "gate.silu");
        self.node("MatMul", &["norm2", "up.weight"], "up");
        self.node("Mul", &["gate.silu", "up"], "inner");
        self.node("MatMul", &["inner", "down.weight"], "down");
        self.node("Add", &["middle", "down"], &to);
    }

    /// Root-mean-square normalisation.
    fn norm(&mut self, from: &str, to: &str) {
        let name = |part: &str| format!("{to}.{part}");
        self.node("Pow", &[from, "$two"], &name("square"));
        self.node("ReduceMean", &[&name("square"), "$last"], &name("mean"));
        self.node("Add", &[&name("mean"), "$epsilon"], &name("positive"));
        self.node("Sqrt", &[&name("positive")], &name("root"));
        self.node("Div", &[from, &name("root")], &name("unit"));
        let weight = self.name(&name("weight"));
        self.graph.input(&weight, Float, &[WIDTH]);
        self.node("Mul", &[&name("unit"), &name("weight")], to);
    }

    /// A projection of the normalised value, split into heads.
    fn heads(&mut self, part: &str) {
        let name = |suffix: &str| format!("{part}.{suffix}");
        self.node("MatMul", &["norm1", &name("weight")], &name("flat"));
        self.lengths(part);
        let parts = [&name("batch"), &name("seq"), "$heads", "$head"];
        self.node_with("Concat", &parts, &name("shape"), &[Int("axis", 0)]);
        self.node("Reshape", &[&name("flat"), &name("shape")], &name("split"));
        self.node_with("Transpose", &[&name("split")], &name("heads"), &[Ints("perm", &[0, 2, 1, 3])]);
    }

    /// The batch and the length of the normalised value, each as a tensor of one element.
    fn lengths(&mut self, part: &str) {
        let name = |suffix: &str| format!("{part}.{suffix}");
        self.node("Shape", &["norm1"], &name("all"));
        for (axis, dim) in [("$zero", "batch"), ("$one", "seq")] {
            let scalar = format!("{part}.{dim}.scalar");
            self.node("Gather", &[&name("all"), axis], &scalar);
            self.node("Unsqueeze", &[&scalar, "$first"], &name(dim));
        }
    }

    fn weight(&mut self, part: &str, rows: &str, columns: &str) {
        let name = self.name(&format!("{part}.weight"));
        self.graph.input(&name, Float, &[rows, columns]);
    }

    fn node(&mut self, op: &str, inputs: &[&str], output: &str) {
        self.node_with(op, inputs, output, &[]);
    }

    fn node_with(&mut self, op: &str, inputs: &[&str], output: &str, attributes: &[crate::model::Attribute]) {
        let inputs: Vec<String> = inputs.iter().map(|input| self.name(input)).collect();
        let inputs: Vec<&str> = inputs.iter().map(String::as_str).collect();
        self.graph.node(op, &inputs, &self.name(output), attributes);
    }

    fn name(&self, name: &str) -> String {
        name.strip_prefix('$').map_or_else(|| format!("{}{name}", self.prefix), str::to_owned)
    }
}
