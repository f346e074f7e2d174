//! Takes the committed PTX of `src/tree-reduce.cu`, or compiles it if the source has changed.

fn main() {
    kernels_build::Ptx::new("tree-reduce").build();
}
