//! Takes the committed PTX of `src/transpose-padding.cu`, or compiles it if the source has changed.

fn main() {
    kernels_build::Ptx::new("transpose-padding").build();
}
