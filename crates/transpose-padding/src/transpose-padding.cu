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
// Packets of 16 bytes from end to end, of L = 16 / size elements each: every access to global memory has 16 bytes a
// thread.

// Blocks go down a column of tiles, then on to the next column. Those that run at the same time write pieces of the
// same few rows of the output, one after the other, so that long stretches of memory are filled at once. Across, or in
// bands, is slower.
template <class S>
__device__ inline Corner corner_downwards(u64 rows) {
    u32 down = static_cast<u32>((rows + (S::ROWS - 1)) / S::ROWS);
    return {u64{blockIdx.x % down} * S::ROWS, u64{blockIdx.x / down} * S::COLUMNS};
}

// A packet as the four words that the machine moves.
struct Words {
    u32 word[4];
};

__device__ inline Words words(uint4 v) { return {{v.x, v.y, v.z, v.w}}; }
__device__ inline uint4 vector(const Words& w) { return {w.word[0], w.word[1], w.word[2], w.word[3]}; }

// Puts an element into a lane that is still zero, and gets it from there.
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
template <class T>
__device__ inline T take(const Words& w, u32 lane) {
    if constexpr (sizeof(T) == 16) {
        return vector(w);
    } else if constexpr (sizeof(T) == 8) {
        return w.word[2 * lane] | u64{w.word[2 * lane + 1]} << 32;
    } else {
        constexpr u32 PER_WORD = 4 / sizeof(T);
        return static_cast<T>(w.word[lane / PER_WORD] >> (lane % PER_WORD * sizeof(T) * 8));
    }
}

// ---------------------------------------------------------------------------------------------------------------------
// Rows that packets can be moved from and to whole: those of the input start at multiples of 16 bytes, those of the
// output at multiples of 32.
//
// A thread loads a square of L x L elements as one packet from each of L rows, transposes it in its registers, and puts
// it into shared memory as L packets of L columns. So the tile in shared memory is transposed already, and each of its
// rows is a piece of a row of the output: packets go out as they lie there. Shared memory is accessed in 16 bytes a
// thread, too, and each thread has whole squares of loads under way.
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

// A tile: rows and columns, both at least eight packets long. Rows of 256 bytes and more on both sides, but for single
// bytes, whose tile would not fit: memory does not like shorter ones. THREADS: 64 to 256 bytes a thread under way.
template <u32 SIZE>
struct Shape;
template <>
struct Shape<1> {
    static constexpr u32 ROWS = 128, COLUMNS = 256, THREADS = 128;
};
template <>
struct Shape<2> {
    static constexpr u32 ROWS = 128, COLUMNS = 128, THREADS = 256;
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

// Moves a tile. WHOLE: it is inside of the matrix, and no packet of it has to be taken apart.
template <class T, bool WHOLE>
__device__ inline void packets_of_tile(uint4* shared, const T* in, u64 in_pitch, T* out, u64 out_pitch, u32 rows,
                                       u32 columns) {
    using S = Shape<sizeof(T)>;
    constexpr u32 L = LANES<T>;
    constexpr u32 ACROSS = S::COLUMNS / L;  // packets of a row of the input's tile
    constexpr u32 DOWN = S::ROWS / L;       // packets of a row of the output's tile
    constexpr u32 SQUARES = ACROSS * DOWN / S::THREADS;
    static_assert(ACROSS % 8 == 0 && DOWN % 8 == 0 && SQUARES * S::THREADS == ACROSS * DOWN, "see above");
    auto place = [](u32 c, u32 q) { return c * DOWN + (q ^ c / L % 8); };
    auto has = [=](u32 row, u32 column) { return WHOLE || (row < rows && column < columns); };

    // All loads come before the first use. Rows past the end are replaced by the last one, which is there to load, and
    // are not written to the output. Nobody needs the input or the output again soon: both pass through the caches.
    Words square[SQUARES][L] = {};
#pragma unroll
    for (u32 s = 0; s < SQUARES; ++s) {
        u32 index = threadIdx.x + s * S::THREADS;
        u32 column = index % ACROSS * L, row = index / ACROSS * L;
        if (has(row, column)) {
#pragma unroll
            for (u32 i = 0; i < L; ++i) {
                const T* from = in + (WHOLE ? row + i : min(row + i, rows - 1)) * in_pitch + column;
                if (WHOLE || column + L <= columns) {
                    square[s][i] = words(__ldcs(reinterpret_cast<const uint4*>(from)));
                } else {
#pragma unroll
                    for (u32 lane = 0; lane < L; ++lane) {
                        if (column + lane < columns) {
                            put(square[s][i], lane, from[lane]);
                        }
                    }
                }
            }
        }
    }
#pragma unroll
    for (u32 s = 0; s < SQUARES; ++s) {
        u32 index = threadIdx.x + s * S::THREADS;
        u32 column = index % ACROSS * L, q = index / ACROSS;
        if (has(q * L, column)) {
#pragma unroll
            for (u32 i = 0; i < L; ++i) {
                shared[place(column + i, q)] = vector(column_of<sizeof(T)>(square[s], i));
            }
        }
    }
    __syncthreads();

    const T* elements = reinterpret_cast<const T*>(shared);
#pragma unroll
    for (u32 k = 0; k < SQUARES * L; ++k) {
        u32 index = threadIdx.x + k * S::THREADS;
        u32 q = index % DOWN, column = index / DOWN, row = q * L;
        if (has(row, column)) {
            T* to = out + column * out_pitch + row;
            u32 from = place(column, q);
            if (WHOLE || row + L <= rows) {
                __stcs(reinterpret_cast<uint4*>(to), shared[from]);
            } else {
#pragma unroll 1
                for (u32 lane = 0; row + lane < rows; ++lane) {
                    to[lane] = elements[from * L + lane];
                }
            }
        }
    }
}

template <class T>
__device__ inline void packets(MATRICES) {
    using S = Shape<sizeof(T)>;
    __shared__ uint4 shared[S::COLUMNS * S::ROWS / LANES<T>];
    Corner corner = corner_downwards<S>(rows);
    in += corner.row * in_pitch + corner.column;
    out += corner.column * out_pitch + corner.row;
    u32 rows_here = static_cast<u32>(min(rows - corner.row, u64{S::ROWS}));
    u32 columns_here = static_cast<u32>(min(columns - corner.column, u64{S::COLUMNS}));
    if (rows_here == S::ROWS && columns_here == S::COLUMNS) {
        packets_of_tile<T, true>(shared, in, in_pitch, out, out_pitch, rows_here, columns_here);
    } else {
        packets_of_tile<T, false>(shared, in, in_pitch, out, out_pitch, rows_here, columns_here);
    }
}

// ---------------------------------------------------------------------------------------------------------------------
// Rows that start anywhere.
//
// Memory is written in sectors of 32 bytes. A block that wrote a rectangle would begin and end most of its pieces of
// rows of the output within a sector, and leave the rest to a neighbour. So each column of the tile is shifted up by as
// many rows as it takes for what it fills to be whole sectors, by REACH at most. The block loads REACH more rows.
//
//   a tile, its columns shifted           what it fills of rows of the output
//           # .                           |sector|sector|
//       . # # #                               |sector|sector|
//       # # # #                                     |sector|sector|
//       # # . #                               |sector|sector|
//       # .
//
// A row of the input is loaded as the packets at multiples of 16 bytes that the tile has a part of. It may begin
// anywhere in the first of them: so many packets serve a tile that is one packet narrower. The elements go to shared
// memory one by one, each to its column, and the packets of the output are gathered from there.
//
// Columns are an odd number of words apart in shared memory, or of elements where those are larger. So 32 neighbouring
// columns lie in 32 different banks; but lanes put elements that are L columns apart, and get words that are four
// apart. Therefore each eight lanes begin with another word of their packets, and go round: lane i, for elements of 4
// bytes, with element i / 8. Of smaller elements, a warp loads two rows at once, which may meet in a bank if they begin
// differently.

constexpr u32 SECTOR = 32;

// ROWS: of each column of a tile. PACKETS: of each row that is loaded. THREADS: at most five packets each to load.
template <u32 SIZE>
struct ShiftedShape;
template <>
struct ShiftedShape<1> {
    static constexpr u32 ROWS = 128, PACKETS = 16, THREADS = 512;
};
template <>
struct ShiftedShape<2> {
    static constexpr u32 ROWS = 128, PACKETS = 16, THREADS = 512;
};
template <>
struct ShiftedShape<4> {
    static constexpr u32 ROWS = 64, PACKETS = 32, THREADS = 512;
};
template <>
struct ShiftedShape<8> {
    static constexpr u32 ROWS = 64, PACKETS = 32, THREADS = 512;
};
template <>
struct ShiftedShape<16> {
    static constexpr u32 ROWS = 32, PACKETS = 32, THREADS = 256;
};

// Units are what packets are gathered from: words, or elements where those are larger. A packet is PER_PACKET units; a
// unit is WORDS words, and ELEMENTS elements.
template <class T>
struct Unit {
    using type = T;
};
template <>
struct Unit<u8> {
    using type = u32;
};
template <>
struct Unit<u16> {
    using type = u32;
};
template <class T>
struct Units {
    using type = typename Unit<T>::type;
    static constexpr u32 PER_PACKET = 16 / sizeof(type), WORDS = sizeof(type) / 4, ELEMENTS = sizeof(type) / sizeof(T);
};

template <class T>
struct ShiftedTile : ShiftedShape<sizeof(T)> {
    using Shape = ShiftedShape<sizeof(T)>;
    static constexpr u32 L = LANES<T>, ALIGNMENT = SECTOR / sizeof(T), REACH = ALIGNMENT - 1;
    static constexpr u32 COLUMNS = (Shape::PACKETS * L - (L - 1)) / L * L;
    // Packets are put into shared memory whole: there is room for BEFORE columns before those of the tile, and for more
    // behind them.
    static constexpr u32 BEFORE = L - 1, STORED = BEFORE + Shape::PACKETS * L;
    // In whole units: the last one is read to its end.
    static constexpr u32 UNITS = (Shape::ROWS + REACH + (Units<T>::ELEMENTS - 1)) / Units<T>::ELEMENTS;
    static constexpr u32 LOADED = UNITS * Units<T>::ELEMENTS;
    static constexpr u32 PITCH = (UNITS | 1) * Units<T>::ELEMENTS;
};

// The words from word n % 4 on, in a ring.
__device__ inline Words rotated(const Words& w, u32 n) {
    Words by_one, by_all;
#pragma unroll
    for (u32 k = 0; k < 4; ++k) {
        by_one.word[k] = n & 1 ? w.word[(k + 1) % 4] : w.word[k];
    }
#pragma unroll
    for (u32 k = 0; k < 4; ++k) {
        by_all.word[k] = n & 2 ? by_one.word[(k + 2) % 4] : by_one.word[k];
    }
    return by_all;
}

// How far it is from an element on to the next one at a multiple of N elements in memory.
template <u32 N, class T>
__device__ inline u32 to_multiple(const T* matrix, u64 element) {
    return (0 - static_cast<u32>(reinterpret_cast<u64>(matrix) / sizeof(T)) - static_cast<u32>(element)) % N;
}

// Puts the elements of a packet to where the first one belongs, and one, two, ... columns on.
template <class T>
__device__ inline void scatter(T* to, const Words& packet) {
    using U = Units<T>;
    u32 first_unit = threadIdx.x / 8 % U::PER_PACKET;
    u32 first_element = threadIdx.x / (8 / U::ELEMENTS) % U::ELEMENTS;
    Words turned = rotated(packet, first_unit * U::WORDS);
#pragma unroll
    for (u32 k = 0; k < U::PER_PACKET; ++k) {
        u32 unit = (k + first_unit) % U::PER_PACKET;
#pragma unroll
        for (u32 e = 0; e < U::ELEMENTS; ++e) {
            u32 element = (e + first_element) % U::ELEMENTS;
            to[(unit * U::ELEMENTS + element) * ShiftedTile<T>::PITCH] = take<T>(turned, k * U::ELEMENTS + element);
        }
    }
}

// The packet of elements from `before` past the first one of a unit on. `first_unit` is the one to begin with.
template <class T>
__device__ inline Words gather(const typename Units<T>::type* units, u32 first_unit, u32 before) {
    using U = Units<T>;
    Words turned = {};
#pragma unroll
    for (u32 k = 0; k < U::PER_PACKET; ++k) {
        put(turned, k, units[(k + first_unit) % U::PER_PACKET]);
    }
    Words packet = rotated(turned, (U::PER_PACKET - first_unit) * U::WORDS);
    if constexpr (U::ELEMENTS > 1) {
        // The elements before are shifted out of each word, and those of the next word in.
        u32 last = before == 0 ? 0 : units[U::PER_PACKET];
#pragma unroll
        for (u32 k = 0; k < 4; ++k) {
            u32 next = k < 3 ? packet.word[k + 1] : last;
            packet.word[k] = __funnelshift_r(packet.word[k], next, before * sizeof(T) * 8);
        }
    }
    return packet;
}

template <class T>
__device__ inline void packets_shifted(MATRICES) {
    using S = ShiftedTile<T>;
    using U = Units<T>;
    constexpr u32 L = LANES<T>;
    __shared__ __align__(16) T tile[S::STORED * S::PITCH];

    // What the last tile of a column is shifted up by is left to one more. From here on, x counts the columns that are
    // stored, from BEFORE before those of the tile on, and y the rows that are loaded, from REACH above.
    Corner corner = corner_downwards<S>(rows + S::REACH);
    u64 first_column = corner.column - S::BEFORE, first_row = corner.row - S::REACH;
    u32 end_x = static_cast<u32>(min(columns - first_column, u64{S::BEFORE + S::COLUMNS}));

    // Each thread loads a packet of one row, then goes on to the row that is LOAD_STEP below, which begins as the first
    // one does. All loads come before the first use. They stay in the caches: other blocks load some of the rows, too.
    constexpr u32 LOAD_STEP = S::THREADS / S::PACKETS, LOADS = (S::LOADED + LOAD_STEP - 1) / LOAD_STEP;
    static_assert(LOAD_STEP % L == 0, "rows begin alike");
    u32 load_y = threadIdx.x / S::PACKETS;
    u64 from = (first_row + load_y) * in_pitch + first_column;
    u32 load_x = to_multiple<L>(in, from) + threadIdx.x % S::PACKETS * L;
    from += load_x;
    // The rows and columns that there are. What is beside them may be another's, or nobody's, and is not read.
    u32 top = corner.row == 0 ? S::REACH : 0;
    u32 bottom = static_cast<u32>(min(rows - first_row, u64{S::LOADED}));
    u32 left = corner.column == 0 ? S::BEFORE : 0;
    u32 right = static_cast<u32>(min(columns - first_column, u64{S::STORED}));
    auto has_row = [&](u32 y) { return top <= y && y < bottom; };
    bool whole = left <= load_x && load_x + L <= right && load_x < end_x;
    Words packet[LOADS] = {};
#pragma unroll
    for (u32 k = 0; k < LOADS; ++k) {
        if (whole && has_row(load_y + k * LOAD_STEP)) {
            packet[k] = words(*reinterpret_cast<const uint4*>(in + (from + k * LOAD_STEP * in_pitch)));
        }
    }
    // Meanwhile all threads move what rows of the matrix have of packets that they begin or end within: less than L
    // elements at either end.
    if (L > 1 && (left > 0 || right < S::STORED)) {
#pragma unroll 1
        for (u32 index = threadIdx.x; index < S::LOADED * 2 * L; index += S::THREADS) {
            u32 y = index / (2 * L), end = index % (2 * L);
            u64 row_start = (first_row + y) * in_pitch + first_column;
            u32 x = end < L ? left + end : right + L - 1 - end;
            u32 packet_x = x - (x - to_multiple<L>(in, row_start)) % L;
            bool cut = packet_x < left || packet_x + L > right;
            bool counted_before = end >= L && x < left + L;
            if (cut && x < right && !counted_before) {
                tile[x * S::PITCH + y] = has_row(y) ? in[row_start + x] : T{};
            }
        }
    }
    T* column = tile + load_x * S::PITCH + load_y;
#pragma unroll
    for (u32 k = 0; k < LOADS; ++k) {
        u32 y = load_y + k * LOAD_STEP;
        // Units are read whole: where they have several elements, rows that are not there are zero.
        if (whole && (U::ELEMENTS > 1 ? y < S::LOADED : has_row(y))) {
            scatter(column + k * LOAD_STEP, packet[k]);
        }
    }
    __syncthreads();

    // Each thread stores a packet of one row of the output, then goes on to the row that is STORE_STEP below, which
    // begins as the first one does.
    constexpr u32 DOWN = S::ROWS / L, STORE_STEP = S::THREADS / DOWN;
    constexpr u32 STORES = (S::COLUMNS + STORE_STEP - 1) / STORE_STEP;
    static_assert(S::ROWS % S::ALIGNMENT == 0 && STORE_STEP % S::ALIGNMENT == 0, "columns are shifted alike");
    static_assert(DOWN % 8 == 0, "eight lanes gather from one column");
    u32 x = S::BEFORE + threadIdx.x / DOWN;
    u64 to = (first_column + x) * out_pitch + first_row;
    u32 y = to_multiple<S::ALIGNMENT>(out, to) + threadIdx.x % DOWN * L;
    to += y;
    u32 index = x * S::PITCH + y;
    // Rows above the first one have numbers larger than any.
    u64 row = first_row + y;
    if (row < rows && row + L <= rows) {
        const auto* units = reinterpret_cast<const typename U::type*>(tile) + index / U::ELEMENTS;
        u32 first_unit = (threadIdx.x / 8 - index / U::ELEMENTS) % U::PER_PACKET;
#pragma unroll
        for (u32 k = 0; k < STORES; ++k) {
            if (x + k * STORE_STEP < end_x) {
                __stcs(reinterpret_cast<uint4*>(out + to), vector(gather<T>(units, first_unit, index % U::ELEMENTS)));
            }
            units += STORE_STEP * S::PITCH / U::ELEMENTS;
            to += STORE_STEP * out_pitch;
        }
    } else {
        for (; x < end_x; x += STORE_STEP) {
#pragma unroll 1
            for (u32 lane = 0; lane < L; ++lane) {
                if (row + lane < rows) {
                    out[to + lane] = tile[index + lane];
                }
            }
            index += STORE_STEP * S::PITCH;
            to += STORE_STEP * out_pitch;
        }
    }
}

INSTANTIATE_SIZES(naive, __launch_bounds__(TILE* WARPS), (MATRICES), (ARGUMENTS))
INSTANTIATE_SIZES(tile, __launch_bounds__(TILE* WARPS), (MATRICES), (ARGUMENTS))
INSTANTIATE_SIZES(padded, __launch_bounds__(TILE* WARPS), (MATRICES), (ARGUMENTS))
INSTANTIATE_SIZES(swizzled, __launch_bounds__(TILE* WARPS), (MATRICES), (ARGUMENTS))
INSTANTIATE_SIZES(packets, __launch_bounds__(Shape<sizeof(T)>::THREADS), (MATRICES), (ARGUMENTS))
INSTANTIATE_SIZES(packets_shifted, __launch_bounds__(ShiftedShape<sizeof(T)>::THREADS), (MATRICES), (ARGUMENTS))
