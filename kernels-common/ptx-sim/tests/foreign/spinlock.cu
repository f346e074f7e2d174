// Updates that need more than one word, protected by a lock.

struct Account {
    int lock;
    int deposits;
    long long balance;
    int last;
    int history;
};

__device__ void acquire(int* lock) {
    while (atomicCAS(lock, 0, 1) != 0) __nanosleep(50);
    __threadfence();
}

__device__ void release(int* lock) {
    __threadfence();
    atomicExch(lock, 0);
}

// Threads of one warp contend with each other, too. Whoever has the lock does its work and gives it back within the
// loop.
extern "C" __global__ void deposit(Account* accounts, int count, const int* amounts, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    Account* account = accounts + i % count;
    for (bool done = false; !done;) {
        if (atomicCAS(&account->lock, 0, 1) == 0) {
            __threadfence();
            volatile Account* a = account;
            a->deposits = a->deposits + 1;
            a->balance = a->balance + amounts[i];
            a->last = i;
            a->history = a->history ^ i;
            __threadfence();
            atomicExch(&account->lock, 0);
            done = true;
        }
    }
}

// Two locks, taken in ascending order, so that no two threads wait for each other.
extern "C" __global__ void transfer(Account* accounts, const int3* transfers, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    int3 t = transfers[i];
    if (t.x == t.y) return;
    Account *first = accounts + min(t.x, t.y), *second = accounts + max(t.x, t.y);
    acquire(&first->lock);
    acquire(&second->lock);
    volatile Account *from = accounts + t.x, *to = accounts + t.y;
    from->balance = from->balance - t.z;
    to->balance = to->balance + t.z;
    release(&second->lock);
    release(&first->lock);
}

// A ticket lock serves in the order of arrival.
extern "C" __global__ void ticket_lock(unsigned* next, volatile unsigned* serving, volatile unsigned* log) {
    if (threadIdx.x % 32 == 0) {
        unsigned mine = atomicAdd(next, 1);
        while (*serving != mine) {
        }
        __threadfence();
        log[mine] = log[mine ? mine - 1 : gridDim.x * blockDim.x / 32] * 5 + mine;
        __threadfence();
        *serving = mine + 1;
    }
}
