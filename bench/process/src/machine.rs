//! Description of the measuring machine: the properties that affect the numbers, without any that identify
//! it.

use std::{env, fs, thread};

/// Processor, cores, memory and system.
#[must_use]
pub fn describe() -> String {
    let processor = field("/proc/cpuinfo", "model name").unwrap_or_else(|| env::consts::ARCH.to_owned());
    let cores = thread::available_parallelism().map_or(1, usize::from);
    let memory = field("/proc/meminfo", "MemTotal")
        .and_then(|text| text.split_whitespace().next()?.parse::<u64>().ok())
        .map_or_else(String::new, |kilobytes| format!(", {} GB of memory", kilobytes / 976_563));
    format!("{processor}, {cores} cores{memory}, {}", env::consts::OS)
}

fn field(file: &str, key: &str) -> Option<String> {
    let text = fs::read_to_string(file).ok()?;
    let line = text.lines().find_map(|line| line.strip_prefix(key)?.trim_start().strip_prefix(':'))?;
    Some(line.trim().to_owned())
}
