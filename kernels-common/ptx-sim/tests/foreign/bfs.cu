// One level of a breadth-first search over a graph in compressed sparse rows. The vertices of a level are in a queue;
// whoever finds a vertex first puts it into the next one.

struct Graph {
    const unsigned* starts;
    const unsigned* neighbours;
    unsigned vertices;
};

extern "C" __global__ void bfs_step(Graph graph, int* distance, const unsigned* queue, unsigned length, unsigned* next,
                                    unsigned* next_length, int level) {
    __shared__ unsigned found[64];
    __shared__ unsigned count, base;
    if (threadIdx.x == 0) count = 0;
    __syncthreads();
    unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < length) {
        unsigned vertex = queue[i];
        for (unsigned e = graph.starts[vertex]; e < graph.starts[vertex + 1]; ++e) {
            unsigned neighbour = graph.neighbours[e];
            if (distance[neighbour] < 0 && atomicCAS(distance + neighbour, -1, level) == -1) {
                unsigned place = atomicAdd(&count, 1);
                if (place < 64) found[place] = neighbour;
                else next[atomicAdd(next_length, 1)] = neighbour;
            }
        }
    }
    __syncthreads();
    unsigned kept = min(count, 64);
    if (threadIdx.x == 0) base = atomicAdd(next_length, kept);
    __syncthreads();
    for (unsigned k = threadIdx.x; k < kept; k += blockDim.x) next[base + k] = found[k];
}

// Bellman and Ford: relaxes every edge, says whether anything changed.
extern "C" __global__ void relax(const int3* edges, int n, int* distance, bool* changed) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    bool mine = false;
    if (i < n) {
        int3 e = edges[i];
        int from = *(volatile int*)(distance + e.x);
        if (from < 1 << 30) mine = atomicMin(distance + e.y, from + e.z) > from + e.z;
    }
    if (__syncthreads_or(mine) && threadIdx.x == 0) *changed = true;
}
