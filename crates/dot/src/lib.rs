//! Dot product on the GPU, with the same bits on every device
