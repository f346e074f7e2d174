//! Takes the committed PTX of `src/twopass.cu`, or compiles it if the source has changed.

fn main() {
    kernels_build::Ptx::new("twopass").build();
}
