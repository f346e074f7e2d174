//! Build-script support: committed PTX, or nvcc when a kernel changed
