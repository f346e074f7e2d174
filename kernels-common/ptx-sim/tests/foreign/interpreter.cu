// nvcc: --jump-table-density=50
// A switch with a jump table: a small stack machine in which each lane runs its own program.

enum Op : unsigned char { PUSH, ADD, SUBTRACT, MULTIPLY, DUPLICATE, SWAP, NEGATE, AND, OR, XOR, SHIFT, JUMP_IF, END };

extern "C" __global__ void interpret(const unsigned char* code, const int* entry, long long* result, int* steps,
                                     int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    long long stack[16];
    int top = 0, at = entry[i], step = 0;
    bool running = true;
    stack[0] = 0;
    while (running && step < 1000) {
        ++step;
        switch (code[at++]) {
            case PUSH: stack[++top] = (signed char)code[at++]; break;
            case ADD: --top; stack[top] += stack[top + 1]; break;
            case SUBTRACT: --top; stack[top] -= stack[top + 1]; break;
            case MULTIPLY: --top; stack[top] *= stack[top + 1]; break;
            case DUPLICATE: ++top; stack[top] = stack[top - 1]; break;
            case SWAP: {
                long long other = stack[top];
                stack[top] = stack[top - 1];
                stack[top - 1] = other;
                break;
            }
            case NEGATE: stack[top] = -stack[top]; break;
            case AND: --top; stack[top] &= stack[top + 1]; break;
            case OR: --top; stack[top] |= stack[top + 1]; break;
            case XOR: --top; stack[top] ^= stack[top + 1]; break;
            case SHIFT: --top; stack[top] >>= stack[top + 1] & 63; break;
            case JUMP_IF: {
                int to = code[at++];
                if (stack[top--] != 0) at = entry[i] + to;
                break;
            }
            default: running = false;
        }
    }
    result[i] = stack[top];
    steps[i] = step;
}

// Few cases: a chain of comparisons or a look-up in a table of constants, as the compiler likes.
extern "C" __global__ void days(const int* month, const int* year, int* days, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    int y = year[i], d;
    switch (month[i]) {
        case 2: d = (y % 4 == 0 && y % 100 != 0) || y % 400 == 0 ? 29 : 28; break;
        case 4: case 6: case 9: case 11: d = 30; break;
        default: d = 31;
    }
    days[i] = d;
}
