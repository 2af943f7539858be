/* Faults of the processes that load this library (LD_PRELOAD), and the file that controls them.
 *
 * The file is mapped by each of these processes. loadcell writes it: src/loadcell/linux/fault_control.py has the same
 * layout. A writer sets the fields of a fault while it is not active, and `active` last. */
#ifndef LOADCELL_CONTROL_H
#define LOADCELL_CONTROL_H

#define _GNU_SOURCE
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define CONTROL_MAGIC UINT64_C(0x31746c75616663) /* "cfault1" */
#define CONTROL_BYTES 4096
#define MOST_DIRECTORY_BYTES 1024

/* CLOCK_REALTIME is shifted by `shift_ns`: at once, or evenly within `over_ns` from `start_ns` (CLOCK_MONOTONIC). */
struct clock_fault {
  _Atomic uint64_t active;
  int64_t shift_ns;
  int64_t start_ns;
  int64_t over_ns;
  _Atomic uint64_t read; /* 1 once a process has read the shifted clock */
};

/* Calls on files at or below `directory` fail with errno `error`, with the probability `threshold` / 2^32. */
struct storage_fault {
  _Atomic uint64_t active;
  uint64_t error;
  uint64_t threshold;
  uint64_t directory_bytes;
  _Atomic uint64_t calls; /* calls on such files while it is active */
  _Atomic uint64_t failed; /* those of them that failed */
  char directory[MOST_DIRECTORY_BYTES];
};

struct control {
  uint64_t magic;
  uint64_t reserved[7];
  union {
    struct clock_fault clock;
    char line[448];
  };
  union {
    struct storage_fault writes;
    char writes_area[1536];
  };
  union {
    struct storage_fault flushes;
    char flushes_area[1536];
  };
};
_Static_assert(offsetof(struct control, clock) == 64, "as in fault_control.py");
_Static_assert(offsetof(struct control, writes) == 512, "as in fault_control.py");
_Static_assert(offsetof(struct control, flushes) == 2048, "as in fault_control.py");
_Static_assert(sizeof(struct control) <= CONTROL_BYTES, "a page");

/* The mapped file; all zero until the library's constructor has run, and in a process without the file. */
__attribute__((visibility("hidden"))) extern struct control *control;

/* Whether a fault is active: the only cost while none is. */
static inline bool is_active(_Atomic uint64_t *active) {
  if (__builtin_expect(atomic_load_explicit(active, memory_order_relaxed) == 0, 1)) return false;
  atomic_thread_fence(memory_order_acquire); /* for the fault's fields */
  return true;
}

/* Find the functions of the C library. Until then system calls take their place, because what finds them must not
 * be called from within them. */
__attribute__((visibility("hidden"))) void find_clock_functions(void);
__attribute__((visibility("hidden"))) void find_storage_functions(void);

#define EXPORTED __attribute__((visibility("default")))

#endif
