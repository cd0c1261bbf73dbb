/* What the machine gives a second thread: a polynomial of 18 steps, about what an
 * exponential takes, of 4·10^6 float64 into another array, past the caches where the
 * compiler knows how.
 *
 *     workers THREADS      THREADS: 1 or 2
 *
 * For each line of its input it prints the time of one pass in nanoseconds. */
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#ifdef __AVX512F__
#include <immintrin.h>
#endif

enum { N = 4000000, STEPS = 18 };
static double *x, *out;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t bell = PTHREAD_COND_INITIALIZER;
static int turn;
static atomic_int done;

static double now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return t.tv_sec * 1e9 + t.tv_nsec;
}

static void part(long lo, long hi) {
#ifdef __AVX512F__
  for (long i = lo; i < hi; i += 32) { /* four vectors at a time */
    __m512d a[4], r[4];
    for (int v = 0; v < 4; v++) a[v] = _mm512_load_pd(x + i + 8 * v), r[v] = _mm512_set1_pd(1e-9);
#pragma GCC unroll 18
    for (int k = 0; k < STEPS; k++)
      for (int v = 0; v < 4; v++) r[v] = _mm512_fmadd_pd(r[v], a[v], _mm512_set1_pd(0.1 + k));
    for (int v = 0; v < 4; v++) _mm512_stream_pd(out + i + 8 * v, r[v]);
  }
  _mm_sfence();
#else
  for (long i = lo; i < hi; i++) {
    double r = 1e-9;
    for (int k = 0; k < STEPS; k++) r = r * x[i] + (0.1 + k);
    out[i] = r;
  }
#endif
}

static void *second(void *unused) {
  for (int seen = 0;;) {
    pthread_mutex_lock(&lock);
    while (turn == seen) pthread_cond_wait(&bell, &lock);
    seen = turn;
    pthread_mutex_unlock(&lock);
    part(N / 2, N);
    atomic_store(&done, seen);
  }
  return unused;
}

int main(int argc, char **argv) {
  int threads = argc == 2 ? atoi(argv[1]) : 0;
  if (threads != 1 && threads != 2) {
    fprintf(stderr, "usage: workers 1|2\n");
    return 2;
  }
  x = aligned_alloc(64, N * sizeof *x);
  out = aligned_alloc(64, N * sizeof *out);
  if (!x || !out) return 1;
  for (long i = 0; i < N; i++) x[i] = 0.5, out[i] = 0;
  pthread_t t;
  if (threads == 2 && pthread_create(&t, NULL, second, NULL)) return 1;
  char line[16];
  while (fgets(line, sizeof line, stdin)) {
    double start = now();
    if (threads == 2) {
      pthread_mutex_lock(&lock);
      int mine = ++turn;
      pthread_cond_signal(&bell);
      pthread_mutex_unlock(&lock);
      part(0, N / 2);
      while (atomic_load(&done) != mine) {}
    } else {
      part(0, N);
    }
    printf("%.1f\n", now() - start);
    fflush(stdout);
  }
  return 0;
}
