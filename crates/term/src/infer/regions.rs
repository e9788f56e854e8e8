//! Region constraints, the leak check, and implication by an environment.
//!
//! Relations collect constraints `longer: shorter` and decide nothing. Two checks follow:
//!
//! - The *leak check* runs at the end of every relation that entered binders: a placeholder may outlive only
//!   itself and variables that can name it. It needs no knowledge of the program.
//! - [`RegionConstraints::check`] decides whether the outlives facts of an environment imply the constraints
//!   for some choice of the region variables. The least choice is the reachability closure: a variable
//!   includes exactly the regions that it must outlive. So it suffices that every named region outlives, by
//!   the facts, every named region that it reaches.

use crate::binder::Universe;
use crate::family::TypeFamily;
use crate::region::Region;
use crate::ty::InferVar;
use foldhash::fast::FixedState;
use hashbrown::{HashMap, HashSet};

/// The constraint `longer: shorter`.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Outlives<F: TypeFamily> {
    /// The region that includes the other one.
    pub longer: Region<F>,
    /// The region that is included.
    pub shorter: Region<F>,
}

impl<F: TypeFamily> Copy for Outlives<F> {}

/// Error of a region constraint that is not implied.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("a region does not outlive another one that it is required to outlive")]
pub struct RegionError<F: TypeFamily> {
    /// The region that would have to be longer.
    pub longer: Region<F>,
    /// The region that `longer` is not known to outlive.
    pub shorter: Region<F>,
}

/// Known constraints between named regions. `'static` outlives every region, and every region outlives
/// itself.
#[derive(Clone, Debug)]
pub struct RegionFacts<F: TypeFamily> {
    facts: Vec<Outlives<F>>,
}

impl<F: TypeFamily> Default for RegionFacts<F> {
    fn default() -> Self {
        Self { facts: Vec::new() }
    }
}

impl<F: TypeFamily> RegionFacts<F> {
    /// Creates an environment without facts.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds the fact `longer: shorter`.
    pub fn assume(&mut self, longer: Region<F>, shorter: Region<F>) {
        self.facts.push(Outlives { longer, shorter });
    }

    /// Whether the facts imply `longer: shorter`.
    #[must_use]
    pub fn outlives(&self, longer: Region<F>, shorter: Region<F>) -> bool {
        if longer == Region::Static || longer == shorter {
            return true;
        }
        let edges = Edges::new(&self.facts);
        edges.find(longer, |region| region == shorter || region == Region::Static).is_some()
    }
}

/// Adjacency lists of constraints.
struct Edges<F: TypeFamily> {
    next: HashMap<Region<F>, Vec<Region<F>>, FixedState>,
}

impl<F: TypeFamily> Edges<F> {
    fn new(constraints: &[Outlives<F>]) -> Self {
        let mut next: HashMap<_, Vec<_>, _> = HashMap::default();
        for Outlives { longer, shorter } in constraints {
            next.entry(*longer).or_default().push(*shorter);
        }
        Self { next }
    }

    /// Finds a wanted region among those reachable from `from` in at least one step.
    fn find(&self, from: Region<F>, mut wanted: impl FnMut(Region<F>) -> bool) -> Option<Region<F>> {
        let mut seen: HashSet<Region<F>, FixedState> = HashSet::default();
        let mut stack = vec![from];
        while let Some(region) = stack.pop() {
            for next in self.next.get(&region).into_iter().flatten() {
                if seen.insert(*next) {
                    if wanted(*next) {
                        return Some(*next);
                    }
                    stack.push(*next);
                }
            }
        }
        None
    }
}

/// Constraints collected by relations, and the universes of region variables.
#[derive(Clone, Debug)]
pub struct RegionConstraints<F: TypeFamily> {
    pub(super) outlives: Vec<Outlives<F>>,
    pub(super) universes: Vec<Universe>,
}

impl<F: TypeFamily> Default for RegionConstraints<F> {
    fn default() -> Self {
        Self { outlives: Vec::new(), universes: Vec::new() }
    }
}

/// Classification of a region: named by the program, replacement of a bound region, or variable.
enum Role {
    Named,
    Fresh,
    Variable,
    Any,
}

fn role<F: TypeFamily>(region: Region<F>) -> Role {
    match region {
        Region::Static => Role::Named,
        Region::Placeholder(placeholder) if placeholder.universe == Universe::ROOT => Role::Named,
        Region::Placeholder(_) => Role::Fresh,
        Region::Infer(_) => Role::Variable,
        Region::Erased | Region::Bound(_) | Region::Error(_) => Role::Any,
    }
}

impl<F: TypeFamily> RegionConstraints<F> {
    /// Returns all constraints in the order in which relations added them.
    #[must_use]
    pub fn outlives(&self) -> &[Outlives<F>] {
        &self.outlives
    }

    /// Returns the universe of a region; canonical variables count as named.
    #[must_use]
    pub fn universe(&self, region: Region<F>) -> Universe {
        match region {
            Region::Infer(InferVar::Var(var)) => {
                self.universes.get(var as usize).copied().unwrap_or(Universe::ROOT)
            }
            Region::Infer(InferVar::Canonical(_))
            | Region::Static
            | Region::Erased
            | Region::Placeholder(_)
            | Region::Bound(_)
            | Region::Error(_) => region.placeholder_universe(),
        }
    }

    /// Leak check of the constraints from index `from` on: a placeholder outlives only itself and variables
    /// of its universe or later ones.
    pub(super) fn leak_check(&self, from: usize) -> Result<(), RegionError<F>> {
        let recent = self.outlives.get(from..).unwrap_or_default();
        let fresh = |region: Region<F>| matches!(role(region), Role::Fresh);
        if !recent.iter().any(|c| fresh(c.longer)) {
            return Ok(());
        }
        let edges = Edges::new(recent);
        let mut checked: HashSet<Region<F>, FixedState> = HashSet::default();
        for Outlives { longer, shorter: _ } in recent {
            if fresh(*longer) && checked.insert(*longer) {
                self.check_fresh(&edges, *longer)?;
            }
        }
        Ok(())
    }

    fn check_fresh(&self, edges: &Edges<F>, longer: Region<F>) -> Result<(), RegionError<F>> {
        let universe = longer.placeholder_universe();
        let wrong = edges.find(longer, |shorter| match role(shorter) {
            _ if shorter == longer => false,
            Role::Named | Role::Fresh => true,
            Role::Variable => self.universe(shorter) < universe,
            Role::Any => false,
        });
        wrong.map_or(Ok(()), |shorter| Err(RegionError { longer, shorter }))
    }

    /// Checks that the facts imply all constraints for some choice of the variables. Returns the first
    /// constraint between named regions that is not implied, in the order of the constraints.
    pub fn check(&self, facts: &RegionFacts<F>) -> Result<(), RegionError<F>> {
        let edges = Edges::new(&self.outlives);
        let known = Edges::new(&facts.facts);
        let mut checked: HashSet<Region<F>, FixedState> = HashSet::default();
        for Outlives { longer, shorter: _ } in &self.outlives {
            let longer = *longer;
            if !checked.insert(longer) {
                continue;
            }
            match role(longer) {
                Role::Named if longer != Region::Static => {
                    let mut implied: HashSet<Region<F>, FixedState> = HashSet::default();
                    implied.insert(longer);
                    let is_static = known.find(longer, |region| {
                        implied.insert(region);
                        region == Region::Static
                    });
                    if is_static.is_some() {
                        continue;
                    }
                    let wrong = edges.find(longer, |shorter| match role(shorter) {
                        Role::Named => !implied.contains(&shorter),
                        // Only `'static` outlives the replacement of a bound region.
                        Role::Fresh => true,
                        Role::Variable | Role::Any => false,
                    });
                    if let Some(shorter) = wrong {
                        return Err(RegionError { longer, shorter });
                    }
                }
                Role::Fresh => self.check_fresh(&edges, longer)?,
                Role::Named | Role::Variable | Role::Any => {}
            }
        }
        Ok(())
    }
}
