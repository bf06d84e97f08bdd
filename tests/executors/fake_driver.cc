// A stand-in for the CUDA driver: the functions that launch.cc needs, for kernels compiled by a C++ compiler.
#include <dlfcn.h>

#include <cstring>
#include <string>

extern "C" {
int cuLibraryGetKernel(void** kernel, void* library, const char* name) { return !(*kernel = dlsym(library, name)); }
int cuLibraryGetGlobal(unsigned long long* address, size_t* bytes, void* library, const char* name) {
  void* const variable = dlsym(library, name);
  void* const size = dlsym(library, (std::string(name) + "_bytes").c_str());
  if (!variable || !size) return 1;
  *address = reinterpret_cast<unsigned long long>(variable);
  *bytes = *static_cast<long*>(size);
  return 0;
}
int cuLaunchKernel(void* kernel, unsigned grid_x, unsigned grid_y, unsigned, unsigned block_x, unsigned block_y,
                   unsigned, unsigned, void*, void** arguments, void**) {
  reinterpret_cast<void (*)(void*, int, int, int, int)>(kernel)(arguments[0], grid_x, grid_y, block_x, block_y);
  return 0;
}
int cuMemcpyDtoDAsync_v2(unsigned long long to, unsigned long long from, size_t bytes, void*) {
  std::memcpy(reinterpret_cast<void*>(to), reinterpret_cast<void*>(from), bytes);
  return 0;
}
int cuGetErrorName(int, const char** name) {
  *name = "not found";
  return 0;
}
}
