//! Locations of side files in a model that is made from other models.
//!
//! A location in a model is relative to the folder of the model. A result in the same folder or above refers
//! to the same files: their locations get the path from the folder of the result to that of the model. Other
//! files have to be copied, as `RESULT.NAME`. A second run replaces the copies of the first one: those that
//! the model at the path of the result refers to.
//!
//! **Invariant:** two models never refer to one new location for two different files, and no copy replaces an
//! unrelated file.

use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::fs::File;
use std::path::{Component, Path, PathBuf};

use typeloom_onnx::external::locations;
use typeloom_onnx::view::ModelView;

use crate::files::{open_side, usable};

/// The treatment of side files.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Placement {
    /// The result refers to the files of the models.
    #[default]
    Keep,
    /// The files are copied next to the result.
    Copy,
}

/// A model with side files.
#[derive(Clone, Debug)]
pub struct Model<'m> {
    /// The name in messages.
    pub name: &'m str,
    /// The folder; `None` if the model is not in a file.
    pub folder: Option<&'m Path>,
    /// The locations of its side files.
    pub locations: BTreeSet<String>,
}

/// New locations, and the files to copy.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Relocated {
    /// The new location of each old one, by model.
    pub locations: Vec<BTreeMap<String, String>>,
    /// The files to copy.
    pub copies: Vec<Copied>,
}

/// A side file that is copied.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Copied {
    folder: PathBuf,
    location: String,
    /// The path of the copy.
    pub to: PathBuf,
}

impl Copied {
    /// The path of the file, for messages.
    #[must_use]
    pub fn from(&self) -> PathBuf {
        self.folder.join(&self.location)
    }

    /// Opens the file.
    ///
    /// # Errors
    /// A clause with the reason why it cannot be used.
    pub fn open(&self) -> Result<File, String> {
        open_side(&self.folder, &self.location)
    }
}

/// Reason why side files have no location in a result.
#[derive(Debug, thiserror::Error)]
pub enum RelocateError {
    /// The model has no folder.
    #[error("`{model}` has tensors in other files, but no folder")]
    NoFolder {
        /// The model.
        model: String,
    },
    /// The result has no folder, and the models have different ones.
    #[error("the models have tensors in files of different folders, so the result needs a file name")]
    NoResult,
    /// A side file is not in the folder of the result or below.
    #[error(
        "`{model}` has tensors in `{location}`, which is outside of the folder of the result; write the result into a folder \
         above, or copy the files"
    )]
    Outside {
        /// The model.
        model: String,
        /// The location in it.
        location: String,
    },
    /// A copy would replace a side file.
    #[error("`{}` would be replaced by the copy of a file", path.display())]
    Replaced {
        /// The file.
        path: PathBuf,
    },
    /// A copy would replace a file that is not of an earlier result.
    #[error(
        "`{}` would be replaced by the copy of a file, and no earlier result refers to it; move it, or give the result another name",
        path.display()
    )]
    Unrelated {
        /// The file.
        path: PathBuf,
    },
    /// A folder is not there.
    #[error("cannot find the folder `{}`: {error}", path.display())]
    Folder {
        /// The folder.
        path: PathBuf,
        /// The reason.
        error: std::io::Error,
    },
}

fn absolute(folder: &Path) -> Result<PathBuf, RelocateError> {
    let folder = if folder.as_os_str().is_empty() { Path::new(".") } else { folder };
    folder.canonicalize().map_err(|error| RelocateError::Folder { path: folder.to_path_buf(), error })
}

/// New locations of side files for a result at a path; `None` if the result is not written to a file.
///
/// # Errors
/// [`RelocateError`].
pub fn relocate(
    models: &[Model<'_>],
    result: Option<&Path>,
    placement: Placement,
) -> Result<Relocated, RelocateError> {
    let mut relocated = Relocated { locations: vec![BTreeMap::new(); models.len()], copies: Vec::new() };
    let mut folders = Vec::new();
    let mut sources: HashSet<PathBuf> = HashSet::new();
    for model in models {
        if model.locations.is_empty() {
            folders.push(None);
            continue;
        }
        let folder = model.folder.ok_or_else(|| RelocateError::NoFolder { model: model.name.to_owned() })?;
        let own = absolute(folder)?;
        sources.extend(model.locations.iter().map(|location| own.join(location)));
        folders.push(Some((folder, own)));
    }
    let Some(result) = result else {
        let mut different = folders.iter().flatten().map(|(_, own)| own);
        let first = different.next();
        return if different.all(|own| Some(own) == first) {
            Ok(relocated)
        } else {
            Err(RelocateError::NoResult)
        };
    };
    if sources.is_empty() {
        return Ok(relocated);
    }
    let target = absolute(result.parent().unwrap_or(Path::new("")))?;
    let earlier = side_files(result, &target);
    let mut taken: HashSet<String> = HashSet::new();
    for (at, model) in models.iter().enumerate() {
        let Some((folder, own)) = &folders[at] else { continue };
        // Files that cannot be used are errors of the model.
        for location in model.locations.iter().filter(|location| usable(folder, location).is_ok()) {
            let new = match placement {
                Placement::Keep => kept(model, own, &target, location)?,
                Placement::Copy => {
                    let name = copied(result, location, &mut taken);
                    let to = target.join(&name);
                    if sources.contains(&to) {
                        return Err(RelocateError::Replaced { path: to });
                    }
                    if to.symlink_metadata().is_ok() && !earlier.contains(&to) {
                        return Err(RelocateError::Unrelated { path: to });
                    }
                    relocated.copies.push(Copied {
                        folder: folder.to_path_buf(),
                        location: location.clone(),
                        to,
                    });
                    name
                }
            };
            relocated.locations[at].insert(location.clone(), new);
        }
    }
    Ok(relocated)
}

/// The files that a model at a path refers to; none if there is no model. `folder` is the absolute one of the
/// path.
fn side_files(path: &Path, folder: &Path) -> HashSet<PathBuf> {
    let Ok(bytes) = crate::files::open(path) else { return HashSet::new() };
    let locations = ModelView::new(&bytes).map(|model| locations(&model)).unwrap_or_default();
    locations.into_iter().map(|location| folder.join(location)).collect()
}

/// The location of a file that stays, relative to the folder of the result.
fn kept(model: &Model<'_>, own: &Path, target: &Path, location: &str) -> Result<String, RelocateError> {
    let outside = || RelocateError::Outside { model: model.name.to_owned(), location: location.to_owned() };
    let below = own.strip_prefix(target).map_err(|_| outside())?;
    let parts = below.components().map(|part| match part {
        Component::Normal(part) => part.to_str().ok_or_else(outside),
        Component::Prefix(_) | Component::RootDir | Component::CurDir | Component::ParentDir => {
            Err(outside())
        }
    });
    let mut path = parts.collect::<Result<Vec<_>, _>>()?;
    path.push(location);
    Ok(path.join("/"))
}

/// The name of the copy of a file.
fn copied(result: &Path, location: &str, taken: &mut HashSet<String>) -> String {
    let text = |path: &Path| path.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let name = format!("{}.{}", text(result), text(Path::new(location)));
    let others = (2_usize..).map(|number| format!("{name}_{number}"));
    let free = std::iter::once(name.clone()).chain(others).find(|name| taken.insert(name.clone()));
    free.unwrap_or(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Two folders of models, each with a side file `w.bin`, inside one folder.
    fn folders(name: &str) -> std::io::Result<PathBuf> {
        let root = std::env::temp_dir().join(format!("typeloom-relocate-{}-{name}", std::process::id()));
        for folder in ["a", "b"] {
            std::fs::create_dir_all(root.join(folder))?;
            std::fs::write(root.join(folder).join("w.bin"), folder)?;
        }
        Ok(root)
    }

    fn both<'m>(folders: [&'m Path; 2]) -> Vec<Model<'m>> {
        let locations = BTreeSet::from(["w.bin".to_owned()]);
        let model =
            |folder: &'m Path| Model { name: "m", folder: Some(folder), locations: locations.clone() };
        folders.map(model).into()
    }

    #[test]
    fn files_below_the_result_keep_their_place_under_a_longer_name() -> Result<(), Box<dyn std::error::Error>>
    {
        let root = folders("below")?;
        let (a, b) = (root.join("a"), root.join("b"));
        let relocated = relocate(&both([&a, &b]), Some(&root.join("c.onnx")), Placement::Keep)?;
        let new: Vec<&str> = relocated.locations.iter().map(|list| list["w.bin"].as_str()).collect();
        assert_eq!(new, ["a/w.bin", "b/w.bin"]);
        let beside = relocate(&both([&a, &a]), Some(&a.join("c.onnx")), Placement::Keep)?;
        assert_eq!(beside.locations[0]["w.bin"], "w.bin");
        let outside = relocate(&both([&a, &b]), Some(&a.join("c.onnx")), Placement::Keep);
        assert!(matches!(outside, Err(RelocateError::Outside { .. })));
        Ok(std::fs::remove_dir_all(root)?)
    }

    #[test]
    fn copies_of_equal_names_are_kept_apart() -> Result<(), Box<dyn std::error::Error>> {
        let root = folders("copies")?;
        let (a, b) = (root.join("a"), root.join("b"));
        let relocated = relocate(&both([&a, &b]), Some(&a.join("c.onnx")), Placement::Copy)?;
        let new: Vec<&str> = relocated.locations.iter().map(|list| list["w.bin"].as_str()).collect();
        assert_eq!(new, ["c.onnx.w.bin", "c.onnx.w.bin_2"]);
        assert_eq!(relocated.copies.len(), 2);
        Ok(std::fs::remove_dir_all(root)?)
    }

    #[test]
    fn without_a_result_one_folder_is_enough() -> Result<(), Box<dyn std::error::Error>> {
        let root = folders("none")?;
        let (a, b) = (root.join("a"), root.join("b"));
        assert_eq!(relocate(&both([&a, &a]), None, Placement::Keep)?.copies, []);
        assert!(matches!(relocate(&both([&a, &b]), None, Placement::Keep), Err(RelocateError::NoResult)));
        Ok(std::fs::remove_dir_all(root)?)
    }
}
