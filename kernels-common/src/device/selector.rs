//! The text that names a device.

use std::fmt;

use crate::error::{Error, Result};

/// Options of the simulator, written `sim:OPTION=VALUE,…`.
///
/// | option | value | default |
/// |---|---|---|
/// | `seed` | a number that the [schedule](ptx_sim::schedules) is drawn from | in order |
/// | `threads` | threads of the host that run the blocks of a launch, from 1 to 1024, or `all`, with `check=no-races` or `bounds`; [see there](ptx_sim::Config::threads) | 1 |
/// | `sms` | multiprocessors it has, from 1 to 1024 | 8 |
/// | `cc` | compute capability from 5.0 to 12.1, such as `7.5` or `9.0` | 7.5 |
/// | `check` | `all`, `no-races`: all but data races, or `bounds`: addresses only | `all` |
/// | `memory` | bytes of device memory | 16 GiB |
/// | `managed` | `concurrent`, or `exclusive` for a device whose kernels and host must not use unified memory at the same time | `concurrent` |
/// | `cooperative` | `yes`, or `no` for a device without cooperative launches | `yes` |
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct SimOptions {
    /// What the schedule of blocks, warps and lanes is drawn from; `None` runs them in order.
    pub seed: Option<u64>,
    /// Threads of the host that run the blocks of a launch, where nobody can tell.
    pub threads: usize,
    /// Multiprocessors.
    pub multiprocessors: u32,
    /// Compute capability.
    pub capability: (u32, u32),
    /// Reads of bytes that were never written are faults.
    pub check_initialised: bool,
    /// Barriers and warp operations that some threads miss are faults.
    pub check_barriers: bool,
    /// Data races in shared and global memory are faults.
    pub check_races: bool,
    /// Bytes of device memory.
    pub memory: u64,
    /// Host and kernels may use unified memory at the same time.
    pub concurrent_managed_access: bool,
    /// Launches cooperative grids.
    pub cooperative_launch: bool,
}

impl Default for SimOptions {
    fn default() -> SimOptions {
        SimOptions {
            seed: None,
            threads: 1,
            multiprocessors: 8,
            capability: (7, 5),
            check_initialised: true,
            check_barriers: true,
            check_races: true,
            memory: 16 << 30,
            concurrent_managed_access: true,
            cooperative_launch: true,
        }
    }
}

/// The selector that gives these options: `sim`, and those that differ from the default.
impl fmt::Display for SimOptions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let default = SimOptions::default();
        let mut options = Vec::new();
        let mut add = |differs: bool, option: String| {
            if differs {
                options.push(option);
            }
        };
        add(self.seed.is_some(), format!("seed={}", self.seed.unwrap_or_default()));
        add(self.threads != default.threads, format!("threads={}", self.threads));
        add(self.multiprocessors != default.multiprocessors, format!("sms={}", self.multiprocessors));
        add(self.capability != default.capability, format!("cc={}.{}", self.capability.0, self.capability.1));
        add(!self.check_initialised, "check=bounds".to_owned());
        add(self.check_initialised && !self.check_races, "check=no-races".to_owned());
        add(self.memory != default.memory, format!("memory={}", self.memory));
        add(!self.concurrent_managed_access, "managed=exclusive".to_owned());
        add(!self.cooperative_launch, "cooperative=no".to_owned());
        match options.as_slice() {
            [] => f.write_str("sim"),
            options => write!(f, "sim:{}", options.join(",")),
        }
    }
}

#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Selector {
    Auto,
    Cuda(usize),
    Sim(SimOptions),
}

/// Reads a selector; blanks around it do not count.
pub(crate) fn parse(text: &str) -> Result<Selector> {
    let text = text.trim();
    let bad = |reason: String| Error::BadSelector { selector: text.to_owned(), reason };
    let (kind, rest) = match text.split_once(':') {
        Some((kind, rest)) => (kind, Some(rest)),
        None => (text, None),
    };
    match (kind, rest) {
        ("auto", None) => Ok(Selector::Auto),
        ("cuda", None) => Ok(Selector::Cuda(0)),
        ("cuda", Some(ordinal)) => {
            ordinal.parse().map(Selector::Cuda).map_err(|_| bad(format!("`{ordinal}` is not the number of a GPU")))
        }
        ("sim", None) => Ok(Selector::Sim(SimOptions::default())),
        ("sim", Some(options)) => {
            options.split(',').try_fold(SimOptions::default(), set_option).map(Selector::Sim).map_err(bad)
        }
        _ => {
            let lower = text.to_ascii_lowercase();
            let meant = lower != text && parse(&lower).is_ok();
            let hint = if meant { format!("; selectors are in lower case: `{lower}`") } else { String::new() };
            Err(bad(format!("there is no such kind of device{hint}")))
        }
    }
}

fn set_option(mut options: SimOptions, text: &str) -> Result<SimOptions, String> {
    let (name, value) = text.split_once('=').ok_or_else(|| format!("option `{text}` has no value, as `seed=7` has"))?;
    let number = || value.parse::<u64>().map_err(|_| format!("`{value}` is not a number, for option `{name}`"));
    match name {
        "seed" => options.seed = Some(number()?),
        "threads" if value == "all" => {
            options.threads = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
        }
        "threads" => {
            options.threads = match number()? {
                n @ 1..=1024 => n as usize,
                n => return Err(format!("threads={n} is neither between 1 and 1024 nor `all`")),
            }
        }
        "sms" => {
            options.multiprocessors = match number()? {
                n @ 1..=1024 => n as u32,
                n => return Err(format!("sms={n} is not between 1 and 1024")),
            }
        }
        "cc" => {
            let capability =
                value.split_once('.').and_then(|(major, minor)| Some((major.parse().ok()?, minor.parse().ok()?)));
            options.capability = match capability.ok_or_else(|| format!("cc={value} is not of the form 7.5"))? {
                capability if ((5, 0)..=(12, 1)).contains(&capability) && capability.1 < 10 => capability,
                _ => return Err(format!("cc={value} is not a compute capability from 5.0 to 12.1")),
            }
        }
        "check" => {
            let (others, races) = match value {
                "all" => (true, true),
                "no-races" => (true, false),
                "bounds" => (false, false),
                _ => return Err(format!("check={value} is neither all, no-races nor bounds")),
            };
            options.check_initialised = others;
            options.check_barriers = others;
            options.check_races = races;
        }
        "memory" => {
            options.memory = match value.parse() {
                Ok(0) => return Err("memory=0 leaves no memory to use".to_owned()),
                Ok(bytes) => bytes,
                Err(_) => return Err(format!("`{value}` is not a number of bytes, for option `memory`")),
            }
        }
        "managed" => {
            options.concurrent_managed_access = match value {
                "concurrent" => true,
                "exclusive" => false,
                _ => return Err(format!("managed={value} is neither concurrent nor exclusive")),
            }
        }
        "cooperative" => {
            options.cooperative_launch = match value {
                "yes" => true,
                "no" => false,
                _ => return Err(format!("cooperative={value} is neither yes nor no")),
            }
        }
        _ => {
            let known = "seed, threads, sms, cc, check, memory, managed, cooperative";
            return Err(format!("there is no option `{name}`; there are {known}"));
        }
    }
    Ok(options)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_every_form() {
        assert_eq!(parse("auto").unwrap(), Selector::Auto);
        assert_eq!(parse("cuda").unwrap(), Selector::Cuda(0));
        assert_eq!(parse("cuda:7").unwrap(), Selector::Cuda(7));
        assert_eq!(parse("sim").unwrap(), Selector::Sim(SimOptions::default()));
        assert_eq!(parse(" sim \n").unwrap(), Selector::Sim(SimOptions::default()));
        let options = SimOptions { seed: Some(7), multiprocessors: 3, capability: (9, 0), ..SimOptions::default() };
        assert_eq!(parse("sim:seed=7,sms=3,cc=9.0,check=all").unwrap(), Selector::Sim(options));
        match parse("sim:threads=all").unwrap() {
            Selector::Sim(options) => assert!(options.threads >= 1),
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn options_are_written_as_they_are_read() {
        let every = "sim:seed=7,threads=2,sms=4,cc=9.0,check=bounds,memory=1024,managed=exclusive,cooperative=no";
        for text in ["sim", "sim:seed=0", "sim:check=no-races", every] {
            match parse(text).unwrap() {
                Selector::Sim(options) => assert_eq!(options.to_string(), text),
                other => panic!("{other:?}"),
            }
        }
    }

    #[test]
    fn says_what_is_wrong() {
        for (text, expected) in [
            ("", "no such kind"),
            ("gpu", "no such kind"),
            ("auto:1", "no such kind"),
            ("Sim", "in lower case: `sim`. Use"),
            ("CUDA:1", "in lower case: `cuda:1`. Use"),
            ("GPU", "no such kind of device. Use"),
            ("cuda:", "not the number of a GPU"),
            ("cuda:-1", "not the number of a GPU"),
            ("cuda:x", "not the number of a GPU"),
            ("sim:", "has no value"),
            ("sim:seed", "has no value"),
            ("sim:seed=x", "not a number"),
            ("sim:sms=0", "between 1 and 1024"),
            ("sim:threads=0", "threads=0 is neither between 1 and 1024 nor `all`"),
            ("sim:threads=many", "not a number"),
            ("sim:cc=9", "form 7.5"),
            ("sim:cc=99.0", "cc=99.0 is not a compute capability from 5.0 to 12.1"),
            ("sim:cc=7.50", "from 5.0 to 12.1"),
            ("sim:cc=12.2", "from 5.0 to 12.1"),
            ("sim:memory=0", "no memory to use"),
            ("sim:memory=1GiB", "`1GiB` is not a number of bytes"),
            ("sim:check=some", "neither all, no-races nor bounds"),
            ("sim:managed=1", "neither concurrent nor exclusive"),
            ("sim:cooperative=maybe", "neither yes nor no"),
            ("sim:speed=1", "no option `speed`"),
        ] {
            let error = parse(text).unwrap_err().to_string();
            assert!(error.contains(expected) && error.contains("Use `auto`"), "{text}: {error}");
        }
    }
}
