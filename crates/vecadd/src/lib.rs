//! Element-wise vector addition on the GPU
