//! Kernels under many schedules of the simulator.

use ptx_sim::schedules::Seeds;

use super::devices;
use crate::device::Device;
use crate::error::Result;

/// Seeds of a test, unless `PTX_SIM_SEEDS` says otherwise.
const SEEDS: u64 = 4;

/// Runs `test` on simulators that have the options `options` (such as `sms=3,cc=8.0`, or none) and differ in nothing
/// but their schedule: in order first, then with each seed of [`Seeds::from_environment`], four by default. The first
/// failure ends it and says which value of `KERNELS_DEVICE` repeats it. With `KERNELS_DEVICE` set, `test` runs on that
/// device alone.
///
/// All checks are on. What a test compares between schedules it keeps outside the closure.
///
/// # Panics
/// If `test` fails, if a simulator cannot be opened, or if a variable is wrong.
pub fn on_every_schedule(options: &str, mut test: impl FnMut(&Device) -> Result<()>) {
    if std::env::var_os(Device::SELECTOR_VARIABLE).is_some_and(|named| !named.is_empty()) {
        devices().iter().try_for_each(test).unwrap_or_else(|error| panic!("{error}"));
        return;
    }
    let seeds = Seeds::from_environment(SEEDS).unwrap_or_else(|error| panic!("{error}"));
    let outcome = seeds.try_each_named(
        |seed| format!("{}={}", Device::SELECTOR_VARIABLE, selector(options, seed)),
        |seed| test(&Device::open(&selector(options, seed))?),
    );
    outcome.unwrap_or_else(|failure| panic!("{failure}"));
}

fn selector(options: &str, seed: Option<u64>) -> String {
    let options = options.split(',').filter(|option| !option.is_empty()).map(str::to_owned);
    let options: Vec<String> = options.chain(seed.map(|seed| format!("seed={seed}"))).collect();
    if options.is_empty() { "sim".to_owned() } else { format!("sim:{}", options.join(",")) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn selectors() {
        assert_eq!(selector("", None), "sim");
        assert_eq!(selector("", Some(3)), "sim:seed=3");
        assert_eq!(selector("sms=2,cc=8.0", None), "sim:sms=2,cc=8.0");
        assert_eq!(selector("sms=2", Some(0)), "sim:sms=2,seed=0");
    }
}
