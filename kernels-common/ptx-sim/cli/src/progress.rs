//! A line on the terminal while a launch runs.

use std::fmt::Write;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use indicatif::{ProgressBar, ProgressState, ProgressStyle};

use crate::counters::grouped;

/// A line on standard error while it is a terminal, and nothing otherwise. Dropping it clears the line.
#[derive(Debug)]
pub(crate) struct Progress {
    line: ProgressBar,
    instructions: Arc<AtomicU64>,
}

impl Progress {
    pub(crate) fn new() -> Progress {
        let instructions = Arc::new(AtomicU64::new(0));
        let count = instructions.clone();
        let line = ProgressBar::new_spinner();
        if let Ok(style) = ProgressStyle::with_template("{spinner} {elapsed} {instructions} warp instructions {msg}") {
            let count = move |_: &ProgressState, out: &mut dyn Write| {
                // A number that is not shown is no harm.
                let _ = out.write_str(&grouped(count.load(Ordering::Relaxed)));
            };
            line.set_style(style.with_key("instructions", count));
        }
        line.enable_steady_tick(Duration::from_millis(200));
        Progress { line, instructions }
    }

    /// What launches count their warp instructions in.
    pub(crate) fn instructions(&self) -> &Arc<AtomicU64> {
        &self.instructions
    }

    /// Says which launch this is.
    pub(crate) fn launch(&self, text: String) {
        self.line.set_message(text);
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        self.line.finish_and_clear();
    }
}
