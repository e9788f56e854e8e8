//! Location and file format of the recorded cases.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde_json::Value as Json;
use typeloom_cpu::decode;
use typeloom_onnx::messages::{OptionalProto, SequenceProto, TensorProto, read};
use typeloom_runtime::session::{Port, Session};
use typeloom_tensor::datum::Datum;
use typeloom_tensor::value_type::Element;

pub(crate) struct Case {
    record: Json,
    folder: PathBuf,
}

/// Directory of the cases; `None` if absent.
#[allow(dead_code, reason = "not every test that includes this file uses it")]
pub(crate) fn folder() -> Option<PathBuf> {
    let beside = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/conformance");
    let root = std::env::var_os("TYPELOOM_CONFORMANCE").map_or(beside, PathBuf::from);
    Some(root.join("backend")).filter(|folder| folder.is_dir())
}

/// All node cases; `None` if they are absent.
pub(crate) fn list() -> Option<Vec<Case>> {
    let beside = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/conformance");
    let root = std::env::var_os("TYPELOOM_CONFORMANCE").map_or(beside, PathBuf::from);
    let folder = root.join("backend");
    let Ok(text) = std::fs::read_to_string(folder.join("cases.jsonl")) else {
        assert!(
            std::env::var("CI").as_deref() != Ok("true"),
            "the recorded cases are missing from {}",
            root.display()
        );
        println!("skipped: there are no recorded cases in {}", root.display());
        return None;
    };
    let records = text.lines().map(|line| serde_json::from_str(line).expect("a case is JSON"));
    let cases = records.map(|record: Json| Case { record, folder: folder.clone() });
    Some(cases.filter(|case| case.record["kind"] == "node" && case.record["data"].is_string()).collect())
}

impl Case {
    pub(crate) fn name(&self) -> &str {
        self.record["name"].as_str().unwrap_or_default()
    }

    pub(crate) fn ops(&self) -> Vec<&str> {
        self.record["ops"].as_array().into_iter().flatten().filter_map(Json::as_str).collect()
    }

    /// The operator under test: the only one of the model, or the one in the name of the case.
    pub(crate) fn subject(&self) -> &str {
        let ops = self.ops();
        match &ops[..] {
            [op] => op,
            _ => "(several)",
        }
    }

    /// Whether a dropout of the case drops elements.
    pub(crate) fn is_training_dropout(&self) -> bool {
        self.ops() == ["Dropout"] && self.name().contains("training") && !self.name().contains("zero_ratio")
    }

    /// Whether all inputs are tensors of 32-bit floats or booleans.
    #[allow(dead_code, reason = "not every test that includes this file uses it")]
    pub(crate) fn is_of_floats(&self) -> bool {
        let inputs = self.record["inputs"].as_object();
        inputs.into_iter().flatten().all(|(_, ty)| ty["e"] == "float" || ty["e"] == "bool")
    }

    /// Whether an input is a tensor of 16-bit floats.
    #[allow(dead_code, reason = "not every test that includes this file uses it")]
    pub(crate) fn has_halves(&self) -> bool {
        let inputs = self.record["inputs"].as_object();
        inputs.into_iter().flatten().any(|(_, ty)| ty["e"] == "float16")
    }

    pub(crate) fn model(&self) -> Vec<u8> {
        let path = self.folder.join(self.record["model"].as_str().unwrap_or_default());
        std::fs::read(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
    }

    /// Relative and absolute tolerance. Numbers with 8 bits of mantissa have steps of 1 in 256 to 1 in 128;
    /// the reference rounds after every step and can differ by two of them. A Fourier transform leaves noise
    /// where terms cancel.
    pub(crate) fn tolerance(&self) -> (f64, f64) {
        if self.name().contains("bf16") {
            (1.0 / 64.0, 1e-7)
        } else if self.name().contains("jpeg_") {
            // The JPEG format leaves the order of summation and the interpolation of colours to the decoder.
            (0.0, 3.0)
        } else if self.ops().iter().any(|op| ["DFT", "STFT"].contains(op)) {
            (1e-3, 1e-6)
        } else {
            (1e-3, 1e-7)
        }
    }

    fn file(&self, name: &str) -> Option<bytes::Bytes> {
        let path = self.folder.join(self.record["data"].as_str()?).join(name);
        std::fs::read(path).ok().map(bytes::Bytes::from)
    }

    pub(crate) fn inputs(&self, session: &Session) -> Result<HashMap<String, Datum>, String> {
        self.inputs_of(session.inputs())
    }

    pub(crate) fn inputs_of(&self, ports: &[Port]) -> Result<HashMap<String, Datum>, String> {
        let mut inputs = HashMap::new();
        for (at, port) in ports.iter().enumerate() {
            let Some(bytes) = self.file(&format!("input_{at}.pb")) else { continue };
            inputs.insert(port.name.clone(), value(bytes, &port.ty.element)?);
        }
        Ok(inputs)
    }

    pub(crate) fn output(&self, at: usize) -> Option<Result<Datum, String>> {
        let bytes = self.file(&format!("output_{at}.pb"))?;
        let kind = self.record["declared"].as_object()?.values().nth(at)?["k"].as_str()?.to_owned();
        let element = match kind.as_str() {
            "seq" => Element::Sequence(Arc::default()),
            "opt" => Element::Optional(Arc::default()),
            _ => Element::Tensor(None),
        };
        Some(value(bytes, &element))
    }
}

fn value(bytes: bytes::Bytes, element: &Element) -> Result<Datum, String> {
    match element {
        Element::Sequence(_) => {
            let proto = read::<SequenceProto>(bytes).map_err(|error| error.to_string())?;
            decode::sequence(&proto).map_err(|error| error.to_string())
        }
        Element::Optional(_) => {
            let proto = read::<OptionalProto>(bytes).map_err(|error| error.to_string())?;
            decode::optional(&proto).map_err(|error| error.to_string())
        }
        _ => {
            let proto = read::<TensorProto>(bytes).map_err(|error| error.to_string())?;
            decode::tensor(&proto).map(Datum::Tensor).map_err(|error| error.to_string())
        }
    }
}
