//! Resampling of one axis after the other.
//!
//! An output element is a weighted sum of a few elements of its axis. The indices and weights of an axis are
//! computed once, and all elements have the same number of them: a weight is halved to fill up, which keeps
//! sums exact. Planes of the resampled axes are computed one by one, so that intermediate results stay in the
//! cache. Axes that shrink come first, because they leave less work for the others.

use typeloom_tensor::any_tensor::AnyTensor;

use crate::element::{Number, Real, build_over, vectorised};
use crate::error::KernelErrorKind;
use crate::fast::threads;
use crate::shape::count;
use crate::work;

/// Minimum number of operations for which splitting across threads pays.
const MIN_PARALLEL: usize = 1 << 17;

/// Elements shorter than this are resampled as elements of a longer axis.
const MIN_BLOCK: usize = 16;

/// Indices and weights of the elements of one axis.
pub(super) struct Taps {
    /// The axis.
    pub(super) axis: usize,
    /// Elements and weights of each output index; at least one.
    pub(super) lists: Vec<Vec<(usize, f64)>>,
}

/// A pass over one axis.
struct Pass<T> {
    outer: usize,
    extent: usize,
    inner: usize,
    output: usize,
    /// Number of weighted elements per output element.
    taps: usize,
    /// For each tap, the index of every output element.
    indices: Vec<usize>,
    weights: Vec<T>,
}

impl<T: Real> Pass<T> {
    /// A pass over an axis of a plane with these extents.
    fn new(taps: &Taps, shape: &[usize], axis: usize) -> Self {
        let mut outer = count(&shape[..axis]);
        let (extent, mut inner) = (shape[axis], count(&shape[axis + 1..]));
        let number = taps.lists.iter().map(Vec::len).max().unwrap_or(1);
        let filled: Vec<Vec<(usize, f64)>> = taps.lists.iter().map(|list| filled(list, number)).collect();
        let (mut indices, mut weights) = (Vec::new(), Vec::new());
        // Short blocks: one row of an axis `inner` times as long.
        let fold = if inner < MIN_BLOCK { inner } else { 1 };
        for tap in 0..number {
            for list in &filled {
                let (index, weight) = list[tap];
                for lane in 0..fold {
                    indices.push(index * fold + lane);
                    weights.push(T::of(weight));
                }
            }
        }
        inner /= fold;
        outer = outer.max(1);
        let (extent, output) = (extent * fold, taps.lists.len() * fold);
        Self { outer, extent, inner, output, taps: number, indices, weights }
    }

    fn run(&self, from: &[T], to: &mut [T]) {
        let rows = self.output * self.inner;
        for block in 0..self.outer {
            let from = &from[block * self.extent * self.inner..][..self.extent * self.inner];
            let to = &mut to[block * rows..][..rows];
            if self.inner == 1 { self.gather(from, to) } else { self.blend(from, to) }
        }
    }

    /// Sums elements of a row.
    #[inline(always)]
    fn gather(&self, row: &[T], to: &mut [T]) {
        let n = self.output;
        match self.taps {
            2 => {
                let (i, j) = self.indices.split_at(n);
                let (v, w) = self.weights.split_at(n);
                for (to, ((i, j), (v, w))) in to.iter_mut().zip(i.iter().zip(j).zip(v.iter().zip(w))) {
                    *to = *v * row[*i] + *w * row[*j];
                }
            }
            _ => {
                let taps = self.indices.chunks_exact(n).zip(self.weights.chunks_exact(n));
                for (at, (indices, weights)) in taps.enumerate() {
                    for (to, (index, weight)) in to.iter_mut().zip(indices.iter().zip(weights)) {
                        let value = *weight * row[*index];
                        *to = if at == 0 { value } else { *to + value };
                    }
                }
            }
        }
    }

    /// Sums blocks of adjacent elements.
    #[inline(always)]
    fn blend(&self, from: &[T], to: &mut [T]) {
        for (at, to) in to.chunks_exact_mut(self.inner).enumerate() {
            let block = |tap: usize| &from[self.indices[tap * self.output + at] * self.inner..][..self.inner];
            let weight = |tap: usize| self.weights[tap * self.output + at];
            let mut tap = 0;
            if self.taps >= 2 {
                let (v, w) = (weight(0), weight(1));
                for (to, (a, b)) in to.iter_mut().zip(block(0).iter().zip(block(1))) {
                    *to = v * *a + w * *b;
                }
                tap = 2;
            } else {
                to.fill(T::ZERO);
            }
            while tap < self.taps {
                let w = weight(tap);
                for (to, a) in to.iter_mut().zip(block(tap)) {
                    *to += w * *a;
                }
                tap += 1;
            }
        }
    }
}

/// Adds taps to a list without changing the sum: a tap is split into two with half of the weight.
fn filled(list: &[(usize, f64)], number: usize) -> Vec<(usize, f64)> {
    let mut list = list.to_vec();
    while list.len() < number {
        let Some((index, weight)) = list.pop() else { return vec![(0, 0.0); number] };
        list.extend([(index, weight / 2.0); 2]);
    }
    list
}

/// The passes over the planes of a tensor.
struct Plan<T> {
    passes: Vec<Pass<T>>,
    /// Elements of a plane, before and after.
    plane: usize,
    target: usize,
    work: usize,
}

impl<T: Real> Plan<T> {
    fn new(from: &[usize], mut taps: Vec<Taps>, shape: &[usize]) -> Self {
        let first = taps.iter().map(|taps| taps.axis).min().unwrap_or(0);
        let mut extents = from[first..].to_vec();
        let plane = count(&extents);
        // Growth of an axis, as a fraction; of equal ones, the last axis first if they grow.
        taps.sort_by(|a, b| {
            let growth = |taps: &Taps| (taps.lists.len(), from[taps.axis]);
            let ((to_a, from_a), (to_b, from_b)) = (growth(a), growth(b));
            let order = (to_a * from_b).cmp(&(to_b * from_a));
            order.then(if to_a > from_a { b.axis.cmp(&a.axis) } else { a.axis.cmp(&b.axis) })
        });
        let (mut passes, mut work) = (Vec::with_capacity(taps.len()), 0);
        for taps in &taps {
            let axis = taps.axis - first;
            let pass = Pass::<T>::new(taps, &extents, axis);
            extents[axis] = taps.lists.len();
            work += count(&extents) * pass.taps;
            passes.push(pass);
        }
        Self { passes, plane, target: count(&shape[first..]), work }
    }

    /// Calls a function with the number and the result of each plane.
    fn each<S: Send>(&self, out: &mut [S], each: &(dyn Fn(usize, &mut [S]) + Sync)) {
        if out.is_empty() {
            return;
        }
        let is_parallel = threads::should_split(out.len() / self.target * self.work, 2 * MIN_PARALLEL);
        threads::each_chunk(out, self.target, is_parallel, MIN_PARALLEL / self.work.max(1), each);
    }
}

/// Resamples axes of a tensor of floats.
pub(super) fn resample<T: Real>(
    x: &AnyTensor,
    taps: Vec<Taps>,
    shape: &[usize],
) -> Result<AnyTensor, KernelErrorKind> {
    let data = x.as_slice::<T>()?;
    let plan = Plan::<T>::new(x.shape(), taps, shape);
    work::spend_each(&[count(shape) / plan.target.max(1), plan.work])?;
    build_over::<T>(shape, |out| {
        plan.each(out, &|at, out| run(&plan.passes, &data[at * plan.plane..][..plan.plane], out));
    })
}

/// Resamples axes of a tensor of integers in `f64`, and rounds to nearest, ties to even.
pub(super) fn resample_whole<S: Number>(
    x: &AnyTensor,
    taps: Vec<Taps>,
    shape: &[usize],
) -> Result<AnyTensor, KernelErrorKind> {
    let data = x.as_slice::<S>()?;
    let plan = Plan::<f64>::new(x.shape(), taps, shape);
    work::spend_each(&[count(shape) / plan.target.max(1), plan.work])?;
    build_over::<S>(shape, |out| {
        plan.each(out, &|at, out| {
            let from = &data[at * plan.plane..][..plan.plane];
            let wide: Vec<f64> = from.iter().map(|value| Number::to_f64(*value)).collect();
            let mut result = vec![0.0; out.len()];
            run(&plan.passes, &wide, &mut result);
            for (out, value) in out.iter_mut().zip(result) {
                *out = S::from_f64(value + ROUNDER - ROUNDER);
            }
        });
    })
}

/// Adding and subtracting this number rounds to an integer, ties to even.
const ROUNDER: f64 = 6_755_399_441_055_744.0;

/// Applies the passes to a plane.
#[inline(never)]
fn run<T: Real>(passes: &[Pass<T>], from: &[T], out: &mut [T]) {
    vectorised::<T, _>(
        #[inline(always)]
        || run_all(passes, from, out),
    );
}

#[inline(always)]
fn run_all<T: Real>(passes: &[Pass<T>], from: &[T], out: &mut [T]) {
    let Some((last, before)) = passes.split_last() else {
        out.copy_from_slice(from);
        return;
    };
    let mut current: Option<Vec<T>> = None;
    for pass in before {
        let mut next = vec![T::ZERO; pass.outer * pass.output * pass.inner];
        pass.run(current.as_deref().unwrap_or(from), &mut next);
        current = Some(next);
    }
    last.run(current.as_deref().unwrap_or(from), out);
}
