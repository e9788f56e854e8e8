//! Attention with states and caches, in forms that ONNX Runtime does not run: compared with equal calls in
//! other forms.

use typeloom_cpu::attributes::{Attribute, Attributes};
use typeloom_cpu::call::Call;
use typeloom_cpu::error::KernelError;
use typeloom_cpu::ops;
use typeloom_cpu::ops::generate::Random;
use typeloom_tensor::any_tensor::AnyTensor;

type Inputs = Vec<Option<AnyTensor>>;

fn run(name: &str, numbers: &[(&str, i64)], inputs: Inputs) -> Result<Vec<Vec<f32>>, KernelError> {
    let with = |all: Attributes, (name, number): &(&str, i64)| all.with(name, Attribute::Int(*number));
    let attributes = numbers.iter().fold(Attributes::default(), with);
    let inputs = inputs.into_iter().map(|input| input.map(Into::into)).collect();
    let call = Call { version: 1, attributes: &attributes, inputs, outputs: 3 };
    let results = ops::find("com.microsoft", name).expect("the operator is known").run(call)?;
    let list = |datum: &typeloom_tensor::datum::Datum| {
        datum.as_tensor().expect("a tensor").to_vec().expect("floats")
    };
    Ok(results.iter().map(list).collect())
}

fn random(random: &mut Random, shape: &[usize]) -> AnyTensor {
    let count = shape.iter().product();
    let number = |_| (random.bits() % 2001) as f32 / 1000.0 - 1.0;
    AnyTensor::from_vec(shape, (0..count).map(number).collect()).expect("as many elements as the shape has")
}

fn ints(shape: &[usize], list: &[i32]) -> AnyTensor {
    AnyTensor::from_slice(shape, list).expect("as many elements as the shape has")
}

/// Elements `[from..to]` of the axis of a tensor of floats.
fn part(x: &AnyTensor, axis: usize, from: usize, to: usize) -> AnyTensor {
    let inner: usize = x.shape()[axis + 1..].iter().product();
    let row = x.shape()[axis] * inner;
    let list = x.as_slice::<f32>().expect("floats");
    let kept = list.chunks_exact(row).flat_map(|row| &row[from * inner..to * inner]);
    let mut shape = x.shape().to_vec();
    shape[axis] = to - from;
    AnyTensor::from_vec(&shape, kept.copied().collect()).expect("as many elements as the shape has")
}

fn assert_close(left: &[f32], right: &[f32]) {
    assert_eq!(left.len(), right.len());
    for (left, right) in left.iter().zip(right) {
        assert!((left - right).abs() < 1e-5, "{left} and {right}");
    }
}

#[test]
fn a_window_of_states_has_those_after_the_last_tokens() {
    let dice = &mut Random::new(Some(3.0));
    let (q, k, v) = (random(dice, &[1, 3, 8]), random(dice, &[1, 3, 8]), random(dice, &[1, 3, 4]));
    let (decay, beta) = (random(dice, &[1, 3, 2]), random(dice, &[1, 3, 1]));
    let past = random(dice, &[5, 1, 2, 4, 2]);
    let numbers = |window: i64| [("q_num_heads", 2), ("kv_num_heads", 2), ("state_window", window)];
    let first = |tokens: usize, window: i64, past: &AnyTensor| {
        let tokens = |x: &AnyTensor| Some(part(x, 1, 0, tokens));
        let inputs =
            vec![tokens(&q), tokens(&k), tokens(&v), Some(past.clone()), tokens(&decay), tokens(&beta)];
        run("LinearAttention", &numbers(window), inputs).expect("the call is right")
    };
    let last = part(&past, 0, 4, 5).reshape(&[1, 2, 4, 2]).expect("one state");
    let expected: Vec<f32> = (1..=3).flat_map(|tokens| first(tokens, 0, &last).remove(1)).collect();
    let two = part(&past, 0, 3, 5);
    assert_eq!(first(3, 2, &two)[1], expected[16..]);
    let all = first(3, 5, &past);
    assert_eq!(all[1][..32], past.as_slice::<f32>().expect("floats")[48..]);
    assert_eq!(all[1][32..], expected);
    assert_eq!(all[0], first(3, 0, &last)[0]);
    let wrong = vec![Some(q), Some(k), Some(v), Some(past), Some(decay), Some(beta)];
    let error = run("LinearAttention", &numbers(4), wrong).expect_err("the window is another one");
    assert!(error.to_string().contains("the state has the shape [5, 1, 2, 4, 2]"), "{error}");
}

#[test]
fn a_growing_cache_and_packed_inputs_give_the_results_of_a_buffer() {
    const NAME: &str = "DecoderMaskedMultiHeadAttention";
    let dice = &mut Random::new(Some(4.0));
    let packed = random(dice, &[2, 1, 24]);
    let [q, k, v] = [0, 8, 16].map(|from| Some(part(&packed, 2, from, from + 8)));
    let (keys, values) = (random(dice, &[2, 2, 5, 4]), random(dice, &[2, 2, 5, 4]));
    let bias = Some(random(dice, &[24]));
    let length = Some(ints(&[1], &[3]));
    let buffer = [("num_heads", 2), ("past_present_share_buffer", 1)];
    let (pk, pv) = (Some(keys.clone()), Some(values.clone()));
    let given =
        vec![q.clone(), k.clone(), v.clone(), None, None, pk, pv, length.clone(), None, None, bias.clone()];
    let expected = run(NAME, &buffer, given.clone()).expect("the call is right");
    let mut other = given.clone();
    (other[0], other[1], other[2]) = (Some(packed), None, None);
    assert_eq!(run(NAME, &buffer, other), Ok(expected.clone()));
    let [pk, pv] = [&keys, &values].map(|past| Some(part(past, 2, 0, 3)));
    let growing = vec![q, k, v, None, None, pk, pv, None, None, None, bias];
    let grown = run(NAME, &[("num_heads", 2)], growing).expect("the call is right");
    assert_close(&grown[0], &expected[0]);
    for (grown, whole) in grown[1..].iter().zip(&expected[1..]) {
        let whole = AnyTensor::from_slice(&[2, 2, 5, 4], whole).expect("the shape of the buffer");
        assert_eq!(grown[..], *part(&whole, 2, 0, 4).as_slice::<f32>().expect("floats"));
    }
    // A token beyond the buffer, and a beam that does not exist.
    let mut wrong = given.clone();
    wrong[7] = Some(ints(&[1], &[5]));
    let error = run(NAME, &buffer, wrong).expect_err("the buffer is full");
    assert!(error.to_string().contains("5 tokens in a buffer of 5"), "{error}");
    let mut wrong = given;
    (wrong[8], wrong[9]) = (Some(ints(&[1], &[2])), Some(ints(&[1, 2, 5], &[0, 1, 2, 0, 0, 0, 0, 0, 0, 0])));
    let error = run(NAME, &buffer, wrong).expect_err("there are two beams");
    assert!(error.to_string().contains("a beam not below 2"), "{error}");
}

#[test]
fn a_batch_with_fewer_tokens_has_the_results_of_its_own_call() {
    const NAME: &str = "SparseAttention";
    let dice = &mut Random::new(Some(5.0));
    let [q, k, v] = [16, 8, 8].map(|width| random(dice, &[2, 1, width]));
    let (keys, values) = (random(dice, &[2, 1, 8, 8]), random(dice, &[2, 1, 8, 8]));
    let numbers = [("num_heads", 2), ("kv_num_heads", 1), ("sparse_block_size", 2)];
    // The heads have different layouts: the last two blocks, and the first and the last one.
    let rows = ints(&[2, 5], &[0, 1, 3, 5, 7, 0, 1, 3, 5, 7]);
    let columns = ints(&[2, 7], &[0, 0, 1, 1, 2, 2, 3, 0, 0, 1, 0, 2, 0, 3]);
    let call = |rows: &AnyTensor, batches: std::ops::Range<usize>, total: i32, lengths: &[i32]| {
        let own = |x: &AnyTensor| Some(part(x, 0, batches.start, batches.end));
        let (total, lengths) = (Some(ints(&[1], &[total])), Some(ints(&[lengths.len()], lengths)));
        let indices = (Some(rows.clone()), Some(columns.clone()));
        let inputs =
            vec![own(&q), own(&k), own(&v), own(&keys), own(&values), indices.0, indices.1, total, lengths];
        run(NAME, &numbers, inputs)
    };
    let both = call(&rows, 0..2, 7, &[7, 4]).expect("the call is right");
    let (first, second) =
        (call(&rows, 0..1, 7, &[7]).expect("one batch"), call(&rows, 1..2, 4, &[4]).expect("one batch"));
    for (both, (first, second)) in both.iter().zip(first.iter().zip(&second)) {
        assert_close(both, &[&first[..], &second[..]].concat());
    }
    // Positions after the new token keep their elements.
    assert_eq!(second[1][4 * 8..], keys.as_slice::<f32>().expect("floats")[(8 + 4) * 8..]);
    let error = call(&rows, 0..2, 9, &[9, 4]).expect_err("the cache has eight positions");
    assert!(error.to_string().contains("9 tokens of at most 8"), "{error}");
    let few = call(&ints(&[2, 2], &[0, 1, 0, 1]), 0..2, 7, &[7, 4]).expect_err("the layouts have one block");
    assert!(few.to_string().contains("7 tokens for layouts of 2"), "{few}");
    let wrong = call(&ints(&[2, 2], &[0, 1, 0, 8]), 0..2, 2, &[2, 2]).expect_err("there are seven columns");
    assert!(wrong.to_string().contains("the row indices [0, 8] do not ascend to 7"), "{wrong}");
}
