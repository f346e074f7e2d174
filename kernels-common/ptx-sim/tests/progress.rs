//! How far a launch has come, as other threads see it.

mod common;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::thread;

use common::{Device, Params, kernel, launch};
use ptx_sim::{Config, FaultKind, Launch};

#[test]
fn after_a_launch_the_counter_is_that_of_the_launch() {
    let mut device = Device::new(&kernel("test", "", "mov.u32 %r1, %tid.x;\nbar.sync 0;"));
    let counter = Arc::new(AtomicU64::new(7));
    device.simulator.count_into(Some(counter.clone()));
    for cooperative in [false, true] {
        let counters = device.launch("test", Launch { cooperative, ..launch(3, 100) }, Params::new());
        assert_eq!(counter.load(Ordering::Relaxed), counters.instructions);
    }
    device.simulator.count_into(None);
    device.launch("test", launch(1, 1), Params::new());
    assert_eq!(Arc::strong_count(&counter), 1);
}

#[test]
fn while_a_launch_runs_the_counter_grows() {
    let body = "LOOP:\nadd.u32 %r1, %r1, 1;\nbra LOOP;";
    let config = Config { budget: 1 << 22, ..Config::default() };
    let mut device = Device::with(config, &kernel("test", "", body));
    let counter = Arc::new(AtomicU64::new(0));
    device.simulator.count_into(Some(counter.clone()));
    let (ended, seen) = (AtomicBool::new(false), AtomicU64::new(0));
    thread::scope(|scope| {
        scope.spawn(|| {
            while !ended.load(Ordering::Relaxed) {
                let count = counter.load(Ordering::Relaxed);
                if count > 0 && count < 1 << 22 {
                    seen.store(count, Ordering::Relaxed);
                }
                thread::yield_now();
            }
        });
        // The other thread may come too late for one launch, but not for all.
        for _ in 0..1000 {
            counter.store(0, Ordering::Relaxed);
            let fault = device.try_launch("test", launch(1, 1), Params::new()).unwrap_err();
            assert!(matches!(fault.kind, FaultKind::Budget { .. }), "{fault}");
            if seen.load(Ordering::Relaxed) > 0 {
                break;
            }
        }
        ended.store(true, Ordering::Relaxed);
    });
    assert!(seen.into_inner() > 0);
}
