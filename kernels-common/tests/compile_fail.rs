//! The rule that makes queued work sound, held by the borrow checker: each program in `compile_fail` breaks it in one
//! way and must not compile. `rule_kept.rs` does the same things rightly.

#[test]
fn programs_that_break_the_lifetime_rule_do_not_compile() {
    let tests = trybuild::TestCases::new();
    tests.compile_fail("tests/compile_fail/*.rs");
    #[cfg(feature = "cuda")]
    tests.compile_fail("tests/compile_fail/cuda/*.rs");
}
