// Escape times of the Mandelbrot set, in double precision: neighbouring lanes leave the loop after different counts.

extern "C" __global__ void mandelbrot(unsigned short* steps, int width, int height, double left, double top,
                                      double pixel, int limit) {
    int column = blockIdx.x * blockDim.x + threadIdx.x, row = blockIdx.y * blockDim.y + threadIdx.y;
    if (column >= width || row >= height) return;
    double cx = fma((double)column, pixel, left), cy = fma(-(double)row, pixel, top);
    double x = 0, y = 0;
    int step = 0;
    while (step < limit) {
        double xx = __dmul_rn(x, x), yy = __dmul_rn(y, y);
        if (xx + yy > 4) break;
        y = fma(2 * x, y, cy);
        x = __dadd_rn(xx - yy, cx);
        ++step;
    }
    steps[row * width + column] = step;
}
