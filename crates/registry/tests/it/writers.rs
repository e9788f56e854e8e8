//! Many clients at the same time, which fail and end at random operations.
//!
//! Afterwards the log is the reference: every acknowledged push is in it once, every other push at most once,
//! and every rejection is compared with a plain evaluation of the modes at the entry on which it was based.

use std::collections::HashMap;
use std::sync::Arc;

use object_store::ObjectStore;
use typeloom_registry::entry::{Hash, Ports, State};
use typeloom_registry::gc::{Collection, Effect};
use typeloom_registry::mode::Reach;
use typeloom_registry::push::Novelty;
use typeloom_registry::settings::Settings;
use typeloom_registry::verdict::{MAX_SEARCHED, Nearest, Verdict};
use typeloom_registry::{Mode, Registry, RegistryError, Selector, Subject, Timestamp};
use typeloom_testing::{Random, number};

use crate::store::{Failing, Plan};
use crate::support::{bundles, compatible, memory, push, reference, registry, subject};

/// Parameters of a run.
struct Run {
    seed: u64,
    threads: usize,
    /// Number of pushes of each thread.
    pushes: usize,
    subjects: usize,
    /// One in so many operations of a store fails.
    failures: u64,
}

/// The outcome of a push that a client saw.
enum Outcome {
    Acknowledged { version: u64, novelty: Novelty },
    Rejected(Box<Verdict>),
    Unknown,
}

/// A push, identified by its tool.
struct Record {
    tool: String,
    subject: Subject,
    bundle: usize,
    outcome: Outcome,
}

fn name(at: usize) -> Subject {
    subject(&format!("group{}/subject{at}", at % 3))
}

/// A client that is replaced when it ends.
struct Client {
    store: Arc<dyn ObjectStore>,
    failing: Arc<Failing>,
    registry: Registry,
    random: Random,
    failures: u64,
}

impl Client {
    fn new(store: &Arc<dyn ObjectStore>, mut random: Random, failures: u64) -> Self {
        let plan = Plan::Random { random: Random(random.bits()), one_in: failures };
        let failing = Arc::new(Failing::new(store, plan));
        let inner: Arc<dyn ObjectStore> = failing.clone();
        Self { store: Arc::clone(store), failing, registry: registry(&inner), random, failures }
    }

    fn alive(self) -> Self {
        if self.failing.is_dead() { Self::new(&self.store, self.random, self.failures) } else { self }
    }
}

const MODES: [Mode; 7] = Mode::ALL;

/// Runs one thread: pushes, and other operations between them.
fn work(store: &Arc<dyn ObjectStore>, run: &Run, thread: usize) -> Vec<Record> {
    let mut client = Client::new(store, Random(run.seed ^ (thread as u64) << 32), run.failures);
    let mut records = Vec::with_capacity(run.pushes);
    for number in 0..run.pushes {
        client = client.alive();
        let random = &mut client.random;
        let (subject, bundle) = (name(random.below(run.subjects)), random.below(bundles().len()));
        let tool = format!("{thread}/{number}");
        let mut request = push(&bundles()[bundle], &tool);
        if random.one_in(8) {
            let alias = format!("alias{}", random.below(4)).parse().unwrap();
            request.settings.aliases.insert(alias, Selector::Latest);
        }
        if random.one_in(30) {
            request.settings.mode = Some(MODES[random.below(MODES.len())]);
        }
        let outcome = match client.registry.push(&subject, &request) {
            Ok(pushed) => Outcome::Acknowledged { version: pushed.version, novelty: pushed.novelty },
            Err(RegistryError::Rejected(verdict)) => Outcome::Rejected(verdict),
            Err(RegistryError::Store(_) | RegistryError::Unconfirmed { .. }) => Outcome::Unknown,
            Err(other) => panic!("{tool}: {other}"),
        };
        records.push(Record { tool, subject: subject.clone(), bundle, outcome });
        let random = &mut client.random;
        if random.one_in(12) {
            let mode = MODES[random.below(MODES.len())];
            let ports = [Ports::Name, Ports::NameAndPosition][random.below(2)];
            let settings = Settings { mode: Some(mode), ports: Some(ports), ..Settings::default() };
            accept(client.registry.set(&subject, &settings, Timestamp::from_unix(0)).map(drop));
        }
        if client.random.one_in(40) {
            let time = Timestamp::from_unix(32_503_680_000);
            let collection = Collection { grace: 0, time, effect: Effect::Delete };
            accept(client.registry.gc(Some(&subject), collection).map(drop));
        }
        // A reader without errors of its own never sees half of a version.
        if client.random.one_in(4) {
            let text = match client.random.below(3) {
                0 => format!("{subject}@alias{}", client.random.below(4)),
                1 => format!("{subject}@{}", client.random.below(20) + 1),
                _ => subject.to_string(),
            };
            accept(registry(store).pull(&reference(&text)).map(drop));
        }
        if client.random.one_in(200) {
            let report = registry(store).verify(Some(&subject), None).unwrap();
            assert!(report.is_valid(), "{report:?}");
        }
    }
    records
}

/// Accepts injected errors, and what is not there yet.
fn accept(result: Result<(), RegistryError>) {
    match result {
        Ok(())
        | Err(
            RegistryError::Store(_)
            | RegistryError::Unconfirmed { .. }
            | RegistryError::NoRegistry(_)
            | RegistryError::NoSubject { .. }
            | RegistryError::NoVersion { .. }
            | RegistryError::NoAlias { .. },
        ) => {}
        Err(other) => panic!("{other}"),
    }
}

/// The versions and the state of a subject after an entry.
#[derive(Clone, Default)]
struct Moment {
    versions: usize,
    state: State,
}

/// Whether content violates a mode, by a plain evaluation, and the nearest compatible version.
fn evaluate(bundle: usize, mode: Mode, ports: Ports, versions: &[usize]) -> (u64, Nearest) {
    let Some((direction, reach)) = mode.comparison() else { return (0, Nearest::NotNeeded) };
    let fits = |old: &usize| compatible(direction, ports, *old, bundle);
    let lowest = match reach {
        Reach::Latest => versions.len().saturating_sub(1),
        Reach::All => 0,
    };
    let violated = versions[lowest..].iter().filter(|old| !fits(old)).count() as u64;
    if violated == 0 {
        return (0, Nearest::NotNeeded);
    }
    let end = (lowest + 1).saturating_sub(usize::try_from(MAX_SEARCHED).unwrap()).max(1) - 1;
    let nearest = versions[end..].iter().rposition(fits).map(|at| (end + at + 1) as u64);
    (violated, nearest.map_or(Nearest::NoneOf((versions.len() - end) as u64), Nearest::Version))
}

fn check(store: &Arc<dyn ObjectStore>, run: &Run, records: &[Record]) {
    let clean = registry(store);
    let report = clean.verify(None, None).unwrap();
    assert!(report.all().next().is_none(), "{report:?}");
    let indices: HashMap<Hash, usize> =
        bundles().iter().enumerate().map(|(at, bytes)| (Hash::of(bytes), at)).collect();
    let mut landed: HashMap<String, (Subject, u64)> = HashMap::new();
    let mut moments: HashMap<Subject, (Vec<usize>, Vec<Moment>)> = HashMap::new();
    for at in 0..run.subjects {
        let subject = name(at);
        let history = match clean.show(&subject, usize::MAX) {
            Ok(history) => history,
            Err(RegistryError::NoSubject { .. }) => continue,
            Err(error) => panic!("{subject}: {error}"),
        };
        let (mut versions, mut list) = (Vec::new(), vec![Moment::default()]);
        for located in history.entries.iter().rev() {
            let entry = &located.entry;
            if let Some(version) = entry.version() {
                let bundle = indices[&version.bundle.digest];
                let state = &entry.state;
                let (violated, _) = evaluate(bundle, state.mode, state.ports, &versions);
                assert_eq!(violated, 0, "{subject}@{} violates {}", entry.versions, state.mode);
                versions.push(bundle);
                let twice = landed.insert(version.tool.clone(), (subject.clone(), entry.versions));
                assert!(twice.is_none(), "{} is in the log twice", version.tool);
            }
            assert_eq!(entry.versions, versions.len() as u64);
            list.push(Moment { versions: versions.len(), state: entry.state.clone() });
        }
        moments.insert(subject, (versions, list));
    }
    for Record { tool, subject, bundle, outcome } in records {
        let found = landed.remove(tool);
        match outcome {
            Outcome::Acknowledged { version, novelty: Novelty::New } => {
                assert_eq!(found, Some((subject.clone(), *version)), "{tool}");
                let at = usize::try_from(*version).unwrap() - 1;
                assert_eq!(moments[subject].0[at], *bundle, "{tool}");
            }
            Outcome::Acknowledged { version, novelty: Novelty::Existing } => {
                assert_eq!(found, None, "{tool}");
                let at = usize::try_from(*version).unwrap() - 1;
                assert_eq!(moments[subject].0[at], *bundle, "{tool}");
            }
            Outcome::Rejected(verdict) => {
                assert_eq!(found, None, "{tool} is rejected and in the log");
                let (versions, list) = &moments[subject];
                let moment = &list[usize::try_from(verdict.entry).unwrap()];
                // The mode is that of the subject, or of the push.
                let versions = &versions[..moment.versions];
                let expected = evaluate(*bundle, verdict.mode, verdict.ports, versions);
                assert_eq!(verdict.ports, moment.state.ports, "{tool}");
                assert_eq!((verdict.violated, verdict.nearest), expected, "{tool}");
                assert!(verdict.violated > 0, "{tool}");
            }
            Outcome::Unknown => {
                assert!(found.is_none_or(|(of, _)| of == *subject), "{tool}");
            }
        }
    }
    assert!(landed.is_empty(), "{landed:?} are in the log, but no client pushed them");
}

/// Runs all threads and checks the result.
fn execute(store: &Arc<dyn ObjectStore>, run: &Run) {
    println!("seed {}", run.seed);
    let records: Vec<Record> = std::thread::scope(|scope| {
        let threads: Vec<_> =
            (0..run.threads).map(|thread| scope.spawn(move || work(store, run, thread))).collect();
        threads.into_iter().flat_map(|thread| thread.join().expect("no panic")).collect()
    });
    check(store, run, &records);
    let count = |is: fn(&Outcome) -> bool| records.iter().filter(|record| is(&record.outcome)).count();
    let new = count(|it| matches!(it, Outcome::Acknowledged { novelty: Novelty::New, .. }));
    let rejected = count(|it| matches!(it, Outcome::Rejected(_)));
    let unknown = count(|it| matches!(it, Outcome::Unknown));
    println!("{} pushes: {new} new, {rejected} rejected, {unknown} unknown", records.len());
    assert_eq!(records.len(), run.threads * run.pushes);
    assert!(new > 0 && rejected > 0, "the run exercises both");
    if run.failures > 0 {
        assert!(unknown > 0, "the run has errors");
    }
}

#[test]
fn no_push_is_lost_in_memory() {
    execute(&memory(), &Run { seed: 1, threads: 8, pushes: number(100, 1100), subjects: 24, failures: 60 });
}

#[test]
fn no_push_is_lost_in_a_folder() {
    let temporary = tempfile::tempdir().unwrap();
    let store = object_store::local::LocalFileSystem::new_with_prefix(temporary.path()).unwrap();
    execute(
        &(Arc::new(store) as Arc<dyn ObjectStore>),
        &Run { seed: 2, threads: 6, pushes: number(60, 250), subjects: 8, failures: 60 },
    );
}

#[test]
fn no_push_is_lost_by_writers_of_one_subject() {
    execute(&memory(), &Run { seed: 3, threads: 8, pushes: number(30, 60), subjects: 1, failures: 40 });
}

#[test]
fn concurrent_pushes_without_errors_all_land() {
    let (store, name) = (memory(), subject("a"));
    let mut first = push(&bundles()[0], "first");
    first.settings.mode = Some(Mode::None);
    registry(&store).push(&name, &first).unwrap();
    // Each writer has content of its own, so no push finds its content as the latest version.
    let contents: Vec<_> = (1..9)
        .map(|at| {
            crate::support::bundle_of(&format!("g (float[{at}0] x) => (float[{at}0] y) {{ y = Relu(x) }}"))
        })
        .collect();
    let (contents, store, name) = (&contents, &store, &name);
    let mut versions: Vec<u64> = std::thread::scope(|scope| {
        let writer = |at: usize| {
            move || -> Vec<u64> {
                let registry = registry(store);
                let other =
                    |number: u32| if number.is_multiple_of(2) { &contents[at] } else { &bundles()[at] };
                (0..20)
                    .map(|number| {
                        registry.push(name, &push(other(number), &format!("{at}/{number}"))).unwrap().version
                    })
                    .collect()
            }
        };
        let threads: Vec<_> = (0..8).map(|at| scope.spawn(writer(at))).collect();
        threads.into_iter().flat_map(|thread| thread.join().expect("no panic")).collect()
    });
    versions.sort_unstable();
    assert_eq!(versions, (2..=161).collect::<Vec<u64>>());
    assert!(registry(store).verify(None, None).unwrap().is_valid());
}
