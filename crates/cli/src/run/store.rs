//! Values read from and written to files: `.npy` arrays and `.pb` messages.

use std::path::Path;

use anyhow::{Context as _, bail};
use typeloom_project::parts::components::source::npy;
use typeloom_project::parts::cpu::decode;
use typeloom_project::parts::onnx::messages::{MapProto, OptionalProto, SequenceProto, TensorProto};
use typeloom_project::parts::onnx::prost::Message as _;
use typeloom_project::parts::tensor::any_tensor::AnyTensor;
use typeloom_project::parts::tensor::datum::Datum;
use typeloom_project::parts::tensor::value_type::{Element, ValueType};

use crate::target::Target;

/// The file that the value of an input names; other values are literals.
pub(crate) fn file_of(value: &str) -> Option<&Path> {
    let path = Path::new(value);
    let is_file = path.extension().is_some_and(|extension| extension == "npy" || extension == "pb");
    is_file.then_some(path)
}

/// Reads a value of the given type from a file.
pub(crate) fn read(path: &Path, ty: &ValueType) -> anyhow::Result<Datum> {
    let cannot = || format!("cannot read `{}`", path.display());
    let bytes = crate::input::read(path).with_context(cannot)?;
    match path.extension().and_then(|extension| extension.to_str()) {
        Some("npy") => npy::read(&bytes).map(Datum::Tensor).with_context(cannot),
        Some("pb") => decode_message(&bytes, ty).with_context(cannot),
        Some(_) | None => bail!("`{}` is neither a `.npy` nor a `.pb` file", path.display()),
    }
}

fn decode_message(bytes: &[u8], ty: &ValueType) -> anyhow::Result<Datum> {
    Ok(match &ty.element {
        Element::Sequence(_) => decode::sequence(&SequenceProto::decode(bytes)?)?,
        Element::Optional(_) => decode::optional(&OptionalProto::decode(bytes)?)?,
        Element::Map(..) => decode::map(&MapProto::decode(bytes)?)?,
        _ => Datum::Tensor(decode::tensor(&TensorProto::decode(bytes)?)?),
    })
}

/// Writes a value to a folder under a name; elements of sequences, and keys and values of maps, get separate
/// files. Returns the files.
pub(crate) fn write(folder: &Path, name: &str, value: &Datum) -> anyhow::Result<Vec<String>> {
    let file_name: String = name
        .chars()
        .map(|letter| if letter.is_alphanumeric() || "-_.".contains(letter) { letter } else { '_' })
        .collect();
    // A value name may be empty or consist of dots; a file name may not.
    let file_name =
        if file_name.trim_matches('.').is_empty() { format!("value{file_name}") } else { file_name };
    let mut files = Vec::new();
    let mut save = |name: &str, tensor: &AnyTensor| -> anyhow::Result<()> {
        let (file, bytes) = match npy::written(tensor) {
            Some(bytes) => (format!("{name}.npy"), bytes),
            None => (format!("{name}.pb"), proto(tensor, name).encode_to_vec()),
        };
        let path = folder.join(&file);
        Target::output(&path.display().to_string())?.write(&bytes)?;
        files.push(file);
        Ok(())
    };
    let mut pending = vec![(file_name, value)];
    while let Some((name, value)) = pending.pop() {
        match value {
            Datum::Tensor(tensor) => save(&name, tensor)?,
            Datum::Map(map) => {
                save(&format!("{name}.keys"), map.keys())?;
                save(&format!("{name}.values"), map.values())?;
            }
            Datum::Sequence(values) => {
                let numbered = values.iter().enumerate().map(|(at, value)| (format!("{name}.{at}"), value));
                pending.extend(numbered.rev());
            }
            Datum::Optional(held) => pending.extend(held.as_deref().map(|held| (name, held))),
            // Outputs of a model have no other kind.
            _ => {}
        }
    }
    Ok(files)
}

fn proto(tensor: &AnyTensor, name: &str) -> TensorProto {
    TensorProto { name: name.into(), ..TensorProto::from(tensor) }
}
