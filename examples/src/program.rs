//! The frame of every program: parse the command line, run, print, exit.

use std::fmt;
use std::io::{self, Write};
use std::process::ExitCode;

use clap::Parser;
use kernels_common::error::Error;

/// What a program has to say.
#[derive(Clone, Debug)]
pub struct Output {
    /// The report, without a line break at its end.
    pub text: String,
    /// Whether every result was right.
    pub ok: bool,
}

/// The command line, or a file that it names, is not what the program can work with.
#[derive(Debug)]
pub struct UsageError(pub String);

impl fmt::Display for UsageError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for UsageError {}

/// A wrong result, or an error of the device.
pub const FAILURE: u8 = 1;
/// A mistake in the command line or in an input file.
pub const USAGE: u8 = 2;

/// Runs a program: prints its report to standard output, or one line about what went wrong to standard error.
///
/// The exit code is 0, [`FAILURE`] or [`USAGE`]; a reader that closes the pipe early is no failure.
pub fn main<O: Parser>(run: impl FnOnce(&O) -> anyhow::Result<Output>) -> ExitCode {
    let result = run(&O::parse());
    ExitCode::from(deliver(result, &mut io::stdout().lock(), &mut io::stderr().lock()))
}

/// Prints a result, and returns the exit code that it stands for.
pub fn deliver(result: anyhow::Result<Output>, out: &mut dyn Write, err: &mut dyn Write) -> u8 {
    let written = result.and_then(|output| {
        let code = if output.ok { 0 } else { FAILURE };
        match writeln!(out, "{}", output.text).and_then(|()| out.flush()) {
            Err(error) if error.kind() != io::ErrorKind::BrokenPipe => {
                Err(anyhow::Error::from(error).context("cannot write the report to standard output"))
            }
            _ => Ok(code),
        }
    });
    written.unwrap_or_else(|error| {
        // Where even standard error is closed, the exit code has to do.
        let _ = writeln!(err, "error: {error:#}");
        if is_usage_error(&error) { USAGE } else { FAILURE }
    })
}

/// Whether an error is a mistake in the command line or in an input file, for which the exit code is [`USAGE`].
#[must_use]
pub fn is_usage_error(error: &anyhow::Error) -> bool {
    error.is::<UsageError>() || error.downcast_ref().is_some_and(is_bad_selector)
}

/// Whether no device was looked for, because it was not said which.
fn is_bad_selector(error: &Error) -> bool {
    match error {
        Error::BadSelector { .. } => true,
        Error::Variable { reason, .. } => is_bad_selector(reason),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Closed(io::ErrorKind);

    impl Write for Closed {
        fn write(&mut self, _: &[u8]) -> io::Result<usize> {
            Err(self.0.into())
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    fn output(ok: bool) -> anyhow::Result<Output> {
        Ok(Output { text: "report".to_owned(), ok })
    }

    #[test]
    fn prints_the_report_and_tells_right_from_wrong() {
        let (mut out, mut err) = (Vec::new(), Vec::new());
        assert_eq!(deliver(output(true), &mut out, &mut err), 0);
        assert_eq!(deliver(output(false), &mut out, &mut err), FAILURE);
        assert_eq!((out.as_slice(), err.as_slice()), (&b"report\nreport\n"[..], &b""[..]));
    }

    #[test]
    fn mistakes_of_the_user_have_their_own_code() {
        let (mut out, mut err) = (Vec::new(), Vec::new());
        let usage = UsageError("x.npy: is empty".to_owned());
        assert_eq!(deliver(Err(usage.into()), &mut out, &mut err), USAGE);
        let selector = kernels_common::device::Device::open("gpu").unwrap_err();
        assert_eq!(deliver(Err(selector.into()), &mut out, &mut err), USAGE);
        let of_variable = |reason| Error::Variable { variable: "V", value: String::new(), reason: Box::new(reason) };
        let selector = kernels_common::device::Device::open("gpu").unwrap_err();
        assert_eq!(deliver(Err(of_variable(selector).into()), &mut out, &mut err), USAGE);
        assert_eq!(deliver(Err(of_variable(Error::StubDriver).into()), &mut out, &mut err), FAILURE);
        assert_eq!(deliver(Err(anyhow::anyhow!("the device is on fire")), &mut out, &mut err), FAILURE);
        assert!(out.is_empty());
        assert_eq!(String::from_utf8(err).unwrap().lines().count(), 5);
    }

    #[test]
    fn a_closed_pipe_is_no_failure_but_a_full_disk_is() {
        let mut err = Vec::new();
        let mut pipe = Closed(io::ErrorKind::BrokenPipe);
        assert_eq!(deliver(output(true), &mut pipe, &mut err), 0);
        assert_eq!(deliver(output(false), &mut pipe, &mut err), FAILURE);
        assert!(err.is_empty());
        assert_eq!(deliver(output(true), &mut Closed(io::ErrorKind::StorageFull), &mut err), FAILURE);
        let text = String::from_utf8(err).unwrap();
        assert!(text.starts_with("error: cannot write the report to standard output: "), "{text}");
        assert_eq!(deliver(Err(anyhow::anyhow!("unheard")), &mut Vec::new(), &mut pipe), FAILURE);
    }
}
