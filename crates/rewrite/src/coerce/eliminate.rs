//! The assignment of least cost: variables with finitely many values, costs of small groups of them.
//!
//! Algorithm: nonserial dynamic programming (Bertele and Brioschi; bucket elimination, Dechter). Variables are taken out
//! one by one, always the one whose neighbours have the fewest combinations of values; what is left of the groups it
//! was in is one group of its neighbours with the least cost for each combination. On chains, trees and what networks
//! look like (long chains with short bridges) every group stays small, and the answer is exact in linear time.
//!
//! The problem is NP-hard in general (it contains multiway cut), so groups are bounded. Where all of them would
//! grow past [`MAX_COMBINATIONS`], the variable in most groups is set to its value of least cost in those groups,
//! and the answer is no longer proved to be the best: see [`Assignment::is_proved`].

use std::collections::{BTreeMap, BTreeSet};

use super::policy::{Cost, IMPOSSIBLE, plus};

/// The most combinations of values in one group.
const MAX_COMBINATIONS: usize = 1 << 16;

/// How many combinations are looked at before groups are kept to [`FEW_COMBINATIONS`].
const BUDGET: usize = 1 << 22;

/// The most combinations of values in one group, once much has been looked at.
const FEW_COMBINATIONS: usize = 1 << 6;

/// What the values of some variables cost together. The last variable's value runs fastest.
#[derive(Clone, Debug)]
pub(crate) struct Factor {
    pub(crate) scope: Vec<usize>,
    pub(crate) costs: Vec<Cost>,
}

/// The answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Assignment {
    /// A value for each variable.
    pub(crate) values: Vec<usize>,
    pub(crate) cost: Cost,
    /// Whether nothing else costs less.
    pub(crate) is_proved: bool,
}

struct Taken {
    variable: usize,
    scope: Vec<usize>,
    best: Vec<usize>,
}

struct Elimination<'d> {
    domains: &'d [usize],
    factors: Vec<Option<Factor>>,
    /// For each variable, the factors it is in.
    of: Vec<BTreeSet<usize>>,
    /// For each variable, the others that it shares factors with, and how many.
    near: Vec<BTreeMap<usize, usize>>,
    /// For each variable, how many of its neighbours have a domain of each size.
    spread: Vec<BTreeMap<usize, usize>>,
    left: BTreeSet<(usize, usize)>,
    sizes: Vec<usize>,
    constant: Cost,
}

/// Gives each variable one of its values; `domains` says how many each has, which is at least one.
pub(crate) fn minimise(domains: &[usize], factors: Vec<Factor>) -> Assignment {
    let mut run = Elimination {
        domains,
        factors: Vec::with_capacity(factors.len()),
        of: vec![BTreeSet::new(); domains.len()],
        near: vec![BTreeMap::new(); domains.len()],
        spread: vec![BTreeMap::new(); domains.len()],
        left: BTreeSet::new(),
        sizes: vec![0; domains.len()],
        constant: 0,
    };
    for factor in factors {
        run.add(factor);
    }
    for variable in 0..domains.len() {
        run.sizes[variable] = run.size(variable);
        run.left.insert((run.sizes[variable], variable));
    }
    let mut taken = Vec::with_capacity(domains.len());
    let mut is_proved = true;
    let mut budget = BUDGET;
    while let Some(&(size, variable)) = run.left.first() {
        let most = if budget > 0 { MAX_COMBINATIONS } else { FEW_COMBINATIONS };
        if size <= most {
            budget = budget.saturating_sub(size);
            taken.push(run.take(variable));
            continue;
        }
        is_proved = false;
        let busiest = run.left.iter().map(|(_, variable)| *variable).max_by_key(|it| run.of[*it].len());
        let variable = busiest.unwrap_or(variable);
        taken.push(run.set(variable));
    }
    let mut values = vec![0; domains.len()];
    for Taken { variable, scope, best } in taken.into_iter().rev() {
        let at = scope.iter().fold(0, |at, other| at * domains[*other] + values[*other]);
        values[variable] = best[at];
    }
    Assignment { values, cost: run.constant, is_proved }
}

/// Each variable of a scope with each other one.
fn pairs(scope: &[usize]) -> impl Iterator<Item = (usize, usize)> {
    scope
        .iter()
        .flat_map(move |one| scope.iter().filter(move |other| *other != one).map(move |other| (*one, *other)))
}

impl Elimination<'_> {
    fn add(&mut self, factor: Factor) {
        if factor.scope.is_empty() {
            self.constant = plus(self.constant, factor.costs[0]);
            return;
        }
        for variable in &factor.scope {
            self.of[*variable].insert(self.factors.len());
        }
        for (variable, other) in pairs(&factor.scope) {
            let shared = self.near[variable].entry(other).or_default();
            *shared += 1;
            if *shared == 1 {
                *self.spread[variable].entry(self.domains[other]).or_default() += 1;
            }
        }
        self.factors.push(Some(factor));
    }

    /// How many combinations of values its neighbours and the variable have.
    fn size(&self, variable: usize) -> usize {
        self.spread[variable].iter().fold(self.domains[variable], |size, (domain, count)| {
            size.saturating_mul(domain.saturating_pow(u32::try_from(*count).unwrap_or(u32::MAX)))
        })
    }

    /// Takes out a variable with its factors; the cost is that of the factors, whatever else its neighbours are in.
    fn remove(&mut self, variable: usize) -> (Vec<Factor>, BTreeSet<usize>) {
        let near = self.near[variable].keys().copied().collect();
        self.left.remove(&(self.sizes[variable], variable));
        let mut factors = Vec::new();
        for at in std::mem::take(&mut self.of[variable]) {
            let Some(factor) = self.factors[at].take() else { continue };
            for other in &factor.scope {
                self.of[*other].remove(&at);
            }
            for (one, other) in pairs(&factor.scope) {
                self.part(one, other);
            }
            factors.push(factor);
        }
        (factors, near)
    }

    /// Notes that a variable shares one factor less with another.
    fn part(&mut self, variable: usize, other: usize) {
        let Some(shared) = self.near[variable].get_mut(&other) else { return };
        *shared -= 1;
        if *shared > 0 {
            return;
        }
        self.near[variable].remove(&other);
        let domain = self.domains[other];
        if let Some(count) = self.spread[variable].get_mut(&domain) {
            *count -= 1;
            if *count == 0 {
                self.spread[variable].remove(&domain);
            }
        }
    }

    fn update(&mut self, variables: &BTreeSet<usize>) {
        for &variable in variables {
            self.left.remove(&(self.sizes[variable], variable));
            self.sizes[variable] = self.size(variable);
            self.left.insert((self.sizes[variable], variable));
        }
    }

    /// Takes a variable out: its best value for each combination of values of its neighbours.
    fn take(&mut self, variable: usize) -> Taken {
        let (factors, near) = self.remove(variable);
        let scope: Vec<usize> = near.iter().copied().collect();
        let all: Vec<usize> = scope.iter().copied().chain([variable]).collect();
        let count: usize = scope.iter().map(|other| self.domains[*other]).product();
        let (mut costs, mut best) = (Vec::with_capacity(count), Vec::with_capacity(count));
        // For each factor, by how much its position moves when a variable of `all` moves by one.
        let steps: Vec<Vec<usize>> = factors.iter().map(|factor| self.steps(factor, &all)).collect();
        let mut values = vec![0; all.len()];
        for _ in 0..count {
            let mut least = (Cost::MAX, 0);
            for value in 0..self.domains[variable] {
                values[all.len() - 1] = value;
                let cost = factors.iter().zip(&steps).fold(0, |sum, (factor, steps)| {
                    let at: usize = steps.iter().zip(&values).map(|(step, value)| step * value).sum();
                    plus(sum, factor.costs[at])
                });
                if cost < least.0 {
                    least = (cost, value);
                }
            }
            costs.push(least.0.min(IMPOSSIBLE));
            best.push(least.1);
            for at in (0..scope.len()).rev() {
                values[at] += 1;
                if values[at] < self.domains[scope[at]] {
                    break;
                }
                values[at] = 0;
            }
        }
        self.add(Factor { scope: scope.clone(), costs });
        self.update(&near);
        Taken { variable, scope, best }
    }

    fn steps(&self, factor: &Factor, all: &[usize]) -> Vec<usize> {
        all.iter()
            .map(|variable| {
                let Some(at) = factor.scope.iter().position(|other| other == variable) else { return 0 };
                factor.scope[at + 1..].iter().map(|other| self.domains[*other]).product()
            })
            .collect()
    }

    /// Sets a variable to the value that costs least where its factors stand by themselves.
    fn set(&mut self, variable: usize) -> Taken {
        let (factors, near) = self.remove(variable);
        let steps: Vec<usize> = factors.iter().map(|factor| self.steps(factor, &[variable])[0]).collect();
        let at_value = |factor: &Factor, step: usize, value: usize| -> Vec<Cost> {
            let domain = self.domains[variable];
            let chosen = |(at, _): &(usize, &Cost)| at / step % domain == value;
            factor.costs.iter().enumerate().filter(chosen).map(|(_, cost)| *cost).collect()
        };
        let value = (0..self.domains[variable]).min_by_key(|value| {
            factors.iter().zip(&steps).fold(0, |sum, (factor, step)| {
                plus(sum, at_value(factor, *step, *value).into_iter().min().unwrap_or(0))
            })
        });
        let value = value.unwrap_or(0);
        let restricted: Vec<Factor> = factors
            .iter()
            .zip(&steps)
            .map(|(factor, step)| {
                let scope = factor.scope.iter().copied().filter(|other| *other != variable).collect();
                Factor { scope, costs: at_value(factor, *step, value) }
            })
            .collect();
        for factor in restricted {
            self.add(factor);
        }
        self.update(&near);
        Taken { variable, scope: Vec::new(), best: vec![value] }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Numbers without a pattern, the same every time (xorshift).
    struct Rng(u64);

    impl Rng {
        fn below(&mut self, limit: usize) -> usize {
            self.0 ^= self.0 << 13;
            self.0 ^= self.0 >> 7;
            self.0 ^= self.0 << 17;
            usize::try_from(self.0 >> 33).unwrap_or(0) % limit
        }
    }

    fn cost_of(domains: &[usize], factors: &[Factor], values: &[usize]) -> Cost {
        factors.iter().fold(0, |sum, factor| {
            let at = factor.scope.iter().fold(0, |at, it| at * domains[*it] + values[*it]);
            plus(sum, factor.costs[at])
        })
    }

    #[test]
    fn elimination_finds_the_least_cost_of_all_assignments() {
        let mut rng = Rng(7);
        for _ in 0..300 {
            let domains: Vec<usize> = (0..1 + rng.below(6)).map(|_| 1 + rng.below(3)).collect();
            let factors: Vec<Factor> = (0..rng.below(8))
                .map(|_| {
                    let mut scope: Vec<usize> =
                        (0..1 + rng.below(3)).map(|_| rng.below(domains.len())).collect();
                    scope.sort_unstable();
                    scope.dedup();
                    let count = scope.iter().map(|it| domains[*it]).product();
                    let costs = (0..count).map(|_| Cost::from(rng.below(10) as u32)).collect();
                    Factor { scope, costs }
                })
                .collect();
            let mut least = Cost::MAX;
            let mut values = vec![0; domains.len()];
            loop {
                least = least.min(cost_of(&domains, &factors, &values));
                let Some(at) = (0..domains.len()).find(|at| values[*at] + 1 < domains[*at]) else { break };
                values[..at].fill(0);
                values[at] += 1;
            }
            let found = minimise(&domains, factors.clone());
            assert!(found.is_proved);
            assert_eq!(found.cost, least);
            assert_eq!(cost_of(&domains, &factors, &found.values), least);
        }
    }

    #[test]
    fn a_problem_that_is_too_entangled_still_gets_an_answer() {
        let domains = vec![3; 40];
        let mut rng = Rng(11);
        let pairs = (0..40).flat_map(|a| (0..a).map(move |b| (b, a)));
        let factors: Vec<Factor> = pairs
            .map(|(a, b)| {
                let costs = (0..9).map(|_| Cost::from(rng.below(10) as u32)).collect();
                Factor { scope: vec![a, b], costs }
            })
            .collect();
        let found = minimise(&domains, factors.clone());
        assert!(!found.is_proved);
        assert_eq!(cost_of(&domains, &factors, &found.values), found.cost);
    }
}
