//! Memoisation of rule applications.
//!
//! The result of an operator's rules depends only on the operator, the bytes of its attributes, the
//! ports that are present, the types and shapes of the inputs, and the constants that they read. Networks
//! repeat their layers, so most applications equal an earlier one. A hit copies the earlier outputs and runs
//! no rule.
//!
//! Algorithm: memo functions (Michie, 1968) over hash-consed arguments. A lookup hashes a few words and the
//! attribute bytes, independently of the cost of the rules.
//!
//! An application is inserted only if it only wrote its outputs. It is not inserted if it created an unknown
//! extent (each node has its own), bound a dim, added an equation, narrowed an input, left a type open,
//! failed, or read something outside the key. [`crate::rule::RuleCx`] records and marks reads; its
//! documentation is the contract. The key contains the number of bindings of dims so far, because a binding
//! can make any output more precise.
//!
//! **Invariant:** a solve with a trace does not use the memo, because each step has its own causes in a
//! trace.

use std::hash::{BuildHasher, Hasher};

use foldhash::fast::RandomState;
use hashbrown::HashTable;
use typeloom_dim::Dims;
use typeloom_dim::shape::ShapeId;

use super::frame::{Frame, Slot};
use crate::program::{Body, GraphId, ProgramStep, StepId, ValueId};
use crate::ty::Types;

/// Longer attributes are rarely equal and cost more to compare than to read.
const MAX_ATTRIBUTE_BYTES: usize = 512;
/// Maximum number of inputs and of outputs of a cached application.
const MAX_PORTS: usize = u16::BITS as usize;
/// Maximum number of entries with one hash that are compared. It bounds the cost of a lookup.
const MAX_VARIANTS: u32 = 32;
/// Length of a key without its inputs: operator, present outputs with the scope, bindings so far.
const PREFIX: usize = 3;
/// Word of an omitted port.
const ABSENT: u32 = 0;
/// Word of an unknown shape or constant.
const UNKNOWN: u32 = 0;
/// Word of a constant that no rule read.
const NOT_READ: u32 = u32::MAX;
/// Word of an initializer that was not decoded yet.
const UNDECODED: u32 = u32::MAX - 1;
/// Word of a constant that is too large to follow.
const DROPPED: u32 = u32::MAX - 2;

/// A cached application.
struct Entry<'a> {
    attributes: &'a [u8],
    input_count: usize,
    /// Start of its words: the key, then the constants of the inputs as they were read.
    words: usize,
    /// Start of its outputs.
    outputs: usize,
    reads_constants: bool,
    /// The entry of the application that followed this one last time. Layers repeat in one order, so it is
    /// compared before the key is hashed for [`Memo::index`], which would find the same entry: with a hash
    /// for each node, a check of 5,000 nodes takes 1.1 times as long. Tests compare solves with the memo with
    /// solves that record causes, which have none.
    successor: u32,
}

/// The cached applications, and the state of the application that is running.
#[derive(Default)]
pub(crate) struct Memo<'a> {
    entries: Vec<Entry<'a>>,
    words: Vec<u32>,
    /// The results of applications; empty for an omitted output.
    outputs: Vec<Slot>,
    index: HashTable<(u64, u32)>,
    /// The inputs of each operator, as bits, whose constants its cached applications read. Their constants
    /// are part of the hash of a key, so that applications that differ only in these have different hashes.
    reads: Vec<u16>,
    hasher: RandomState,
    /// The entry of the previous application.
    previous: u32,
    /// The key of the running application.
    key: Key,
    hash: u64,
    before: Counters,
    /// Whether an application is running that may be inserted.
    is_recording: bool,
    /// The values whose constants the running application read.
    constants: Vec<ValueId>,
    is_uncacheable: bool,
}

struct Key([u32; PREFIX + 2 * MAX_PORTS]);

impl Default for Key {
    fn default() -> Self {
        Self([0; PREFIX + 2 * MAX_PORTS])
    }
}

/// Sizes of the tables. An application that changes one of them has done more than write its outputs.
#[derive(Clone, Copy, PartialEq, Eq, Default)]
struct Counters {
    variables: usize,
    bindings: usize,
    /// The number of equations. In a nested graph, which may never run, the number of times that an equation
    /// was stated, including repeated ones.
    equations: usize,
    errors: usize,
}

impl Counters {
    fn of(dims: &Dims, frame: &Frame<'_>, scope: Scope) -> Self {
        Self {
            variables: dims.variable_count(),
            bindings: dims.binding_count(),
            equations: match scope {
                Scope::Main => frame.equations.len(),
                Scope::Certain | Scope::Conditional => frame.stated_equations,
            },
            errors: frame.rare.value_errors.len(),
        }
    }
}

/// The position of a step. It is part of the key, because rules narrow less where a node may never run.
#[derive(Clone, Copy)]
enum Scope {
    /// Directly in the model's graph.
    Main,
    /// In a function whose call always runs.
    Certain,
    /// In a graph or function that may never run.
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

/// The result of a lookup.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Lookup {
    /// The outputs were copied from an equal application.
    Hit,
    /// The rules have to run; [`Memo::insert`] can cache the application.
    Miss,
    /// The rules have to run, and the application cannot be cached.
    Uncacheable,
}

impl<'a> Memo<'a> {
    /// Records that the running application read the constant of a value.
    #[inline]
    pub(crate) fn record_constant(&mut self, value: ValueId) {
        if self.is_recording {
            self.constants.push(value);
        }
    }

    /// Records that the running application read or wrote something that the key does not cover.
    #[inline]
    pub(crate) fn mark_uncacheable(&mut self) {
        self.is_uncacheable = true;
    }

    /// Copies the outputs of an equal application to those of a step, if there is one.
    pub(crate) fn lookup(
        &mut self,
        types: &mut Types,
        dims: &Dims,
        frame: &mut Frame<'a>,
        body: &Body<'a>,
        step: StepId,
    ) -> Lookup {
        self.is_recording = false;
        let record = body.step(step);
        let attributes = record.attribute_bytes();
        let (inputs, outputs) = (body.inputs(step), body.outputs(step));
        if attributes.len() > MAX_ATTRIBUTE_BYTES
            || !frame.arguments.is_empty()
            || inputs.len().max(outputs.len()) > MAX_PORTS
        {
            return Lookup::Uncacheable;
        }
        if self.write_key(types, dims, frame, record, inputs, outputs).is_none() {
            return Lookup::Uncacheable;
        }
        let predicted = self.entries.get(self.previous as usize).map(|previous| previous.successor);
        if let Some(entry) = predicted
            && self.is_equal(entry, frame, body, inputs, attributes)
        {
            self.previous = entry;
            return self.copy_outputs(entry, frame, step, outputs);
        }
        let hash = self.hash_of_key(frame, body, inputs, attributes);
        let mut variants = 0_u32;
        let found = self.index.find(hash, |(known, entry)| {
            if *known != hash {
                return false;
            }
            variants += 1;
            variants > MAX_VARIANTS || self.is_equal(*entry, frame, body, inputs, attributes)
        });
        if variants > MAX_VARIANTS {
            return Lookup::Uncacheable;
        }
        match found.map(|(_, entry)| *entry) {
            Some(entry) => {
                self.follow(entry);
                self.copy_outputs(entry, frame, step, outputs)
            }
            None => self.begin(dims, frame, record.graph, outputs, hash),
        }
    }

    /// Records the entry of an application as the successor of the previous one.
    fn follow(&mut self, entry: u32) {
        if let Some(previous) = self.entries.get_mut(self.previous as usize) {
            previous.successor = entry;
        }
        self.previous = entry;
    }

    /// Whether the key of a cached application is the current one.
    #[inline]
    fn is_equal(
        &self,
        entry: u32,
        frame: &Frame<'_>,
        body: &Body<'_>,
        inputs: &[Option<ValueId>],
        attributes: &[u8],
    ) -> bool {
        let entry = &self.entries[entry as usize];
        let key = &self.key.0[..PREFIX + 2 * inputs.len()];
        // Keys are a few words, and comparing slices calls `memcmp`.
        entry.input_count == inputs.len()
            && self.words[entry.words..][..key.len()].iter().eq(key)
            && (attributes.is_empty() && entry.attributes.is_empty() || *entry.attributes == *attributes)
            && (!entry.reads_constants || self.has_equal_constants(entry, frame, body, inputs))
    }

    /// The hash of the current key, with the constants that the operator reads.
    fn hash_of_key(
        &self,
        frame: &Frame<'_>,
        body: &Body<'_>,
        inputs: &[Option<ValueId>],
        attributes: &[u8],
    ) -> u64 {
        let mut hasher = self.hasher.build_hasher();
        let (words, odd) = self.key.0[..PREFIX + 2 * inputs.len()].as_chunks::<2>();
        for [low, high] in words {
            hasher.write_u64(u64::from(*low) << 32 | u64::from(*high));
        }
        odd.iter().for_each(|word| hasher.write_u32(*word));
        if !attributes.is_empty() {
            hasher.write(attributes);
        }
        let mut reads = self.reads.get(self.key.0[0] as usize).copied().unwrap_or_default();
        while reads != 0 {
            if let Some(Some(value)) = inputs.get(reads.trailing_zeros() as usize) {
                hasher.write_u32(constant_word(frame, body, *value));
            }
            reads &= reads - 1;
        }
        hasher.finish()
    }

    /// Adds the inputs whose constants the running application read to those of its operator, and updates the
    /// hash of its key: the rules may have decoded the constants.
    fn add_reads(&mut self, frame: &Frame<'_>, body: &Body<'_>, step: StepId, inputs: &[Option<ValueId>]) {
        let op = self.key.0[0] as usize;
        if self.reads.len() <= op {
            self.reads.resize(op + 1, 0);
        }
        let constants = &self.constants;
        let is_read = |input: &Option<ValueId>| input.is_some_and(|value| constants.contains(&value));
        let bits = inputs.iter().enumerate().map(|(at, input)| u16::from(is_read(input)) << at);
        self.reads[op] |= bits.fold(0, |all, bit| all | bit);
        self.hash = self.hash_of_key(frame, body, inputs, body.step(step).attribute_bytes());
    }

    /// Writes the key of a step; `None` for a step that cannot be cached.
    #[inline]
    fn write_key(
        &mut self,
        types: &mut Types,
        dims: &Dims,
        frame: &mut Frame<'a>,
        record: &ProgramStep<'a>,
        inputs: &[Option<ValueId>],
        outputs: &[Option<ValueId>],
    ) -> Option<()> {
        let key = &mut self.key.0;
        let op = u32::try_from(record.op.index()).ok()?;
        let present = outputs.iter().fold(1_u32, |bits, output| bits << 1 | u32::from(output.is_some()));
        let present = present << 2 | Scope::of(frame, record.graph) as u32;
        let bindings = u32::try_from(dims.binding_count()).ok()?;
        key[..PREFIX].copy_from_slice(&[op, present, bindings]);
        for (at, (input, words)) in inputs.iter().zip(key[PREFIX..].chunks_exact_mut(2)).enumerate() {
            let Some(value) = *input else {
                words.copy_from_slice(&[ABSENT, UNKNOWN]);
                continue;
            };
            let shape = frame.shape_read(value);
            let slot = &mut frame.slots[value.index()];
            let mut ty = slot.ty?;
            if ty.constant_elem().is_none() {
                ty = types.settled_tensor(ty)?;
                slot.ty = Some(ty);
            }
            // A rule that narrows one of two equal inputs narrows the other.
            if inputs[..at].contains(input) {
                return None;
            }
            let (ty, shape) = (ty.number(), shape.map_or(UNKNOWN, ShapeId::number));
            words.copy_from_slice(&[ty, shape]);
        }
        Some(())
    }

    /// Whether the inputs have the constants that a cached application read.
    fn has_equal_constants(
        &self,
        entry: &Entry<'_>,
        frame: &Frame<'_>,
        body: &Body<'_>,
        inputs: &[Option<ValueId>],
    ) -> bool {
        let read = &self.words[entry.words + PREFIX + 2 * inputs.len()..][..inputs.len()];
        read.iter().zip(inputs).all(|(word, value)| {
            *word == NOT_READ || *word == value.map_or(UNKNOWN, |value| constant_word(frame, body, value))
        })
    }

    fn copy_outputs(
        &self,
        entry: u32,
        frame: &mut Frame<'a>,
        step: StepId,
        outputs: &[Option<ValueId>],
    ) -> Lookup {
        let known = &self.outputs[self.entries[entry as usize].outputs..][..outputs.len()];
        let is_front = frame.is_front(step);
        // All outputs are compared before one is written. They are distinct values, even if a node lists a
        // name twice.
        for (value, known) in outputs.iter().zip(known) {
            let Some(value) = value else { continue };
            let Slot { ty, shape, data } = frame.slots[value.index()];
            if ty.is_some() && ty != known.ty || shape.is_some() || data.is_some() {
                return Lookup::Uncacheable;
            }
        }
        for (value, known) in outputs.iter().zip(known) {
            let Some(value) = *value else { continue };
            frame.slots[value.index()] = *known;
            if !is_front && (known.shape.is_some() || known.data.is_some()) {
                frame.touch(value, step);
            }
        }
        Lookup::Hit
    }

    /// Starts to record the reads and writes of an application.
    fn begin(
        &mut self,
        dims: &Dims,
        frame: &Frame<'a>,
        graph: GraphId,
        outputs: &[Option<ValueId>],
        hash: u64,
    ) -> Lookup {
        let is_blank = |value: &ValueId| {
            let Slot { ty, shape, data } = frame.slots[value.index()];
            ty.is_none() && shape.is_none() && data.is_none()
        };
        // Knowledge that an output had before is not a result of the rules.
        if !outputs.iter().flatten().all(is_blank) {
            return Lookup::Uncacheable;
        }
        self.hash = hash;
        self.is_recording = true;
        self.is_uncacheable = false;
        self.constants.clear();
        self.before = Counters::of(dims, frame, Scope::of(frame, graph));
        Lookup::Miss
    }

    /// Caches the application of a step for which [`Memo::lookup`] returned [`Lookup::Miss`], after its rules
    /// ran.
    pub(crate) fn insert(
        &mut self,
        types: &mut Types,
        dims: &Dims,
        frame: &mut Frame<'a>,
        body: &Body<'a>,
        step: StepId,
    ) {
        self.is_recording = false;
        let (inputs, outputs) = (body.inputs(step), body.outputs(step));
        let scope = Scope::of(frame, body.step(step).graph);
        if self.is_uncacheable
            || Counters::of(dims, frame, scope) != self.before
            || !self.has_unchanged_inputs(frame, inputs)
        {
            return;
        }
        let first_output = self.outputs.len();
        for output in outputs {
            let result = output.map_or(Some(Slot::default()), |value| settled(types, frame, value));
            let Some(result) = result else {
                self.outputs.truncate(first_output);
                return;
            };
            self.outputs.push(result);
        }
        let Ok(entry) = u32::try_from(self.entries.len()) else { return };
        if !self.constants.is_empty() {
            self.add_reads(frame, body, step, inputs);
        }
        let start = self.words.len();
        self.words.extend_from_slice(&self.key.0[..PREFIX + 2 * inputs.len()]);
        let constants = &self.constants;
        self.words.extend(inputs.iter().map(|input| match input {
            Some(value) if constants.contains(value) => constant_word(frame, body, *value),
            Some(_) | None => NOT_READ,
        }));
        self.entries.push(Entry {
            attributes: body.step(step).attribute_bytes(),
            input_count: inputs.len(),
            words: start,
            outputs: first_output,
            reads_constants: !constants.is_empty(),
            successor: 0,
        });
        self.follow(entry);
        self.index.insert_unique(self.hash, (self.hash, entry), |(hash, _)| *hash);
    }

    /// Whether the inputs have the types and shapes of the key.
    fn has_unchanged_inputs(&self, frame: &Frame<'_>, inputs: &[Option<ValueId>]) -> bool {
        let words = self.key.0[PREFIX..].chunks_exact(2);
        inputs.iter().zip(words).all(|(input, words)| match input {
            None => true,
            Some(value) => {
                let slot = frame.slots[value.index()];
                slot.ty.is_some_and(|ty| ty.number() == words[0])
                    && frame.shape_read(*value).map_or(UNKNOWN, ShapeId::number) == words[1]
            }
        })
    }
}

fn constant_word(frame: &Frame<'_>, body: &Body<'_>, value: ValueId) -> u32 {
    if frame.is_dropped(value) {
        return DROPPED;
    }
    match frame.slots[value.index()].data {
        Some(data) => data.number(),
        None if body.value(value).origin.initializer().is_some() => UNDECODED,
        None => UNKNOWN,
    }
}

/// The slot of an output, if its type is settled.
fn settled(types: &mut Types, frame: &mut Frame<'_>, value: ValueId) -> Option<Slot> {
    let slot = &mut frame.slots[value.index()];
    let ty = types.settled_tensor(slot.ty?)?;
    // Readers compare the settled type without a lookup.
    slot.ty = Some(ty);
    Some(*slot)
}
