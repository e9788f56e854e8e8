//! A module whose parts run in separate processes: workers fit a line to their private data, and the module's
//! own peer averages the results.
//!
//! ```text
//! cargo run --manifest-path transports/libp2p/Cargo.toml --example two_processes
//! ```
//!
//! The initial process compiles the module, saves it, and starts two workers. A worker loads the file, links
//! the part of its peer class with its component, and serves. The processes share only the file and the
//! network.

use std::collections::HashMap;
use std::error::Error;
use std::io::{BufRead as _, BufReader, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::time::Duration;

use typeloom::module::Artifact;
use typeloom::module::Bindings;
use typeloom::module::Compiler;
use typeloom::run::host::{Durability, FileJournal, SystemClock, incarnation};
use typeloom::types::AnyTensor;
use typeloom::{Aggregator, Graph, Module, PeerId};
use typeloom_contracts::model::Model;
use typeloom_libp2p::{Identity, Libp2p, Options, address, show_address};
use typeloom_runtime::components::Components;
use typeloom_runtime::executor::part::Part;
use typeloom_runtime::options::Verify;
use typeloom_tensor::address::Multiaddress;
use typeloom_tensor::datum::Datum;
use typeloom_wire::endpoint::{Endpoint, EndpointConfig, EndpointParts};
use typeloom_wire::envelope::RunId;

/// Timeout of every step.
const PATIENCE: Duration = Duration::from_secs(60);

/// Sends the parameters of a line to the workers, which improve them on their data, and averages the results.
struct Averaging;

impl Module for Averaging {
    fn name(&self) -> &str {
        "averaging"
    }

    fn body(&self, g: &mut Graph) {
        let line = g.input("line").of("float[2]");
        let workers = g.input("workers").of("peer_id_vec");
        let (there, _) = g.send(&line, &workers);
        let (payload, sender) = g.receive(&there);
        let improved = g.model("fit").forward(&payload);
        let (back, _) = g.send(&improved, &sender);
        let (found, from) = g.receive(&back);
        let mean = g.aggregator("mean");
        let done = mean.contribute(&from, &found, None);
        g.output("average", mean.aggregate(Some(&done)));
    }
}

/// Data of one worker. The model improves a line `[slope, height]` by gradient descent on the squared error.
struct Fit(Vec<(f32, f32)>);

#[derive(Debug, thiserror::Error)]
#[error("{0}")]
struct Wrong(&'static str);

impl Model for Fit {
    type Tensor = [f32];
    type Error = Wrong;

    fn forward(&self, line: &[f32]) -> Result<Box<[f32]>, Wrong> {
        let &[mut slope, mut height] = line else { return Err(Wrong("a line has two parameters")) };
        for _ in 0..20 {
            for (x, y) in &self.0 {
                let error = slope * x + height - y;
                slope -= 0.05 * error * x;
                height -= 0.05 * error;
            }
        }
        Ok([slope, height].into())
    }

    fn load_parameters(&mut self, _: &[f32]) -> Result<(), Wrong> {
        Err(Wrong("the parameters come with each message"))
    }

    fn backward(&mut self, _: &[f32]) -> Result<Box<[f32]>, Wrong> {
        Err(Wrong("it improves the line in one call"))
    }

    fn apply_delta(&mut self, _: &[f32]) -> Result<(), Wrong> {
        Err(Wrong("the parameters come with each message"))
    }

    fn compute_loss(&self, _: &[f32], _: &[f32]) -> Result<Box<[f32]>, Wrong> {
        Err(Wrong("it improves the line in one call"))
    }

    fn params(&self) -> &[f32] {
        &[]
    }
}

/// Mean of the received parameters.
#[derive(Default)]
struct Mean(Vec<Vec<f32>>);

impl Aggregator for Mean {
    type Element = [f32];
    type Metadata = ();
    type Error = Wrong;

    fn contribute(&mut self, _: &str, element: &[f32], (): ()) -> Result<(), Wrong> {
        self.0.push(element.to_vec());
        Ok(())
    }

    fn aggregate(&mut self) -> Result<Box<[f32]>, Wrong> {
        let came = std::mem::take(&mut self.0);
        let [first, rest @ ..] = came.as_slice() else { return Err(Wrong("nothing came")) };
        let mut mean = first.clone();
        for (count, element) in (2_u16..).zip(rest) {
            mean.iter_mut().zip(element).for_each(|(mean, it)| *mean += (it - *mean) / f32::from(count));
        }
        Ok(mean.into())
    }
}

fn bindings() -> Bindings {
    Bindings::new().bind_model::<Fit>("fit").bind_aggregator::<Mean>("mean")
}

fn main() -> Result<(), Box<dyn Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    match arguments.as_slice() {
        [] => home(),
        [name, folder, offset] if name == "worker" => worker(Path::new(folder), offset.parse()?),
        _ => Err("it is started without arguments".into()),
    }
}

/// Opens a peer on the loopback interface that accepts the messages of a part from the listed peers.
fn open(
    identity: &Identity,
    journal: PathBuf,
    part: &Part,
    peers: Vec<PeerId>,
) -> Result<(Endpoint, Arc<Libp2p>), Box<dyn Error>> {
    let transport = Libp2p::start(identity, &[address("/ip4/127.0.0.1/tcp/0")?], &Options::default())?;
    let transport = Arc::new(transport);
    let endpoint = Endpoint::open(
        EndpointParts {
            transport: Arc::<Libp2p>::clone(&transport),
            clock: Arc::new(SystemClock::new()),
            journal: Box::new(FileJournal::open(&journal, Durability::Machine)?),
            ports: part.ports(),
            peers,
        },
        EndpointConfig::new(incarnation()),
    )?;
    Ok((endpoint, transport))
}

fn home() -> Result<(), Box<dyn Error>> {
    let folder = std::env::temp_dir().join(format!("typeloom-two-processes-{}", std::process::id()));
    std::fs::create_dir_all(&folder)?;
    let result = averages(&folder);
    std::fs::remove_dir_all(&folder)?;
    result
}

fn averages(folder: &Path) -> Result<(), Box<dyn Error>> {
    let artifact = Compiler::new().with_bindings(bindings()).compile(Averaging)?;
    std::fs::write(folder.join("averaging.onnx"), artifact.to_bytes()?)?;
    let identity = Identity::generate();
    std::fs::write(folder.join("home"), identity.peer().0)?;

    let part = Part::new(&artifact, "self", &Components::new().aggregator("mean", Mean::default()))?;
    let (endpoint, transport) = open(&identity, folder.join("home.journal"), &part, Vec::new())?;
    let mut workers = Vec::new();
    let mut peers = Vec::new();
    for offset in ["0.5", "-0.5"] {
        let (worker, peer, at) = start(folder, offset)?;
        transport.find(&peer, &[at])?;
        endpoint.add_peer(&peer);
        workers.push(worker);
        peers.push(peer);
    }
    let mut line = AnyTensor::from_slice(&[2], &[0.0_f32, 0.0])?;
    for round in 0..4 {
        let inputs = HashMap::from([
            ("line".to_owned(), Datum::Tensor(line)),
            ("workers".to_owned(), Datum::Peers(peers.clone())),
        ]);
        let outcome = part.run(&endpoint, RunId(round), inputs, PATIENCE, Verify::EveryValue)?;
        let Some(Datum::Tensor(average)) = outcome.get("average") else {
            return Err("the module has an output `average`".into());
        };
        say(&format!("round {round}: {:?}", average.as_slice::<f32>()?))?;
        line = average.clone();
    }
    for mut worker in workers {
        worker.kill()?;
        worker.wait()?;
    }
    // The workers have points of `y = 2 x + 1` shifted up and down; only the mean of the workers' lines is
    // that line.
    let &[slope, height] = line.as_slice::<f32>()? else { return Err("a line has two parameters".into()) };
    if (slope - 2.0).abs() > 0.05 || (height - 1.0).abs() > 0.05 {
        return Err(format!("{slope} x + {height} is not 2 x + 1").into());
    }
    Ok(())
}

/// Starts a worker process and returns it with its peer id and address.
fn start(folder: &Path, offset: &str) -> Result<(Child, PeerId, Multiaddress), Box<dyn Error>> {
    let mut process = Command::new(std::env::current_exe()?)
        .arg("worker")
        .arg(folder)
        .arg(offset)
        .stdout(Stdio::piped())
        .spawn()?;
    let out = process.stdout.take().ok_or("its output is piped")?;
    let mut line = String::new();
    BufReader::new(out).read_line(&mut line)?;
    let at = address(line.trim())?;
    let peer = PeerId(std::fs::read(folder.join(format!("worker{offset}")))?);
    Ok((process, peer, at))
}

fn worker(folder: &Path, offset: f32) -> Result<(), Box<dyn Error>> {
    let artifact = Artifact::load(&std::fs::read(folder.join("averaging.onnx"))?, &bindings())?;
    let data = [-1.0, -0.5, 0.0, 0.5, 1.0].map(|x| (x, 2.0 * x + 1.0 + offset));
    let part = Part::new(&artifact, "workers", &Components::new().model("fit", Fit(data.to_vec())))?;
    let identity = Identity::generate();
    std::fs::write(folder.join(format!("worker{offset}")), identity.peer().0)?;
    let home = PeerId(std::fs::read(folder.join("home"))?);
    let journal = folder.join(format!("worker{offset}.journal"));
    let (endpoint, transport) = open(&identity, journal, &part, vec![home])?;
    say(&transport.addresses().first().map(show_address).unwrap_or_default())?;
    while part.serve(&endpoint, PATIENCE, Verify::EveryValue)?.is_some() {}
    Ok(())
}

fn say(line: &str) -> std::io::Result<()> {
    let mut out = std::io::stdout().lock();
    writeln!(out, "{line}")?;
    out.flush()
}
