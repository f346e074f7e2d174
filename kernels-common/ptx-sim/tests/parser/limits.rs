//! Texts that ask for more than there is, or that overflow where nobody computes by hand: what comes after the parser
//! refuses them or gives them a meaning, as the parser does.

use std::sync::Arc;

use ptx_sim::ptx::Module;
use ptx_sim::{Config, FaultKind, Kernel, Launch, LoadError, Simulator};

use super::HEAD;

/// Loads the module of the directives `text`, and from it the kernel `f`.
fn load(text: &str) -> Result<(Simulator, Arc<Kernel>), LoadError> {
    let mut simulator = Simulator::new(Config::default());
    let module = Module::parse("m.ptx", &format!("{HEAD}{text}"))?;
    let program = simulator.load(Arc::new(module))?;
    let kernel = simulator.kernel(&program, "f")?;
    Ok((simulator, kernel))
}

fn refusal(text: &str) -> String {
    match load(text) {
        Ok(_) => panic!("loaded: {text}"),
        Err(error) => error.to_string(),
    }
}

#[test]
fn programs_are_freed() {
    let module = Arc::new(Module::parse("m.ptx", &format!("{HEAD}.entry f() {{ ret; }}")).unwrap());
    let mut simulator = Simulator::new(Config::default());
    let program = simulator.load(module.clone()).unwrap();
    let kernel = simulator.kernel(&program, "f").unwrap();
    assert!(Arc::ptr_eq(&kernel, &simulator.kernel(&program, "f").unwrap()));
    drop((program, kernel, simulator));
    assert_eq!(Arc::strong_count(&module), 1, "something keeps the module");
}

#[test]
fn local_memory() {
    let message = refusal(".entry f() { .local .b8 x[524288]; .local .b8 y[1]; ret; }");
    assert!(message.contains("at most 524288 bytes of local memory"), "{message}");
    let message = refusal(".entry f() { .local .b8 x[4294967295]; .local .b8 y[1099511627776]; ret; }");
    assert!(message.contains("local memory"), "{message}");
    let (_, kernel) = load(".entry f() { .local .b8 x[524288]; ret; }").unwrap();
    assert_eq!(kernel.local_bytes(), 524288);

    // Each activation is small enough; all together are not.
    let (mut simulator, kernel) =
        load(".func g() { .local .b8 x[65536]; call g; ret; } .entry f() { call g; ret; }").unwrap();
    let fault = simulator.launch(&kernel, &Launch::default(), &[]).unwrap_err();
    assert!(matches!(fault.kind, FaultKind::CallDepth { depth: 8 }), "{fault}");
}

#[test]
fn shared_memory() {
    for size in ["4294967290", "4294967295", "1048577"] {
        let body = format!(".shared .align 1024 .b8 x[{size}]; mov.u64 %rd, x;");
        let message =
            refusal(&format!(".extern .shared .b8 d[]; .entry f() {{ .reg .b64 %rd; {body} mov.u64 %rd, d; }}"));
        assert!(message.contains("the shared variable `x` is too large"), "{message}");
    }
    // An address far from anything, but only an address.
    let (mut simulator, kernel) = load(
        ".extern .shared .b8 d[];
         .entry f() { .reg .b32 %r; .shared .b8 x[64]; mov.u32 %r, x; mov.u32 %r, d+4294967295; ret; }",
    )
    .unwrap();
    simulator.launch(&kernel, &Launch::default(), &[]).unwrap();
}

#[test]
fn offsets_at_the_ends() {
    for offset in ["9223372036854775807", "-9223372036854775807-1", "4294967295", "2147483647", "-2147483648"] {
        for (instruction, touches) in [
            ("ld.param.u64 %rd1, [p+OFFSET];", false),
            ("ld.param.v2.u64 {%rd1, %rd2}, [p+OFFSET];", false),
            ("mov.u64 %rd1, x+OFFSET;", false),
            ("mov.u64 %rd1, v+OFFSET;", false),
            ("ld.local.u8 %rd1, [x+OFFSET];", true),
            ("ld.global.u8 %rd1, [v+OFFSET];", true),
            ("ld.global.u8 %rd1, [OFFSET];", true),
            ("ld.u8 %rd1, [OFFSET];", true),
        ] {
            let instruction = instruction.replace("OFFSET", offset);
            let text = format!(
                ".global .b64 v; .func g() {{ .reg .b64 %rd<9>; .local .b64 x; {} ret; }}
                 .entry f(.param .u64 p) {{ .reg .b64 %rd<9>; .local .b64 x; {instruction} call g; ret; }}",
                if instruction.contains("[p+") { "" } else { &instruction }
            );
            // Refused, or what the hardware would do: a wrong address is wrong when it is used.
            if let Ok((mut simulator, kernel)) = load(&text) {
                let outcome = simulator.launch(&kernel, &Launch::default(), &[0; 8]);
                assert_eq!(outcome.is_err(), touches, "{instruction}");
            }
        }
    }
}

#[test]
fn more_threads_than_there_are_numbers() {
    let most = u32::MAX;
    let (mut simulator, kernel) = load(&format!(".entry f() .maxntid {most}, {most}, {most} {{ ret; }}")).unwrap();
    simulator.launch(&kernel, &Launch::default(), &[]).unwrap();
}

/// Loading a variable costs what is written to it.
#[test]
fn large_variables() {
    let (simulator, _) = load(".global .b8 x[17000000000]; .entry f() { ret; }").unwrap();
    assert_eq!(simulator.free_memory(), simulator.config().memory - 17_000_000_000);
}

/// Nothing grows with the square of the text.
#[test]
fn long_texts() {
    let many = 20_000;
    let registers = format!(".reg .b32 %r<{}>; .reg .pred %p;", many + 1);
    let copies: String = (0..many).map(|i| format!("mov.u32 %r{i}, %r{};", i + 1)).collect();
    let branches: String = (0..many).map(|i| format!("L{i}: @%p bra L{};", many - i)).collect();
    let adds: String = (0..many).map(|i| format!("add.u32 %r{i}, %r{}, {i};", i + 1)).collect();
    for body in [format!("{copies} mov.u32 %r{many}, 1;"), format!("{branches} L{many}: ret;"), adds] {
        load(&format!(".entry f() {{ {registers} {body} ret; }}")).unwrap();
    }
}
