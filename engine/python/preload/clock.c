/* Shifts CLOCK_REALTIME of the process. CLOCK_MONOTONIC and all durations stay exact: a deadline by CLOCK_REALTIME is
 * translated to the host's clock before it is waited for. */
#include "control.h"

#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <semaphore.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

#define NS_PER_S INT64_C(1000000000)

static int call_clock_gettime(clockid_t clock, struct timespec *now) {
  return (int)syscall(SYS_clock_gettime, clock, now);
}

static int call_gettimeofday(struct timeval *now, void *zone) { return (int)syscall(SYS_gettimeofday, now, zone); }

static time_t call_time(time_t *seconds) {
  struct timespec now;
  if (call_clock_gettime(CLOCK_REALTIME, &now) != 0) return -1;
  if (seconds != NULL) *seconds = now.tv_sec;
  return now.tv_sec;
}

static int call_clock_nanosleep(clockid_t clock, int flags, const struct timespec *time, struct timespec *remaining) {
  int before = errno;
  int error = syscall(SYS_clock_nanosleep, clock, flags, time, remaining) == 0 ? 0 : errno;
  errno = before;
  return error;
}

static int (*next_clock_gettime)(clockid_t, struct timespec *) = call_clock_gettime;
static int (*next_gettimeofday)(struct timeval *, void *) = call_gettimeofday;
static time_t (*next_time)(time_t *) = call_time;
static int (*next_clock_nanosleep)(clockid_t, int, const struct timespec *, struct timespec *) = call_clock_nanosleep;
static int (*next_timespec_get)(struct timespec *, int);
static int (*next_cond_timedwait)(pthread_cond_t *, pthread_mutex_t *, const struct timespec *);
static int (*next_cond_clockwait)(pthread_cond_t *, pthread_mutex_t *, clockid_t, const struct timespec *);
static int (*next_mutex_timedlock)(pthread_mutex_t *, const struct timespec *);
static int (*next_sem_timedwait)(sem_t *, const struct timespec *);

/* Whether a condition variable tells by which clock it waits, as those of glibc 2.25 and later do (__wrefs). */
static bool tells_clock;
#define WAITS_BY_MONOTONIC 2U

static bool is_realtime(clockid_t clock) {
  return clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE || clock == CLOCK_REALTIME_ALARM ||
         clock == CLOCK_TAI;
}

/* The present shift; of an active fault. */
static int64_t shift_ns(void) {
  struct clock_fault *fault = &control->clock;
  if (fault->over_ns <= 0) return fault->shift_ns;
  struct timespec now;
  if (next_clock_gettime(CLOCK_MONOTONIC, &now) != 0) return fault->shift_ns;
  int64_t elapsed_ns = (int64_t)now.tv_sec * NS_PER_S + now.tv_nsec - fault->start_ns;
  if (elapsed_ns <= 0) return 0;
  if (elapsed_ns >= fault->over_ns) return fault->shift_ns;
  return (int64_t)((__int128)fault->shift_ns * elapsed_ns / fault->over_ns);
}

static void add(struct timespec *time, int64_t ns) {
  int64_t fraction = time->tv_nsec + ns % NS_PER_S;
  time->tv_sec += (time_t)(ns / NS_PER_S);
  if (fraction >= NS_PER_S) {
    fraction -= NS_PER_S;
    time->tv_sec += 1;
  } else if (fraction < 0) {
    fraction += NS_PER_S;
    time->tv_sec -= 1;
  }
  time->tv_nsec = (long)fraction;
}

static void shift(struct timespec *now) {
  struct clock_fault *fault = &control->clock;
  if (atomic_load_explicit(&fault->read, memory_order_relaxed) == 0)
    atomic_store_explicit(&fault->read, 1, memory_order_relaxed);
  add(now, shift_ns());
}

/* A deadline by the shifted clock as one by the host's; an invalid one stays so. */
static const struct timespec *translated(const struct timespec *deadline, struct timespec *copy) {
  if (deadline == NULL || deadline->tv_nsec < 0 || deadline->tv_nsec >= NS_PER_S) return deadline;
  *copy = *deadline;
  add(copy, -shift_ns());
  if (copy->tv_sec < 0) *copy = (struct timespec){0};
  return copy;
}

EXPORTED int clock_gettime(clockid_t clock, struct timespec *now) {
  if (!is_active(&control->clock.active)) return next_clock_gettime(clock, now);
  int result = next_clock_gettime(clock, now);
  if (result == 0 && is_realtime(clock)) shift(now);
  return result;
}

EXPORTED int gettimeofday(struct timeval *restrict now, void *restrict zone) {
  if (!is_active(&control->clock.active)) return next_gettimeofday(now, zone);
  int result = next_gettimeofday(now, zone);
  struct timeval *volatile given = now; /* declared to be there, which old programs ignore */
  struct timespec shifted;
  if (result != 0 || given == NULL || next_clock_gettime(CLOCK_REALTIME, &shifted) != 0) return result;
  shift(&shifted);
  now->tv_sec = shifted.tv_sec;
  now->tv_usec = shifted.tv_nsec / 1000;
  return result;
}

EXPORTED time_t time(time_t *seconds) {
  if (!is_active(&control->clock.active)) return next_time(seconds);
  struct timespec now;
  if (next_clock_gettime(CLOCK_REALTIME, &now) != 0) return -1;
  shift(&now);
  if (seconds != NULL) *seconds = now.tv_sec;
  return now.tv_sec;
}

EXPORTED int timespec_get(struct timespec *now, int base) {
  if (base == TIME_UTC) return clock_gettime(CLOCK_REALTIME, now) == 0 ? base : 0;
  return next_timespec_get == NULL ? 0 : next_timespec_get(now, base);
}

EXPORTED int clock_nanosleep(clockid_t clock, int flags, const struct timespec *time, struct timespec *remaining) {
  struct timespec copy;
  if (is_active(&control->clock.active) && (flags & TIMER_ABSTIME) != 0 && is_realtime(clock))
    time = translated(time, &copy);
  return next_clock_nanosleep(clock, flags, time, remaining);
}

static void *found(const char *name, const char *version) {
  void *function = version == NULL ? NULL : dlvsym(RTLD_NEXT, name, version);
  return function == NULL ? dlsym(RTLD_NEXT, name) : function;
}

/* The functions of threads: needed before the constructor only by a constructor of another library. */
static void find_wait_functions(void) {
  /* x86-64 has an older function of this name, for other condition variables. */
  next_cond_timedwait = found("pthread_cond_timedwait", "GLIBC_2.3.2");
  next_cond_clockwait = found("pthread_cond_clockwait", NULL);
  next_mutex_timedlock = found("pthread_mutex_timedlock", NULL);
  next_sem_timedwait = found("sem_timedwait", NULL);
}

EXPORTED int pthread_cond_timedwait(pthread_cond_t *restrict condition, pthread_mutex_t *restrict mutex,
                                    const struct timespec *restrict deadline) {
  struct timespec copy;
  if (next_cond_timedwait == NULL) find_wait_functions();
  if (next_cond_timedwait == NULL) return ENOSYS;
#ifdef __GLIBC__
  if (is_active(&control->clock.active) && tells_clock && (condition->__data.__wrefs & WAITS_BY_MONOTONIC) == 0)
    deadline = translated(deadline, &copy);
#endif
  return next_cond_timedwait(condition, mutex, deadline);
}

EXPORTED int pthread_cond_clockwait(pthread_cond_t *restrict condition, pthread_mutex_t *restrict mutex, clockid_t clock,
                                    const struct timespec *restrict deadline) {
  struct timespec copy;
  if (next_cond_clockwait == NULL) find_wait_functions();
  if (next_cond_clockwait == NULL) return ENOSYS;
  if (is_active(&control->clock.active) && is_realtime(clock)) deadline = translated(deadline, &copy);
  return next_cond_clockwait(condition, mutex, clock, deadline);
}

EXPORTED int pthread_mutex_timedlock(pthread_mutex_t *restrict mutex, const struct timespec *restrict deadline) {
  struct timespec copy;
  if (next_mutex_timedlock == NULL) find_wait_functions();
  if (next_mutex_timedlock == NULL) return ENOSYS;
  if (is_active(&control->clock.active)) deadline = translated(deadline, &copy);
  return next_mutex_timedlock(mutex, deadline);
}

EXPORTED int sem_timedwait(sem_t *restrict semaphore, const struct timespec *restrict deadline) {
  struct timespec copy;
  if (next_sem_timedwait == NULL) find_wait_functions();
  if (next_sem_timedwait == NULL) {
    errno = ENOSYS;
    return -1;
  }
  if (is_active(&control->clock.active)) deadline = translated(deadline, &copy);
  return next_sem_timedwait(semaphore, deadline);
}

/* Look whether a condition variable's mark of its clock is where it is expected. */
static bool clock_is_told(void) {
#ifdef __GLIBC__
  int (*init_attributes)(pthread_condattr_t *) = found("pthread_condattr_init", NULL);
  int (*set_clock)(pthread_condattr_t *, clockid_t) = found("pthread_condattr_setclock", NULL);
  int (*init)(pthread_cond_t *, const pthread_condattr_t *) = found("pthread_cond_init", "GLIBC_2.3.2");
  if (init_attributes == NULL || set_clock == NULL || init == NULL) return false;
  pthread_condattr_t attributes;
  pthread_cond_t by_monotonic, by_realtime;
  if (init_attributes(&attributes) != 0 || set_clock(&attributes, CLOCK_MONOTONIC) != 0) return false;
  if (init(&by_monotonic, &attributes) != 0 || init(&by_realtime, NULL) != 0) return false;
  return (by_monotonic.__data.__wrefs & WAITS_BY_MONOTONIC) != 0 &&
         (by_realtime.__data.__wrefs & WAITS_BY_MONOTONIC) == 0;
#else
  return false;
#endif
}

void find_clock_functions(void) {
  void *function;
  if ((function = found("clock_gettime", NULL)) != NULL) next_clock_gettime = function;
  if ((function = found("gettimeofday", NULL)) != NULL) next_gettimeofday = function;
  if ((function = found("time", NULL)) != NULL) next_time = function;
  if ((function = found("clock_nanosleep", NULL)) != NULL) next_clock_nanosleep = function;
  next_timespec_get = found("timespec_get", NULL);
  find_wait_functions();
  tells_clock = clock_is_told();
}
