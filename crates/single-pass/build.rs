//! Takes the committed PTX of `src/single-pass.cu` and `src/bulk.cu`, or compiles what has changed.

fn main() {
    kernels_build::Ptx::new("single-pass").hopper(true).build();
    kernels_build::Ptx::new("bulk").compute([90]).build();
}
