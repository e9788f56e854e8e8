//! Random programs with bundles, sends, casts and calls, as data.
//!
//! A program is a list of steps. A step names its operands by numbers that are reduced modulo the number of
//! values of its site, so every sublist of steps is a program too, and a failing program is reduced by
//! removing steps.
//!
//! Recording a program also computes the type and the content of every value, without the solver and the
//! runtime.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use typeloom_module::graph::Graph;
use typeloom_module::graph::value::ValueRef;
use typeloom_module::module::Module;
use typeloom_onnx::messages::IntoAttribute;
use typeloom_tensor::any_tensor::AnyTensor;
use typeloom_tensor::datum::{Datum, Scalar};
use typeloom_tensor::peer::PeerId;
use typeloom_testing::Random;
use typeloom_types::dtype::Dtype;

/// The value of the symbol `N` in all runs.
pub(crate) const N: usize = 3;

const NAMES: [&str; 4] = ["a", "b", "long name", "\u{e9}"];

/// The classes of peers that a program can have.
pub(crate) const CLASSES: [&str; 2] = ["first", "second"];

/// The known shape of a tensor.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Shape {
    Symbol,
    Two,
    /// The result of a component.
    Unknown,
}

/// The type of a value, independently of the solver.
#[derive(Clone, PartialEq, Debug)]
pub(crate) enum Ty {
    Tensor(Dtype, Shape),
    Scalar,
    Peer,
    /// The peers of a class.
    Peers(usize),
    Composite(BTreeMap<&'static str, Ty>),
}

impl fmt::Display for Ty {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Tensor(dtype, shape) => {
                let extent = match shape {
                    Shape::Symbol => "N",
                    Shape::Two => "2",
                    Shape::Unknown => "...",
                };
                write!(f, "{}[{extent}]", dtype.onnx_name())
            }
            Self::Scalar => f.write_str("scalar.i32"),
            Self::Peer => f.write_str("peer_id"),
            Self::Peers(_) => f.write_str("peer_id_vec"),
            Self::Composite(children) => {
                let name = |name: &str| match name.bytes().all(|byte| byte.is_ascii_alphabetic()) {
                    true => name.to_owned(),
                    false => format!("\"{name}\""),
                };
                let child = |(child, ty): (&&str, &Self)| format!("{}: {ty}", name(child));
                let children: Vec<String> = children.iter().map(child).collect();
                write!(f, "composite{{{}}}", children.join(", "))
            }
        }
    }
}

impl Ty {
    /// Whether a value is of the type.
    pub(crate) fn contains(&self, value: &Datum) -> bool {
        match (self, value) {
            (Self::Tensor(dtype, shape), Datum::Tensor(tensor)) => {
                let has_shape = match shape {
                    Shape::Symbol => tensor.shape() == [N],
                    Shape::Two => tensor.shape() == [2],
                    Shape::Unknown => true,
                };
                tensor.dtype() == *dtype && has_shape
            }
            (Self::Scalar, Datum::Scalar(Scalar::I32(_)))
            | (Self::Peer, Datum::Peer(_))
            | (Self::Peers(_), Datum::Peers(_)) => true,
            (Self::Composite(children), Datum::Composite(values)) => {
                let fits = |(name, value): &(String, Datum)| {
                    children.get(name.as_str()).is_some_and(|child| child.contains(value))
                };
                children.len() == values.len() && values.iter().all(fits)
            }
            _ => false,
        }
    }

    /// A type of the other width, to which a value can be cast.
    fn cast(&self) -> Option<Self> {
        match self {
            Self::Tensor(Dtype::F32, n) => Some(Self::Tensor(Dtype::F64, *n)),
            Self::Tensor(Dtype::F64, n) => Some(Self::Tensor(Dtype::F32, *n)),
            Self::Tensor(Dtype::I64, n) => Some(Self::Tensor(Dtype::F64, *n)),
            Self::Tensor(..) | Self::Scalar | Self::Peer | Self::Peers(_) | Self::Composite(_) => None,
        }
    }
}

/// Tensor elements as numbers.
fn numbers(tensor: &AnyTensor) -> Vec<f64> {
    match tensor.dtype() {
        Dtype::F32 => tensor.as_slice::<f32>().unwrap_or_default().iter().map(|x| f64::from(*x)).collect(),
        Dtype::F64 => tensor.to_vec().unwrap_or_default(),
        #[expect(clippy::cast_precision_loss, reason = "the numbers are small")]
        _ => tensor.as_slice::<i64>().unwrap_or_default().iter().map(|x| *x as f64).collect(),
    }
}

/// A tensor of an element type with these numbers.
fn tensor(dtype: Dtype, numbers: &[f64]) -> Datum {
    #[expect(clippy::cast_possible_truncation, reason = "the numbers are small")]
    Datum::Tensor(match dtype {
        Dtype::F32 => numbers.iter().map(|x| *x as f32).collect::<Vec<_>>().into(),
        Dtype::F64 => numbers.to_vec().into(),
        _ => numbers.iter().map(|x| *x as i64).collect::<Vec<_>>().into(),
    })
}

/// Applies a function to the numbers of a tensor, and converts them to an element type.
fn mapped(dtype: Dtype, value: &Datum, apply: impl Fn(f64) -> f64) -> Datum {
    let numbers: Vec<f64> = value.as_tensor().map(numbers).unwrap_or_default();
    tensor(dtype, &numbers.into_iter().map(apply).collect::<Vec<_>>())
}

/// Whether two values are equal, except for peers and the order of children.
pub(crate) fn is_same(expected: &Datum, found: &Datum) -> bool {
    match (expected, found) {
        (Datum::Peer(_), Datum::Peer(_)) | (Datum::Peers(_), Datum::Peers(_)) => true,
        (Datum::Composite(a), Datum::Composite(b)) => {
            let child = |name: &String| b.iter().find(|(own, _)| own == name).map(|(_, value)| value);
            a.len() == b.len()
                && a.iter().all(|(name, value)| child(name).is_some_and(|own| is_same(value, own)))
        }
        _ => expected == found,
    }
}

/// A value with its type and content.
#[derive(Clone)]
struct Typed {
    value: ValueRef,
    ty: Ty,
    content: Datum,
}

/// A step at one site: home or a class of peers.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Step {
    site: usize,
    op: Op,
    /// Operands and choices.
    of: [usize; 4],
}

#[derive(Clone, Copy, Debug)]
enum Op {
    Bundle,
    Unbundle,
    Neg,
    /// Declares a copy of a value as another type.
    Declare,
    /// An explicit cast.
    Cast,
    /// A call of another module.
    Call,
    /// A branch that reads a bundle of the graph around.
    If,
    /// A component that stores 32-bit floats and counts its calls.
    Forward,
    Send,
}

const OPS: [Op; 12] = [
    Op::Bundle,
    Op::Bundle,
    Op::Unbundle,
    Op::Unbundle,
    Op::Neg,
    Op::Declare,
    Op::Cast,
    Op::Call,
    Op::If,
    Op::Forward,
    Op::Send,
    Op::Send,
];

/// The peers of a run.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Layout {
    /// Home, and one peer of one class.
    Two,
    /// Home, and two peers of one class.
    TwoOfOneClass,
    /// Home, and one peer of each of two classes.
    TwoClasses,
}

impl Layout {
    pub(crate) fn classes(self) -> &'static [&'static str] {
        if self == Self::TwoClasses { &CLASSES } else { &CLASSES[..1] }
    }

    /// The peers of a class.
    pub(crate) fn peers(self, class: &str) -> Vec<&'static str> {
        match (self, class) {
            (Self::TwoOfOneClass, _) => vec!["first", "other"],
            (_, "first") => vec!["first"],
            _ => vec!["second"],
        }
    }
}

/// Differences between variants of a program.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Variant {
    /// Declarations of other types cast values.
    Casts,
    /// The input `f` is of another element type.
    OtherInput,
    /// One unbundled child is declared as another type.
    WrongChild,
}

/// A random program.
#[derive(Debug)]
pub(crate) struct Program {
    pub(crate) layout: Layout,
    pub(crate) steps: Vec<Step>,
    pub(crate) variant: Variant,
    /// The outputs with their types and contents.
    pub(crate) outputs: RefCell<Vec<(String, Ty, Datum)>>,
    /// The child that is declared as another type.
    pub(crate) wrong: RefCell<Option<&'static str>>,
    /// The slots that the last recording used.
    pub(crate) slots: RefCell<BTreeSet<&'static str>>,
}

impl Program {
    pub(crate) fn random(seed: u64, variant: Variant) -> Self {
        let mut random = Random(seed);
        let layout = *random.pick(&[Layout::Two, Layout::TwoOfOneClass, Layout::TwoClasses]);
        let count = 4 + random.below(18);
        let step = |at: usize| Step {
            // The first value that is sent gives the other sites values to compute with.
            site: if at < 2 { 0 } else { random.below(1 + layout.classes().len()) },
            op: if at == 1 { Op::Send } else { *random.pick(&OPS) },
            of: [0; 4].map(|_| random.below(1 << 20)),
        };
        let steps = (0..count).map(step).collect();
        Self::of(layout, steps, variant)
    }

    pub(crate) fn of(layout: Layout, steps: Vec<Step>, variant: Variant) -> Self {
        let (outputs, wrong, slots) = (RefCell::default(), RefCell::default(), RefCell::default());
        Self { layout, steps, variant, outputs, wrong, slots }
    }

    /// The element type of the input `f`.
    fn dtype(&self) -> Dtype {
        if self.variant == Variant::OtherInput { Dtype::F64 } else { Dtype::F32 }
    }

    /// The inputs with their types and contents.
    pub(crate) fn inputs(&self) -> Vec<(&'static str, Ty, Datum)> {
        let f = self.dtype();
        let (small, nested) = (tensor(Dtype::F64, &[1.0, 2.0, 3.0]), tensor(f, &[1.5, -2.0, 4.0]));
        let c = BTreeMap::from([("a", Ty::Scalar), ("b", Ty::Tensor(Dtype::F64, Shape::Symbol))]);
        let four = Datum::Scalar(Scalar::I32(4));
        let mut inputs = vec![
            ("f", Ty::Tensor(f, Shape::Symbol), nested),
            ("i", Ty::Tensor(Dtype::I64, Shape::Two), tensor(Dtype::I64, &[7.0, 8.0])),
            ("s", Ty::Scalar, Datum::Scalar(Scalar::I32(-1))),
            ("p", Ty::Peer, Datum::Peer(PeerId(b"a peer".to_vec()))),
            ("c", Ty::Composite(c), Datum::Composite(vec![("b".into(), small), ("a".into(), four)])),
        ];
        for (at, class) in self.layout.classes().iter().enumerate() {
            let peers = self.layout.peers(class);
            let peers = peers.into_iter().map(|name| PeerId(name.as_bytes().to_vec())).collect();
            inputs.push((class, Ty::Peers(at), Datum::Peers(peers)));
        }
        inputs
    }
}

/// A called module: its name and its body.
struct Callee(&'static str, fn(&mut Graph));

impl Module for Callee {
    fn name(&self) -> &str {
        self.0
    }

    fn body(&self, g: &mut Graph) {
        (self.1)(g);
    }
}

const PAIR: Callee = Callee("pair", |g| {
    let (x, y) = (g.input("x"), g.input("y"));
    g.output("pair", &g.bundle(&[("b", &y), ("a", &x)]));
    g.output("first", &x);
});

/// Calls [`PAIR`] twice, with arguments of different types.
const NESTED: Callee = Callee("nested", |g| {
    let (x, y) = (g.input("x"), g.input("y"));
    let pair = g.call(&PAIR, &[&x, &y]).remove(0);
    let outer = g.call(&PAIR, &[&pair, &x]).remove(0);
    let inner = g.unbundle(&outer, &["a"]).remove(0);
    g.output("outer", &outer);
    g.output("second", &g.unbundle(&inner, &["b"])[0]);
});

/// Unbundles a bundle of its caller.
const TAKEN: Callee = Callee("taken", |g| {
    let x = g.input("x");
    let a = g.unbundle(&x, &["a"]).remove(0);
    g.output("again", &g.bundle(&[("long name", &a), ("b", &x)]));
    g.output("a", &a);
});

/// Declares its result as another type.
const WIDENED: Callee = Callee("widened", |g| {
    let x = g.input("x");
    g.output("wide", &g.node("", "Identity", &[&x], Vec::new(), 1).remove(0).of("double[]"));
});

/// Declares its parameter as another type, for arguments of any extent.
const NARROWED: Callee = Callee("narrowed", |g| {
    let x = g.input("x").of("float[K]");
    g.output("narrow", &x.neg());
});

/// The state of a recording.
struct Recording<'p, 'g> {
    program: &'p Program,
    g: &'g Graph,
    /// The values of each site.
    values: Vec<Vec<Typed>>,
    /// The peers that sent a value to each site: their site and the sender.
    senders: Vec<Option<(usize, ValueRef)>>,
    peers: Vec<ValueRef>,
    /// The number of inputs among the values of home.
    inputs: usize,
}

fn typed(value: ValueRef, ty: Ty, content: Datum) -> Typed {
    Typed { value, ty, content }
}

fn bundled(children: [(&'static str, &Typed); 2]) -> (Ty, Datum) {
    let ty = children.iter().map(|(name, child)| (*name, child.ty.clone())).collect();
    let content = children.iter().map(|(name, child)| ((*name).to_owned(), child.content.clone())).collect();
    (Ty::Composite(ty), Datum::Composite(content))
}

fn child(content: &Datum, name: &str) -> Datum {
    let Datum::Composite(children) = content else { return Datum::Trigger };
    children.iter().find(|(own, _)| own == name).map_or(Datum::Trigger, |(_, value)| value.clone())
}

impl Recording<'_, '_> {
    fn value(&self, site: usize, at: usize) -> Option<Typed> {
        let values = &self.values[site];
        values.get(at % values.len().max(1)).cloned()
    }

    fn step(&mut self, Step { site, op, of }: Step) {
        let site = site % self.values.len();
        let (Some(x), Some(y)) = (self.value(site, of[0]), self.value(site, of[1])) else { return };
        let g = self.g;
        let casts = self.program.variant != Variant::WrongChild;
        let new = match (op, x.ty.clone()) {
            (Op::Bundle, _) => {
                let first = of[2] % NAMES.len();
                let second = (first + 1 + of[3] % (NAMES.len() - 1)) % NAMES.len();
                let children = [(NAMES[first], &x), (NAMES[second], &y)];
                let (ty, content) = bundled(children);
                vec![typed(g.bundle(&children.map(|(name, child)| (name, &child.value))), ty, content)]
            }
            (Op::Unbundle, Ty::Composite(children)) => self.unbundle(&x, &children, of),
            (Op::Neg, Ty::Tensor(dtype, _)) => {
                vec![typed(x.value.neg(), x.ty, mapped(dtype, &x.content, |x| -x))]
            }
            (Op::Declare, Ty::Tensor(..)) if casts => {
                let Some(ty @ Ty::Tensor(dtype, _)) = x.ty.cast() else { return };
                let same = g.node("", "Identity", &[&x.value], Vec::new(), 1).remove(0);
                vec![typed(same.of(ty.to_string().as_str()), ty, mapped(dtype, &x.content, |x| x))]
            }
            (Op::Cast, Ty::Tensor(_, n)) => {
                let dtype = [Dtype::F32, Dtype::F64, Dtype::I64][of[2] % 3];
                let to = vec![i64::from(dtype.onnx_number()).into_attribute("to")];
                let cast = g.node("", "Cast", &[&x.value], to, 1).remove(0);
                vec![typed(cast, Ty::Tensor(dtype, n), mapped(dtype, &x.content, |x| x))]
            }
            (Op::Call, _) => self.call(&x, &y, of),
            (Op::If, Ty::Composite(children)) => self.branch(&x, &children, of),
            (Op::Forward, Ty::Tensor(dtype, _)) if dtype == Dtype::F32 || casts => {
                let slot = ["own", "one", "two"][site];
                self.program.slots.borrow_mut().insert(slot);
                let done = g.model(slot).forward(&x.value);
                vec![typed(
                    done,
                    Ty::Tensor(Dtype::F32, Shape::Unknown),
                    mapped(Dtype::F32, &x.content, |x| x * 2.0),
                )]
            }
            (Op::Send, _) => return self.send(site, &x, &y, of),
            _ => return,
        };
        self.values[site].extend(new);
    }

    /// Unbundles some of the children. A child can be declared, and cast by the declaration.
    fn unbundle(&self, x: &Typed, children: &BTreeMap<&'static str, Ty>, of: [usize; 4]) -> Vec<Typed> {
        let mut names: Vec<&'static str> = children.keys().copied().collect();
        if of[1].is_multiple_of(3) {
            names.remove(of[2] % names.len());
        }
        if of[1].is_multiple_of(2) {
            names.reverse();
        }
        let parts = self.g.unbundle(&x.value, &names);
        let mut all = Vec::new();
        for (at, (name, part)) in names.into_iter().zip(parts).enumerate() {
            let (ty, content) = (children[name].clone(), child(&x.content, name));
            let other = ty.cast().filter(|_| (of[3] >> at).is_multiple_of(3));
            let is_wrong = self.program.variant == Variant::WrongChild;
            all.push(match other {
                Some(other) if !is_wrong || self.program.wrong.borrow().is_none() => {
                    if is_wrong {
                        *self.program.wrong.borrow_mut() = Some(name);
                    }
                    let Ty::Tensor(dtype, _) = other else { continue };
                    let content = mapped(dtype, &content, |x| x);
                    typed(part.of(other.to_string().as_str()), other, content)
                }
                _ if (of[3] >> at).is_multiple_of(2) => typed(part.of(ty.to_string().as_str()), ty, content),
                _ => typed(part, ty, content),
            });
        }
        all
    }

    fn call(&self, x: &Typed, y: &Typed, of: [usize; 4]) -> Vec<Typed> {
        let pair = |a: &Typed, b: &Typed| bundled([("a", a), ("b", b)]);
        let call = |callee: &Callee, inputs: &[&Typed], outputs: Vec<(Ty, Datum)>| {
            let inputs: Vec<&ValueRef> = inputs.iter().map(|input| &input.value).collect();
            let results = self.g.call(callee, &inputs).into_iter().zip(outputs);
            results.map(|(value, (ty, content))| typed(value, ty, content)).collect()
        };
        let own = |value: &Typed| (value.ty.clone(), value.content.clone());
        let with = |(ty, content): (Ty, Datum)| typed(x.value.clone(), ty, content);
        match (of[2] % 5, &x.ty) {
            (0, Ty::Composite(children)) if children.contains_key("a") => {
                let a = with((children["a"].clone(), child(&x.content, "a")));
                call(&TAKEN, &[x], vec![bundled([("long name", &a), ("b", x)]), own(&a)])
            }
            (1, Ty::Tensor(_, n)) if self.program.variant != Variant::WrongChild => {
                let wide = mapped(Dtype::F64, &x.content, |x| x);
                call(&WIDENED, &[x], vec![(Ty::Tensor(Dtype::F64, *n), wide)])
            }
            (4, Ty::Tensor(_, n)) if *n != Shape::Unknown && self.program.variant != Variant::WrongChild => {
                let narrow = mapped(Dtype::F32, &x.content, |x| -x);
                call(&NARROWED, &[x], vec![(Ty::Tensor(Dtype::F32, *n), narrow)])
            }
            (2, _) => {
                let inner = with(pair(x, y));
                call(&NESTED, &[x, y], vec![pair(&inner, x), own(y)])
            }
            _ => call(&PAIR, &[x, y], vec![pair(x, y), own(x)]),
        }
    }

    /// A branch with a known condition that unbundles a bundle of the graph around.
    fn branch(&self, x: &Typed, children: &BTreeMap<&'static str, Ty>, of: [usize; 4]) -> Vec<Typed> {
        let found = children.iter().find_map(|(name, ty)| match ty {
            Ty::Tensor(dtype, _) => Some((*name, *dtype, ty.clone())),
            _ => None,
        });
        let Some((name, dtype, ty)) = found else { return Vec::new() };
        let holds = of[2].is_multiple_of(2);
        let condition = self.g.constant(&AnyTensor::from_scalar(holds));
        let take = |g: &Graph| g.unbundle(&x.value, &[name]).remove(0);
        let chosen = self.g.if_(&condition, |g| vec![take(g)], |g| vec![take(g).neg()]);
        let sign = if holds { 1.0 } else { -1.0 };
        let content = mapped(dtype, &child(&x.content, name), |x| x * sign);
        chosen.into_iter().map(|value| typed(value, ty.clone(), content.clone())).collect()
    }

    /// Sends a value, or a bundle of two, to a class of peers or to a sender of an earlier value.
    fn send(&mut self, site: usize, x: &Typed, y: &Typed, of: [usize; 4]) {
        let known = self.values[site].iter().find_map(|known| match known.ty {
            Ty::Peers(class) if class + 1 != site && of[3].is_multiple_of(2) => {
                Some((class + 1, known.value.clone()))
            }
            _ => None,
        });
        let to = match (site, known) {
            (0, _) => {
                let class = of[2] % self.peers.len();
                Some((class + 1, self.peers[class].clone()))
            }
            (_, Some(known)) => Some(known),
            (_, None) => self.senders[site].clone(),
        };
        let Some((to, peers)) = to else { return };
        let (ty, content, value) = match of[3] % 3 {
            0 => (x.ty.clone(), x.content.clone(), x.value.clone()),
            _ => {
                let children = [("long name", y), ("a", x)];
                let (ty, content) = bundled(children);
                (ty, content, self.g.bundle(&children.map(|(name, child)| (name, &child.value))))
            }
        };
        let (there, _) = self.g.send(&value, &peers);
        let (payload, sender) = self.g.receive(&there);
        self.senders[to] = Some((site, sender));
        self.values[to].push(typed(payload, ty, content));
    }
}

impl Module for Program {
    fn name(&self) -> &str {
        "generated"
    }

    fn body(&self, g: &mut Graph) {
        self.outputs.borrow_mut().clear();
        *self.wrong.borrow_mut() = None;
        self.slots.borrow_mut().clear();
        let inputs = self.inputs();
        let home: Vec<Typed> = inputs
            .into_iter()
            .map(|(name, ty, content)| typed(g.input(name).of(ty.to_string().as_str()), ty, content))
            .collect();
        let peers: Vec<ValueRef> =
            home.iter().filter(|input| matches!(input.ty, Ty::Peers(_))).map(|it| it.value.clone()).collect();
        let sites = 1 + peers.len();
        let mut values = vec![Vec::new(); sites];
        let inputs = home.len();
        values[0] = home;
        // All inputs are read.
        let all: Vec<(String, ValueRef)> =
            values[0].iter().enumerate().map(|(at, input)| (format!("i{at}"), input.value.clone())).collect();
        let all: Vec<(&str, &ValueRef)> = all.iter().map(|(name, value)| (name.as_str(), value)).collect();
        g.output("all", &g.bundle(&all));
        let mut recording = Recording { program: self, g, values, senders: vec![None; sites], peers, inputs };
        for step in &self.steps {
            recording.step(*step);
        }
        let Recording { values, inputs, .. } = recording;
        let mut outputs = self.outputs.borrow_mut();
        for (site, values) in values.into_iter().enumerate() {
            for Typed { value, ty, content } in values.into_iter().skip(if site == 0 { inputs } else { 0 }) {
                let name = format!("{site}.{}", outputs.len());
                g.output(&name, &value);
                outputs.push((name, ty, content));
            }
        }
    }
}
