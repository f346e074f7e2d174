//! Takes the committed PTX of `src/single-pass.cu`, or compiles it if the source has changed.

fn main() {
    kernels_build::Ptx::new("single-pass").hopper(true).build();
}
