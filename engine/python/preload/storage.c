/* Fails calls that write or flush files of a directory. A failed call has no effect on the file.
 *
 * Not seen: io_uring, Linux AIO, mapped files, and writes within the C library (stdio). */
#include "control.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

/* Whether a descriptor is of a file at or below the directory: the kernel names it, so that nothing is to be kept. */
static bool concerns(const struct storage_fault *fault, int file) {
  size_t length = fault->directory_bytes;
  if (file < 0 || length == 0 || length >= MOST_DIRECTORY_BYTES) return false;
  char link[32] = "/proc/self/fd/", digits[12], path[MOST_DIRECTORY_BYTES + 1];
  size_t count = 0, end = strlen(link);
  do digits[count++] = (char)('0' + file % 10);
  while ((file /= 10) > 0);
  while (count > 0) link[end++] = digits[--count];
  link[end] = '\0';
  long read = syscall(SYS_readlinkat, AT_FDCWD, link, path, length + 1);
  return read >= (long)length && memcmp(path, fault->directory, length) == 0 &&
         (read == (long)length || path[length] == '/');
}

/* 32 well mixed bits of a number (splitmix64): Steele, Lea and Flood, 2014. */
static uint64_t mixed(uint64_t number) {
  number = (number + 1) * UINT64_C(0x9e3779b97f4a7c15);
  number = (number ^ (number >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
  number = (number ^ (number >> 27)) * UINT64_C(0x94d049bb133111eb);
  return (number ^ (number >> 31)) >> 32;
}

/* The errno of a call on this file under an active fault; 0 if it is to be made. */
static int chosen(struct storage_fault *fault, int file) {
  int before = errno;
  bool is_concerned = concerns(fault, file);
  errno = before;
  if (!is_concerned) return 0;
  uint64_t number = atomic_fetch_add_explicit(&fault->calls, 1, memory_order_relaxed);
  if (mixed(number) >= fault->threshold) return 0;
  atomic_fetch_add_explicit(&fault->failed, 1, memory_order_relaxed);
  return (int)fault->error;
}

static inline int error_of(struct storage_fault *fault, int file) {
  return is_active(&fault->active) ? chosen(fault, file) : 0;
}

/* A function that returns `type` and sets errno: `call` in its place until the constructor has found the next one. */
#define INTERPOSED(type, name, parameters, arguments, call, fault)       \
  static type call_##name parameters { return (type)(call); }            \
  static type(*next_##name) parameters = call_##name;                    \
  EXPORTED type name parameters {                                        \
    int error = error_of(&control->fault, file);                         \
    if (__builtin_expect(error == 0, 1)) return next_##name arguments;   \
    errno = error;                                                       \
    return -1;                                                           \
  }

/* The kernel takes an offset in two halves here. */
#define HALVES(offset) (long)(offset), (long)((uint64_t)(offset) >> 32)

INTERPOSED(ssize_t, write, (int file, const void *data, size_t size), (file, data, size),
           syscall(SYS_write, file, data, size), writes)
INTERPOSED(ssize_t, pwrite, (int file, const void *data, size_t size, off_t offset), (file, data, size, offset),
           syscall(SYS_pwrite64, file, data, size, offset), writes)
INTERPOSED(ssize_t, pwrite64, (int file, const void *data, size_t size, off64_t offset), (file, data, size, offset),
           syscall(SYS_pwrite64, file, data, size, offset), writes)
INTERPOSED(ssize_t, writev, (int file, const struct iovec *parts, int count), (file, parts, count),
           syscall(SYS_writev, file, parts, count), writes)
INTERPOSED(ssize_t, pwritev, (int file, const struct iovec *parts, int count, off_t offset),
           (file, parts, count, offset), syscall(SYS_pwritev, file, parts, count, HALVES(offset)), writes)
INTERPOSED(ssize_t, pwritev64, (int file, const struct iovec *parts, int count, off64_t offset),
           (file, parts, count, offset), syscall(SYS_pwritev, file, parts, count, HALVES(offset)), writes)
INTERPOSED(ssize_t, pwritev2, (int file, const struct iovec *parts, int count, off_t offset, int flags),
           (file, parts, count, offset, flags), syscall(SYS_pwritev2, file, parts, count, HALVES(offset), flags),
           writes)
INTERPOSED(ssize_t, pwritev64v2, (int file, const struct iovec *parts, int count, off64_t offset, int flags),
           (file, parts, count, offset, flags), syscall(SYS_pwritev2, file, parts, count, HALVES(offset), flags),
           writes)
INTERPOSED(int, fallocate, (int file, int mode, off_t offset, off_t size), (file, mode, offset, size),
           syscall(SYS_fallocate, file, mode, offset, size), writes)
INTERPOSED(int, fallocate64, (int file, int mode, off64_t offset, off64_t size), (file, mode, offset, size),
           syscall(SYS_fallocate, file, mode, offset, size), writes)
INTERPOSED(int, fsync, (int file), (file), syscall(SYS_fsync, file), flushes)
INTERPOSED(int, fdatasync, (int file), (file), syscall(SYS_fdatasync, file), flushes)
INTERPOSED(int, syncfs, (int file), (file), syscall(SYS_syncfs, file), flushes)

/* These two return the error. */
#define INTERPOSED_FALLOCATE(name, offset_type)                                                    \
  static int call_##name(int file, offset_type offset, offset_type size) {                         \
    int before = errno;                                                                            \
    int error = syscall(SYS_fallocate, file, 0, offset, size) == 0 ? 0 : errno;                    \
    errno = before;                                                                                \
    return error;                                                                                  \
  }                                                                                                \
  static int (*next_##name)(int, offset_type, offset_type) = call_##name;                          \
  EXPORTED int name(int file, offset_type offset, offset_type size) {                              \
    int error = error_of(&control->writes, file);                                                  \
    return error == 0 ? next_##name(file, offset, size) : error;                                   \
  }

INTERPOSED_FALLOCATE(posix_fallocate, off_t)
INTERPOSED_FALLOCATE(posix_fallocate64, off64_t)

void find_storage_functions(void) {
  void *function;
#define FIND(name) \
  if ((function = dlsym(RTLD_NEXT, #name)) != NULL) next_##name = function
  FIND(write);
  FIND(pwrite);
  FIND(pwrite64);
  FIND(writev);
  FIND(pwritev);
  FIND(pwritev64);
  FIND(pwritev2);
  FIND(pwritev64v2);
  FIND(fallocate);
  FIND(fallocate64);
  FIND(posix_fallocate);
  FIND(posix_fallocate64);
  FIND(fsync);
  FIND(fdatasync);
  FIND(syncfs);
}
