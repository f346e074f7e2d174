//! Launches for `scripts/profile-counters.sh`: the profiler counts on a GPU what the simulator counts by itself.
//!
//! The program prints one line of CSV for each launch: its subject, and on the simulator every counter. On a GPU the
//! counters are the profiler's. A kernel named `marker` runs before each subject of the kernels, with a block more each
//! time, so that a subject of several launches stays together in the profile.

mod accesses;
mod kernels;
#[cfg(test)]
mod tests;

use anyhow::{Context, Result};
use clap::{Args, ValueEnum};
use examples::program::{Output, UsageError};
use kernels_common::Counters;
use kernels_common::device::Device;
use kernels_common::launch::LaunchConfig;
use kernels_common::module::Kernel;
use kernels_common::stream::Stream;

/// Options of this measurement.
#[derive(Args, Clone, Debug)]
pub(crate) struct Options {
    /// What to launch
    #[arg(value_enum)]
    suite: Suite,

    /// Only subjects whose names begin with one of these
    #[arg(long, value_name = "PREFIX", value_delimiter = ',')]
    only: Vec<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Suite {
    /// The kernels of the workspace: every way to sum, dot products, vector additions, transposes
    Kernels,
    /// Accesses of one warp in many patterns, sixteen patterns a launch
    Accesses,
    /// The same, one pattern a launch, for counters that are known for whole launches only
    SingleAccesses,
}

impl Options {
    /// Launches, and lists what was launched.
    pub(crate) fn run(&self, selector: &str) -> Result<Output> {
        let device = Device::open(selector)?;
        let rows = self.rows(&device.stream()?)?;
        if rows.is_empty() {
            return Err(UsageError(format!("--only: no subject begins with {}", self.only.join(" or "))).into());
        }
        let names = Counters::default().iter().map(|(name, _)| name).collect::<Vec<_>>().join(",");
        let on_simulator = rows.iter().any(|row| row.counters.is_some());
        let mut text = if on_simulator { format!("subject,{names}") } else { "subject".to_owned() };
        for row in rows {
            text += &format!("\n{}", row.subject);
            for (_, value) in row.counters.iter().flat_map(Counters::iter) {
                text += &format!(",{value}");
            }
        }
        Ok(Output { text, ok: true })
    }

    fn rows(&self, stream: &Stream) -> Result<Vec<Row>> {
        let mut session = Session { stream, only: &self.only, marker: None, rows: Vec::new() };
        match self.suite {
            Suite::Kernels => {
                session.marker = Some(accesses::marker(stream)?);
                kernels::run(&mut session)?;
            }
            Suite::Accesses => accesses::run(&mut session, accesses::batches())?,
            Suite::SingleAccesses => accesses::run(&mut session, accesses::singles())?,
        }
        Ok(session.rows)
    }
}

/// A subject that was launched.
#[derive(Clone, Debug)]
struct Row {
    subject: String,
    /// On the simulator.
    counters: Option<Counters>,
}

/// Launches, one after another on one stream.
struct Session<'a> {
    stream: &'a Stream,
    only: &'a [String],
    /// Launched before each subject.
    marker: Option<Kernel>,
    rows: Vec<Row>,
}

impl Session<'_> {
    /// Whether the subject was asked for.
    fn wants(&self, subject: &str) -> bool {
        self.only.is_empty() || self.only.iter().any(|prefix| subject.starts_with(prefix))
    }

    /// Launches one subject; `launch` may do nothing else on the device that counts.
    fn subject(&mut self, subject: String, launch: impl FnOnce() -> Result<()>) -> Result<()> {
        if let Some(marker) = &self.marker {
            let config = LaunchConfig::linear(self.rows.len() as u32 + 1, 32);
            // SAFETY: the kernel does nothing.
            unsafe { marker.launch(config, ())? };
        }
        let _marker = self.stream.device().take_counters();
        launch().and_then(|()| Ok(self.stream.synchronize()?)).with_context(|| subject.clone())?;
        self.rows.push(Row { subject, counters: self.stream.device().take_counters() });
        Ok(())
    }
}
