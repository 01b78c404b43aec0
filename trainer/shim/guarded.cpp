#include "guarded.h"

namespace {
thread_local std::string last_error;
}

void gpurun::remember(const char* text) { last_error = text; }

extern "C" const char* gpurun_last_error() { return last_error.c_str(); }
