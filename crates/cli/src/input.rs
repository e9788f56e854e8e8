//! Input files: maps or reads the bytes of models, and checks them.
//!
//! A large model is mapped into memory, not read: checking reads the pages of the graph and none of the
//! weights. Standard input is read whole. A model in ONNX's textual syntax is converted: it is recognised by
//! the name of its file, or by its first character.

use std::ffi::OsStr;
use std::io::Read as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::{Context as _, anyhow, bail};
use typeloom_io::files::{Bytes, SmallTensors};
#[cfg(feature = "interfaces")]
use typeloom_link::{LinkError, LinkOptions, Linked, Part};
use typeloom_onnx::external::locations;
use typeloom_onnx::lfs;
use typeloom_onnx::text::{self, escape};
use typeloom_onnx::view::ModelView;
use typeloom_ops::described::{Described, Operators};
use typeloom_rewrite::advise::advised;
use typeloom_rewrite::annotate::AnnotationForm;
use typeloom_rewrite::coerce::{Preferences, Repair, RepairError, repair};
use typeloom_rewrite::mend::{Mended, Repairs, mend};
use typeloom_solver::diagnostic::{Diagnostic, Safety, diagnose_error, diagnose_text};
use typeloom_solver::model::{CheckError, Checked, Options, Seed, SideData};
use typeloom_solver::universe::Universe;
use typeloom_types::lattice::Lattice;
use typeloom_types::lattice::build::NodeSpec;

use crate::reads::{self, Use};

/// One model to work on.
#[derive(Clone, Debug)]
pub(crate) struct Source {
    /// Name in the output, with control characters escaped.
    pub(crate) name: String,
    path: Option<PathBuf>,
}

/// The file given by an argument; `-` is standard input.
pub(crate) fn source(argument: &str) -> Source {
    if argument == "-" {
        reads::record_stdin();
        return Source { name: "<stdin>".to_owned(), path: None };
    }
    let path = PathBuf::from(argument);
    reads::record(&path, Use::Model);
    Source::at(path)
}

/// The contents of a file that is no model.
pub(crate) fn read(path: &Path) -> std::io::Result<Vec<u8>> {
    reads::record(path, Use::Other);
    typeloom_io::files::read(path)
}

impl Source {
    /// The model in a file.
    pub(crate) fn at(path: PathBuf) -> Self {
        Self { name: escape(&path.display().to_string()).into_owned(), path: Some(path) }
    }

    /// The path of the file; `None` for standard input.
    pub(crate) fn path(&self) -> Option<&Path> {
        self.path.as_deref()
    }

    /// The model's bytes. A text that is not a model is an error.
    pub(crate) fn open(&self) -> anyhow::Result<Bytes> {
        let bytes =
            self.read()?.map_err(|problem| anyhow!("cannot read `{}`: {}", self.name, problem.message))?;
        // The problems of a malformed model are reported by the check.
        if let Ok(model) = ModelView::new(&bytes) {
            locations(&model).into_iter().for_each(|location| self.record_side_file(location));
        }
        Ok(bytes)
    }

    /// Records the use of a file with tensors of the model.
    pub(crate) fn record_side_file(&self, location: &str) {
        if let Some(folder) = self.folder() {
            reads::record(&folder.join(location), Use::Tensors);
        }
    }

    /// The model's bytes, or the problem of a text that is not a model.
    pub(crate) fn read(&self) -> anyhow::Result<Result<Bytes, Box<Diagnostic>>> {
        let bytes = self.contents()?;
        Ok(if self.is_text_of(&bytes) { model_of_text(&bytes) } else { Ok(bytes) })
    }

    /// Whether the file has the name or the contents of a model in the textual syntax. Standard input is not
    /// read.
    pub(crate) fn is_text(&self) -> anyhow::Result<bool> {
        Ok(self.path.is_some() && self.is_text_of(&self.contents()?))
    }

    /// The bytes of the file.
    fn contents(&self) -> anyhow::Result<Bytes> {
        let Some(path) = &self.path else {
            let mut bytes = Vec::new();
            std::io::stdin().lock().read_to_end(&mut bytes).context("cannot read standard input")?;
            return Ok(Bytes::Read(bytes.into()));
        };
        reads::record(path, Use::Model);
        typeloom_io::files::open(path).with_context(|| format!("cannot read `{}`", self.name))
    }

    fn is_text_of(&self, bytes: &[u8]) -> bool {
        let has_suffix = self.path.as_deref().is_some_and(|path| is_text_name(path.as_os_str()));
        text::is_text(bytes) || (has_suffix && !lfs::is_pointer(bytes))
    }

    /// The small tensors in the side files of the model.
    fn side_data(&self) -> Option<Arc<dyn SideData>> {
        let folder = self.folder()?.to_path_buf();
        Some(Arc::new(SmallTensors::new(folder)))
    }

    /// The folder of the model, for the files that it refers to.
    pub(crate) fn folder(&self) -> Option<&Path> {
        self.path.as_deref().map(|path| path.parent().unwrap_or(Path::new("")))
    }
}

/// Whether a file of this name is a model in the textual syntax.
pub(crate) fn is_text_name(name: &OsStr) -> bool {
    let name = name.as_encoded_bytes();
    text::SUFFIXES.iter().any(|suffix| name.ends_with(suffix.as_bytes()))
}

/// Converts a model in the textual syntax.
fn model_of_text(bytes: &[u8]) -> Result<Bytes, Box<Diagnostic>> {
    // A character that is not UTF-8 is an error unless it is in a string or a comment, where it does not
    // matter.
    let text = String::from_utf8_lossy(bytes);
    text::model_bytes(&text)
        .map(|model| Bytes::Read(model.into()))
        .map_err(|error| Box::new(diagnose_text(&error)))
}

/// Checks models with given options and operators.
pub(crate) struct Checker {
    pub(crate) options: Options,
    operators: Operators,
    /// Whether a check reads small tensors of side files.
    pub(crate) side_files: SideReading,
}

/// Whether a check reads small tensors of side files.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum SideReading {
    Small,
    Off,
}

/// A checked model, or the problem of a file that cannot be checked.
pub(crate) type CheckResult<'a> = Result<Checked<'a>, Diagnostic>;

/// The diagnostic of a file that cannot be checked; `Err` if an argument is wrong.
pub(crate) fn problem(source: &Source, error: CheckError) -> anyhow::Result<Diagnostic> {
    diagnose_error(&error).ok_or(error).with_context(|| format!("cannot check `{}`", source.name))
}

impl Checker {
    pub(crate) fn new(options: Options, operators: Operators) -> Self {
        Self { options, operators, side_files: SideReading::Small }
    }

    /// The options for one model.
    fn options_of(&self, source: &Source) -> Options {
        let side_data = match self.side_files {
            SideReading::Small => source.side_data(),
            SideReading::Off => None,
        };
        Options { side_data, ..self.options.clone() }
    }

    /// Checks a model.
    pub(crate) fn check<'a>(&'a self, source: &Source, bytes: &'a [u8]) -> anyhow::Result<CheckResult<'a>> {
        self.check_bytes(source, bytes)
            .map_or_else(|error| problem(source, error).map(Err), |checked| Ok(Ok(checked)))
    }

    /// Checks the bytes of a model.
    pub(crate) fn check_bytes<'a>(
        &'a self,
        source: &Source,
        bytes: &'a [u8],
    ) -> Result<Checked<'a>, CheckError> {
        typeloom_ops::check::check_with(bytes, &self.options_of(source), &self.operators)
    }

    /// The diagnostics of a model, with verified fixes.
    pub(crate) fn diagnose(&self, bytes: &[u8], checked: &mut CheckResult<'_>) -> Vec<Diagnostic> {
        match checked {
            Ok(checked) => {
                let options = Options { side_data: checked.side_data(), ..self.options.clone() };
                advised(bytes, checked, &self.operators, Universe::standard(), &options)
            }
            Err(problem) => vec![problem.clone()],
        }
    }

    /// A model without errors, or its diagnostics.
    pub(crate) fn well_typed<'a>(
        &self,
        bytes: &[u8],
        checked: CheckResult<'a>,
    ) -> Result<Checked<'a>, Vec<Diagnostic>> {
        match checked {
            Ok(checked) if checked.is_ok() => Ok(checked),
            mut other => Err(self.diagnose(bytes, &mut other)),
        }
    }

    /// Repairs the known errors of exporters; `None` if the model has none.
    #[cfg(feature = "run")]
    pub(crate) fn mend(&self, source: &Source, bytes: &[u8]) -> Result<Option<Vec<u8>>, RepairError> {
        mend(
            bytes,
            &self.operators,
            Universe::standard(),
            &self.options_of(source),
            Repairs::Exporters,
            Safety::Safe,
        )
        .map(|mended| mended.file)
    }

    /// Replaces the declared types that the graph contradicts.
    pub(crate) fn with_true_declarations(
        &self,
        source: &Source,
        bytes: &[u8],
        form: AnnotationForm,
    ) -> Result<Mended, RepairError> {
        let repairs = Repairs::Declarations(form);
        mend(bytes, &self.operators, Universe::standard(), &self.options_of(source), repairs, Safety::Safe)
    }

    /// Joins two models.
    #[cfg(feature = "interfaces")]
    pub(crate) fn link(&self, parts: &[Part<'_>; 2], options: &LinkOptions) -> Result<Linked, LinkError> {
        typeloom_link::link(parts, &self.operators, Universe::standard(), options)
    }

    /// Repairs a model.
    pub(crate) fn repair(
        &self,
        source: &Source,
        bytes: &[u8],
        preferences: Preferences,
    ) -> Result<Repair, RepairError> {
        repair(bytes, &self.operators, Universe::standard(), &self.options_of(source), preferences)
    }
}

/// Adds the nodes of a JSON file to the type tree: a list of objects with the fields of
/// [`NodeSpec`](typeloom_types::lattice::build::NodeSpec).
pub(crate) fn extend_types(file: &Path) -> anyhow::Result<()> {
    let name = file.display();
    let bytes = read(file).with_context(|| format!("cannot read `{name}`"))?;
    let nodes: Vec<NodeSpec> =
        serde_json::from_slice(&bytes).map_err(|error| anyhow::anyhow!("`{name}`: {error}"))?;
    Lattice::extend(nodes).map_err(|error| anyhow::anyhow!("`{name}`: {error}"))
}

/// ONNX's operators, and those that the files describe.
pub(crate) fn operators(files: &[PathBuf]) -> anyhow::Result<Operators> {
    let mut operators = Operators::standard();
    for file in files {
        let name = file.display();
        let bytes = read(file).with_context(|| format!("cannot read `{name}`"))?;
        let text = String::from_utf8(bytes).with_context(|| format!("cannot read `{name}`"))?;
        let described = Described::parse(&text).map_err(|error| anyhow::anyhow!("`{name}`, {error}"))?;
        operators = operators.with(described);
    }
    Ok(operators)
}

/// `SYMBOL=DIM`; a symbol that contains `=` is in double quotes.
pub(crate) fn read_assumption(text: &str) -> anyhow::Result<(String, String)> {
    let quoted = text.trim_start().strip_prefix('"').and_then(|rest| rest.split_once('"'));
    let quoted = quoted.and_then(|(symbol, rest)| Some((symbol, rest.trim_start().strip_prefix('=')?)));
    match quoted.or_else(|| text.split_once('=')) {
        Some((symbol, dim)) if !symbol.trim().is_empty() && !dim.trim().is_empty() => {
            Ok((symbol.trim().to_owned(), dim.trim().to_owned()))
        }
        Some(_) | None => bail!("an assumption is written SYMBOL=DIM, not `{text}`"),
    }
}

/// The name, the text of the type and the type of `NAME=TYPE`; the name may itself contain `=`, a type
/// cannot.
pub(crate) fn read_seed(text: &str) -> anyhow::Result<(String, String, Seed)> {
    let Some((name, ty)) = text.rsplit_once('=') else {
        let random =
            if text.parse::<u64>().is_ok() { "; `run` has --random-seed for generated inputs" } else { "" };
        bail!("a seed is written NAME=TYPE, not `{text}`{random}");
    };
    let seed = Seed::parse(ty).with_context(|| format!("`{ty}` is no type"))?;
    Ok((name.to_owned(), ty.to_owned(), seed))
}
