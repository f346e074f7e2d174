//! Takes the committed PTX of `src/grid-sync.cu`, or compiles it if the source has changed.

fn main() {
    kernels_build::Ptx::new("grid-sync").build();
}
