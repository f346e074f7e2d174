//! What a program ran on, and with what: the head of every report.

use std::path::{Path, PathBuf};

use kernels_common::device::{BackendKind, Device, Properties};
use serde::Serialize;

use crate::input::Source;
use crate::options::CommonOptions;
use crate::report::Lines;

/// Device and input of a run.
#[derive(Clone, Debug, Serialize)]
pub struct Setting {
    /// The device's name.
    pub device: String,
    /// `cuda` or `sim`.
    pub backend: String,
    /// The selector that opens the device, such as `cuda:0`.
    pub selector: String,
    /// Why `auto` took the simulator, if it had to.
    pub fallback_reason: Option<String>,
    /// Number of elements of each vector.
    pub n: u64,
    /// Type of the elements.
    pub dtype: &'static str,
    /// Seed of random input.
    pub seed: Option<u64>,
    /// File of the first vector.
    pub x: Option<PathBuf>,
    /// File of the second vector.
    pub y: Option<PathBuf>,
    /// How often each kernel ran for its time.
    pub repeat: u32,
    #[serde(skip)]
    lines: Lines,
}

impl Setting {
    /// What a program is about to do.
    #[must_use]
    pub fn new(options: &CommonOptions, source: &Source, device: &Device) -> Setting {
        let properties = device.properties();
        let mut lines = device_lines(device, &options.device);
        lines.add("input", source);
        let [x, y] = source.paths().map_or([None, None], |paths| paths.map(|path| Some(Path::to_owned(path))));
        Setting {
            device: properties.name.clone(),
            backend: properties.backend.to_string(),
            selector: properties.selector.clone(),
            fallback_reason: device.fallback_reason().map(str::to_owned),
            n: source.len(),
            dtype: source.dtype().name(),
            seed: source.seed(),
            x,
            y,
            repeat: options.repeats(device),
            lines,
        }
    }

    /// The head of a report for people.
    #[must_use]
    pub fn lines(&self) -> Lines {
        self.lines.clone()
    }
}

/// What a report for people says of the device. `selector` is what the command line says.
#[must_use]
pub fn device_lines(device: &Device, selector: &str) -> Lines {
    let mut lines = Lines::default();
    lines.add("device", describe(device.properties()));
    if let Some(reason) = why_no_gpu(device, selector) {
        lines.add("no GPU", reason);
    }
    lines
}

fn describe(properties: &Properties) -> String {
    let Properties { name, selector, capability: (major, minor), multiprocessors, .. } = properties;
    format!("{name} ({selector}), compute capability {major}.{minor}, {multiprocessors} multiprocessors")
}

/// Why no GPU was used. `selector` is what the command line says.
fn why_no_gpu(device: &Device, selector: &str) -> Option<String> {
    if device.properties().backend == BackendKind::Cuda {
        return None;
    }
    Some(match device.fallback_reason() {
        Some(reason) => reason.to_owned(),
        None if selector == "auto" => {
            format!("the environment variable {} asks for the simulator", Device::SELECTOR_VARIABLE)
        }
        None => format!("--device {selector} asks for the simulator"),
    })
}
