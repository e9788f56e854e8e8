//! Contender processes, one for each pair of contender and model.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;
use std::{env, thread};

use anyhow::{Result, bail, ensure};
use clap::ValueEnum;
use typeloom_bench_process::Process;

/// Number of threads that every contender may use.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Threads {
    One,
    /// As many as there are cores.
    All,
}

impl Threads {
    pub fn count(self) -> usize {
        match self {
            Self::One => 1,
            Self::All => thread::available_parallelism().map_or(1, usize::from),
        }
    }
}

/// The measured implementations.
#[derive(Clone, Copy, PartialEq, Eq, Debug, ValueEnum)]
pub enum Contender {
    /// typeloom's embedded backend.
    Cpu,
    /// typeloom over tract.
    OverTract,
    /// tract without typeloom.
    Tract,
    /// typeloom over ONNX Runtime.
    OverOrt,
    /// ONNX Runtime without typeloom.
    Ort,
    /// candle with its ONNX importer.
    Candle,
}

impl Contender {
    /// All contenders in the order of the columns.
    pub const ALL: [Self; 6] =
        [Self::Cpu, Self::OverTract, Self::Tract, Self::OverOrt, Self::Ort, Self::Candle];

    pub fn name(self) -> &'static str {
        match self {
            Self::Cpu => "cpu",
            Self::OverTract => "over-tract",
            Self::Tract => "tract",
            Self::OverOrt => "over-ort",
            Self::Ort => "ort",
            Self::Candle => "candle",
        }
    }

    pub fn title(self) -> &'static str {
        match self {
            Self::Cpu => "typeloom, cpu",
            Self::OverTract => "typeloom over tract",
            Self::Tract => "tract",
            Self::OverOrt => "typeloom over ONNX Runtime",
            Self::Ort => "ONNX Runtime",
            Self::Candle => "candle",
        }
    }

    fn command(self) -> Result<Command> {
        if self != Self::Candle {
            let mut command = Command::new(env::current_exe()?);
            command.args(["serve", self.name()]);
            return Ok(command);
        }
        let program = candle_program();
        ensure!(program.is_file(), "not built");
        Ok(Command::new(program))
    }
}

/// Path of the program that cargo builds.
fn candle_program() -> PathBuf {
    let own = || Path::new(env!("CARGO_MANIFEST_DIR")).join("../target");
    let target = env::var_os("CARGO_TARGET_DIR").map_or_else(own, PathBuf::from);
    target.join(format!("release/typeloom-bench-candle{}", env::consts::EXE_SUFFIX))
}

/// Builds candle's program, so that its features are not those of the others. Its importer needs `protoc`,
/// which a crate provides as a binary.
pub fn build_candle() -> Result<()> {
    let mut cargo = Command::new(env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    let manifest = concat!(env!("CARGO_MANIFEST_DIR"), "/candle/Cargo.toml");
    cargo.args(["build", "--release", "--quiet", "--manifest-path", manifest]);
    if env::var_os("PROTOC").is_none() {
        cargo.env("PROTOC", protoc_bin_vendored::protoc_bin_path()?);
    }
    ensure!(cargo.status()?.success(), "candle could not be built");
    Ok(())
}

/// Result of a request: numbers, or an error message.
pub type Answer = Result<Vec<u64>, String>;

pub struct Server(Process);

impl Server {
    /// Starts the process, which loads the model. Returns the load time in nanoseconds, or the error.
    pub fn start(
        contender: Contender,
        threads: Threads,
        model: &Path,
        inputs: &[(String, Vec<usize>)],
        limit: Duration,
    ) -> Result<(Self, Answer)> {
        let mut command = contender.command()?;
        // Contenders that use rayon's global pool read this variable, the others their first argument.
        command.env("RAYON_NUM_THREADS", threads.count().to_string());
        // The report contains the error message, not a backtrace with paths of this machine.
        command.env("RUST_BACKTRACE", "0");
        command.arg(threads.count().to_string());
        let extents = |shape: &[usize]| shape.iter().map(usize::to_string).collect::<Vec<_>>().join(",");
        command.arg(model).args(inputs.iter().map(|(name, shape)| format!("{name}={}", extents(shape))));
        let server = Self(Process::start(&mut command)?);
        let answer = server.answer(limit);
        Ok((server, answer))
    }

    /// Runs the model `times` times and returns the total in nanoseconds.
    pub fn run(&mut self, times: usize, limit: Duration) -> Answer {
        self.ask(&format!("run\t{times}"), limit)
    }

    /// Peak memory of the process, and its memory before the model was loaded, in bytes.
    pub fn memory(&mut self) -> Answer {
        self.ask("memory", Duration::from_secs(5))
    }

    /// The elements of the first output, for the comparison between contenders.
    pub fn output(&mut self, limit: Duration) -> Result<Vec<f32>, String> {
        let bits = self.ask("output", limit)?;
        Ok(bits.into_iter().map(|it| f32::from_bits(u32::try_from(it).unwrap_or(u32::MAX))).collect())
    }

    fn ask(&mut self, request: &str, limit: Duration) -> Answer {
        self.0.send(request).map_err(|_| "the process ended".to_owned())?;
        self.answer(limit)
    }

    fn answer(&self, limit: Duration) -> Answer {
        let line = self.0.reply(limit).map_err(|_| "no reply in time".to_owned())?;
        read(&line).unwrap_or_else(|error| Err(error.to_string()))
    }
}

fn read(line: &str) -> Result<Answer> {
    let mut fields = line.split('\t');
    match fields.next() {
        Some("ok") => Ok(Ok(fields.map(str::parse).collect::<Result<_, _>>()?)),
        Some("no") => Ok(Err(fields.collect::<Vec<_>>().join(" "))),
        Some(_) | None => bail!("unexpected reply `{line}`"),
    }
}

#[cfg(test)]
mod tests {
    use super::read;

    #[test]
    fn replies_are_read_whole_or_not_at_all() {
        assert_eq!(read("ok\t15\t2").expect("an answer"), Ok(vec![15, 2]));
        assert_eq!(read("no\twrong type").expect("an answer"), Err("wrong type".to_owned()));
        assert!(read("ok\tfast").is_err());
        assert!(read("perhaps").is_err());
    }
}
