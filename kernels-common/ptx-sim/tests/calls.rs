//! Calls by address, as PTX writes them and nvcc does not, and calls of functions of the device.

mod common;

use common::{Device, Params, launch};
use ptx_sim::{Config, FaultKind, LoadError};

/// A module with two functions of one number, one of two, and a kernel `test(x)` with this body, in which `%r0` is the
/// thread, `%rd1` its place in x, and `arg` and `result` are for calls.
fn module(body: &str) -> String {
    format!(
        ".version 8.0\n.target sm_80\n.address_size 64\n\
         .func (.param .b32 r) twice(.param .b32 a) {{ .reg .b32 %r<2>; ld.param.u32 %r0, [a]; add.u32 %r0, %r0, %r0; \
         st.param.b32 [r], %r0; ret; }}\n\
         .func (.param .b32 r) square(.param .b32 a) {{ .reg .b32 %r<2>; ld.param.u32 %r0, [a]; mul.lo.u32 %r0, %r0, %r0; \
         st.param.b32 [r], %r0; ret; }}\n\
         .func (.param .b32 r) pair(.param .b32 a, .param .b32 b) {{ ret; }}\n\
         .visible .entry test(.param .u64 x)\n{{\n.reg .pred %p<4>;\n.reg .b32 %r<8>;\n.reg .b64 %rd<8>;\n\
         .param .b32 arg;\n.param .b32 result;\nld.param.u64 %rd0, [x];\nmov.u32 %r0, %tid.x;\n\
         mad.wide.u32 %rd1, %r0, 4, %rd0;\nmov.u64 %rd2, twice;\nmov.u64 %rd3, square;\nmov.u64 %rd4, pair;\n\
         st.param.b32 [arg], %r0;\nand.b32 %r1, %r0, 1;\nsetp.ne.u32 %p0, %r1, 0;\nselp.b64 %rd5, %rd3, %rd2, %p0;\n\
         mov.u32 %r2, 7;\nst.param.b32 [result], %r2;\n\
         P: .callprototype (.param .b32 _) _ (.param .b32 _);\n{body}\n\
         ld.param.b32 %r2, [result];\nst.global.u32 [%rd1], %r2;\nret;\n}}\n"
    )
}

fn run(body: &str, seed: Option<u64>) -> Result<Vec<u32>, ptx_sim::Fault> {
    let mut device = Device::with(Config { seed, ..Config::default() }, &module(body));
    let x = device.upload(&[0u32; 64]);
    device.try_launch("test", launch(1, 64), Params::new().add(x))?;
    Ok(device.download(x, 64))
}

#[track_caller]
fn gives(body: &str, expected: impl Fn(u32) -> u32) {
    let expected: Vec<u32> = (0..64).map(expected).collect();
    for seed in std::iter::once(None).chain((0..8).map(Some)) {
        assert_eq!(run(body, seed).unwrap_or_else(|fault| panic!("{fault}")), expected, "seed {seed:?}");
    }
}

#[track_caller]
fn is_refused(text: &str, words: &str) {
    let module = ptx_sim::ptx::Module::parse("calls.ptx", text).unwrap();
    let mut simulator = ptx_sim::Simulator::new(Config::default());
    let program = simulator.load(std::sync::Arc::new(module)).unwrap();
    let error = simulator.kernel(&program, "test").unwrap_err();
    assert!(matches!(&error, LoadError::Unsupported { message, .. } if message.contains(words)), "{error}");
}

#[test]
fn each_lane_calls_its_function() {
    gives("call (result), %rd5, (arg), P;", |i| if i % 2 == 1 { i * i } else { 2 * i });
    gives("call.uni (result), %rd3, (arg), P;", |i| i * i);
    // Lanes that do not call keep what they have.
    gives("setp.gt.u32 %p1, %r0, 9;\n@%p1 call (result), %rd5, (arg), P;", |i| match i {
        0..10 => 7,
        _ if i % 2 == 1 => i * i,
        _ => 2 * i,
    });
}

#[test]
fn a_list_names_the_targets() {
    let listed = |list: &str| format!("T: .calltargets {list};\ncall (result), %rd5, (arg), T;");
    gives(&listed("twice, square"), |i| if i % 2 == 1 { i * i } else { 2 * i });
    let fault = run(&listed("twice"), None).unwrap_err();
    assert!(matches!(fault.kind, FaultKind::BadCall { .. }), "{fault}");
    assert_eq!(fault.thread, Some([1, 0, 0]));
    is_refused(&module(&listed("twice, pair")), "does not fit the parameters of `pair`");
}

#[test]
fn a_function_must_fit_the_prototype() {
    let fault = run("call (result), %rd4, (arg), P;", None).unwrap_err();
    let FaultKind::BadCall { address } = fault.kind else { panic!("{fault}") };
    assert!(address != 0 && fault.to_string().contains("no function of the module"), "{fault}");
    is_refused(&module("call (result), %rd4, (arg);"), "needs a prototype");
    is_refused(&module("call (result), %rd4, (arg), L;\nL:"), "not supported");
}

#[test]
fn code_is_no_memory() {
    let fault = run("ld.u32 %r2, [%rd2];", None).unwrap_err();
    assert!(matches!(fault.kind, FaultKind::OutOfBounds { .. }), "{fault}");
}

#[test]
fn functions_of_the_device() {
    let declared = |function: &str, call: &str| {
        format!(
            ".version 8.0\n.target sm_80\n.address_size 64\n{function}\n.visible .entry test(.param .u64 x)\n{{\n\
             .reg .b64 %rd<4>;\n.param .b64 p;\n.param .b32 q;\n.param .b64 r;\nld.param.u64 %rd0, [x];\n\
             st.param.b64 [p], 16;\n{call}\nld.param.b64 %rd1, [r];\nst.global.u64 [%rd0], %rd1;\nret;\n}}\n"
        )
    };
    // A module may have a function of its own by such a name.
    let own = ".func (.param .b64 r) malloc(.param .b64 a) { .reg .b64 %rd; ld.param.u64 %rd, [a]; add.u64 %rd, %rd, 1; \
               st.param.b64 [r], %rd; ret; }";
    let mut device = Device::new(&declared(own, "call (r), malloc, (p);"));
    let x = device.upload(&[0u64]);
    device.launch("test", launch(1, 1), Params::new().add(x));
    assert_eq!(device.download::<u64>(x, 1), [17]);

    let malloc = ".extern .func (.param .b64 r) malloc(.param .b64 a);";
    let mut device = Device::new(&declared(malloc, "call (r), malloc, (p);"));
    let x = device.upload(&[0u64]);
    device.launch("test", launch(1, 1), Params::new().add(x));
    let address = device.download::<u64>(x, 1)[0];
    assert!(device.simulator.write(address, &[1; 16]).is_ok() && device.simulator.write(address, &[1; 17]).is_err());
    is_refused(&declared(malloc, "call (r), malloc, (q);"), "does not fit the parameters of the device's `malloc`");
    // Others are not there.
    let text = declared(".extern .func other(.param .b64 a);", "call other, (p);");
    let module = ptx_sim::ptx::Module::parse("calls.ptx", &text).unwrap();
    let mut simulator = ptx_sim::Simulator::new(Config::default());
    let program = simulator.load(std::sync::Arc::new(module)).unwrap();
    let error = simulator.kernel(&program, "test").unwrap_err().to_string();
    assert!(error.contains("`other` is declared here but the module does not define it"), "{error}");
}
