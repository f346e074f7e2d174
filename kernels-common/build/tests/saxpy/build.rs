fn main() {
    kernels_build::Ptx::new("saxpy").build();
}
