//! What nodes like this one came to before: the memo of rule applications.
//!
//! The rules of an operator are a function of what they look at: the operator, the bytes of its
//! attributes, which ports are there, the types and shapes of the inputs, and the constants that they
//! ask for. Networks repeat themselves (a layer is the layer before it with other names), so most
//! nodes ask a question that was answered before; the answer is copied and no rule runs.
//!
//! Algorithm: hash-consing of applications, after the memo functions of Michie (1968). One lookup costs
//! one hash over a few words and the attribute bytes, whatever the rules do.
//!
//! An application is remembered only if its answer is all that it did. Nothing is remembered that
//! named a new unknown extent (each node has its own), bound a dim, kept an equation, narrowed an
//! input, left a type open, read the node's metadata, asked about an attribute of the enclosing function, or failed. A binding
//! of a dim may sharpen any answer, so the number of bindings so far is part of the question.
//!
//! **Invariant:** a solve with a trace uses no memo: there every step has its own causes.

use std::hash::{BuildHasher, Hasher};

use foldhash::fast::RandomState;
use hashbrown::HashTable;

use crate::dim::shape::ShapeId;
use crate::program::{Body, GraphId, Origin, Step, StepId, ValueId};
use crate::state::Core;
use crate::state::constants::DataId;
use crate::state::frame::{Frame, Slot};
use crate::ty::Ty;

/// Attributes longer than this are rarely equal and cost more to compare than to read.
const MAX_ATTRIBUTE_BYTES: usize = 512;
/// Nodes with more inputs or outputs than this are not worth remembering.
const MAX_PORTS: usize = 16;
/// How many applications are compared that differ in nothing but the constants that their rules asked for. Beyond that, more
/// of them are not remembered, so that a lookup stays short.
const MAX_ALIKE: u32 = 32;
/// The words of a question before those of its inputs: the operator, which outputs are there, bindings so far.
const PREFIX: usize = 3;
/// The word of a port that is left out.
const ABSENT: u32 = 0;
/// The word of a shape or constant of which nothing is known.
const UNKNOWN: u32 = 0;
/// The word of a constant that no rule asked for.
const NOT_ASKED: u32 = u32::MAX;
/// The word of a constant that nobody has read yet.
const UNREAD: u32 = u32::MAX - 1;

/// What an output came to.
#[derive(Clone, Copy)]
struct Answer {
    ty: Ty,
    shape: Option<ShapeId>,
    data: Option<DataId>,
}

/// A remembered application.
struct Entry<'a> {
    attributes: &'a [u8],
    /// How many inputs the question has.
    inputs: usize,
    /// Where its words start: the question, then the constants of the inputs as asked for.
    words: usize,
    /// Where its answers start, one for each output.
    answers: usize,
    /// Whether the rules asked for any constant.
    asks: bool,
}

/// The memo.
pub(crate) struct Memo<'a> {
    entries: Vec<Entry<'a>>,
    words: Vec<u32>,
    answers: Vec<Option<Answer>>,
    index: HashTable<(u64, u32)>,
    hasher: RandomState,
    /// The question of the step that is running.
    question: [u32; PREFIX + 2 * MAX_PORTS],
    hash: u64,
    before: Marks,
    /// The values whose constants the rules of the step asked for.
    asked: Vec<ValueId>,
    /// Whether they looked at something that is no part of the question.
    elsewhere: bool,
}

impl Default for Memo<'_> {
    fn default() -> Self {
        Self {
            entries: Vec::new(),
            words: Vec::new(),
            answers: Vec::new(),
            index: HashTable::new(),
            hasher: RandomState::default(),
            question: [0; PREFIX + 2 * MAX_PORTS],
            hash: 0,
            before: Marks::default(),
            asked: Vec::new(),
            elsewhere: false,
        }
    }
}

/// How far the tables were before a step ran; whatever moves one of them is more than an answer.
#[derive(Clone, Copy, PartialEq, Eq, Default)]
struct Marks {
    variables: usize,
    bindings: usize,
    /// How many equations there are; elsewhere than in the main graph, where the one who remembers them for all
    /// may never run, how often one was stated.
    equations: usize,
    errors: usize,
}

impl Marks {
    fn of(core: &Core<'_>, frame: &Frame<'_>, scope: Scope) -> Self {
        Self {
            variables: core.dims.variable_count(),
            bindings: core.dims.binding_count(),
            equations: match scope {
                Scope::Main => frame.equations.len(),
                Scope::Certain | Scope::Conditional => frame.said,
            },
            errors: frame.value_errors.len(),
        }
    }
}

/// Where a step is. Rules may do more in the main graph than elsewhere, so it is part of the question.
#[derive(Clone, Copy)]
enum Scope {
    /// Directly in the model's graph.
    Main,
    /// In a function that is called for certain.
    Certain,
    /// Where it may never run.
    Conditional,
}

impl Scope {
    fn of(frame: &Frame<'_>, graph: GraphId) -> Self {
        match (frame.is_conditional_in(graph), frame.number) {
            (true, _) => Self::Conditional,
            (false, 0) => Self::Main,
            (false, _) => Self::Certain,
        }
    }
}

/// What the memo says about a step.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Recall {
    /// The answer is known and was copied.
    Answered,
    /// It is not known; [`remember`] can keep it.
    New,
    /// The step is not one to remember.
    Unfit,
}

/// Notes that a rule asked for the constant of a value.
pub(crate) fn asked(core: &mut Core<'_>, value: ValueId) {
    if core.trace.is_none() {
        core.memo.asked.push(value);
    }
}

/// Notes that a rule looked at something that is no part of the question, so that its answer is this node's alone.
pub(crate) fn looked_elsewhere(core: &mut Core<'_>) {
    core.memo.elsewhere = true;
}

/// Answers a step from the memo, if its question was asked before.
pub(crate) fn recall<'a>(
    core: &mut Core<'a>,
    frame: &mut Frame<'a>,
    body: &Body<'a>,
    step: StepId,
) -> Recall {
    let record = body.step(step);
    let attributes = record.attribute_bytes();
    let (inputs, outputs) = (body.inputs(step), body.outputs(step));
    if core.trace.is_some()
        || attributes.len() > MAX_ATTRIBUTE_BYTES
        || !frame.arguments.is_empty()
        || inputs.len().max(outputs.len()) > MAX_PORTS
    {
        return Recall::Unfit;
    }
    let Some(hash) = ask(core, frame, record, inputs, outputs) else { return Recall::Unfit };
    let memo = &core.memo;
    let question = &memo.question[..PREFIX + 2 * inputs.len()];
    let mut alike = 0_u32;
    let found = memo.index.find(hash, |(known, entry)| {
        if *known != hash {
            return false;
        }
        alike += 1;
        let entry = &memo.entries[*entry as usize];
        alike > MAX_ALIKE
            || entry.inputs == inputs.len()
                && memo.words[entry.words..][..question.len()] == *question
                && (attributes.is_empty() && entry.attributes.is_empty() || *entry.attributes == *attributes)
                && (!entry.asks || same_constants(memo, entry, frame, body, inputs))
    });
    if alike > MAX_ALIKE {
        return Recall::Unfit;
    }
    let Some(entry) = found.map(|(_, entry)| *entry) else {
        return unanswered(core, frame, record.graph, outputs, hash);
    };
    let from = core.memo.entries[entry as usize].answers;
    let answers = &core.memo.answers[from..from + outputs.len()];
    let heard = frame.is_front(step);
    // Each output is a value of its own, also where a node lists a name twice; so nothing is written twice.
    for (value, answer) in outputs.iter().zip(answers) {
        let (Some(value), Some(answer)) = (value, answer) else { continue };
        let Slot { ty, shape, data } = frame.slots[value.index()];
        if ty.is_some_and(|ty| ty != answer.ty) || shape.is_some() || data.is_some() {
            return Recall::Unfit;
        }
    }
    for (value, answer) in outputs.iter().zip(answers) {
        let (Some(value), Some(Answer { ty, shape, data })) = (*value, *answer) else { continue };
        frame.slots[value.index()] = Slot { ty: Some(ty), shape, data };
        if !heard && (shape.is_some() || data.is_some()) {
            frame.touch(value, step);
        }
    }
    Recall::Answered
}

/// Writes down the question of a step, and gives its hash; `None` for a step that cannot be remembered.
#[inline]
fn ask<'a>(
    core: &mut Core<'a>,
    frame: &mut Frame<'a>,
    record: &Step<'a>,
    inputs: &[Option<ValueId>],
    outputs: &[Option<ValueId>],
) -> Option<u64> {
    let Core { types, dims, memo: Memo { question, hasher, .. }, .. } = core;
    let op = u32::try_from(record.op.index()).unwrap_or(u32::MAX);
    let present = outputs.iter().fold(1_u32, |bits, output| bits << 1 | u32::from(output.is_some()));
    let present = present << 2 | Scope::of(frame, record.graph) as u32;
    let bindings = u32::try_from(dims.binding_count()).unwrap_or(u32::MAX);
    question[..PREFIX].copy_from_slice(&[op, present, bindings]);
    let mut hasher = hasher.build_hasher();
    hasher.write_u64(u64::from(op) << 32 | u64::from(present));
    hasher.write_u32(bindings);
    for (at, (input, words)) in inputs.iter().zip(question[PREFIX..].chunks_exact_mut(2)).enumerate() {
        let Some(value) = *input else {
            words.copy_from_slice(&[ABSENT, UNKNOWN]);
            hasher.write_u64(0);
            continue;
        };
        let shape = frame.shape_read(value);
        let slot = &mut frame.slots[value.index()];
        let mut ty = slot.ty?;
        if ty.constant_elem().is_none() {
            ty = types.settled_tensor(ty)?;
            slot.ty = Some(ty);
        }
        // Some rules look at whether two of their inputs are one value.
        if inputs[..at].contains(input) {
            return None;
        }
        let (ty, shape) = (ty.number(), shape.map_or(UNKNOWN, ShapeId::number));
        words.copy_from_slice(&[ty, shape]);
        hasher.write_u64(u64::from(ty) << 32 | u64::from(shape));
    }
    if record.has_attributes() {
        hasher.write(record.attribute_bytes());
    }
    Some(hasher.finish())
}

/// Whether the inputs hold the constants that the rules asked for.
fn same_constants(
    memo: &Memo<'_>,
    entry: &Entry<'_>,
    frame: &Frame<'_>,
    body: &Body<'_>,
    inputs: &[Option<ValueId>],
) -> bool {
    let asked = &memo.words[entry.words + PREFIX + 2 * inputs.len()..][..inputs.len()];
    asked.iter().zip(inputs).all(|(word, value)| {
        *word == NOT_ASKED || *word == value.map_or(UNKNOWN, |value| constant_word(frame, body, value))
    })
}

/// Gets ready to remember what the rules will say.
fn unanswered<'a>(
    core: &mut Core<'a>,
    frame: &Frame<'a>,
    graph: GraphId,
    outputs: &[Option<ValueId>],
    hash: u64,
) -> Recall {
    let untouched = |value: &ValueId| {
        let Slot { ty, shape, data } = frame.slots[value.index()];
        ty.is_none() && shape.is_none() && data.is_none()
    };
    // What an output was known to be before is not the rules' answer.
    if !outputs.iter().flatten().all(untouched) {
        return Recall::Unfit;
    }
    core.memo.hash = hash;
    core.memo.asked.clear();
    core.memo.elsewhere = false;
    core.memo.before = Marks::of(core, frame, Scope::of(frame, graph));
    Recall::New
}

fn constant_word(frame: &Frame<'_>, body: &Body<'_>, value: ValueId) -> u32 {
    match frame.slots[value.index()].data {
        Some(data) => data.number(),
        None => match body.value(value).origin {
            Origin::Initializer(_) | Origin::InputWithDefault(_) => UNREAD,
            Origin::Input | Origin::Step(_) | Origin::Undefined => UNKNOWN,
        },
    }
}

/// Keeps what a step came to, if that is all it did. Runs after the rules, for a step of [`Recall::New`].
pub(crate) fn remember<'a>(core: &mut Core<'a>, frame: &mut Frame<'a>, body: &Body<'a>, step: StepId) {
    let (inputs, outputs) = (body.inputs(step), body.outputs(step));
    let scope = Scope::of(frame, body.step(step).graph);
    if core.memo.elsewhere
        || Marks::of(core, frame, scope) != core.memo.before
        || !unchanged(&core.memo, frame, inputs)
    {
        return;
    }
    let first_answer = core.memo.answers.len();
    for output in outputs {
        let answer = match output {
            None => None,
            Some(value) => {
                let Some(answer) = answer(core, frame, *value) else {
                    core.memo.answers.truncate(first_answer);
                    return;
                };
                Some(answer)
            }
        };
        core.memo.answers.push(answer);
    }
    let attributes = body.step(step).attribute_bytes();
    let Memo { entries, words, question, asked, index, hash, .. } = &mut core.memo;
    let Ok(entry) = u32::try_from(entries.len()) else { return };
    let start = words.len();
    words.extend_from_slice(&question[..PREFIX + 2 * inputs.len()]);
    words.extend(inputs.iter().map(|input| match input {
        Some(value) if asked.contains(value) => constant_word(frame, body, *value),
        Some(_) | None => NOT_ASKED,
    }));
    entries.push(Entry {
        attributes,
        inputs: inputs.len(),
        words: start,
        answers: first_answer,
        asks: !asked.is_empty(),
    });
    index.insert_unique(*hash, (*hash, entry), |(hash, _)| *hash);
}

/// Whether the inputs are what they were when the question was asked.
fn unchanged(memo: &Memo<'_>, frame: &Frame<'_>, inputs: &[Option<ValueId>]) -> bool {
    let asked = memo.question[PREFIX..].chunks_exact(2);
    inputs.iter().zip(asked).all(|(input, words)| match input {
        None => true,
        Some(value) => {
            let slot = frame.slots[value.index()];
            slot.ty.is_some_and(|ty| ty.number() == words[0])
                && frame.shape_read(*value).map_or(UNKNOWN, ShapeId::number) == words[1]
        }
    })
}

/// What an output came to, if its type is settled.
fn answer<'a>(core: &mut Core<'a>, frame: &mut Frame<'a>, value: ValueId) -> Option<Answer> {
    let slot = &mut frame.slots[value.index()];
    let ty = core.types.settled_tensor(slot.ty?)?;
    // What comes after reads the type at the cost of a comparison.
    slot.ty = Some(ty);
    Some(Answer { ty, shape: slot.shape, data: slot.data })
}
