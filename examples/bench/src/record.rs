//! What was measured where: the head of a report, and the record that goes with it.

use std::fmt;
use std::fs;
use std::time::SystemTime;

use cudarc::driver::sys::CUdevice_attribute::CU_DEVICE_ATTRIBUTE_CLOCK_RATE;
use kernels_common::device::{Device, Properties};
use serde::Serialize;
use serde_json::Value;

/// The machine that a measurement ran on.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Machine {
    device: String,
    selector: String,
    /// Compute capability, such as `9.0`.
    capability: String,
    multiprocessors: u32,
    /// The CUDA version that the driver supports.
    cuda: String,
    /// The driver's release, where the system tells it.
    driver: Option<String>,
    /// The highest clock of the multiprocessors.
    max_clock_khz: Option<i32>,
    memory_clock_khz: u32,
    memory_bus_bits: u32,
    /// The host's processor, where the system tells it.
    processor: Option<String>,
}

impl Machine {
    /// The machine of a GPU.
    pub(crate) fn of(device: &Device) -> Machine {
        let properties = device.properties();
        let Properties { name, selector, multiprocessors, memory_clock_khz, memory_bus_bits, .. } = properties;
        let pair = |(major, minor): (u32, u32)| format!("{major}.{minor}");
        let clock = |context: std::sync::Arc<cudarc::driver::CudaContext>| {
            context.attribute(CU_DEVICE_ATTRIBUTE_CLOCK_RATE).ok()
        };
        Machine {
            device: name.clone(),
            selector: selector.clone(),
            capability: pair(properties.capability),
            multiprocessors: *multiprocessors,
            cuda: pair(properties.driver),
            driver: fs::read_to_string("/proc/driver/nvidia/version").ok().and_then(|text| release(&text)),
            max_clock_khz: device.to_cudarc().and_then(clock),
            memory_clock_khz: *memory_clock_khz,
            memory_bus_bits: *memory_bus_bits,
            processor: fs::read_to_string("/proc/cpuinfo").ok().and_then(|text| processor(&text)),
        }
    }
}

impl fmt::Display for Machine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Machine { device, selector, capability, multiprocessors, cuda, .. } = self;
        write!(f, "{device} ({selector}), compute capability {capability}, {multiprocessors} multiprocessors")?;
        if let Some(clock) = self.max_clock_khz {
            write!(f, ", at most {} MHz", clock / 1000)?;
        }
        writeln!(f)?;
        if let Some(driver) = &self.driver {
            write!(f, "driver {driver}, ")?;
        }
        write!(f, "CUDA {cuda}")?;
        if let Some(processor) = &self.processor {
            write!(f, ", host {processor}")?;
        }
        Ok(())
    }
}

/// The release in the driver's own description of itself: the first number with a dot.
fn release(text: &str) -> Option<String> {
    let is_release = |word: &&str| word.contains('.') && word.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.');
    text.split_whitespace().find(is_release).map(str::to_owned)
}

/// The name of the first processor that Linux lists.
fn processor(text: &str) -> Option<String> {
    let line = text.lines().find(|line| line.starts_with("model name"))?;
    line.split_once(':').map(|(_, name)| name.trim().to_owned())
}

/// One measurement, with all that is needed to judge and to repeat it.
#[derive(Debug, Serialize)]
pub(crate) struct Record<'a> {
    measurement: &'static str,
    /// When it ended, in UTC.
    date: String,
    /// The command line, without the program's folder.
    command: String,
    machine: Machine,
    results: Value,
    /// What was beyond the limit of `--check`.
    failures: &'a [String],
}

impl<'a> Record<'a> {
    pub(crate) fn new(measurement: &'static str, machine: Machine, results: Value, failures: &'a [String]) -> Self {
        let arguments = std::env::args().skip(1);
        let command = std::iter::once("bench".to_owned()).chain(arguments).collect::<Vec<_>>().join(" ");
        let date = humantime::format_rfc3339_seconds(SystemTime::now()).to_string();
        Self { measurement, date, command, machine, results, failures }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_what_the_system_tells() {
        let version =
            "NVRM version: NVIDIA UNIX Open Kernel Module for x86_64  580.159.04  Release Build\nGCC version: 12";
        assert_eq!(release(version).as_deref(), Some("580.159.04"));
        assert_eq!(release("no number"), None);
        let cpus = "processor\t: 0\nmodel name\t: Some CPU @ 2.0GHz\nprocessor\t: 1\nmodel name\t: Other\n";
        assert_eq!(processor(cpus).as_deref(), Some("Some CPU @ 2.0GHz"));
        assert_eq!(processor("BogoMIPS : 50"), None);
    }
}
