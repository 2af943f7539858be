/* Nanoseconds of CPU time per call: preload_calls clock COUNT, or preload_calls pwrite COUNT FILE. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

static double cpu_ns(void) {
  struct timespec now;
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
  return (double)now.tv_sec * 1e9 + (double)now.tv_nsec;
}

int main(int count, char **words) {
  if (count < 3) return 2;
  long calls = atol(words[2]);
  static char page[8192];
  struct timespec now;
  int file = -1;
  if (strcmp(words[1], "pwrite") == 0) {
    file = count > 3 ? open(words[3], O_RDWR | O_CREAT, 0600) : -1;
    if (file < 0) return 3;
  }
  double began = cpu_ns();
  for (long call = 0; call < calls; call++) {
    if (file < 0) {
      clock_gettime(CLOCK_REALTIME, &now);
    } else if (pwrite(file, page, sizeof page, call % 64 * (long)sizeof page) != sizeof page) {
      return 4;
    }
  }
  printf("%.3f\n", (cpu_ns() - began) / (double)calls);
  return 0;
}
