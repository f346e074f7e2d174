//! All that decides what a PTX file contains, and its digest.

use sha2::{Digest as _, Sha256};

use crate::pinned;
use crate::sources::Sources;

/// Changes when the treatment of nvcc's output changes, which makes committed PTX stale.
const TREATMENT: &str = "1";

/// How a source becomes PTX for one compute capability.
#[derive(Debug)]
pub(crate) struct Recipe {
    /// `75` for 7.5.
    pub(crate) capability: u32,
    /// The arguments of nvcc that decide the result.
    pub(crate) flags: Vec<String>,
    /// Over the sources, the flags and the pinned compiler; in hex.
    pub(crate) digest: String,
}

impl Recipe {
    pub(crate) fn new(sources: &Sources, capability: u32) -> Self {
        let mut flags = vec![
            "-ptx".to_owned(),
            format!("-arch=compute_{capability}"),
            "-std=c++17".to_owned(),
            // Products and sums are fused only where the source says fma: see the crate's documentation.
            "--fmad=false".to_owned(),
            // Only the device half is compiled, so the age of the host compiler does not matter.
            "-allow-unsupported-compiler".to_owned(),
        ];
        flags.extend(sources.include_dirs.iter().map(|directory| format!("-I{directory}")));
        let digest = digest(sources, &flags);
        Recipe { capability, flags, digest }
    }
}

fn digest(sources: &Sources, flags: &[String]) -> String {
    let mut hash = Sha256::new();
    // Lengths keep neighbouring fields apart.
    let mut field = |bytes: &[u8]| {
        hash.update((bytes.len() as u64).to_le_bytes());
        hash.update(bytes);
    };
    field(TREATMENT.as_bytes());
    for package in pinned::packages() {
        field(package.as_bytes());
    }
    for flag in flags {
        field(flag.as_bytes());
    }
    field(sources.main.as_bytes());
    for (name, text) in &sources.files {
        field(name.as_bytes());
        field(text);
    }
    hex(&hash.finalize())
}

/// The SHA-256 of a text, in hex.
pub(crate) fn sha256(text: &str) -> String {
    hex(&Sha256::digest(text.as_bytes()))
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}
