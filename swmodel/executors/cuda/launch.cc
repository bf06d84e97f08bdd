// The interface between XLA and the kernels of a step: a foreign function that launches them on XLA's stream.
//
// The CUDA driver is loaded at its first use, so that any C++ compiler can build this file with JAX's headers alone.
// Tests define SWMODEL_ON_PROCESSOR and load a driver that runs the kernels on the CPU, where the arrays then are.

#include <dlfcn.h>

#include <map>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "job.h"
#include "xla/ffi/api/ffi.h"

namespace swmodel {

namespace ffi = xla::ffi;
using Index = std::int64_t;
using Address = unsigned long long;  // CUdeviceptr

constexpr long ABI_VERSION = 3;  // of Job and of the foreign call; as in __init__.py
constexpr int HALO_THREADS = 128;  // in a block of fill_halo and pack_edges
constexpr int COLUMNS = 32, ROWS_OF_THREADS = 4;  // BLOCK_THREADS in kernels.py

// The functions of the CUDA driver (12.0 or newer).
struct Driver {
  int (*kernel)(void** kernel, void* library, const char* name);
  int (*global)(Address* address, std::size_t* bytes, void* library, const char* name);
  int (*launch)(void* kernel, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, void* stream, void**, void**);
  int (*copy)(Address to, Address from, std::size_t bytes, void* stream);
  int (*name)(int error, const char** name);
  std::string missing;  // why the driver cannot be used; empty if it can
};

std::string driver_path = "libcuda.so.1";

const Driver& driver() {
  static const Driver found = [] {
    Driver made{};
    void* const library = dlopen(driver_path.c_str(), RTLD_NOW);
    const auto load = [&](auto& function, const char* name) {
      if (library) function = reinterpret_cast<std::decay_t<decltype(function)>>(dlsym(library, name));
      if (!library || !function) made.missing = "there is no CUDA driver with " + std::string(name) + "; swmodel needs CUDA 12 or newer";
    };
    load(made.kernel, "cuLibraryGetKernel");
    load(made.global, "cuLibraryGetGlobal");
    load(made.launch, "cuLaunchKernel");
    load(made.copy, "cuMemcpyDtoDAsync_v2");
    load(made.name, "cuGetErrorName");
    return made;
  }();
  return found;
}

// A cache of kernels by library and name, because looking one up takes longer than a launch.
class Kernels {
 public:
  int find(void* library, const std::string& name, void** kernel) {
    const std::lock_guard lock(mutex_);
    const auto known = found_.find({library, name});
    if (known != found_.end()) return *kernel = known->second, 0;
    const int failed = driver().kernel(kernel, library, name.c_str());
    if (!failed) found_[{library, name}] = *kernel;
    return failed;
  }

 private:
  std::mutex mutex_;
  std::map<std::pair<void*, std::string>, void*> found_;
};

Kernels kernels;

// Launches the `passes` passes from number `pass` on, in each of `steps` steps. Arrays: memory; planes [steps, passes,
// 3, fields]; extent; scalars [steps, n]; slip; row_statics; statics; mask_bits; flags; unless `wraps` (see Job) also
// the halos west, east, south, north. Results: the same memory; workspace; unless `wraps` also the edges.
ffi::Error step(void* stream, ffi::RemainingArgs arrays, ffi::RemainingRets results, ffi::Dictionary numbers) {
  if (!driver().missing.empty()) return ffi::Error(ffi::ErrorCode::kUnavailable, driver().missing);
  const auto number = [&](const char* name) { return *numbers.get<std::int64_t>(name); };
  const auto array = [&](std::size_t n) { return *arrays.get<ffi::AnyBuffer>(n); };
  const auto out = [&](std::size_t n) { return (*results.get<ffi::AnyBuffer>(n))->untyped_data(); };
  const auto size = [&](std::size_t n, int axis) { return static_cast<int>(array(n).dimensions()[axis]); };
  const auto at = [&](std::size_t n) { return static_cast<const char*>(array(n).untyped_data()); };
  const bool single = array(0).element_type() == ffi::F32;

  Job job{};
  job.memory = array(0).untyped_data();
  if (out(0) != job.memory) return ffi::Error::Internal("XLA copied the fields of the step, which must be computed in place");
  job.constants = out(1);
  job.temporaries = static_cast<char*>(out(1)) + number("constant_bytes");
  job.fields = size(1, 3);
  job.extent = reinterpret_cast<const int*>(at(2));
  job.slip = at(4);
  job.row_statics = at(5);
  job.statics = at(6);
  job.mask_bits = reinterpret_cast<const unsigned char*>(at(7));
  job.static_rows = size(7, 0);
  job.static_stride = size(7, 1);
  job.flags = reinterpret_cast<const unsigned char*>(at(8));
  job.wraps = number("wraps");
  if (!job.wraps) {
    const void** const strips[] = {&job.west, &job.east, &job.south, &job.north};
    void** const edges[] = {&job.edge_west, &job.edge_east, &job.edge_south, &job.edge_north};
    for (int n = 0; n < 4; ++n) *strips[n] = at(9 + n), *edges[n] = out(2 + n);
  }
  job.rows = number("rows");
  job.columns = number("columns");
  job.halo = number("halo");
  job.stride = number("stride");
  job.plane_size = number("plane_size");
  job.margin = number("margin");
  job.origin = number("halo_rows") * job.stride + number("row_padding");
  job.static_origin = job.margin * job.static_stride + number("row_padding");

  void* const library = reinterpret_cast<void*>(number("library"));
  const int steps = size(1, 0), passes = size(1, 1), first = number("pass");
  const unsigned halo_blocks = (2 * job.halo * (job.rows + job.columns + 2 * job.halo) + HALO_THREADS - 1) / HALO_THREADS;
  const auto list = [&](const char* name) { return *numbers.get<ffi::Span<const std::int64_t>>(name); };
  const auto reads = list("reads"), sends = list("sends"), kernels_of_pass = list("kernels"), blocks = list("blocks");
  int failed = 0;
  void* arguments[] = {&job};
  const auto launch = [&](const std::string& what, unsigned x, unsigned y, unsigned threads, unsigned rows) {
    void* kernel = nullptr;
    if (!failed && x && y) failed = kernels.find(library, what, &kernel);
    if (!failed && x && y) failed = driver().launch(kernel, x, y, 1, threads, rows, 1, 0, stream, arguments, nullptr);
  };
  for (int n = 0; n < steps; ++n) {
    const std::int64_t* grid = blocks.begin();  // for each kernel its blocks of threads, across and down
    job.scalars = at(3) + n * size(3, 1) * (single ? sizeof(float) : sizeof(double));
    for (int p = 0; p < passes; ++p) {
      const std::string pass = std::to_string(first + p);
      job.planes = reinterpret_cast<const int*>(at(1)) + (n * passes + p) * 3 * job.fields;
      launch("fill_constants" + pass, 1, 1, 1, 1);
      Address symbol = 0;
      std::size_t bytes = 0;
      if (!failed) failed = driver().global(&symbol, &bytes, library, ("constants" + pass).c_str());
      if (!failed && bytes > static_cast<std::size_t>(number("constant_bytes"))) return ffi::Error::Internal("the constants of a pass need more than constant_bytes");
      if (!failed) failed = driver().copy(symbol, reinterpret_cast<Address>(job.constants), bytes, stream);
      launch("fill_halo" + pass, halo_blocks, reads[p], HALO_THREADS, 1);
      for (int k = 0; k < kernels_of_pass[p]; ++k, grid += 2) {
        launch("pass" + pass + "_" + std::to_string(k), grid[0], grid[1], COLUMNS, ROWS_OF_THREADS);
      }
      if (!job.wraps) launch("pack_edges" + pass, halo_blocks, sends[p], HALO_THREADS, 1);
    }
  }
  if (!failed) return ffi::Error::Success();
  const char* name = "an unknown error";
  driver().name(failed, &name);
  return ffi::Error::Internal("the kernels of the step cannot be launched: " + std::string(name));
}

#ifdef SWMODEL_ON_PROCESSOR
// Calls run one after the other, because the devices of a CPU share the constants of the kernels; each GPU has its own.
ffi::Error run_steps(ffi::RemainingArgs arrays, ffi::RemainingRets results, ffi::Dictionary numbers) {
  static std::mutex mutex;
  const std::lock_guard lock(mutex);
  return step(nullptr, arrays, results, numbers);
}
XLA_FFI_DEFINE_HANDLER_SYMBOL(swmodel_cuda_step, run_steps, ffi::Ffi::Bind().RemainingArgs().RemainingRets().Attrs());
#else
XLA_FFI_DEFINE_HANDLER_SYMBOL(swmodel_cuda_step, step,
    ffi::Ffi::Bind().Ctx<ffi::PlatformStream<void*>>().RemainingArgs().RemainingRets().Attrs(),
    {ffi::Traits::kCmdBufferCompatible});
#endif

// See FfiLibrary in parallel/ffi_libraries.py.
extern "C" {
extern const long swmodel_abi_version = ABI_VERSION;
extern const char* const swmodel_compiler = __VERSION__;
extern const char* const swmodel_jaxlib = SWMODEL_JAXLIB;
void swmodel_use_driver(const char* path) { driver_path = path; }
}

}  // namespace swmodel
