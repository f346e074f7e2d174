//! Prints the PTX that the build script supplied.

use kernels_common::module::Ptx;

/// The expression serves where a constant is asked for, and where not.
static PTX: &[Ptx] = kernels_common::ptx!("saxpy");

fn main() {
    let again: &'static [Ptx] = kernels_common::ptx!("saxpy");
    assert_eq!(PTX.len(), again.len());
    for ptx in PTX {
        let (major, minor) = ptx.capability();
        println!("{} {major}{minor}\n{}", ptx.module(), ptx.text());
    }
}
