//! Takes the committed PTX of `src/atomic-reduce.cu`, or compiles it if the source has changed.

fn main() {
    kernels_build::Ptx::new("atomic-reduce").build();
}
