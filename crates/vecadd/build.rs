//! Takes the committed PTX of `src/vecadd.cu`, or compiles it if the source has changed.

fn main() {
    kernels_build::Ptx::new("vecadd").hopper(true).build();
}
