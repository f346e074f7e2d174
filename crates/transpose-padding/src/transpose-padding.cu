// Transposes of matrices: out[c][r] = in[r][c] for every row r and column c of the input.
//
// A pitch is the number of elements from the start of one row to that of the next. What lies between the end of a row
// of the output and the start of the next is not touched. A block moves one tile; tiles are numbered along x, because
// only that side of a grid has room for any matrix. Input and output do not overlap.
#include "instantiate_sizes.cuh"
#include "packet.cuh"
#include "types.cuh"

// What is common to all kernels, in the order of their parameters.
#define MATRICES const T *in, u64 in_pitch, T *out, u64 out_pitch, u64 rows, u64 columns
#define ARGUMENTS in, in_pitch, out, out_pitch, rows, columns

// Where the block's tile begins in the input. A launch has fewer than 2^31 tiles, so that their numbers take 32 bits.
struct Corner {
    u64 row;
    u64 column;
};

// ---------------------------------------------------------------------------------------------------------------------
// Tiles of 32 x 32 elements, moved by 32 x 8 threads: a warp takes one row of a tile at a time.

constexpr u32 TILE = 32;
constexpr u32 WARPS = 8;

__device__ inline Corner corner_of_tile(u64 columns) {
    u32 across = static_cast<u32>((columns + (TILE - 1)) / TILE);
    return {u64{blockIdx.x / across} * TILE, u64{blockIdx.x % across} * TILE};
}

// Each element goes straight to its place. A warp reads 32 neighbours, but writes to 32 rows: every element it writes
// needs a sector of its own, of which it uses only a part.
template <class T>
__device__ inline void naive(MATRICES) {
    Corner corner = corner_of_tile(columns);
    u64 column = corner.column + threadIdx.x;
#pragma unroll
    for (u32 y = threadIdx.y; y < TILE; y += WARPS) {
        u64 row = corner.row + y;
        if (row < rows && column < columns) {
            out[column * out_pitch + row] = in[row * in_pitch + column];
        }
    }
}

// Where a tile keeps the element in row r and column c. Word w of shared memory lies in bank w % 32.
//
// Plain: the elements of a column are 32 elements apart. Those of 4 bytes are all in one bank, and a warp that reads a
// column gets them one by one.
struct Plain {
    static constexpr u32 PITCH = TILE;
    __device__ static u32 place(u32 r, u32 c) { return r * PITCH + c; }
};
// Padded: each row starts one element later, so that a column runs through all banks. It costs 32 elements of shared
// memory.
struct Padded {
    static constexpr u32 PITCH = TILE + 1;
    __device__ static u32 place(u32 r, u32 c) { return r * PITCH + c; }
};
// Swizzled: row r holds its elements in the order 0 ^ r, 1 ^ r, ... Each row and each column runs through all banks,
// and no memory is lost.
struct Swizzled {
    static constexpr u32 PITCH = TILE;
    __device__ static u32 place(u32 r, u32 c) { return r * PITCH + (c ^ r); }
};

// A tile is read row by row, and written to the output row by row: both are contiguous for a warp. It turns around in
// shared memory, where it is read column by column.
template <class Layout, class T>
__device__ inline void through_tile(MATRICES) {
    __shared__ T tile[TILE * Layout::PITCH];
    Corner corner = corner_of_tile(columns);
    u32 x = threadIdx.x;
#pragma unroll
    for (u32 y = threadIdx.y; y < TILE; y += WARPS) {
        u64 row = corner.row + y, column = corner.column + x;
        if (row < rows && column < columns) {
            tile[Layout::place(y, x)] = in[row * in_pitch + column];
        }
    }
    __syncthreads();
#pragma unroll
    for (u32 y = threadIdx.y; y < TILE; y += WARPS) {
        u64 row = corner.row + x, column = corner.column + y;
        if (row < rows && column < columns) {
            out[column * out_pitch + row] = tile[Layout::place(x, y)];
        }
    }
}

template <class T>
__device__ inline void tile(MATRICES) {
    through_tile<Plain>(ARGUMENTS);
}
template <class T>
__device__ inline void padded(MATRICES) {
    through_tile<Padded>(ARGUMENTS);
}
template <class T>
__device__ inline void swizzled(MATRICES) {
    through_tile<Swizzled>(ARGUMENTS);
}

// ---------------------------------------------------------------------------------------------------------------------
// Packets of 16 bytes from end to end.
//
// L = 16 / size. A thread loads a square of L x L elements as one packet from each of L rows, transposes it in its
// registers, and puts it into shared memory as L packets of L columns. So the tile in shared memory is transposed
// already, and each of its rows is a piece of a row of the output: packets go out as they lie there. Every access,
// to either memory, has 16 bytes a thread, and each thread has a whole square of loads under way.
//
//   input                       shared memory                output
//   rows    . . . .             columns  . . . .             rows of the output
//   of      [packet]  x L  -->  of       [packet]  x L  -->  [packet]  x L
//   a tile  . . . .             a tile   . . . .             . . . .
//
// A warp's access of 16 bytes a lane is served in four quarters of 8 lanes, and 8 packets fill the 32 banks: a quarter
// must not have two packets in places that are equal modulo 8. The row c of the tile keeps packet q in place
// q ^ (c / L % 8). A quarter that writes squares side by side has eight neighbouring c / L and one q; a quarter that
// reads has one c and eight neighbouring q.

// A tile: 16 KiB of rows and columns, both at least eight packets long. THREADS: at least 64 bytes a thread under way.
template <u32 SIZE>
struct Shape;
template <>
struct Shape<1> {
    static constexpr u32 ROWS = 128, COLUMNS = 128, THREADS = 64;
};
template <>
struct Shape<2> {
    static constexpr u32 ROWS = 128, COLUMNS = 64, THREADS = 128;
};
template <>
struct Shape<4> {
    static constexpr u32 ROWS = 64, COLUMNS = 64, THREADS = 256;
};
template <>
struct Shape<8> {
    static constexpr u32 ROWS = 64, COLUMNS = 32, THREADS = 256;
};
template <>
struct Shape<16> {
    static constexpr u32 ROWS = 32, COLUMNS = 32, THREADS = 256;
};

// Rows of tiles in a band. Blocks go down the tiles of a band, then on to the next ones to the right: those that run at
// the same time fill the same rows of the output for BAND tiles, and read the same rows of the input for as many tiles
// as there are multiprocessors for.
constexpr u32 BAND = 8;

template <class S>
__device__ inline Corner corner_in_band(u64 rows, u64 columns) {
    u32 down = static_cast<u32>((rows + (S::ROWS - 1)) / S::ROWS);
    u32 across = static_cast<u32>((columns + (S::COLUMNS - 1)) / S::COLUMNS);
    // No band has more tiles than there are in all, and so none has more than 32 bits count.
    u32 tiles = min(BAND, down) * across;
    u32 first = blockIdx.x / tiles * BAND;
    u32 height = min(BAND, down - first);
    u32 tile = blockIdx.x % tiles;
    return {u64{first + tile % height} * S::ROWS, u64{tile / height} * S::COLUMNS};
}

// A packet as the four words that the machine moves.
struct Words {
    u32 word[4];
};

__device__ inline Words load_words(const void* from) {
    uint4 v = *static_cast<const uint4*>(from);
    return {{v.x, v.y, v.z, v.w}};
}
__device__ inline uint4 vector(const Words& w) { return {w.word[0], w.word[1], w.word[2], w.word[3]}; }

// Puts an element into a lane that is still zero.
template <class T>
__device__ inline void put(Words& w, u32 lane, T value) {
    if constexpr (sizeof(T) == 16) {
        w = {{value.x, value.y, value.z, value.w}};
    } else if constexpr (sizeof(T) == 8) {
        w.word[2 * lane] = static_cast<u32>(value);
        w.word[2 * lane + 1] = static_cast<u32>(value >> 32);
    } else {
        constexpr u32 PER_WORD = 4 / sizeof(T);
        w.word[lane / PER_WORD] |= static_cast<u32>(value) << (lane % PER_WORD * sizeof(T) * 8);
    }
}

// Column c of a square, of which `rows` are the L rows. Elements of a word and more are only renamed; for smaller ones,
// each byte permutation gathers what two words have of the column.
template <u32 SIZE>
__device__ inline Words column_of(const Words (&rows)[16 / SIZE], u32 c) {
    Words column;
#pragma unroll
    for (u32 k = 0; k < 4; ++k) {
        if constexpr (SIZE >= 4) {
            constexpr u32 WORDS = SIZE / 4;
            column.word[k] = rows[k / WORDS].word[c * WORDS + k % WORDS];
        } else if constexpr (SIZE == 2) {
            u32 halves = c % 2 == 0 ? 0x5410 : 0x7632;
            column.word[k] = __byte_perm(rows[2 * k].word[c / 2], rows[2 * k + 1].word[c / 2], halves);
        } else {
            // The bytes 2h and 2h + 1 of two rows each, then the same of all four. Neighbouring columns share the first
            // step.
            u32 pairs = c % 4 < 2 ? 0x5140 : 0x7362;
            u32 low = __byte_perm(rows[4 * k].word[c / 4], rows[4 * k + 1].word[c / 4], pairs);
            u32 high = __byte_perm(rows[4 * k + 2].word[c / 4], rows[4 * k + 3].word[c / 4], pairs);
            column.word[k] = __byte_perm(low, high, c % 2 == 0 ? 0x5410 : 0x7632);
        }
    }
    return column;
}

// Whether every row of a matrix starts where packets can be moved whole.
template <class T>
__device__ inline bool rows_are_aligned(const T* first, u64 pitch) {
    return ((reinterpret_cast<u64>(first) | pitch * sizeof(T)) & 15) == 0;
}

template <class T>
__device__ inline void packets(MATRICES) {
    using S = Shape<sizeof(T)>;
    constexpr u32 L = LANES<T>;
    constexpr u32 ACROSS = S::COLUMNS / L;  // packets of a row of the input's tile
    constexpr u32 DOWN = S::ROWS / L;       // packets of a row of the output's tile
    constexpr u32 SQUARES = ACROSS * DOWN / S::THREADS;
    static_assert(ACROSS % 8 == 0 && DOWN % 8 == 0 && SQUARES * S::THREADS == ACROSS * DOWN, "see above");
    __shared__ uint4 shared[S::COLUMNS * DOWN];
    auto place = [](u32 c, u32 q) { return c * DOWN + (q ^ c / L % 8); };

    Corner corner = corner_in_band<S>(rows, columns);
    in += corner.row * in_pitch + corner.column;
    out += corner.column * out_pitch + corner.row;
    u32 rows_here = static_cast<u32>(min(rows - corner.row, u64{S::ROWS}));
    u32 columns_here = static_cast<u32>(min(columns - corner.column, u64{S::COLUMNS}));

    // All loads come before the first use. Rows and columns past the end are replaced by the last ones, which are there
    // to load, and are not written to the output.
    Words square[SQUARES][L] = {};
    bool whole = rows_are_aligned(in, in_pitch);
#pragma unroll
    for (u32 s = 0; s < SQUARES; ++s) {
        u32 index = threadIdx.x + s * S::THREADS;
        u32 column = index % ACROSS * L, row = index / ACROSS * L;
        if (row < rows_here && column < columns_here) {
            if (whole && column + L <= columns_here) {
#pragma unroll
                for (u32 i = 0; i < L; ++i) {
                    square[s][i] = load_words(in + min(row + i, rows_here - 1) * in_pitch + column);
                }
            } else {
#pragma unroll
                for (u32 i = 0; i < L; ++i) {
                    const T* from = in + min(row + i, rows_here - 1) * in_pitch;
#pragma unroll
                    for (u32 lane = 0; lane < L; ++lane) {
                        put(square[s][i], lane, from[min(column + lane, columns_here - 1)]);
                    }
                }
            }
        }
    }
#pragma unroll
    for (u32 s = 0; s < SQUARES; ++s) {
        u32 index = threadIdx.x + s * S::THREADS;
        u32 column = index % ACROSS * L, q = index / ACROSS;
        if (q * L < rows_here && column < columns_here) {
#pragma unroll
            for (u32 i = 0; i < L; ++i) {
                shared[place(column + i, q)] = vector(column_of<sizeof(T)>(square[s], i));
            }
        }
    }
    __syncthreads();

    // Nobody reads the output soon: it is stored past the caches.
    const T* elements = reinterpret_cast<const T*>(shared);
    if (rows_are_aligned(out, out_pitch)) {
#pragma unroll
        for (u32 k = 0; k < SQUARES * L; ++k) {
            u32 index = threadIdx.x + k * S::THREADS;
            u32 q = index % DOWN, column = index / DOWN, row = q * L;
            if (row < rows_here && column < columns_here) {
                T* to = out + column * out_pitch + row;
                u32 from = place(column, q);
                if (row + L <= rows_here) {
                    __stcs(reinterpret_cast<uint4*>(to), shared[from]);
                } else {
#pragma unroll 1
                    for (u32 lane = 0; row + lane < rows_here; ++lane) {
                        to[lane] = elements[from * L + lane];
                    }
                }
            }
        }
    } else {
        // Neighbouring threads take neighbouring elements: each access of a warp is contiguous.
#pragma unroll 4
        for (u32 index = threadIdx.x; index < S::COLUMNS * S::ROWS; index += S::THREADS) {
            u32 row = index % S::ROWS, column = index / S::ROWS;
            if (row < rows_here && column < columns_here) {
                __stcs(out + column * out_pitch + row, elements[place(column, row / L) * L + row % L]);
            }
        }
    }
}

INSTANTIATE_SIZES(naive, __launch_bounds__(TILE* WARPS), (MATRICES), (ARGUMENTS))
INSTANTIATE_SIZES(tile, __launch_bounds__(TILE* WARPS), (MATRICES), (ARGUMENTS))
INSTANTIATE_SIZES(padded, __launch_bounds__(TILE* WARPS), (MATRICES), (ARGUMENTS))
INSTANTIATE_SIZES(swizzled, __launch_bounds__(TILE* WARPS), (MATRICES), (ARGUMENTS))
INSTANTIATE_SIZES(packets, __launch_bounds__(Shape<sizeof(T)>::THREADS), (MATRICES), (ARGUMENTS))
