//! The futures of the `async fn`s of a crate, as far as their signatures determine them.
//!
//! A future holds the arguments of the function from its creation, and later values of its body, which
//! rustdoc JSON does not contain. So a future has an auto trait only if its
//! [witness](crate::item::Item::witness) has it. The witness of the arguments is the witness of the future of
//! a function whose body holds no other value over an `.await`.

use typeloom_term::{Arity, Boxed, InferenceTable, Symbols, TermError};

use crate::item::{Item, Type};
use crate::lower::Api;
use crate::predicate;
use crate::prove::Prover;
use crate::prove::world::{World, normalize};

/// The auto traits that decide where a future can run. No future of an `async fn` is `Unpin`.
const TRAITS: [(&str, &str); 2] = [("Send", "core::marker::Send"), ("Sync", "core::marker::Sync")];

/// The future of an `async fn`.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct AsyncFuture<'a> {
    /// The function.
    pub item: &'a Item,
    /// The types of the arguments that the future holds, with the lifetimes of the function bound.
    pub witness: &'a Type,
    /// `Send` and `Sync`, if all arguments are proven to have them for every value of the function's
    /// parameters. A future without the trait in this list does not have it, or depends on types of other
    /// crates.
    pub traits: Vec<&'static str>,
}

/// Returns the future of every public `async fn`, in the order of the items.
///
/// # Errors
/// If a type exceeds the limits of terms.
pub fn futures<'a>(api: &'a Api, symbols: &mut Symbols) -> Result<Vec<AsyncFuture<'a>>, TermError> {
    let functions: Vec<(&Item, &Type)> =
        api.items.iter().filter_map(|item| Some((item, item.witness.as_ref()?))).collect();
    if functions.is_empty() {
        return Ok(Vec::new());
    }
    let world = World::new(api, symbols)?;
    let found = functions.into_iter().map(|(item, witness)| {
        let mut traits = Vec::new();
        for (name, path) in TRAITS {
            if is_proven(&world, symbols, item, witness, path)? {
                traits.push(name);
            }
        }
        Ok(AsyncFuture { item, witness, traits })
    });
    found.collect()
}

fn is_proven(
    world: &World,
    symbols: &mut Symbols,
    item: &Item,
    witness: &Type,
    path: &str,
) -> Result<bool, TermError> {
    let of = symbols.intern(path);
    let known: Vec<Type> = item.context.iter().chain(&item.predicates).cloned().collect();
    let types: Vec<Type> = item.parts.iter().map(|part| part.ty.clone()).collect();
    let prover = Prover::new(world, symbols, &known, &types)?;
    let witness = normalize(&prover.knowledge, witness)?;
    let goal = predicate::implements(&Boxed::new(), Arity::NONE, of, &[witness.into()])?;
    let mut table = InferenceTable::new(Boxed::new());
    let holds = prover.holds(&mut table, &goal) && table.tainted().is_none();
    Ok(holds && table.regions().check(&prover.outlives.regions).is_ok())
}
