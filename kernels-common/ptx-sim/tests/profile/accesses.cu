// Memory accesses whose addresses come from the host, to compare the simulator's counters with those of a profiler.
//
// Each kernel is run by one warp. It makes SLOTS accesses, each an instruction of its own, so that a profiler that
// counts by instruction tells them apart. Slot s of lane l is at byte offsets[32 * s + l] of the memory in question; NO
// means that the lane makes no access. All memory holds zeros and stays so. What a slot loads is added to the address
// of the next one: no compiler can know that this changes nothing, so none may merge, drop or reorder the accesses.
//
// The offsets are loaded with `ld.global.nc`, the kernel's accesses to global memory without `.nc`: machine code shows
// which is which.

typedef unsigned int u32;
typedef unsigned long long u64;

static const int SLOTS = 16;
// Elements that offsets reach, of 16 bytes and less.
static const int ELEMENTS = 1040;

#define NO "0xffffffff"

__constant__ unsigned char constants[4 * ELEMENTS];

// `p`: whether the lane makes an access. `r`: what it loads, in 32 bits.
#define BEGIN "{ .reg .pred p; .reg .b32 r, s, t, u; .reg .b64 w; setp.ne.u32 p, %1, " NO "; mov.b32 r, 0; "
#define END " or.b32 %0, %0, r; }"

#define SLOT(instruction, kind)                                                                                        \
    asm volatile(BEGIN instruction END : "+r"(found) : "r"(offset), kind(base + offset + found), "r"(zero) : "memory")

#define KERNEL(name, setup, slot)                                                                                      \
    extern "C" __global__ void __launch_bounds__(32)                                                                   \
        name(const u32* __restrict__ offsets, unsigned char* memory, u32* out, u32 zero) {                             \
        u32 found = zero;                                                                                              \
        setup;                                                                                                         \
        _Pragma("unroll") for (int i = 0; i < SLOTS; i++) {                                                            \
            u32 offset = __ldg(offsets + 32 * i + threadIdx.x);                                                        \
            slot;                                                                                                      \
        }                                                                                                              \
        if (found != 0) out[threadIdx.x] = found;                                                                      \
    }

// Where a kernel finds its memory. Loads and atomics need it zeroed; where a kernel only stores, it is not, so that no
// other stores are counted.
#define TILE __shared__ __align__(16) unsigned char tile[16 * ELEMENTS]
#define CLEAR_TILE                                                                                                     \
    _Pragma("unroll 1") for (int i = threadIdx.x; i < 4 * ELEMENTS; i += 32) ((u32*)tile)[i] = zero;                   \
    __syncwarp()
#define SHARED_RAW                                                                                                     \
    TILE;                                                                                                              \
    u32 base = (u32)__cvta_generic_to_shared(tile)
#define SHARED                                                                                                         \
    SHARED_RAW;                                                                                                        \
    CLEAR_TILE
#define SHARED_GENERIC                                                                                                 \
    TILE;                                                                                                              \
    CLEAR_TILE;                                                                                                        \
    u64 base = (u64)tile
#define GLOBAL u64 base = __cvta_generic_to_global(memory)
#define CONSTANT u64 base = __cvta_generic_to_constant(constants)
#define LOCAL                                                                                                          \
    u32 own[ELEMENTS];                                                                                                 \
    _Pragma("unroll 1") for (int i = 0; i < ELEMENTS; i++) own[i] = zero;                                              \
    u64 base = __cvta_generic_to_local(own)

#define LD1(space) "@p ld" space ".u8 r, [%2];"
#define LD2(space) "@p ld" space ".u16 r, [%2];"
#define LD4(space) "@p ld" space ".u32 r, [%2];"
#define LD8(space) "mov.b32 s, 0; @p ld" space ".v2.u32 {r, s}, [%2]; or.b32 r, r, s;"
#define LD16(space)                                                                                                    \
    "mov.b32 s, 0; mov.b32 t, 0; mov.b32 u, 0; @p ld" space ".v4.u32 {r, s, t, u}, [%2];"                              \
    "or.b32 r, r, s; or.b32 r, r, t; or.b32 r, r, u;"
#define ST1(space) "@p st" space ".u8 [%2], %3;"
#define ST2(space) "@p st" space ".u16 [%2], %3;"
#define ST4(space) "@p st" space ".u32 [%2], %3;"
#define ST8(space) "@p st" space ".v2.u32 [%2], {%3, %3};"
#define ST16(space) "@p st" space ".v4.u32 [%2], {%3, %3, %3, %3};"
#define ATOM4(operation) "@p atom" operation " r, [%2], %3;"
#define CAS4(operation) "@p atom" operation " r, [%2], %3, %3;"
#define ATOM8(operation)                                                                                               \
    "mov.b64 w, {%3, %3}; @!p mov.b64 w, 0; @p atom" operation " w, [%2], w; mov.b64 {r, s}, w; or.b32 r, r, s;"
#define CAS8(operation)                                                                                                \
    "mov.b64 w, {%3, %3}; @!p mov.b64 w, 0; @p atom" operation " w, [%2], w, w; mov.b64 {r, s}, w; or.b32 r, r, s;"
#define RED4(operation) "@p red" operation " [%2], %3;"
#define RED8(operation) "mov.b64 w, {%3, %3}; @p red" operation " [%2], w;"

KERNEL(ld_shared_1, SHARED, SLOT(LD1(".shared"), "r"))
KERNEL(ld_shared_2, SHARED, SLOT(LD2(".shared"), "r"))
KERNEL(ld_shared_4, SHARED, SLOT(LD4(".shared"), "r"))
KERNEL(ld_shared_8, SHARED, SLOT(LD8(".shared"), "r"))
KERNEL(ld_shared_16, SHARED, SLOT(LD16(".shared"), "r"))
KERNEL(st_shared_1, SHARED_RAW, SLOT(ST1(".shared"), "r"))
KERNEL(st_shared_2, SHARED_RAW, SLOT(ST2(".shared"), "r"))
KERNEL(st_shared_4, SHARED_RAW, SLOT(ST4(".shared"), "r"))
KERNEL(st_shared_8, SHARED_RAW, SLOT(ST8(".shared"), "r"))
KERNEL(st_shared_16, SHARED_RAW, SLOT(ST16(".shared"), "r"))
KERNEL(atom_shared_add_u32, SHARED, SLOT(ATOM4(".shared.add.u32"), "r"))
KERNEL(atom_shared_exch_b32, SHARED, SLOT(ATOM4(".shared.exch.b32"), "r"))
KERNEL(atom_shared_cas_b32, SHARED, SLOT(CAS4(".shared.cas.b32"), "r"))
KERNEL(atom_shared_cas_b64, SHARED, SLOT(CAS8(".shared.cas.b64"), "r"))
KERNEL(atom_shared_add_f32, SHARED, SLOT(ATOM4(".shared.add.f32"), "r"))
KERNEL(atom_shared_add_u64, SHARED, SLOT(ATOM8(".shared.add.u64"), "r"))
KERNEL(red_shared_add_u32, SHARED, SLOT(RED4(".shared.add.u32"), "r"))

KERNEL(ld_global_1, GLOBAL, SLOT(LD1(".global"), "l"))
KERNEL(ld_global_2, GLOBAL, SLOT(LD2(".global"), "l"))
KERNEL(ld_global_4, GLOBAL, SLOT(LD4(".global"), "l"))
KERNEL(ld_global_8, GLOBAL, SLOT(LD8(".global"), "l"))
KERNEL(ld_global_16, GLOBAL, SLOT(LD16(".global"), "l"))
KERNEL(ld_volatile_global_4, GLOBAL, SLOT(LD4(".volatile.global"), "l"))
KERNEL(st_global_1, GLOBAL, SLOT(ST1(".global"), "l"))
KERNEL(st_global_2, GLOBAL, SLOT(ST2(".global"), "l"))
KERNEL(st_global_4, GLOBAL, SLOT(ST4(".global"), "l"))
KERNEL(st_global_8, GLOBAL, SLOT(ST8(".global"), "l"))
KERNEL(st_global_16, GLOBAL, SLOT(ST16(".global"), "l"))
KERNEL(atom_global_add_u32, GLOBAL, SLOT(ATOM4(".global.add.u32"), "l"))
KERNEL(atom_global_add_f32, GLOBAL, SLOT(ATOM4(".global.add.f32"), "l"))
KERNEL(atom_global_add_u64, GLOBAL, SLOT(ATOM8(".global.add.u64"), "l"))
KERNEL(atom_global_cas_b32, GLOBAL, SLOT(CAS4(".global.cas.b32"), "l"))
KERNEL(atom_global_cas_b64, GLOBAL, SLOT(CAS8(".global.cas.b64"), "l"))
KERNEL(red_global_add_u32, GLOBAL, SLOT(RED4(".global.add.u32"), "l"))
KERNEL(red_global_add_f32, GLOBAL, SLOT(RED4(".global.add.f32"), "l"))
KERNEL(red_global_add_u64, GLOBAL, SLOT(RED8(".global.add.u64"), "l"))

// Generic addresses, which the hardware takes apart as it goes.
KERNEL(ld_generic_global_4, u64 base = (u64)memory, SLOT(LD4(""), "l"))
KERNEL(ld_generic_shared_4, SHARED_GENERIC, SLOT(LD4(""), "l"))

KERNEL(ld_constant_4, CONSTANT, SLOT(LD4(".const"), "l"))
KERNEL(ld_local_4, LOCAL, SLOT(LD4(".local"), "l"))
KERNEL(st_local_4, LOCAL, SLOT(ST4(".local"), "l"))

// Does nothing. Its launches stand between others in a profile, and their number of blocks says what comes next.
extern "C" __global__ void marker() {}
