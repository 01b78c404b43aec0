/* A stand-in for the driver's library: insists on the order of calls, and fails as it is told.
 *
 * CARDS=n cards. FAIL=call:card:status makes that call fail on that card (-1: any). WRONG=card computes falsely there. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int ready, current = -1, retained, loaded;
static const char *ERRORS[][3] = {
    {"2", "CUDA_ERROR_OUT_OF_MEMORY", "out of memory"},
    {"3", "CUDA_ERROR_NOT_INITIALIZED", "initialization error"},
    {"100", "CUDA_ERROR_NO_DEVICE", "no CUDA-capable device is detected"},
    {"201", "CUDA_ERROR_INVALID_CONTEXT", "invalid device context"},
    {"209", "CUDA_ERROR_NO_BINARY_FOR_GPU", "no kernel image is available for execution on the device"},
    {"719", "CUDA_ERROR_LAUNCH_FAILED", "unspecified launch failure"},
};

static int number(const char *name, int otherwise) {
    const char *text = getenv(name);
    return text ? atoi(text) : otherwise;
}

static int told(const char *call) {
    char name[64];
    int card, status;
    const char *fail = getenv("FAIL");
    if (fail && sscanf(fail, "%63[^:]:%d:%d", name, &card, &status) == 3 && !strcmp(name, call) && (card < 0 || card == current))
        return status;
    return ready || !strcmp(call, "cuInit") ? 0 : 3;
}

#define CALL(name) do { int status = told(#name); if (status) return status; } while (0)

int cuInit(unsigned flags) { CALL(cuInit); ready = 1; return flags ? 1 : 0; }
int cuDeviceGetCount(int *count) { CALL(cuDeviceGetCount); *count = number("CARDS", 1); return 0; }
int cuDeviceGet(int *device, int index) { current = index; CALL(cuDeviceGet); *device = index; return 0; }
int cuDevicePrimaryCtxRetain(void **context, int device) { CALL(cuDevicePrimaryCtxRetain); retained = device + 1; *context = &retained; return 0; }
int cuDevicePrimaryCtxRelease_v2(int device) { if (retained != device + 1) return 201; retained = 0; return 0; }
int cuCtxSetCurrent(void *context) { CALL(cuCtxSetCurrent); return context == &retained ? 0 : 201; }
int cuModuleLoadData(void **module, const void *image) {
    CALL(cuModuleLoadData);
    if (!retained) return 201;
    if (!strstr(image, ".entry gpurun_probe")) return 209;
    loaded = 1; *module = &loaded; return 0;
}
int cuModuleGetFunction(void **function, void *module, const char *name) {
    CALL(cuModuleGetFunction);
    if (module != &loaded || strcmp(name, "gpurun_probe")) return 500;
    *function = &current; return 0;
}
int cuModuleUnload(void *module) { (void)module; loaded = 0; return 0; }
int cuMemAlloc_v2(unsigned long long *pointer, size_t size) {
    CALL(cuMemAlloc);
    *pointer = (unsigned long long)(size_t)calloc(1, size); return 0;
}
int cuMemFree_v2(unsigned long long pointer) { free((void *)(size_t)pointer); return 0; }
int cuLaunchKernel(void *function, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by, unsigned bz, unsigned shared,
                   void *stream, void **parameters, void **extra) {
    CALL(cuLaunchKernel);
    if (function != &current || gx * gy * gz != 1 || by * bz != 1 || shared || stream || extra) return 1;
    unsigned *out = (unsigned *)(size_t)*(unsigned long long *)parameters[0];
    for (unsigned i = 0; i < bx; i++) out[i] = 3 * i + 1;
    if (number("WRONG", -1) == current) out[7]++;
    return 0;
}
int cuCtxSynchronize(void) { CALL(cuCtxSynchronize); return 0; }
int cuMemcpyDtoH_v2(void *to, unsigned long long from, size_t size) { CALL(cuMemcpyDtoH); memcpy(to, (void *)(size_t)from, size); return 0; }
static int say(int status, const char **text, int column) {
    for (size_t i = 0; i < sizeof ERRORS / sizeof *ERRORS; i++)
        if (atoi(ERRORS[i][0]) == status) { *text = ERRORS[i][column]; return 0; }
    return 1;
}
int cuGetErrorName(int status, const char **text) { return say(status, text, 1); }
int cuGetErrorString(int status, const char **text) { return say(status, text, 2); }
