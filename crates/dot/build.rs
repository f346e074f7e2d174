//! Takes the committed PTX of `src/dot.cu`, or compiles it if the source has changed.

fn main() {
    kernels_build::Ptx::new("dot").hopper(true).build();
}
