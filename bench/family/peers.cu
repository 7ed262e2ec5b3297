// SPDX-License-Identifier: MIT
// What bench_family takes from the toolkit, in a library of its own, so that the program needs no nvcc: CUB, a kernel
// that reads, for a cold L2 cache without lines that have to be written back, and cublasLt with all that its heuristics propose.
// cublasLt is not linked: who calls it here has loaded it for all, and without it the rest works.
#include <cub/cub.cuh>
#include <cuda.h>

#include "../kernels/cublaslt_peer.cuh"

extern "C" int peers_cub_version()
{
    return CUB_VERSION;
}

extern "C" int peers_read(void *data, size_t bytes)
{
    read_all<<<1024, 256>>>((const float4 *)data, bytes / sizeof(float4), (float *)data);
    return cudaGetLastError();
}

// As CUB's functions: without storage it says how many bytes that takes.
extern "C" int peers_sum(void *storage, size_t *bytes, const float *in, float *out, int64_t count)
{
    return cub::DeviceReduce::Sum(storage, *bytes, in, out, count);
}

static lt_product<__nv_bfloat16, __nv_bfloat16> *product;

extern "C" int peers_lt_version()
{
    return (int)cublasLtGetVersion();
}

// C = A B, m x k times k x n, B column-major where transposed. Returns how many algorithms there are for it.
extern "C" int peers_lt_set(const void *A, const void *B, void *C, int64_t m, int64_t n, int64_t k, int transposed)
{
    delete product;
    product = new lt_product<__nv_bfloat16, __nv_bfloat16>((const __nv_bfloat16 *)A, (const __nv_bfloat16 *)B, (__nv_bfloat16 *)C, m, n, k,
                                                           transposed != 0);
    return product->propose();
}

extern "C" int peers_lt_run(int algorithm)
{
    product->take(algorithm);
    (*product)();
    return cudaGetLastError();
}

// Which kernels that launches: name, blocks, threads of a block, blocks of a cluster, bytes of shared memory.
extern "C" void peers_lt_describe(int algorithm, char *text, size_t size)
{
    cudaStream_t stream;
    cudaGraph_t graph;
    CUgraphNode nodes[8];
    size_t count = 8, at = 0;
    CHECK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    CHECK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeRelaxed));
    product->take(algorithm);
    product->use(stream);
    (*product)();
    product->use(nullptr);
    CHECK(cudaStreamEndCapture(stream, &graph));
    cuGraphGetNodes(graph, nodes, &count);
    for (size_t i = 0; i < count && at < size; ++i) {
        CUDA_KERNEL_NODE_PARAMS kernel = {};
        CUlaunchAttributeValue cluster = {};
        const char *name = "?";
        if (cuGraphKernelNodeGetParams(nodes[i], &kernel) != CUDA_SUCCESS)
            continue; // it copies or sets memory
        if (kernel.func == nullptr || cuFuncGetName(&name, kernel.func) != CUDA_SUCCESS)
            cuKernelGetName(&name, kernel.kern);
        cuGraphKernelNodeGetAttribute(nodes[i], CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION, &cluster);
        at += snprintf(text + at, size - at, "%s%s <%u,%u,%u; %u; %ux%u; %u>", at > 0 ? " + " : "", name, kernel.gridDimX, kernel.gridDimY,
                       kernel.gridDimZ, kernel.blockDimX, cluster.clusterDim.x, cluster.clusterDim.y, kernel.sharedMemBytes);
    }
    CHECK(cudaGraphDestroy(graph));
    CHECK(cudaStreamDestroy(stream));
}

// A graph of products, one after another: rows offsets[g] to offsets[g + 1] of A times the transposed B[g], n x k, each by the algorithm that
// is the fastest with a cold cache.
static cudaGraphExec_t loop;

extern "C" void peers_lt_groups_set(const void *A, const void *B, void *C, const void *offsets, int64_t groups, int64_t n, int64_t k)
{
    using element = __nv_bfloat16;
    const auto known = from_device((const int *)offsets, groups + 1);
    std::vector<lt_product<element, element>> products;
    pairing pairs;
    for (int64_t g = 0; g < groups; ++g) {
        const int64_t begin = known[g], rows = known[g + 1] - begin;
        if (rows == 0)
            continue;
        products.emplace_back((const element *)A + begin * k, (const element *)B + g * n * k, (element *)C + begin * n, rows, n, k, true);
        products.back().choose([&](auto run) { return pairs.measure(run); });
    }
    cudaStream_t stream;
    cudaGraph_t graph;
    CHECK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    CHECK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeRelaxed));
    for (auto &one : products) {
        one.use(stream);
        one();
    }
    CHECK(cudaStreamEndCapture(stream, &graph));
    if (loop != nullptr)
        CHECK(cudaGraphExecDestroy(loop));
    CHECK(cudaGraphInstantiate(&loop, graph, 0));
    CHECK(cudaGraphDestroy(graph));
    CHECK(cudaStreamDestroy(stream));
}

extern "C" int peers_lt_groups_run()
{
    return cudaGraphLaunch(loop, nullptr);
}
