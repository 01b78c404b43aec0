// What every call from Rust shares. `C_tensor*` of torch-sys is `at::Tensor*`.
//
// No exception leaves the shim: each call returns a `Status`, with the text in gpurun_last_error.
#pragma once

#include <c10/util/Exception.h>

#include <exception>
#include <string>

namespace gpurun {

// Mirrors `check` in src/shim/mod.rs.
enum Status : int { kDone = 0, kFailed = 1, kOutOfMemory = 2 };

void remember(const char* text);

template <typename Call>
int guarded(Call call) {
  try {
    call();
    return kDone;
  } catch (const c10::OutOfMemoryError& error) {
    remember(error.what_without_backtrace());
    return kOutOfMemory;
  } catch (const c10::Error& error) {
    remember(error.what_without_backtrace());
  } catch (const std::exception& error) {
    remember(error.what());
  } catch (...) {
    remember("an exception of unknown type");
  }
  return kFailed;
}

}  // namespace gpurun
