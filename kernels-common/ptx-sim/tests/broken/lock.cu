// A stack of the grid: warps push their number and the height at which they found the stack, under a lock.

struct Stack {
    int lock;
    int height;
    int2 entries[64];
};

__device__ void lock(Stack* stack) {
    while (atomicCAS(&stack->lock, 0, 1) != 0) {
    }
    __threadfence();
}

__device__ void unlock(Stack* stack) {
    __threadfence();
    atomicExch(&stack->lock, 0);
}

extern "C" __global__ void push(Stack* stack) {
    int warp = (blockIdx.x * blockDim.x + threadIdx.x) / 32;
    if (threadIdx.x % 32 == 0) {
        lock(stack);
        int height = stack->height;
        stack->entries[height] = make_int2(warp, height);
        stack->height = height + 1;
        unlock(stack);
    }
}

// Atomics alone do not order what lies between them.
extern "C" __global__ void push_without_fences(Stack* stack) {
    int warp = (blockIdx.x * blockDim.x + threadIdx.x) / 32;
    if (threadIdx.x % 32 == 0) {
        while (atomicCAS(&stack->lock, 0, 1) != 0) {
        }
        int height = stack->height;                       // <- race
        stack->entries[height] = make_int2(warp, height);
        stack->height = height + 1;                       // <- race
        atomicExch(&stack->lock, 0);
    }
}

// What the new owner reads may be from before it had the lock.
extern "C" __global__ void push_without_acquire(Stack* stack) {
    int warp = (blockIdx.x * blockDim.x + threadIdx.x) / 32;
    if (threadIdx.x % 32 == 0) {
        while (atomicCAS(&stack->lock, 0, 1) != 0) {
        }
        int height = stack->height;                       // <- race
        stack->entries[height] = make_int2(warp, height);
        stack->height = height + 1;                       // <- race
        unlock(stack);
    }
}

// What the old owner wrote may come after it gave the lock back.
extern "C" __global__ void push_without_release(Stack* stack) {
    int warp = (blockIdx.x * blockDim.x + threadIdx.x) / 32;
    if (threadIdx.x % 32 == 0) {
        lock(stack);
        int height = stack->height;                       // <- race
        stack->entries[height] = make_int2(warp, height);
        stack->height = height + 1;                       // <- race
        atomicExch(&stack->lock, 0);
    }
}

// The lock is given back by a store like any other, while others try to take it.
extern "C" __global__ void push_with_plain_release(Stack* stack) {
    int warp = (blockIdx.x * blockDim.x + threadIdx.x) / 32;
    if (threadIdx.x % 32 == 0) {
        while (atomicCAS(&stack->lock, 0, 1) != 0) { // <- race
        }
        __threadfence();
        int height = stack->height;
        stack->entries[height] = make_int2(warp, height);
        stack->height = height + 1;
        __threadfence();
        stack->lock = 0; // <- race
    }
}

// The lock is given back before the last write.
extern "C" __global__ void push_after_unlock(Stack* stack) {
    int warp = (blockIdx.x * blockDim.x + threadIdx.x) / 32;
    if (threadIdx.x % 32 == 0) {
        lock(stack);
        int height = stack->height; // <- race
        stack->entries[height] = make_int2(warp, height); // <- (race)
        unlock(stack);
        stack->height = height + 1; // <- race
    }
}

// The lock is looked at and taken in two steps, between which another may do the same.
extern "C" __global__ void push_with_plain_lock(Stack* stack) {
    int warp = (blockIdx.x * blockDim.x + threadIdx.x) / 32;
    if (threadIdx.x % 32 == 0) {
        volatile int* lock = &stack->lock;
        while (*lock != 0) { // <- (race)
        }
        *lock = 1; // <- (race)
        __threadfence();
        int height = stack->height; // <- (race)
        stack->entries[height] = make_int2(warp, height); // <- (race)
        stack->height = height + 1; // <- (race)
        unlock(stack); // <- (race)
    }
}
