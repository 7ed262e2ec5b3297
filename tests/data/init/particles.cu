// Moves particles that are handed over as a structure of arrays, by value.
struct Particles {
    float *x, *y, *vx, *vy;
    int count;
};

struct Box {
    float left, right, bottom, top;
};

__global__ void move(Particles particles, Box box, float dt, int *bounces)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= particles.count)
        return;
    float x = particles.x[i] + dt * particles.vx[i];
    float y = particles.y[i] + dt * particles.vy[i];
    if (x < box.left || x > box.right) {
        particles.vx[i] = -particles.vx[i];
        atomicAdd(bounces, 1);
    }
    particles.x[i] = x;
    particles.y[i] = y;
}
