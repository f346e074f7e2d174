//! Takes the committed PTX of `src/shuffle-reduce.cu` and `src/redux.cu`, or compiles what has changed.

fn main() {
    kernels_build::Ptx::new("shuffle-reduce").build();
    kernels_build::Ptx::new("redux").compute([80]).build();
}
