// Every place where a pattern occurs in a text. The pattern is in constant memory, which broadcasts: all lanes compare
// with the same byte at a time.

__constant__ char pattern[64];
__constant__ int pattern_length;

extern "C" __global__ void search(const char* text, int length, unsigned char* found, int* count, int* first) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= length) return;
    bool hit = i + pattern_length <= length;
    for (int j = 0; hit && j < pattern_length; ++j) {
        char wanted = pattern[j];
        if (wanted != '?' && text[i + j] != wanted) hit = false;
    }
    found[i] = hit;
    if (hit) {
        atomicAdd(count, 1);
        atomicMin(first, i);
    }
}

// Words of a text: a word starts at a letter after something else. Case folding by a table of 256 bytes.
__constant__ unsigned char fold[256];

extern "C" __global__ void words(const unsigned char* text, int length, unsigned* words, unsigned char* folded) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    bool start = false;
    if (i < length) {
        unsigned char c = fold[text[i]];
        unsigned char before = i > 0 ? fold[text[i - 1]] : ' ';
        auto letter = [](unsigned char c) { return c >= 'a' && c <= 'z'; };
        start = letter(c) && !letter(before);
        folded[i] = c;
    }
    int starts = __syncthreads_count(start);
    if (threadIdx.x == 0 && starts) atomicAdd(words, starts);
}
