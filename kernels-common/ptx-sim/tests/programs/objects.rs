use crate::common::{Device, Params, launch};
use crate::{every, numbers, ptx};
use ptx_sim::FaultKind;

#[test]
fn virtual_functions() {
    every(&ptx!("objects"), &|device, _| {
        let out = device.allocate::<f32>(96);
        device.launch("shapes", launch(1, 96), Params::new().add(out));
        let expected: Vec<f32> = (0..96).map(|t| (if t % 3 != 0 { t * t + 4 } else { 3 * t * t }) as f32).collect();
        assert_eq!(device.download::<f32>(out, 96), expected);

        device.launch("on_the_heap", launch(1, 96), Params::new().add(out));
        let expected: Vec<f32> = (0..96).map(|t| (t + if t % 2 == 1 { t * t + 4 } else { 3 * t * t }) as f32).collect();
        assert_eq!(device.download::<f32>(out, 96), expected);
    });
}

#[test]
fn memory_of_kernels() {
    every(&ptx!("objects"), &|device, _| {
        device.launch("keep", launch(1, 1), Params::new().add(50i32));
        let out = device.allocate::<i32>(50);
        let params = || Params::new().add(out).add(50i32);
        device.launch("use", launch(1, 64), params());
        assert_eq!(device.download::<i32>(out, 50), (0..50).map(|i| i * i).collect::<Vec<i32>>());
        // It has been freed.
        let fault = device.try_launch("use", launch(1, 64), params()).unwrap_err();
        assert!(matches!(&fault.kind, FaultKind::Freed { place, .. } if place.size == 200), "{fault}");
        let fault = device.try_launch("use", launch(1, 64), Params::new().add(out).add(0i32)).unwrap_err();
        assert!(matches!(fault.kind, FaultKind::BadFree { .. }), "{fault}");
        // The heap has 8 MiB.
        let out = device.allocate::<i32>(32);
        device.launch("too_much", launch(1, 32), Params::new().add(out));
        assert_eq!(device.download::<i32>(out, 32).iter().sum::<i32>(), 2);
    });
}

/// What the functions of the table compute.
fn operation(number: usize, a: i32, b: i32) -> i32 {
    match number {
        0 => a.wrapping_add(b),
        1 => a.wrapping_mul(b),
        _ => (0..b % 5).fold(1, |product, _| a.wrapping_mul(product)),
    }
}

/// The address in element `number` of the table of functions.
fn function(device: &Device, number: usize) -> u64 {
    let table = device.program.variable("table").unwrap();
    device.download::<u64>(table, 3)[number]
}

#[test]
fn pointers_to_functions() {
    let x = numbers(1, 96, -50, 50);
    every(&ptx!("objects"), &|device, _| {
        let dx = device.upload(&x);
        device.launch("operations", launch(1, 96), Params::new().add(dx));
        let expected: Vec<i32> = (0..96usize)
            .map(|t| operation(t % 3, x[t], t as i32).wrapping_add(operation((t + 1) % 3, t as i32, 7)))
            .collect();
        assert_eq!(device.download::<i32>(dx, 96), expected);

        for number in 0..3 {
            let dx = device.upload(&x);
            let given = function(device, number);
            device.launch("given", launch(1, 96), Params::new().add(dx).add(given));
            let expected: Vec<i32> = x.iter().map(|&x| operation(number, x, 3)).collect();
            assert_eq!(device.download::<i32>(dx, 96), expected);
        }
        let no_function = function(device, 0) + 4;
        for address in [0, 0x1234, dx, no_function] {
            let fault = device.try_launch("given", launch(1, 96), Params::new().add(dx).add(address)).unwrap_err();
            assert_eq!(fault.kind, FaultKind::BadCall { address }, "{fault}");
            assert!(fault.site.as_ref().unwrap().opcode.starts_with("call"));
        }

        for which in 0..2 {
            let dx = device.upload(&x);
            device.launch("members", launch(1, 96), Params::new().add(dx).add(which));
            let member = |t: i32, x: i32| if (which + t) % 2 == 1 { 3 + x } else { 3 * x };
            let expected: Vec<i32> = x.iter().zip(0..).map(|(&x, t)| member(t, x)).collect();
            assert_eq!(device.download::<i32>(dx, 96), expected);
        }
    });
}

#[test]
fn a_function_of_another_module_cannot_be_called() {
    let text = ptx!("objects")[1].1;
    let mut device = Device::new(text);
    let other = device.simulator.load(device.program.module().clone()).unwrap();
    let table = other.variable("table").unwrap();
    let address = device.download::<u64>(table, 1)[0];
    let out = device.upload(&[0i32; 32]);
    let fault = device.try_launch("given", launch(1, 32), Params::new().add(out).add(address)).unwrap_err();
    assert_eq!(fault.kind, FaultKind::BadCall { address });
}

#[test]
fn structures_by_value() {
    let x: Vec<f32> = numbers(2, 256, -50, 50).into_iter().map(|x| x as f32).collect();
    every(&ptx!("objects"), &|device, _| {
        let (dx, out) = (device.upload(&x), device.allocate::<f32>(128));
        device.launch("by_value", launch(1, 64), Params::new().add(dx).add(out));
        let expected: Vec<f32> = (0..64usize).flat_map(|t| [x[4 * t] * t as f32, x[4 * t + 3] + t as f32]).collect();
        assert_eq!(device.download::<f32>(out, 128), expected);
    });
}

#[test]
fn local_memory_of_any_length() {
    let reversed =
        |n: i32, seed: i32| (0..n).rev().fold(0i32, |sum, i| sum.wrapping_mul(3).wrapping_add(i.wrapping_mul(seed)));
    every(&ptx!("objects"), &|device, _| {
        let out = device.allocate::<i32>(64);
        // Without what a return frees, 2000 rounds of 400 bytes would be more than a thread has.
        device.launch("stack", launch(1, 64), Params::new().add(out).add(2000i32));
        let expected: Vec<i32> = (0..64)
            .map(|t| {
                let rounds = (0..2000).fold(0i32, |sum, i| sum.wrapping_add(reversed(100 + t % 3, i)));
                rounds.wrapping_add(t * (t + 1) / 2)
            })
            .collect();
        assert_eq!(device.download::<i32>(out, 64), expected);
    });
}
