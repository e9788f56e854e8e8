//! Other versions of an operator: attributes that became inputs and the reverse, removed attributes, and
//! versions that accept the ports of a node.
//!
//! All of this is derived from the forms of the operator in the catalogue. An attribute and an input of two
//! forms are one port if neither form has both, and their names are equal regardless of case or the name of
//! the input ends with that of the attribute (`value` and `constant_value`).

use typeloom_onnx::view::Attribute;

use super::fix::{AttributeAsInput, InputAsAttribute};
use super::text::{list, opset_of, quote};
use super::{Diagnostic, Fix, Safety, Scope};
use crate::elem::{Elem, ElemSet};
use crate::program::{Origin, StepId, ValueId};
use crate::rule::Port;
use crate::signature::{
    Arity, AttributeDecl, AttributeDefault, AttributeKind, Formal, FormalType, Schema, is_same_name,
};
use crate::solve_error::Side;

/// A version of an operator that a node may be written for.
struct OtherForm<'a> {
    schema: &'a Schema,
    /// The version of the domain to import: the nearest one with this form.
    version: i64,
}

impl<'a> Scope<'_, 'a> {
    /// Adds the advice for attributes that are inputs in the version that the model imports; `None` if there
    /// are none.
    pub(super) fn with_attributes_as_inputs(
        &mut self,
        step: StepId,
        diagnostic: &Diagnostic,
    ) -> Option<Diagnostic> {
        if !self.explains() {
            return None;
        }
        let schema = self.schema(step)?;
        let (mut ports, mut types, mut since, mut before) = (Vec::new(), Vec::new(), 0, i64::MAX);
        for attribute in self.given_attributes(step) {
            if schema.attribute(attribute.name).is_some() {
                continue;
            }
            let Some(old) = self.older_forms(step).rev().find(|old| old.attribute(attribute.name).is_some())
            else {
                continue;
            };
            let Some(input) = input_of(old, schema, attribute.name) else { continue };
            if self.value(step, Port::In(input)).is_some() {
                return None;
            }
            let first = self.first_after(step, old)?;
            let to =
                self.element_of(step, &schema.inputs[input], AttributeKind::from_onnx(attribute.kind)?)?;
            let to = to.onnx_name()?.to_owned();
            types.push(type_text(&to, &attribute));
            let kinds = [AttributeKind::Ints as i32, AttributeKind::Floats as i32];
            let is_list = kinds.contains(&attribute.kind);
            ports.push(AttributeAsInput { attribute: attribute.name.to_owned(), input, to, is_list });
            since = since.max(i64::from(first));
            before = before.min(i64::from(first) - 1);
        }
        if ports.is_empty() {
            return None;
        }
        ports.sort_by_key(|port| port.input);
        let domain = self.op(step).domain;
        let opset = opset_of(domain);
        let name = |port: &AttributeAsInput| {
            let input = &schema.inputs[port.input].name;
            match **input == *port.attribute {
                true => quote(&port.attribute),
                false => format!("{} (now {})", quote(&port.attribute), quote(input)),
            }
        };
        let names = list(&ports.iter().map(name).collect::<Vec<_>>(), "and");
        let help = match &types[..] {
            [ty] => format!(
                "{names} is an input since {opset} {since}: pass it as {ty}, or import {opset} {before}"
            ),
            _ => format!(
                "{names} are inputs since {opset} {since}: pass them as such, or import {opset} {before}"
            ),
        };
        let fix = Fix::PassAsInputs { ports };
        Some(diagnostic.clone().with_help(help).with_fix(fix, Safety::Safe))
    }

    /// Adds the advice for more ports than the operator has: attributes that other versions have as inputs,
    /// or another version with as many ports.
    pub(super) fn with_fitting_version(
        &self,
        step: StepId,
        side: Side,
        given: usize,
        diagnostic: Diagnostic,
    ) -> Diagnostic {
        let Some(schema) = self.schema(step).filter(|_| self.explains()) else { return diagnostic };
        let Some(other) =
            self.nearest_form(step, |form| takes(side.pick(&form.inputs, &form.outputs), given))
        else {
            return diagnostic;
        };
        let domain = self.op(step).domain;
        let opset = opset_of(domain);
        let OtherForm { schema: form, version } = other;
        let is_newer = form.since_version > schema.since_version;
        let or_newer = if is_newer { " or newer" } else { "" };
        let moved = if side == Side::Inputs { self.inputs_as_attributes(step, schema, form) } else { None };
        let Some(ports) = moved else {
            let verb = side.pick("takes", "gives");
            let has_as_many = side.pick(&form.inputs, &form.outputs).len() == given;
            let many = if has_as_many { given.to_string() } else { format!("{given} or more") };
            let help = format!(
                "{} {verb} {many} {}s in {opset} {version}{or_newer}: import it",
                self.op_text(step),
                side.noun()
            );
            return self.with_import(diagnostic.with_help(help), step, version);
        };
        let names: Vec<String> = ports.iter().map(|port| quote(&port.attribute)).collect();
        let when = if is_newer {
            format!("before {opset} {version}")
        } else {
            format!("since {opset} {}", schema.since_version)
        };
        let names = list(&names, "and");
        let help = match ports.len() {
            1 => format!(
                "{names} is an attribute {when}: pass it as one, or import {opset} {version}{or_newer}"
            ),
            _ => format!(
                "{names} are attributes {when}: pass them as such, or import {opset} {version}{or_newer}"
            ),
        };
        diagnostic.with_help(help).with_fix(Fix::PassAsAttributes { ports }, Safety::Safe)
    }

    /// Adds the advice for an attribute that the operator has in other versions only; `None` if no version
    /// has it.
    pub(super) fn with_version_of_attribute(
        &self,
        step: StepId,
        name: &str,
        diagnostic: &Diagnostic,
    ) -> Option<Diagnostic> {
        if !self.explains() {
            return None;
        }
        let OtherForm { schema: form, version } =
            self.nearest_form(step, |form| form.attribute(name).is_some())?;
        let opset = opset_of(self.op(step).domain);
        let declared = form.attribute(name)?;
        let is_newer = form.since_version > self.schema(step)?.since_version;
        let when = match is_newer {
            true => format!("{} is an attribute since {opset} {}", quote(name), form.since_version),
            false => format!("{} is no attribute since {opset} {}", quote(name), version + 1),
        };
        let attributes = self.given_attributes(step);
        let given = attributes.iter().find(|attribute| attribute.name == name)?;
        let diagnostic = diagnostic.clone();
        Some(if is_default(given, declared) {
            let fix = Fix::RemoveAttribute { name: name.to_owned() };
            diagnostic
                .with_help(format!("{when}, and it has its default: remove it"))
                .with_fix(fix, Safety::Safe)
        } else {
            let or_newer = if is_newer { " or newer" } else { "" };
            self.with_import(
                diagnostic.with_help(format!("{when}: import {opset} {version}{or_newer}")),
                step,
                version,
            )
        })
    }

    /// The nearest version of the domain in which the operator of a step is not withdrawn.
    pub(super) fn usable_version(&self, step: StepId) -> Option<i64> {
        Some(self.nearest_form(step, |_| true)?.version)
    }

    /// Adds the import of another version of the operator's domain as fix. It is safe if the other operators
    /// of the domain have the same form in that version.
    pub(super) fn with_import(&self, diagnostic: Diagnostic, step: StepId, version: i64) -> Diagnostic {
        let op = self.op(step);
        let safety = match self.operators.keeps_forms(op, version) {
            true => Safety::Safe,
            false => Safety::Unsafe,
        };
        diagnostic.with_fix(Fix::ImportOpset { domain: op.domain.to_owned(), version }, safety)
    }

    /// The attributes of a node that can be read.
    pub(super) fn given_attributes(&self, step: StepId) -> Vec<Attribute<'a>> {
        let attributes = self.body().step(step).attribute_part().attributes();
        attributes.flatten().filter_map(|attribute| attribute.parse().ok()).collect()
    }

    /// The older forms of an operator, in order.
    fn older_forms(&self, step: StepId) -> impl DoubleEndedIterator<Item = &'a Schema> + use<'a> {
        let current = self.schema(step).map_or(0, |schema| schema.since_version);
        self.operators.forms(self.op(step)).into_iter().filter(move |form| form.since_version < current)
    }

    /// The first version after a form of the operator.
    fn first_after(&self, step: StepId, form: &Schema) -> Option<u32> {
        let forms = self.operators.forms(self.op(step));
        forms.iter().map(|other| other.since_version).find(|since| *since > form.since_version)
    }

    /// The nearest form of a step's operator that is accepted; a newer one is preferred.
    fn nearest_form(&self, step: StepId, accept: impl Fn(&Schema) -> bool) -> Option<OtherForm<'a>> {
        let current = self.schema(step)?.since_version;
        let forms = self.operators.forms(self.op(step));
        let accepted = |form: &&&Schema| !form.deprecated && accept(form);
        let newer = forms.iter().filter(|form| form.since_version > current).find(accepted);
        if let Some(schema) = newer {
            return Some(OtherForm { schema, version: i64::from(schema.since_version) });
        }
        let schema = forms.iter().rev().filter(|form| form.since_version < current).find(accepted)?;
        Some(OtherForm { schema, version: i64::from(self.first_after(step, schema)?) - 1 })
    }

    /// The inputs of a node that are attributes in the form of its operator, if all others are inputs there;
    /// `form` is the one that the node is written for.
    fn inputs_as_attributes(
        &self,
        step: StepId,
        schema: &Schema,
        form: &Schema,
    ) -> Option<Vec<InputAsAttribute>> {
        let mut ports = Vec::new();
        for (at, value) in self.body().inputs(step).iter().enumerate() {
            let name = &form.input(at)?.name;
            match schema.inputs.iter().position(|input| input.name == *name) {
                Some(same) if same == at => {}
                _ if value.is_none() => {}
                Some(_) => return None,
                None if !value.is_some_and(|value| self.is_stored(value)) => return None,
                None => {
                    let mut attributes = schema.attributes.iter();
                    let declared = attributes.find(|it| input_of(schema, form, &it.name) == Some(at))?;
                    let attribute = declared.name.to_string();
                    ports.push(InputAsAttribute { input: at, attribute, kind: declared.kind });
                }
            }
        }
        (!ports.is_empty()).then_some(ports)
    }

    /// Whether a value is stored in the model: an initializer, or the result of a node without inputs.
    fn is_stored(&self, value: ValueId) -> bool {
        match self.body().value(value).origin {
            Origin::Initializer(_) => true,
            Origin::Step(step) => self.body().inputs(step).is_empty(),
            Origin::Input | Origin::InputWithDefault(_) | Origin::Undefined => false,
        }
    }

    /// The element type of an input that replaces an attribute.
    fn element_of(&mut self, step: StepId, formal: &Formal, kind: AttributeKind) -> Option<Elem> {
        let natural = match kind {
            AttributeKind::Int | AttributeKind::Ints => Elem::INT64,
            AttributeKind::Float | AttributeKind::Floats => Elem::FLOAT,
            _ => return None,
        };
        let schema = self.schema(step)?;
        let FormalType::Var(variable) = formal.ty else {
            let FormalType::Tensor(elem) = formal.ty else { return None };
            return Some(elem);
        };
        let shared = (0..self.body().inputs(step).len())
            .filter(|at| schema.input(*at).is_some_and(|input| input.ty == FormalType::Var(variable)));
        for at in shared.collect::<Vec<_>>() {
            if let Some(elem) =
                self.port_type(step, Port::In(at)).tensor().and_then(|tensor| tensor.elem.single())
            {
                return Some(elem);
            }
        }
        let allowed: ElemSet = schema.type_vars.get(usize::from(variable))?.allowed.tensor;
        allowed.contains(natural).then_some(natural)
    }
}

/// The input of `new` that replaces an attribute of `old`.
fn input_of(old: &Schema, new: &Schema, attribute: &str) -> Option<usize> {
    if new.attribute(attribute).is_some() {
        return None;
    }
    let is_new = |formal: &Formal| old.inputs.iter().all(|input| input.name != formal.name);
    let is_same = |formal: &&Formal| formal.name.eq_ignore_ascii_case(attribute);
    let ends_with =
        |formal: &&Formal| formal.name.strip_suffix(attribute).is_some_and(|start| start.ends_with('_'));
    let inputs = || new.inputs.iter().filter(|formal| is_new(formal));
    let found = inputs().find(is_same).or_else(|| inputs().find(ends_with))?;
    new.inputs.iter().position(|formal| is_same_name(formal.name.as_bytes(), found.name.as_bytes()))
}

/// Whether a side of an operator can have a number of ports.
fn takes(declared: &[Formal], given: usize) -> bool {
    let is_variadic = declared.last().is_some_and(|last| matches!(last.arity, Arity::Variadic { .. }));
    given <= declared.len() || is_variadic
}

/// Whether an attribute has its default value.
fn is_default(given: &Attribute<'_>, declared: &AttributeDecl) -> bool {
    match &declared.default {
        Some(AttributeDefault::Int(value)) => given.i.unwrap_or(0) == *value,
        Some(AttributeDefault::Float(value)) => given.f.unwrap_or(0.0).to_bits() == value.to_bits(),
        Some(AttributeDefault::String(value)) => given.s.unwrap_or_default() == value.as_bytes(),
        Some(AttributeDefault::Ints(values)) => {
            given.ints().collect::<Result<Vec<_>, _>>().is_ok_and(|ints| *ints == **values)
        }
        Some(AttributeDefault::Floats(_) | AttributeDefault::Strings(_)) | None => false,
    }
}

/// The type of an input that replaces an attribute: `int64[2]`, or the element type alone for a single
/// number.
fn type_text(elem: &str, attribute: &Attribute<'_>) -> String {
    let count = match AttributeKind::from_onnx(attribute.kind) {
        Some(AttributeKind::Ints) => Some(attribute.ints().count()),
        Some(AttributeKind::Floats) => Some(attribute.floats().count()),
        _ => None,
    };
    match count {
        Some(count) => format!("{elem}[{count}]"),
        None => elem.to_owned(),
    }
}
