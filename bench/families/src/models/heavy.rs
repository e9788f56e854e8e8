//! Models with weights in the file, which measure the cost of reading weights.

use std::io::{self, Write};

use crate::model::{Element::Float, Graph, envelope, open_graph, open_tensor};

const WIDTH: usize = 1_000;
const INNER: usize = 5_000;
const TENSOR: usize = WIDTH * INNER * size_of::<f32>();

/// A chain of matrix products over `bytes` of inline weights, written without keeping them in memory.
pub(super) fn products(bytes: u64, out: &mut dyn Write) -> io::Result<u64> {
    let mut graph = Graph::new("products");
    graph.input("v0", Float, &["batch", &WIDTH.to_string()]);
    let mut heads = Vec::new();
    for i in 0..bytes / TENSOR as u64 {
        let dims = if i % 2 == 0 { [WIDTH as i64, INNER as i64] } else { [INNER as i64, WIDTH as i64] };
        let weight = format!("weight{i}");
        graph.node("MatMul", &[&format!("v{i}"), &weight], &format!("v{}", i + 1), &[]);
        heads.push(open_tensor(&weight, Float, &dims, TENSOR));
    }
    let width = if heads.len() % 2 == 0 { WIDTH } else { INNER };
    graph.output(&format!("v{}", heads.len()), Float, &["batch", &width.to_string()]);

    let body = graph.encoded().as_bytes();
    let length = body.len() + heads.iter().map(|head| head.as_bytes().len() + TENSOR).sum::<usize>();
    out.write_all(envelope(&[]).as_bytes())?;
    out.write_all(open_graph(length).as_bytes())?;
    out.write_all(body)?;
    let payload = noise(TENSOR);
    for head in &heads {
        out.write_all(head.as_bytes())?;
        out.write_all(&payload)?;
    }
    Ok(graph.nodes())
}

/// Small floats that do not compress: a multiplicative congruential generator in the mantissa.
fn noise(length: usize) -> Vec<u8> {
    let mut state = 1u32;
    let mut next = || {
        state = state.wrapping_mul(747_796_405).wrapping_add(2_891_336_453);
        (0x3c00_0000 | state >> 9).to_le_bytes()
    };
    (0..length / 4).flat_map(|_| next()).collect()
}
