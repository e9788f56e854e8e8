//! The recorded calls of one operator: those of the ONNX reference, and those of ONNX Runtime in this
//! repository.

use std::collections::{BTreeMap, HashMap};

use typeloom_cpu::attributes::{Attribute, Attributes};
use typeloom_cpu::call::Call;
use typeloom_cpu::decode;
use typeloom_cpu::error::KernelError;
use typeloom_cpu::ops::{self, Operator};
use typeloom_onnx::messages::attribute_proto::AttributeType;
use typeloom_onnx::messages::{ModelProto, read};
use typeloom_ops::catalogue::Standard;
use typeloom_runtime::session::Session;
use typeloom_solver::model::{Mode, Options, check};
use typeloom_solver::universe::Universe;
use typeloom_tensor::datum::Datum;

use crate::{cases, runtime_values};

/// A call of an operator that returns a result.
#[derive(Clone, Debug)]
pub(crate) struct Baseline {
    pub(crate) name: String,
    pub(crate) operator: &'static Operator,
    pub(crate) version: i64,
    pub(crate) attributes: BTreeMap<String, Attribute>,
    pub(crate) inputs: Vec<Option<Datum>>,
    pub(crate) outputs: usize,
}

impl Baseline {
    pub(crate) fn run(&self) -> Result<Vec<Datum>, KernelError> {
        let mut attributes = Attributes::default();
        for (name, value) in &self.attributes {
            attributes = attributes.with(name, value.clone());
        }
        let inputs = self.inputs.clone();
        self.operator.run(Call {
            version: self.version,
            attributes: &attributes,
            inputs,
            outputs: self.outputs,
        })
    }
}

/// Every `step`-th call of each operator.
pub(crate) fn baselines(step: usize) -> Vec<Baseline> {
    let wanted = std::env::var("TYPELOOM_OPS").unwrap_or_default();
    let wanted: Vec<&str> = wanted.split(',').filter(|op| !op.is_empty()).collect();
    let mut all = Vec::new();
    for case in cases::list().unwrap_or_default() {
        let names = case.ops();
        if !wanted.is_empty() && !names.iter().any(|op| wanted.contains(op)) {
            continue;
        }
        let [_] = names[..] else { continue };
        let bytes = case.model();
        let options = Options { mode: Mode::Permissive, ..Options::default() };
        let Ok(mut checked) = check(&bytes, &Standard, Universe::standard(), &options) else { continue };
        let external = |_: &_| Err("no case has other files".to_owned());
        let Ok(session) = Session::of_checked(&mut checked, &external) else { continue };
        let (Ok(inputs), Ok(model)) = (case.inputs(&session), read::<ModelProto>(bytes.clone().into()))
        else {
            continue;
        };
        all.extend(baseline(case.name(), &model, &inputs));
    }
    for case in runtime_values::list() {
        all.extend(case.model().ok().and_then(|model| baseline(&case.graph, &model, &case.inputs)));
    }
    let mut number: BTreeMap<&str, usize> = BTreeMap::new();
    all.retain(|baseline| {
        let (domain, name) = (baseline.operator.domain(), baseline.operator.name());
        let is_wanted = wanted.is_empty() || wanted.contains(&name);
        let at = number.entry(if domain.is_empty() { name } else { domain }).or_default();
        *at += 1;
        is_wanted && (*at - 1).is_multiple_of(step)
    });
    all
}

/// The call of a model of one node; `None` if it is another model, or if the call fails.
fn baseline(name: &str, model: &ModelProto, inputs: &HashMap<String, Datum>) -> Option<Baseline> {
    let graph = model.graph.as_ref()?;
    let [node] = &graph.node[..] else { return None };
    let operator = ops::find(node.domain(), node.op_type())?;
    let import = model.opset_import.iter().find(|import| import.domain() == node.domain())?;
    let mut values = Vec::new();
    for name in &node.input {
        let stored = graph.initializer.iter().find(|tensor| tensor.name() == name);
        values.push(match (inputs.get(name.as_str()), stored) {
            (Some(value), _) => Some(value.clone()),
            (None, Some(tensor)) => Some(decode::tensor(tensor).ok()?.into()),
            (None, None) if name.is_empty() => None,
            (None, None) => return None,
        });
    }
    let decoded = Attributes::decode(&node.attribute).ok()?;
    let mut attributes = BTreeMap::new();
    for attribute in &node.attribute {
        if attribute.r#type() == AttributeType::Graph {
            return None;
        }
        attributes.insert(attribute.name().to_owned(), decoded.get(attribute.name())?.clone());
    }
    let baseline = Baseline {
        name: name.chars().take(120).collect(),
        operator,
        version: import.version(),
        attributes,
        inputs: values,
        outputs: node.output.len(),
    };
    baseline.run().is_ok().then_some(baseline)
}
