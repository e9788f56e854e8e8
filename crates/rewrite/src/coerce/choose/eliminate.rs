//! Exact minimisation of a sum of cost factors over variables with finite domains.
//!
//! Algorithm: bucket elimination (Dechter 1999), which is nonserial dynamic programming (Bertele and Brioschi
//! 1972). The variable whose neighbours have the fewest combinations of values is eliminated first: its
//! factors are replaced by one factor over its neighbours, with the minimum over its values. Time and memory
//! are exponential in the induced width of the elimination order (the maximum number of neighbours of a
//! variable when it is eliminated), and linear in the number of variables. Neural networks are long chains
//! with short bridges, so their width is small.
//!
//! Limits: the problem is NP-hard, because it generalises multiway cut, so the size of factors is bounded. If
//! every elimination would exceed [`MAX_COMBINATIONS`], the variable in most factors is fixed to its cheapest
//! value in those factors. The result is then not proved to be minimal, see [`Minimum::is_proved`].

use std::collections::{BTreeMap, BTreeSet};

use crate::coerce::policy::{Cost, IMPOSSIBLE, plus};
use crate::ids::ids;

/// The maximum number of combinations of values in one factor.
const MAX_COMBINATIONS: usize = 1 << 16;

/// The number of combinations evaluated before factors are limited to [`MAX_COMBINATIONS_AFTER_BUDGET`].
const BUDGET: usize = 1 << 22;

/// The maximum number of combinations in one factor after [`BUDGET`] is spent.
const MAX_COMBINATIONS_AFTER_BUDGET: usize = 1 << 6;

ids! {
    /// A variable, by its position in the list of domains.
    Variable
}

/// The cost of each combination of values of some variables. The last variable varies fastest.
#[derive(Clone, Debug)]
pub(super) struct Factor {
    pub(super) scope: Vec<Variable>,
    pub(super) costs: Vec<Cost>,
}

#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Minimum {
    /// The value of each variable.
    pub(super) values: Vec<usize>,
    pub(super) cost: Cost,
    /// Whether the cost is minimal.
    pub(super) is_proved: bool,
}

/// An eliminated variable: its best value for each combination of values of its neighbours.
struct Eliminated {
    variable: Variable,
    neighbours: Vec<Variable>,
    best: Vec<usize>,
}

struct Elimination<'d> {
    domains: &'d [usize],
    /// Factors by number; `None` once replaced.
    factors: Vec<Option<Factor>>,
    variables: Vec<Vertex>,
    /// The remaining variables, by the size of the factor that their elimination creates.
    queue: BTreeSet<(usize, Variable)>,
    constant: Cost,
}

/// A variable in the graph of factors.
#[derive(Clone, Default)]
struct Vertex {
    /// The numbers of its factors.
    factors: BTreeSet<usize>,
    /// The neighbours, each with the number of shared factors.
    neighbours: BTreeMap<Variable, usize>,
    /// The number of neighbours with each size of domain.
    neighbour_domains: BTreeMap<usize, usize>,
    /// The number of combinations of values of the variable and its neighbours.
    size: usize,
}

/// Minimises the sum of `factors`; `domains` contains the number of values of each variable, at least one.
pub(super) fn minimise(domains: &[usize], factors: Vec<Factor>) -> Minimum {
    let mut elimination = Elimination {
        domains,
        factors: Vec::with_capacity(factors.len()),
        variables: vec![Vertex::default(); domains.len()],
        queue: BTreeSet::new(),
        constant: 0,
    };
    for factor in factors {
        elimination.add(factor);
    }
    elimination.enqueue((0..domains.len()).map(Variable));
    let mut eliminated = Vec::with_capacity(domains.len());
    let mut is_proved = true;
    let mut budget = BUDGET;
    while let Some(&(size, variable)) = elimination.queue.first() {
        let limit = if budget > 0 { MAX_COMBINATIONS } else { MAX_COMBINATIONS_AFTER_BUDGET };
        if size <= limit {
            budget = budget.saturating_sub(size);
            eliminated.push(elimination.eliminate(variable));
            continue;
        }
        is_proved = false;
        let remaining = elimination.queue.iter().map(|(_, variable)| *variable);
        let busiest = remaining.max_by_key(|it| elimination.variables[it.0].factors.len());
        eliminated.push(elimination.fix(busiest.unwrap_or(variable)));
    }
    let mut values = vec![0; domains.len()];
    for Eliminated { variable, neighbours, best } in eliminated.into_iter().rev() {
        let at = neighbours.iter().fold(0, |at, other| at * domains[other.0] + values[other.0]);
        values[variable.0] = best[at];
    }
    Minimum { values, cost: elimination.constant, is_proved }
}

/// Each ordered pair of distinct variables of a scope.
fn pairs(scope: &[Variable]) -> impl Iterator<Item = (Variable, Variable)> {
    let others = move |one: &Variable| {
        let one = *one;
        scope.iter().filter(move |other| **other != one).map(move |other| (one, *other))
    };
    scope.iter().flat_map(others)
}

impl Elimination<'_> {
    fn add(&mut self, factor: Factor) {
        if factor.scope.is_empty() {
            self.constant = plus(self.constant, factor.costs[0]);
            return;
        }
        for variable in &factor.scope {
            self.variables[variable.0].factors.insert(self.factors.len());
        }
        for (variable, other) in pairs(&factor.scope) {
            let vertex = &mut self.variables[variable.0];
            let shared = vertex.neighbours.entry(other).or_default();
            *shared += 1;
            if *shared == 1 {
                *vertex.neighbour_domains.entry(self.domains[other.0]).or_default() += 1;
            }
        }
        self.factors.push(Some(factor));
    }

    /// Computes the size of each variable and puts it into the queue.
    fn enqueue(&mut self, variables: impl Iterator<Item = Variable>) {
        for variable in variables {
            let vertex = &mut self.variables[variable.0];
            self.queue.remove(&(vertex.size, variable));
            let own = self.domains[variable.0];
            vertex.size = vertex.neighbour_domains.iter().fold(own, |size, (domain, count)| {
                size.saturating_mul(domain.saturating_pow(u32::try_from(*count).unwrap_or(u32::MAX)))
            });
            self.queue.insert((vertex.size, variable));
        }
    }

    /// Removes a variable; returns its factors and its neighbours.
    fn remove(&mut self, variable: Variable) -> (Vec<Factor>, Vec<Variable>) {
        let vertex = &mut self.variables[variable.0];
        let neighbours = vertex.neighbours.keys().copied().collect();
        self.queue.remove(&(vertex.size, variable));
        let mut factors = Vec::new();
        for at in std::mem::take(&mut vertex.factors) {
            let Some(factor) = self.factors[at].take() else { continue };
            for other in &factor.scope {
                self.variables[other.0].factors.remove(&at);
            }
            for (one, other) in pairs(&factor.scope) {
                self.disconnect(one, other);
            }
            factors.push(factor);
        }
        (factors, neighbours)
    }

    /// Decrements the number of factors that a variable shares with another.
    fn disconnect(&mut self, variable: Variable, other: Variable) {
        let vertex = &mut self.variables[variable.0];
        let Some(shared) = vertex.neighbours.get_mut(&other) else { return };
        *shared -= 1;
        if *shared > 0 {
            return;
        }
        vertex.neighbours.remove(&other);
        let domain = self.domains[other.0];
        if let Some(count) = vertex.neighbour_domains.get_mut(&domain) {
            *count -= 1;
            if *count == 0 {
                vertex.neighbour_domains.remove(&domain);
            }
        }
    }

    /// Replaces the factors of a variable by the minimum of their sum over its values.
    fn eliminate(&mut self, variable: Variable) -> Eliminated {
        let (factors, neighbours) = self.remove(variable);
        let scope: Vec<Variable> = neighbours.iter().copied().chain([variable]).collect();
        let count: usize = neighbours.iter().map(|other| self.domains[other.0]).product();
        let (mut costs, mut best) = (Vec::with_capacity(count), Vec::with_capacity(count));
        let strides: Vec<Vec<usize>> = factors.iter().map(|factor| self.strides(factor, &scope)).collect();
        let mut values = vec![0; scope.len()];
        for _ in 0..count {
            let mut least = (Cost::MAX, 0);
            for value in 0..self.domains[variable.0] {
                values[scope.len() - 1] = value;
                let cost = factors.iter().zip(&strides).fold(0, |sum, (factor, strides)| {
                    let at: usize = strides.iter().zip(&values).map(|(stride, value)| stride * value).sum();
                    plus(sum, factor.costs[at])
                });
                if cost < least.0 {
                    least = (cost, value);
                }
            }
            costs.push(least.0.min(IMPOSSIBLE));
            best.push(least.1);
            for at in (0..neighbours.len()).rev() {
                values[at] += 1;
                if values[at] < self.domains[neighbours[at].0] {
                    break;
                }
                values[at] = 0;
            }
        }
        self.add(Factor { scope: neighbours.clone(), costs });
        self.enqueue(neighbours.iter().copied());
        Eliminated { variable, neighbours, best }
    }

    /// For each variable of `scope`, its stride in the costs of a factor; 0 if the factor does not contain
    /// it.
    fn strides(&self, factor: &Factor, scope: &[Variable]) -> Vec<usize> {
        let stride = |variable: &Variable| {
            let Some(at) = factor.scope.iter().position(|other| other == variable) else { return 0 };
            factor.scope[at + 1..].iter().map(|other| self.domains[other.0]).product()
        };
        scope.iter().map(stride).collect()
    }

    /// Fixes a variable to the value with the least sum of the minima of its factors.
    fn fix(&mut self, variable: Variable) -> Eliminated {
        let (factors, neighbours) = self.remove(variable);
        let domain = self.domains[variable.0];
        let restricted = |factor: &Factor, value: usize| -> Vec<Cost> {
            let stride = self.strides(factor, &[variable])[0];
            let has_value = |(at, _): &(usize, &Cost)| at / stride % domain == value;
            factor.costs.iter().enumerate().filter(has_value).map(|(_, cost)| *cost).collect()
        };
        let cost = |value: &usize| {
            let minimum = |factor: &Factor| restricted(factor, *value).into_iter().min().unwrap_or(0);
            factors.iter().map(minimum).fold(0, plus)
        };
        let value = (0..domain).min_by_key(cost).unwrap_or(0);
        let restricted: Vec<Factor> = factors
            .iter()
            .map(|factor| Factor {
                scope: factor.scope.iter().copied().filter(|other| *other != variable).collect(),
                costs: restricted(factor, value),
            })
            .collect();
        for factor in restricted {
            self.add(factor);
        }
        self.enqueue(neighbours.into_iter());
        Eliminated { variable, neighbours: Vec::new(), best: vec![value] }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A seeded xorshift generator.
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
            let at = factor.scope.iter().fold(0, |at, it| at * domains[it.0] + values[it.0]);
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
                    let mut scope: Vec<Variable> =
                        (0..1 + rng.below(3)).map(|_| Variable(rng.below(domains.len()))).collect();
                    scope.sort_unstable();
                    scope.dedup();
                    let count = scope.iter().map(|it| domains[it.0]).product();
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
    fn a_dense_problem_gets_an_answer_without_proof() {
        let domains = vec![3; 40];
        let mut rng = Rng(11);
        let pairs = (0..40).flat_map(|a| (0..a).map(move |b| (b, a)));
        let factors: Vec<Factor> = pairs
            .map(|(a, b)| {
                let costs = (0..9).map(|_| Cost::from(rng.below(10) as u32)).collect();
                Factor { scope: vec![Variable(a), Variable(b)], costs }
            })
            .collect();
        let found = minimise(&domains, factors.clone());
        assert!(!found.is_proved);
        assert_eq!(cost_of(&domains, &factors, &found.values), found.cost);
    }
}
