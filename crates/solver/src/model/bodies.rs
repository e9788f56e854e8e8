//! The solved bodies of a model: its graph, and each function once for every tuple of argument types.
//!
//! Functions are listed only with [`Options::functions`](crate::model::Options::functions), or if they have
//! errors.

use std::sync::Arc;

use crate::model::Checked;
use crate::operators::OpKind;
use crate::program::{Body, Origin, StepId, ValueId};
use crate::rule::Ints;
use crate::signature::Schema;
use crate::solution::Type;

/// A solved body. Its types are those of [`Checked::type_within`].
#[derive(Clone)]
pub struct SolvedBody<'a> {
    /// The body with its nested graphs.
    pub body: Arc<Body<'a>>,
    pub(crate) at: BodyAt,
    number: u32,
}

/// The index of a body in a [`Checked`].
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum BodyAt {
    Main,
    Kept(usize),
    Erroneous(usize),
}

impl SolvedBody<'_> {
    /// Whether it is the model's graph.
    #[must_use]
    pub fn is_main(&self) -> bool {
        self.at == BodyAt::Main
    }

    /// The number of the solve of the body, see [`Checked::callee`].
    #[must_use]
    pub fn number(&self) -> u32 {
        self.number
    }
}

impl<'a> Checked<'a> {
    /// The solved bodies: the graph, then functions in the order in which they were solved.
    #[must_use]
    pub fn bodies(&self) -> Vec<SolvedBody<'a>> {
        let kept =
            self.rare.kept.iter().enumerate().map(|(at, instance)| (BodyAt::Kept(at), &instance.frame));
        let erroneous = self.rare.instances.iter().enumerate();
        let erroneous = erroneous.map(|(at, instance)| (BodyAt::Erroneous(at), &instance.frame));
        let main = std::iter::once((BodyAt::Main, &self.frame));
        main.chain(kept)
            .chain(erroneous)
            .map(|(at, frame)| SolvedBody { body: Arc::clone(&frame.body), at, number: frame.number })
            .collect()
    }

    /// The number of the body that a call of a function runs, with the types of the call. `None` if instances
    /// are not kept, and for other nodes.
    #[must_use]
    pub fn callee(&self, body: &SolvedBody<'a>, step: StepId) -> Option<u32> {
        let frame = match body.at {
            BodyAt::Main => &self.frame,
            BodyAt::Kept(at) => &self.rare.kept[at].frame,
            BodyAt::Erroneous(at) => &self.rare.instances[at].frame,
        };
        frame.rare.callees.get(&step).copied()
    }

    /// The type of a value of a body.
    pub fn type_within(&mut self, body: &SolvedBody<'a>, value: ValueId) -> Type {
        let Self { core, frame, rare, .. } = self;
        let frame = match body.at {
            BodyAt::Main => &*frame,
            BodyAt::Kept(at) => &rare.kept[at].frame,
            BodyAt::Erroneous(at) => &rare.instances[at].frame,
        };
        core.snapshot(frame, value)
    }

    /// The elements of a value of a body as extents, in terms of symbols. `None` if they are unknown or more
    /// than `max`.
    #[must_use]
    pub fn elements_within(&self, body: &SolvedBody<'a>, value: ValueId, max: usize) -> Option<Arc<Ints>> {
        let frame = match body.at {
            BodyAt::Main => &self.frame,
            BodyAt::Kept(at) => &self.rare.kept[at].frame,
            BodyAt::Erroneous(at) => &self.rare.instances[at].frame,
        };
        let data = frame.slots[value.index()].data?;
        self.core.constants.get(data).as_ints().filter(|ints| ints.items.len() <= max)
    }

    /// The declaration of a node's operator in the catalogue; `None` for a function of the model, and for an
    /// unknown operator.
    #[must_use]
    pub fn schema_of(&self, body: &Body<'a>, step: StepId) -> Option<&'a Schema> {
        self.operators.op(body.step(step).op).kind.schema()
    }

    /// Whether a node calls a function of the model.
    #[must_use]
    pub fn is_call(&self, body: &Body<'a>, step: StepId) -> bool {
        matches!(self.operators.op(body.step(step).op).kind, OpKind::Function(_))
    }

    /// The domain of a node's operator; `""` for ONNX's own.
    #[must_use]
    pub fn domain_of(&self, body: &Body<'a>, step: StepId) -> &'a str {
        self.operators.op(body.step(step).op).domain
    }
}

impl Body<'_> {
    /// Whether a value is a constant of the file: an initializer, or the result of a node `Constant`.
    #[must_use]
    pub fn is_stored(&self, value: ValueId) -> bool {
        match self.value(value).origin {
            Origin::Initializer(_) => true,
            Origin::Step(step) => self.op_name(step) == "Constant",
            Origin::Input | Origin::InputWithDefault(_) | Origin::Undefined => false,
        }
    }
}
