//! A line on the terminal that says what a program is doing.

use std::time::Duration;

use indicatif::ProgressBar;

/// A line on standard error while it is a terminal, and nothing otherwise. Dropping it clears the line.
#[derive(Debug)]
pub struct Progress {
    line: ProgressBar,
}

impl Progress {
    /// Starts with what is done first.
    #[must_use]
    pub fn new(step: &'static str) -> Self {
        let line = ProgressBar::new_spinner().with_message(step);
        line.enable_steady_tick(Duration::from_millis(100));
        Self { line }
    }

    /// Says what is done from here on.
    pub fn step(&self, step: impl Into<std::borrow::Cow<'static, str>>) {
        self.line.set_message(step);
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        self.line.finish_and_clear();
    }
}
