// The interface between XLA and the kernels of a step: an XLA FFI handler that launches them on XLA's stream.
//
// The CUDA driver is loaded at first use, so any C++ compiler can build this file with JAX's headers alone. Tests define
// SWMODEL_CUDA_ON_CPU and load a stand-in for the driver (tests/executors/fake_driver.cc), which runs the kernels on the
// CPU.

#include <dlfcn.h>

#include <map>
#include <mutex>
#include <string>
#include <utility>

#include "kernel_arguments.h"
#include "xla/ffi/api/ffi.h"

namespace swmodel {

namespace ffi = xla::ffi;
using DevicePointer = unsigned long long;  // CUdeviceptr

constexpr long ABI_VERSION = 4;  // of KernelArguments and of the FFI handler; as in __init__.py

#ifdef SWMODEL_CUDA_ON_CPU
std::string driver_path;  // of the stand-in
#else
const std::string driver_path = "libcuda.so.1";
#endif

// Functions of the CUDA driver, 12.0 or newer; each returns a CUresult.
struct Driver {
  int (*get_kernel)(void** kernel, void* library, const char* name);
  int (*get_global)(DevicePointer* address, std::size_t* bytes, void* library, const char* name);
  int (*launch_kernel)(void* kernel, unsigned grid_x, unsigned grid_y, unsigned grid_z, unsigned block_x, unsigned block_y,
                       unsigned block_z, unsigned shared_bytes, void* stream, void** arguments, void** extra);
  int (*copy_async)(DevicePointer to, DevicePointer from, std::size_t bytes, void* stream);
  int (*get_error_name)(int error, const char** name);
  std::string unsupported_reason;  // why the driver cannot be used; empty if it can
};

const Driver& driver() {
  static const Driver loaded = [] {
    Driver result{};
    void* const library = dlopen(driver_path.c_str(), RTLD_NOW);
    if (!library) {
      result.unsupported_reason = "the CUDA driver cannot be loaded from " + driver_path;
      return result;
    }
    const auto load = [&](auto& function, const char* name) {
      function = reinterpret_cast<std::decay_t<decltype(function)>>(dlsym(library, name));
      if (!function) {
        result.unsupported_reason = "the CUDA driver has no " + std::string(name) + "; swmodel needs CUDA 12 or newer";
      }
    };
    load(result.get_kernel, "cuLibraryGetKernel");
    load(result.get_global, "cuLibraryGetGlobal");
    load(result.launch_kernel, "cuLaunchKernel");
    load(result.copy_async, "cuMemcpyDtoDAsync_v2");
    load(result.get_error_name, "cuGetErrorName");
    return result;
  }();
  return loaded;
}

// A cache of kernels by library and name, which saves a look-up by the driver at each launch.
class KernelCache {
 public:
  int get(void* library, const std::string& name, void** kernel) {
    const std::lock_guard lock(mutex_);
    const auto known = kernels_.find({library, name});
    if (known != kernels_.end()) {
      *kernel = known->second;
      return 0;
    }
    const int error = driver().get_kernel(kernel, library, name.c_str());
    if (!error) kernels_[{library, name}] = *kernel;
    return error;
  }

 private:
  std::mutex mutex_;
  std::map<std::pair<void*, std::string>, void*> kernels_;
};

KernelCache kernel_cache;

// Launches the kernels of the passes from number first_pass on, in each of several steps. Arrays: memory; planes [steps,
// passes, 3, fields]; extent; scalars [steps, n]; slip; row_statics; statics; mask_bits; flags; and, unless
// is_own_neighbour, the halos west, east, south, north. Results: the same memory; a workspace for constants and
// temporaries; and, unless is_own_neighbour, the edges.
ffi::Error launch_steps(void* stream, ffi::RemainingArgs arrays, ffi::RemainingRets results, ffi::Dictionary attributes) {
  if (!driver().unsupported_reason.empty()) {
    return ffi::Error(ffi::ErrorCode::kUnavailable, driver().unsupported_reason);
  }
  const auto number = [&](const char* name) { return *attributes.get<std::int64_t>(name); };
  const auto array = [&](std::size_t n) { return *arrays.get<ffi::AnyBuffer>(n); };
  const auto result_data = [&](std::size_t n) { return (*results.get<ffi::AnyBuffer>(n))->untyped_data(); };
  const auto dimension = [&](std::size_t n, int axis) { return static_cast<int>(array(n).dimensions()[axis]); };
  const auto data = [&](std::size_t n) { return static_cast<const char*>(array(n).untyped_data()); };
  const bool is_float32 = array(0).element_type() == ffi::F32;

  KernelArguments args{};
  args.memory = array(0).untyped_data();
  if (result_data(0) != args.memory) {
    return ffi::Error::Internal("XLA copied the memory of the step, which must be updated in place");
  }
  args.constants = result_data(1);
  args.temporaries = static_cast<char*>(result_data(1)) + number("constant_bytes");
  args.n_fields = dimension(1, 3);
  args.extent = reinterpret_cast<const int*>(data(2));
  args.slip = data(4);
  args.row_statics = data(5);
  args.statics = data(6);
  args.mask_bits = reinterpret_cast<const unsigned char*>(data(7));
  args.static_rows = dimension(7, 0);
  args.static_stride = dimension(7, 1);
  args.near_land = reinterpret_cast<const unsigned char*>(data(8));
  args.is_own_neighbour = number("is_own_neighbour");
  if (!args.is_own_neighbour) {
    const void** const halos[] = {&args.west, &args.east, &args.south, &args.north};
    void** const edges[] = {&args.edge_west, &args.edge_east, &args.edge_south, &args.edge_north};
    for (int n = 0; n < 4; ++n) *halos[n] = data(9 + n), *edges[n] = result_data(2 + n);
  }
  args.rows = number("rows");
  args.columns = number("columns");
  args.halo = number("halo");
  args.stride = number("stride");
  args.plane_size = number("plane_size");
  args.static_halo = number("static_halo");
  args.origin = number("halo_rows") * args.stride + number("row_padding");
  args.static_origin = args.static_halo * args.static_stride + number("row_padding");

  void* const library = reinterpret_cast<void*>(number("library"));
  const int steps = dimension(1, 0), passes = dimension(1, 1), first_pass = number("first_pass");
  const unsigned halo_blocks = (2 * args.halo * (args.rows + args.columns + 2 * args.halo) + HALO_THREADS - 1) / HALO_THREADS;
  const auto list = [&](const char* name) { return *attributes.get<ffi::Span<const std::int64_t>>(name); };
  const auto n_halo_fields = list("n_halo_fields"), n_sent_fields = list("n_sent_fields"), n_kernels = list("n_kernels");
  const auto grid_sizes = list("grid_sizes");  // [kernels of all passes, 2]: blocks of threads in x and y
  int error = 0;
  void* arguments[] = {&args};
  const auto launch = [&](const std::string& name, unsigned grid_x, unsigned grid_y, unsigned block_x, unsigned block_y) {
    if (error || !grid_x || !grid_y) return;
    void* kernel = nullptr;
    error = kernel_cache.get(library, name, &kernel);
    if (!error) error = driver().launch_kernel(kernel, grid_x, grid_y, 1, block_x, block_y, 1, 0, stream, arguments, nullptr);
  };
  for (int n = 0; n < steps; ++n) {
    const std::int64_t* grid_size = grid_sizes.begin();
    args.scalars = data(3) + n * dimension(3, 1) * (is_float32 ? sizeof(float) : sizeof(double));
    for (int p = 0; p < passes; ++p) {
      const std::string pass = std::to_string(first_pass + p);
      args.planes = reinterpret_cast<const int*>(data(1)) + (n * passes + p) * 3 * args.n_fields;
      launch("fill_constants" + pass, 1, 1, 1, 1);
      DevicePointer constants = 0;
      std::size_t bytes = 0;
      if (!error) error = driver().get_global(&constants, &bytes, library, ("constants" + pass).c_str());
      if (!error && bytes > static_cast<std::size_t>(number("constant_bytes"))) {
        return ffi::Error::Internal("the constants of pass " + pass + " take " + std::to_string(bytes) +
                                    " bytes, more than constant_bytes");
      }
      if (!error) error = driver().copy_async(constants, reinterpret_cast<DevicePointer>(args.constants), bytes, stream);
      launch("fill_halo" + pass, halo_blocks, n_halo_fields[p], HALO_THREADS, 1);
      for (int k = 0; k < n_kernels[p]; ++k, grid_size += 2) {
        launch("pass" + pass + "_" + std::to_string(k), grid_size[0], grid_size[1], BLOCK_COLUMNS, BLOCK_ROWS);
      }
      if (!args.is_own_neighbour) launch("pack_edges" + pass, halo_blocks, n_sent_fields[p], HALO_THREADS, 1);
    }
  }
  if (!error) return ffi::Error::Success();
  const char* error_name = "an unknown error";
  driver().get_error_name(error, &error_name);
  return ffi::Error::Internal("the kernels of the step cannot be launched: " + std::string(error_name));
}

#ifdef SWMODEL_CUDA_ON_CPU
// Calls run one after the other: the devices into which JAX splits a CPU share the constant memory of the kernels,
// whereas each GPU has its own.
ffi::Error launch_steps_in_turn(ffi::RemainingArgs arrays, ffi::RemainingRets results, ffi::Dictionary attributes) {
  static std::mutex mutex;
  const std::lock_guard lock(mutex);
  return launch_steps(nullptr, arrays, results, attributes);
}
XLA_FFI_DEFINE_HANDLER_SYMBOL(swmodel_cuda_step, launch_steps_in_turn,
    ffi::Ffi::Bind().RemainingArgs().RemainingRets().Attrs());
extern "C" void swmodel_use_driver(const char* path) { driver_path = path; }
#else
XLA_FFI_DEFINE_HANDLER_SYMBOL(swmodel_cuda_step, launch_steps,
    ffi::Ffi::Bind().Ctx<ffi::PlatformStream<void*>>().RemainingArgs().RemainingRets().Attrs(),
    {ffi::Traits::kCmdBufferCompatible});
#endif

// See FfiLibrary in parallel/ffi_libraries.py.
extern "C" {
extern const long swmodel_abi_version = ABI_VERSION;
extern const char* const swmodel_compiler = __VERSION__;
extern const char* const swmodel_jaxlib = SWMODEL_JAXLIB;
}

}  // namespace swmodel
