//! The rule that makes queued work sound, held by the borrow checker: each program in `compile_fail` breaks it in one
//! way and must not compile, and the one in `compile_pass` does the same things rightly.

#[test]
fn programs_that_break_the_lifetime_rule_do_not_compile() {
    let tests = trybuild::TestCases::new();
    tests.pass("tests/compile_pass/*.rs");
    tests.compile_fail("tests/compile_fail/*.rs");
    #[cfg(feature = "cuda")]
    tests.compile_fail("tests/compile_fail/cuda/*.rs");
}
