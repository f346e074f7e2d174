// Programmatic dependent launch: a launch that may begin while the one before it on its stream ends.
#pragma once

#include "types.cuh"

// Comes before the first access to memory. Waits until the launches before this one on its stream are done and what
// they wrote is visible. Without it a launch that was allowed to begin early would race with the one before.
__device__ inline void wait_for_previous_launch() {
#if __CUDA_ARCH__ >= 900
    asm volatile("griddepcontrol.wait;" ::: "memory");
#endif
}

// Lets the next launch begin, as far as its own wait, once all blocks of the grid have called this or ended.
__device__ inline void allow_next_launch() {
#if __CUDA_ARCH__ >= 900
    asm volatile("griddepcontrol.launch_dependents;");
#endif
}
