//! Names that no value, node or symbol has yet.

use std::collections::{HashMap, HashSet};

/// The names in use, including new ones.
#[derive(Debug, Default)]
pub struct Names {
    taken: HashSet<String>,
    /// The next suffix of each requested name.
    next: HashMap<String, usize>,
}

impl Names {
    /// Marks a name as used.
    pub fn take(&mut self, name: &str) {
        if !self.taken.contains(name) {
            self.taken.insert(name.to_owned());
        }
    }

    /// Whether a name is in use.
    #[must_use]
    pub fn contains(&self, name: &str) -> bool {
        self.taken.contains(name)
    }

    pub(crate) fn any(&self, test: impl FnMut(&String) -> bool) -> bool {
        self.taken.iter().any(test)
    }

    /// Returns `wanted`, or the first free one of `wanted_2`, `wanted_3` and so on.
    pub fn fresh(&mut self, wanted: &str) -> String {
        // Names are never released, so smaller numbers stay taken.
        let next = self.next.entry(wanted.to_owned()).or_insert(1);
        loop {
            let name = if *next == 1 { wanted.to_owned() } else { format!("{wanted}_{next}") };
            *next += 1;
            if self.taken.insert(name.clone()) {
                return name;
            }
        }
    }
}
