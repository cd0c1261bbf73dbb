/* What a call costs here that takes a lock, compares three descriptions of four
 * words, adds two elements through a pointer to a function, and gives the lock
 * back: the form of an engine's run of a small operation.
 *
 * For each line of its input it prints the time of one call in nanoseconds. */
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

struct tensor {
  uint64_t spec[4];
  double *data;
};
struct kernel {
  uint64_t spec[3][4];
  void (*row)(double *, const double *, const double *, long);
  long n;
};

static atomic_int busy;

static double now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return t.tv_sec * 1e9 + t.tv_nsec;
}

__attribute__((noinline)) static void add(double *d, const double *x, const double *y, long n) {
  for (long i = 0; i < n; i++) d[i] = x[i] + y[i];
}

__attribute__((noinline)) static int run(const struct kernel *k, struct tensor *const *t) {
  int idle = 0, bad = 0;
  if (!atomic_compare_exchange_strong(&busy, &idle, 1)) return 1;
  for (int i = 0; i < 3; i++) bad |= memcmp(t[i]->spec, k->spec[i], sizeof k->spec[i]);
  if (!bad) k->row(t[0]->data, t[1]->data, t[2]->data, k->n);
  atomic_store(&busy, 0);
  return bad;
}

int main(void) {
  double v[3][2] = {{0, 0}, {1, 2}, {3, 4}};
  struct tensor a = {{5, 0, 7, 0}, v[0]}, b = {{5, 0, 7, 0}, v[1]}, c = {{5, 0, 7, 0}, v[2]};
  struct tensor *volatile all[3] = {&a, &b, &c};
  struct kernel k = {{{5, 0, 7, 0}, {5, 0, 7, 0}, {5, 0, 7, 0}}, add, 2};
  char line[16];
  while (fgets(line, sizeof line, stdin)) {
    const long calls = 100000;
    double start = now();
    for (long i = 0; i < calls; i++) {
      struct tensor *t[3] = {all[0], all[1], all[2]};
      if (run(&k, t)) return 1;
    }
    printf("%.1f\n", (now() - start) / calls);
    fflush(stdout);
  }
  return 0;
}
