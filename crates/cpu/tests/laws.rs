//! Kernels compared with slow index-by-index definitions. Shapes, permutations and elements are drawn with
//! fixed seeds. Elements are small integers, so every element type represents the results exactly.

use typeloom_cpu::attributes::{Attribute, Attributes};
use typeloom_cpu::call::Call;
use typeloom_cpu::ops;
use typeloom_cpu::ops::generate::Random;
use typeloom_tensor::any_tensor::AnyTensor;
use typeloom_testing::number;
use typeloom_types::dtype::Dtype;

/// The number of random calls of a test.
fn rounds() -> u64 {
    number(50, 300)
}

const NUMBERS: &[Dtype] = &[
    Dtype::F32,
    Dtype::F64,
    Dtype::F16,
    Dtype::BF16,
    Dtype::I8,
    Dtype::I16,
    Dtype::I32,
    Dtype::I64,
    Dtype::U8,
    Dtype::U16,
    Dtype::U32,
    Dtype::U64,
];

/// A function of two elements.
type Binary = fn(i64, i64) -> i64;

/// A tensor of integers that is read by index.
#[derive(Clone, Debug, PartialEq)]
struct Plain {
    shape: Vec<usize>,
    elements: Vec<i64>,
}

impl Plain {
    fn of(shape: &[usize], at: impl Fn(&[usize]) -> i64) -> Self {
        let elements = indices(shape).iter().map(|index| at(index)).collect();
        Self { shape: shape.to_vec(), elements }
    }

    fn random(shape: &[usize], random: &mut Random) -> Self {
        let elements = (0..shape.iter().product()).map(|_| (random.bits() % 5) as i64).collect();
        Self { shape: shape.to_vec(), elements }
    }

    /// Element at an index of a shape that this one broadcasts to.
    fn at(&self, index: &[usize]) -> i64 {
        let own = &index[index.len() - self.shape.len()..];
        let flat = own
            .iter()
            .zip(&self.shape)
            .fold(0, |sum, (at, extent)| sum * extent + if *extent == 1 { 0 } else { *at });
        self.elements[flat]
    }

    fn tensor(&self, dtype: Dtype) -> AnyTensor {
        let wide = AnyTensor::from_slice(&self.shape, &self.elements)
            .expect("as many elements as the shape requires");
        run("Cast", Attributes::default().with("to", Attribute::Int(i64::from(dtype.onnx_number()))), &[wide])
    }
}

/// All indices of a shape, in row-major order.
fn indices(shape: &[usize]) -> Vec<Vec<usize>> {
    shape.iter().fold(vec![Vec::new()], |before, extent| {
        before.iter().flat_map(|index| (0..*extent).map(move |at| [&index[..], &[at]].concat())).collect()
    })
}

fn run(op: &str, attributes: Attributes, inputs: &[AnyTensor]) -> AnyTensor {
    let inputs = inputs.iter().map(|input| Some(input.clone().into())).collect();
    let call = Call { version: 21, attributes: &attributes, inputs, outputs: 1 };
    let results = ops::find("", op).expect("the operator is known").run(call).expect("the call is right");
    results[0].as_tensor().expect("the result is a tensor").clone()
}

fn below(random: &mut Random, limit: usize) -> usize {
    usize::try_from(random.bits() % limit as u64).expect("the limit is small")
}

fn shape(random: &mut Random) -> Vec<usize> {
    (0..below(random, 5)).map(|_| below(random, 4)).collect()
}

/// A shape that broadcasts to another.
fn smaller(shape: &[usize], random: &mut Random) -> Vec<usize> {
    let from = below(random, shape.len() + 1);
    shape[from..].iter().map(|extent| if random.bits().is_multiple_of(3) { 1 } else { *extent }).collect()
}

fn order(rank: usize, random: &mut Random) -> Vec<usize> {
    let mut order: Vec<usize> = (0..rank).collect();
    (1..rank).rev().for_each(|at| order.swap(at, below(random, at + 1)));
    order
}

#[test]
fn arithmetic_broadcasts_as_the_definition_does_for_every_type() {
    let mut random = Random::new(Some(1.0));
    for _ in 0..rounds() {
        let full = shape(&mut random);
        let a = Plain::random(&full, &mut random);
        let b = Plain::random(&smaller(&full, &mut random), &mut random);
        let dtype = NUMBERS[below(&mut random, NUMBERS.len())];
        let operators: [(&str, Binary); 4] =
            [("Add", |a, b| a + b), ("Mul", |a, b| a * b), ("Max", i64::max), ("Min", i64::min)];
        for (op, each) in operators {
            let expected = Plain::of(&full, |index| each(a.at(index), b.at(index))).tensor(dtype);
            let (left, right) = (a.tensor(dtype), b.tensor(dtype));
            assert_eq!(
                run(op, Attributes::default(), &[left.clone(), right.clone()]),
                expected,
                "{op} {dtype}"
            );
            assert_eq!(run(op, Attributes::default(), &[right, left]), expected, "{op} {dtype}, exchanged");
        }
        let less = Plain::of(&full, |index| i64::from(a.at(index) < b.at(index))).tensor(Dtype::Bool);
        assert_eq!(run("Less", Attributes::default(), &[a.tensor(dtype), b.tensor(dtype)]), less);
    }
}

#[test]
fn axes_are_moved_and_reduced_as_the_definition_does() {
    let mut random = Random::new(Some(2.0));
    for _ in 0..rounds() {
        let x = Plain::random(&shape(&mut random), &mut random);
        let dtype = NUMBERS[below(&mut random, NUMBERS.len())];
        let order = order(x.shape.len(), &mut random);
        let moved: Vec<usize> = order.iter().map(|axis| x.shape[*axis]).collect();
        let expected = Plain::of(&moved, |index| {
            let mut source = vec![0; index.len()];
            order.iter().zip(index).for_each(|(axis, at)| source[*axis] = *at);
            x.at(&source)
        });
        let perm: Vec<i64> = order.iter().map(|axis| *axis as i64).collect();
        let attributes = Attributes::default().with("perm", Attribute::Ints(perm.clone()));
        assert_eq!(run("Transpose", attributes, &[x.tensor(dtype)]), expected.tensor(dtype));

        let axes = &order[..below(&mut random, order.len() + 1)];
        if axes.is_empty() {
            continue;
        }
        let kept: Vec<usize> = x
            .shape
            .iter()
            .enumerate()
            .map(|(axis, extent)| if axes.contains(&axis) { 1 } else { *extent })
            .collect();
        let sums = Plain::of(&kept, |index| {
            let all = indices(&x.shape);
            let inside = all
                .iter()
                .filter(|from| (0..from.len()).all(|axis| axes.contains(&axis) || from[axis] == index[axis]));
            inside.map(|from| x.at(from)).sum()
        });
        let list = AnyTensor::from(&perm[..axes.len()]);
        assert_eq!(
            run("ReduceSum", Attributes::default(), &[x.tensor(dtype), list]),
            sums.tensor(dtype),
            "{dtype}"
        );
    }
}

#[test]
fn matrices_are_multiplied_as_the_definition_does() {
    let mut random = Random::new(Some(3.0));
    for _ in 0..rounds() {
        let outer = shape(&mut random);
        let [m, k, n] = [0; 3].map(|_| below(&mut random, 5));
        let a = Plain::random(&[&outer[..], &[m, k]].concat(), &mut random);
        let b = Plain::random(&[&smaller(&outer, &mut random)[..], &[k, n]].concat(), &mut random);
        let dtype = [Dtype::F32, Dtype::F64, Dtype::I32, Dtype::U64][below(&mut random, 4)];
        let expected = Plain::of(&[&outer[..], &[m, n]].concat(), |index| {
            let (outer, last) = index.split_at(index.len() - 2);
            let term = |inner| {
                a.at(&[outer, &[last[0], inner]].concat()) * b.at(&[outer, &[inner, last[1]]].concat())
            };
            (0..k).map(term).sum()
        });
        let found = run("MatMul", Attributes::default(), &[a.tensor(dtype), b.tensor(dtype)]);
        assert_eq!(found, expected.tensor(dtype), "{:?} {:?} {dtype}", a.shape, b.shape);
    }
}

#[test]
fn slices_follow_the_definition_forwards_and_backwards() {
    let mut random = Random::new(Some(4.0));
    for _ in 0..rounds() {
        let x = Plain::random(&[below(&mut random, 6), below(&mut random, 4)], &mut random);
        let extent = x.shape[0] as i64;
        let bound = |random: &mut Random| below(random, 17) as i64 - 8;
        let (start, end) = (bound(&mut random), bound(&mut random));
        let step = [-3, -2, -1, 1, 2, 3][below(&mut random, 6)];
        let absolute = |at: i64| if at < 0 { at + extent } else { at };
        let mut rows = Vec::new();
        let mut at =
            if step > 0 { absolute(start).clamp(0, extent) } else { absolute(start).min(extent - 1).max(0) };
        let end_at =
            if step > 0 { absolute(end).clamp(0, extent) } else { absolute(end).clamp(-1, extent - 1) };
        while extent > 0 && ((step > 0 && at < end_at) || (step < 0 && at > end_at)) {
            rows.push(usize::try_from(at).expect("a row inside"));
            at += step;
        }
        let expected = Plain::of(&[rows.len(), x.shape[1]], |index| x.at(&[rows[index[0]], index[1]]));
        for dtype in [Dtype::I64, Dtype::Bool, Dtype::Uint4, Dtype::String, Dtype::F16] {
            let bounds = [start, end, 0, step].map(|value| AnyTensor::from([value]));
            let inputs = [&[x.tensor(dtype)], &bounds[..]].concat();
            assert_eq!(
                run("Slice", Attributes::default(), &inputs),
                expected.tensor(dtype),
                "{start} {end} {step}"
            );
        }
    }
}
