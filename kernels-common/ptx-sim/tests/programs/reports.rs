use crate::common::{Params, launch};
use crate::{every, ptx};
use ptx_sim::FaultKind;

#[test]
fn printf() {
    every(&ptx!("reports"), &|device, _| {
        let x = device.upload(&[0.5f64, -1234.5, 1e10, 1e-5]);
        device.launch("prints", launch(1, 4), Params::new().add(x));
        // The lanes of a warp print one after another.
        let expected = "even 0 of block 0: 0.500 5.000000e-01 0.5\n\
                        odd 1 of block 0: -1234.500 -1.234500e+03 -1234.5\n\
                        even 2 of block 0: 10000000000.000 1.000000e+10 1e+10\n\
                        odd 3 of block 0: 0.000 1.000000e-05 1e-05\n\
                        1099511627776|   42|-7   |0beef|ok|%\n";
        assert_eq!(device.simulator.take_output(), expected);
        assert_eq!(device.simulator.take_output(), "");

        let out = device.allocate::<i32>(1);
        device.launch("plain", launch(1, 1), Params::new().add(out));
        // It gives the number of arguments.
        assert_eq!(device.download::<i32>(out, 1), [20]);
        let mut lines: Vec<String> = device.simulator.take_output().lines().map(str::to_owned).collect();
        lines.sort();
        assert_eq!(lines, ["12", "nothing to fill in"]);
    });
}

#[test]
fn assert() {
    every(&ptx!("reports"), &|device, _| {
        let x = device.upload(&[0i32; 32]);
        device.launch("asserts", launch(1, 32), Params::new().add(x).add(32i32));
        assert_eq!(device.download::<i32>(x, 32), [1; 32]);
        let fault = device.try_launch("asserts", launch(1, 32), Params::new().add(x).add(20i32)).unwrap_err();
        let FaultKind::Assertion { message, file, line, function } = &fault.kind else { panic!("{fault}") };
        assert_eq!((&**message, &**function), ("threadIdx.x < n", "void asserts(int *, int)"));
        assert!(file.ends_with("reports.cu"), "{file}");
        let source = include_str!("reports.cu").lines().nth(*line as usize - 1).unwrap();
        assert_eq!(source.trim(), "assert(threadIdx.x < n);");
        assert_eq!(fault.thread, Some([20, 0, 0]));
    });
}
