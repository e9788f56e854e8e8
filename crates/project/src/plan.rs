//! A plan: the settings of models in the form that a check needs, and the work that is done by it.
//!
//! Everything that is the same for all models with the same settings is decided here once: rules of
//! severities become [`Levels`], names of targets are looked up, texts of operators are parsed. A plan is
//! shared by threads.

use std::sync::Arc;

use typeloom::check::{Mode, Operators, Options};
use typeloom::targets::Target;
use typeloom_io::files::SmallTensors;
#[cfg(feature = "interfaces")]
use typeloom_link::{LinkError, LinkOptions, Linked, Part};
use typeloom_rewrite::annotate::AnnotationForm;
use typeloom_rewrite::coerce::{Preferences, Repair, RepairError, repair};
use typeloom_rewrite::mend::{Mended, Repairs, mend};
use typeloom_settings::effective::{Settings, Sourced};
use typeloom_settings::levels::Levels;
use typeloom_solver::diagnostic::Safety;
use typeloom_solver::model::SideData;
use typeloom_solver::universe::Universe;

use crate::error::Error;
use crate::file::File;
use crate::targets::named;

/// How models with the same settings are checked.
#[derive(Clone, Debug)]
pub struct Plan {
    /// The settings that the plan was made from.
    pub settings: Settings,
    /// The severities.
    pub levels: Levels,
    /// The options of the solver. A face sets those that its output needs: a page needs traces.
    pub options: Options,
    /// The operators.
    pub operators: Arc<Operators>,
    /// The runtimes that are to load the model.
    pub targets: Vec<Target>,
}

impl Plan {
    /// The plan of settings. The caller reads the files that describe operators, and those that describe the
    /// targets `own`.
    ///
    /// # Errors
    /// If there is no target with one of the names.
    pub fn new(settings: Settings, operators: Arc<Operators>, own: Vec<Target>) -> Result<Self, Error> {
        let mut targets: Vec<Target> = Vec::new();
        let mut add = |new: Target| {
            if targets.iter().all(|known| known.name() != new.name()) {
                targets.push(new);
            }
        };
        for name in &settings.targets {
            match own.iter().find(|target| target.name() == name.value) {
                Some(target) => add(*target),
                None => named(&name.value)?.into_iter().for_each(&mut add),
            }
        }
        own.into_iter().for_each(add);
        let mut options = settings.options();
        // Verdicts depend on the types inside functions.
        options.functions |= !targets.is_empty();
        Ok(Self { levels: settings.levels(), options, operators, targets, settings })
    }

    /// The plan without settings, with ONNX's operators.
    #[must_use]
    pub fn standard() -> Self {
        Self {
            settings: Settings::default(),
            levels: Levels::default(),
            options: Options::default(),
            operators: Arc::new(Operators::standard()),
            targets: Vec::new(),
        }
    }

    /// Whether files with tensors are looked for and read.
    #[must_use]
    pub fn uses_side_files(&self) -> bool {
        is_on(self.settings.external_data.as_ref())
    }

    /// Whether exceptions in the model count.
    pub(crate) fn uses_exceptions(&self) -> bool {
        is_on(self.settings.inline.as_ref())
    }

    /// The small tensors in other files, which decide shapes.
    pub(crate) fn small_tensors(&self, file: &File) -> Option<Arc<SmallTensors>> {
        let folder = file.folder().filter(|_| self.uses_side_files())?;
        Some(Arc::new(SmallTensors::new(folder.to_path_buf())))
    }

    /// The options for one file.
    pub(crate) fn options_of(&self, tensors: Option<&Arc<SmallTensors>>) -> Options {
        let side_data = tensors.map(|tensors| Arc::clone(tensors) as Arc<dyn SideData>);
        Options { side_data, ..self.options.clone() }
    }

    /// Repairs a model.
    ///
    /// # Errors
    /// If the model cannot be checked or written. [`Repair::is_ok`] states whether errors remain.
    pub fn repair(&self, file: &File, preferences: Preferences) -> Result<Repair, RepairError> {
        let options = self.options_of(self.small_tensors(file).as_ref());
        repair(file.model(), &*self.operators, Universe::standard(), &options, preferences)
    }

    /// The file that a run uses. In permissive mode, the known errors of exporters are repaired; `None` if
    /// there are none. A model that cannot be read has none: its check reports that.
    #[must_use]
    pub fn file_to_run(&self, file: &File) -> Option<File> {
        if self.options.mode != Mode::Permissive {
            return None;
        }
        let mended = self.mend(file, Repairs::Exporters).ok()?;
        mended.file.map(|model| file.with_model(model))
    }

    /// Replaces the declared types that the graph contradicts.
    ///
    /// # Errors
    /// If the model cannot be checked or written.
    pub fn with_true_declarations(&self, file: &File, form: AnnotationForm) -> Result<Mended, RepairError> {
        self.mend(file, Repairs::Declarations(form))
    }

    fn mend(&self, file: &File, repairs: Repairs) -> Result<Mended, RepairError> {
        let options = self.options_of(self.small_tensors(file).as_ref());
        mend(file.model(), &*self.operators, Universe::standard(), &options, repairs, Safety::Safe)
    }

    /// Joins two models.
    ///
    /// # Errors
    /// The reason why they do not fit.
    #[cfg(feature = "interfaces")]
    pub fn link(&self, parts: &[Part<'_>; 2], options: &LinkOptions) -> Result<Linked, LinkError> {
        typeloom_link::link(parts, &*self.operators, Universe::standard(), options)
    }
}

/// A switch that is on by default.
fn is_on(flag: Option<&Sourced<bool>>) -> bool {
    flag.is_none_or(|flag| flag.value)
}
