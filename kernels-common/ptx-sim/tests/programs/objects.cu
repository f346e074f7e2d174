// Calls by address: virtual functions, pointers to functions and to members; memory that a kernel allocates.
// nvcc:
#include <new>

struct Shape {
    __device__ virtual float area() const = 0;
    __device__ virtual int corners() const { return 0; }
    __device__ virtual ~Shape() {}
};

struct Square : Shape {
    float side;
    __device__ Square(float side) : side(side) {}
    __device__ float area() const override { return side * side; }
    __device__ int corners() const override { return 4; }
};

struct Disc : Shape {
    float radius;
    __device__ Disc(float radius) : radius(radius) {}
    __device__ float area() const override { return 3 * radius * radius; }
};

// Different classes in the lanes of a warp.
extern "C" __global__ void shapes(float *out) {
    int t = threadIdx.x;
    alignas(16) char place[32];
    Shape *shape = t % 3 ? (Shape *)new (place) Square(t) : (Shape *)new (place) Disc(t);
    out[t] = shape->area() + shape->corners();
}

extern "C" __global__ void on_the_heap(float *out) {
    int t = threadIdx.x;
    Shape *shape = t & 1 ? (Shape *)new Square(t) : (Shape *)new Disc(t);
    int *list = (int *)malloc(64);
    list[3] = t;
    out[t] = shape->area() + shape->corners() + list[3];
    free(list);
    delete shape;
}

// Memory that outlives a kernel.
__device__ int *kept;
extern "C" __global__ void keep(int n) {
    kept = (int *)malloc(n * sizeof(int));
    for (int i = 0; i < n; i++) kept[i] = i * i;
}
extern "C" __global__ void use(int *out, int n) {
    if (threadIdx.x < n) out[threadIdx.x] = kept[threadIdx.x];
    __syncthreads();
    if (threadIdx.x == 0) free(kept);
}
extern "C" __global__ void too_much(int *out) { out[threadIdx.x] = malloc(3 << 20) != nullptr; }

typedef int (*Operation)(int, int);
__device__ __noinline__ int add(int a, int b) { return a + b; }
__device__ __noinline__ int multiply(int a, int b) { return a * b; }
// A loop in which the lanes that call it part again.
__device__ __noinline__ int power(int a, int b) {
    int result = 1;
    for (int i = 0; i < b % 5; i++) result *= a;
    return result;
}
__device__ Operation table[3] = {add, multiply, power};
__constant__ Operation constant_table[3] = {add, multiply, power};

extern "C" __global__ void operations(int *out) {
    int t = threadIdx.x;
    out[t] = table[t % 3](out[t], t) + constant_table[(t + 1) % 3](t, 7);
}

extern "C" __global__ void given(int *out, Operation operation) { out[threadIdx.x] = operation(out[threadIdx.x], 3); }

__device__ __noinline__ float2 mixed(float4 a, int k) { return make_float2(a.x * k, a.w + k); }
__device__ float2 (*structures)(float4, int) = mixed;
extern "C" __global__ void by_value(const float4 *x, float2 *out) {
    out[threadIdx.x] = structures(x[threadIdx.x], threadIdx.x);
}

struct Number {
    int a;
    __device__ __noinline__ int plus(int x) { return a + x; }
    __device__ __noinline__ int times(int x) { return a * x; }
};
extern "C" __global__ void members(int *out, int which) {
    Number number{3};
    int (Number::*member)(int) = (which + threadIdx.x) % 2 ? &Number::plus : &Number::times;
    out[threadIdx.x] = (number.*member)(out[threadIdx.x]);
}

// Local memory of a length that only the kernel knows, also in a function that is called again and again.
__device__ __noinline__ int reversed(int n, int seed) {
    int *p = (int *)alloca(n * sizeof(int));
    for (int i = 0; i < n; i++) p[i] = i * seed;
    int sum = 0;
    for (int i = 0; i < n; i++) sum = sum * 3 + p[n - 1 - i];
    return sum;
}
extern "C" __global__ void stack(int *out, int rounds) {
    int *mine = (int *)alloca((threadIdx.x + 1) * sizeof(int));
    for (int i = 0; i <= threadIdx.x; i++) mine[i] = i;
    int sum = 0;
    for (int i = 0; i < rounds; i++) sum += reversed(100 + threadIdx.x % 3, i);
    for (int i = 0; i <= threadIdx.x; i++) sum += mine[i];
    out[threadIdx.x] = sum;
}
