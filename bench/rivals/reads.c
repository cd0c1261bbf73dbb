/* Loops over 10^6 float64 that wait for memory and for nothing else:
 *
 *     reads sum|max
 *
 * For each line of its input it prints the time of one call in nanoseconds. */
#define _GNU_SOURCE
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>

enum { N = 1000000 };
static double *x;
static volatile double result;

static double now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return t.tv_sec * 1e9 + t.tv_nsec;
}

/* Four vectors at a time: one alone waits for its own last step. */
typedef double vector __attribute__((vector_size(64)));
typedef long lanes __attribute__((vector_size(64)));
enum { LANES = 8, STEP = 4 * LANES };

static void sum(void) {
  vector s[4] = {{0}};
  for (long i = 0; i < N; i += STEP)
    for (int k = 0; k < 4; k++) s[k] += *(vector *)(x + i + k * LANES);
  vector all = (s[0] + s[1]) + (s[2] + s[3]);
  double r = 0;
  for (int k = 0; k < LANES; k++) r += all[k];
  result = r;
}

static vector greater(vector a, vector b) {
  lanes first = a > b;
  return (vector)(((lanes)a & first) | ((lanes)b & ~first));
}

static void max(void) {
  vector m[4];
  for (int k = 0; k < 4; k++) m[k] = *(vector *)(x + k * LANES);
  for (long i = 0; i < N; i += STEP)
    for (int k = 0; k < 4; k++) m[k] = greater(*(vector *)(x + i + k * LANES), m[k]);
  vector all = greater(greater(m[0], m[1]), greater(m[2], m[3]));
  double r = all[0];
  for (int k = 1; k < LANES; k++) r = all[k] > r ? all[k] : r;
  result = r;
}

static void *wide(size_t bytes) { /* in large pages, as numpy's arrays and the engine's lie */
  size_t page = 2 << 20;
  void *p = aligned_alloc(page, (bytes + page - 1) / page * page);
  if (!p) exit(1);
  madvise(p, bytes, MADV_HUGEPAGE);
  return p;
}

int main(int argc, char **argv) {
  const char *name = argc == 2 ? argv[1] : "";
  void (*f)(void) = !strcmp(name, "sum") ? sum : !strcmp(name, "max") ? max : NULL;
  if (!f) {
    fprintf(stderr, "usage: reads sum|max\n");
    return 2;
  }
  x = wide(N * sizeof *x);
  for (long i = 0; i < N; i++) x[i] = rand() / (double)RAND_MAX;
  char line[16];
  while (fgets(line, sizeof line, stdin)) {
    long calls = 0;
    double start = now(), took;
    do {
      f(), calls++;
      __asm__ volatile("" ::: "memory");
    } while ((took = now() - start) < 3e6);
    printf("%.1f\n", took / calls);
    fflush(stdout);
  }
  return 0;
}
