// Keeps the even elements of each warp's 32, in their order, with the rest of the warp's places at -1.

extern "C" __global__ void evens(const int* x, int* kept, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x, lane = threadIdx.x % 32;
    int value = i < n ? x[i] : 1;
    unsigned even = __ballot_sync(0xffffffff, value % 2 == 0);
    int place = __popc(even & ((1u << lane) - 1));
    if (lane >= __popc(even)) kept[i] = -1;
    if (value % 2 == 0) kept[i - lane + place] = value;
}

// The mask of the last warp, which has n % 32 elements, is every warp's mask.
extern "C" __global__ void evens_with_mask_of_tail(const int* x, int* kept, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x, lane = threadIdx.x % 32;
    unsigned mask = (1u << n % 32) - 1;
    if (i >= n) {
        kept[i] = -1;
        return;
    }
    int value = x[i];
    unsigned even = __ballot_sync(mask, value % 2 == 0); // <- bad operand
    int place = __popc(even & ((1u << lane) - 1));
    if (lane >= __popc(even)) kept[i] = -1;
    if (value % 2 == 0) kept[i - lane + place] = value;
}

// The lanes past the end do not vote, but meet the others again; both wait for each other.
extern "C" __global__ void evens_with_vote_in_branch(const int* x, int* kept, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x, lane = threadIdx.x % 32;
    kept[i] = -1;
    int value = 1, place = 0;
    if (i < n) {
        value = x[i];
        unsigned even = __ballot_sync(0xffffffff, value % 2 == 0); // <- deadlock
        place = __popc(even & ((1u << lane) - 1));
    }
    __syncwarp(); // <- (deadlock)
    if (value % 2 == 0) kept[i - lane + place] = value;
}

// Two lanes write one place: without a barrier between, either -1 or the element remains.
extern "C" __global__ void evens_without_barrier(const int* x, int* kept, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x, lane = threadIdx.x % 32;
    kept[i] = -1; // <- race
    int value = i < n ? x[i] : 1;
    unsigned even = __ballot_sync(0xffffffff, value % 2 == 0);
    int place = __popc(even & ((1u << lane) - 1));
    if (value % 2 == 0) {
        kept[i - lane + place] = value; // <- race
    }
}
