//! Finds and opens the registry of a command.

use std::time::{SystemTime, UNIX_EPOCH};

use anyhow::Context as _;
use typeloom_project::parts::io::stores::{Missing, Stores};
use typeloom_project::parts::registry::registry::{MARKER, SUBJECTS};
use typeloom_project::parts::registry::{Registry, Timestamp};
use typeloom_project::parts::settings::effective::Sourced;

use crate::reads::{self, Use};

/// The environment variable with the location.
const VARIABLE: &str = "TYPELOOM_REGISTRY";
/// The location without any setting.
const DEFAULT: &str = ".typeloom-registry";

/// The registry of the command line, of the environment, or of the settings.
pub(crate) fn open(
    argument: Option<&str>,
    setting: Option<&Sourced<String>>,
    missing: Missing,
) -> anyhow::Result<Registry> {
    let variable = std::env::var(VARIABLE).ok().filter(|text| !text.is_empty());
    let url =
        argument.map(str::to_owned).or(variable).or_else(|| setting.map(|setting| setting.value.clone()));
    let url = url.unwrap_or_else(|| DEFAULT.to_owned());
    let stores = Stores::new(Vec::new())?;
    let registry = Registry::open(&stores, &url, missing)?;
    if let Some(folder) = registry.path() {
        let (marker, subjects) = (folder.join(MARKER), folder.join(SUBJECTS));
        reads::record(&marker, Use::Other);
        reads::record(&subjects, Use::Folder);
    }
    Ok(registry)
}

/// The time of a new entry. `SOURCE_DATE_EPOCH` replaces the clock, as in reproducible builds.
pub(crate) fn now() -> anyhow::Result<Timestamp> {
    let seconds = match std::env::var("SOURCE_DATE_EPOCH") {
        Ok(text) => text.parse().with_context(|| format!("SOURCE_DATE_EPOCH is no number: `{text}`"))?,
        Err(_) => {
            let elapsed = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
            i64::try_from(elapsed.as_secs()).unwrap_or(i64::MAX)
        }
    };
    Ok(Timestamp::from_unix(seconds))
}
