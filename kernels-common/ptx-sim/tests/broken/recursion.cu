// The parts of a graph whose nodes hang together get a common label, by a function that calls itself; each thread
// labels what it reaches from a node of its own. Nodes have two neighbours each, and no label is 0.

__device__ __noinline__ void visit(int node, int mine, const int2* next, int* label) {
    if (label[node] == mine) return;
    label[node] = mine;
    visit(next[node].x, mine, next, label);
    visit(next[node].y, mine, next, label);
}

extern "C" __global__ void label_parts(const int* start, const int2* next, int* label) {
    visit(start[threadIdx.x], threadIdx.x + 1, next, label);
}

// What says that a node has been visited is not what the visit leaves.
__device__ __noinline__ void visit_again(int node, int mine, const int2* next, int* label) {
    if (label[node] == mine - 1) return;
    label[node] = mine;
    visit_again(next[node].x, mine, next, label); // <- call stack overflow
    visit_again(next[node].y, mine, next, label);
}

extern "C" __global__ void label_parts_without_end(const int* start, const int2* next, int* label) {
    visit_again(start[threadIdx.x], threadIdx.x + 1, next, label); // <- (call stack overflow)
}
