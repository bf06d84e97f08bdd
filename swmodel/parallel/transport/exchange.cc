// Messages between processes as foreign calls of XLA, with the functions of the MPI library that mpi4py has loaded.
//
// The build needs no MPI. `swmodel_set_mpi_functions` receives the addresses of the functions, whose signatures are
// those of the MPI standard. Handles are integers of 4 bytes (MPICH) or of 8 (pointers: Open MPI, the standard's ABI).

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "xla/ffi/api/ffi.h"

namespace swmodel {

namespace ffi = xla::ffi;
using Ranks = ffi::Span<const std::int64_t>;

constexpr long ABI_VERSION = 1;  // of the foreign calls; the same as in ffi_libraries.py

// The MPI functions with handles of this type, in the order of ffi_messages.py.
template <class Handle>
struct Mpi {
  int (*isend)(const void*, int, Handle, int, int, Handle, Handle*);
  int (*irecv)(void*, int, Handle, int, int, Handle, Handle*);
  int (*waitall)(int, Handle*, void*);
  int (*allreduce)(const void*, void*, int, Handle, Handle, Handle);
  int (*alltoall)(const void*, int, Handle, void*, int, Handle, Handle);
};

template <class Handle>
Mpi<Handle> mpi;

// Messages and bytes that this process has sent with `exchange`.
std::atomic<std::int64_t> sent_messages{0}, sent_bytes{0};

ffi::Error as_error(int code) {
  return code ? ffi::Error::Internal("MPI: error " + std::to_string(code)) : ffi::Error::Success();
}

// Sends equal parts of an array, part k to dest[k], and receives part k of the result from source[k], all at once.
template <class Handle>
ffi::Error exchange(ffi::AnyBuffer array, ffi::Token, ffi::Result<ffi::AnyBuffer> result, ffi::Result<ffi::Token>,
                    std::int64_t comm, std::int64_t type, Ranks source, Ranks dest) {
  constexpr std::size_t STATUS_BYTES = 64;  // MPI implementations use 20 to 32
  const std::size_t parts = source.size(), count = array.element_count() / parts, size = array.size_bytes() / parts;
  const auto* const send_buffer = static_cast<const std::byte*>(array.untyped_data());
  auto* const receive_buffer = static_cast<std::byte*>(result->untyped_data());
  std::vector<Handle> requests(2 * parts);
  std::vector<std::max_align_t> statuses(2 * parts * STATUS_BYTES / sizeof(std::max_align_t));
  const auto& functions = mpi<Handle>;
  int code = 0;
  for (std::size_t k = 0; k < parts && !code; ++k)
    code = functions.irecv(receive_buffer + k * size, count, Handle(type), source[k], k, Handle(comm), &requests[k]);
  for (std::size_t k = 0; k < parts && !code; ++k)
    code = functions.isend(send_buffer + k * size, count, Handle(type), dest[k], k, Handle(comm), &requests[parts + k]);
  if (!code) code = functions.waitall(2 * parts, requests.data(), statuses.data());
  sent_messages += parts;
  sent_bytes += array.size_bytes();
  return as_error(code);
}

template <class Handle>
ffi::Error sum(ffi::AnyBuffer array, ffi::Token, ffi::Result<ffi::AnyBuffer> result, ffi::Result<ffi::Token>,
               std::int64_t comm, std::int64_t type, std::int64_t operation) {
  return as_error(mpi<Handle>.allreduce(array.untyped_data(), result->untyped_data(), array.element_count(), Handle(type),
                                        Handle(operation), Handle(comm)));
}

// Sends part k of the array [parts, ...] to process k and receives that process's part for this one.
template <class Handle>
ffi::Error all_to_all(ffi::AnyBuffer array, ffi::Token, ffi::Result<ffi::AnyBuffer> result, ffi::Result<ffi::Token>,
                      std::int64_t comm, std::int64_t type) {
  const int count = array.element_count() / array.dimensions()[0];
  return as_error(mpi<Handle>.alltoall(array.untyped_data(), count, Handle(type), result->untyped_data(), count,
                                       Handle(type), Handle(comm)));
}

auto arguments() {
  return ffi::Ffi::Bind()
      .Arg<ffi::AnyBuffer>()
      .Arg<ffi::Token>()
      .Ret<ffi::AnyBuffer>()
      .Ret<ffi::Token>()
      .Attr<std::int64_t>("comm")
      .Attr<std::int64_t>("type");
}
auto with_operation() { return arguments().Attr<std::int64_t>("operation"); }
auto with_ranks() { return arguments().Attr<Ranks>("source").Attr<Ranks>("dest"); }

XLA_FFI_DEFINE_HANDLER_SYMBOL(swmodel_exchange_4, exchange<std::int32_t>, with_ranks());
XLA_FFI_DEFINE_HANDLER_SYMBOL(swmodel_exchange_8, exchange<std::int64_t>, with_ranks());
XLA_FFI_DEFINE_HANDLER_SYMBOL(swmodel_sum_4, sum<std::int32_t>, with_operation());
XLA_FFI_DEFINE_HANDLER_SYMBOL(swmodel_sum_8, sum<std::int64_t>, with_operation());
XLA_FFI_DEFINE_HANDLER_SYMBOL(swmodel_all_to_all_4, all_to_all<std::int32_t>, arguments());
XLA_FFI_DEFINE_HANDLER_SYMBOL(swmodel_all_to_all_8, all_to_all<std::int64_t>, arguments());

template <class Handle>
void set_functions(void* const* functions) {
  mpi<Handle> = *reinterpret_cast<const Mpi<Handle>*>(functions);
}

extern "C" {
extern const long swmodel_abi_version = ABI_VERSION;
extern const char* const swmodel_compiler = __VERSION__;
extern const char* const swmodel_jaxlib = SWMODEL_JAXLIB;

// Sets the functions of an MPI library whose handles have this number of bytes.
void swmodel_set_mpi_functions(void* const* functions, int handle_bytes) { handle_bytes == 4 ? set_functions<std::int32_t>(functions) : set_functions<std::int64_t>(functions); }

// Writes the numbers of messages and bytes sent so far into `counts`.
void swmodel_sent_messages_and_bytes(std::int64_t* counts) {
  counts[0] = sent_messages;
  counts[1] = sent_bytes;
}
}

}  // namespace swmodel
