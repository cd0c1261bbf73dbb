/* What the machine gives a second thread in one matrix product: halves of the rows,
 * each a call of a BLAS library from a thread of its own. The second watches for a
 * millisecond after its half, then sleeps.
 *
 *   cc -O2 -pthread -o split split.c -ldl
 *   ./split LIBRARY TYPE N CORETYPE THREADS          for each line of its input the time
 *                                                    of a product in nanoseconds
 *   ./split LIBRARY TYPE N CORETYPE THREADS COUNT    the same for COUNT products, one after the other
 *   ./split LIBRARY TYPE N CORETYPE THREADS tail     once, p99 / median of 500 products
 *
 * LIBRARY is the path of the shared library, TYPE one of s, d, c, z, THREADS 1 or 2;
 * CORETYPE goes into OPENBLAS_CORETYPE before the library loads. LP64 integers. */
#include <dlfcn.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

typedef void gemm_fn(const char *, const char *, const int *, const int *, const int *,
                     const void *, const void *, const int *, const void *, const int *,
                     const void *, void *, const int *, size_t, size_t);

enum { products = 500 };

static gemm_fn *gemm;
static const void *one, *zero;
static char *a, *b, *c;
static int n, threads, count = 1;
static size_t size;
static atomic_long turn, done;
static atomic_int asleep;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t bell = PTHREAD_COND_INITIALIZER;

static const double warm = 1e6; /* ns of calls before a sample */

static double now(void) {
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1e9 + t.tv_nsec;
}

/* Columns lo … hi of the column-major C = A·B, which are rows to who stores them so. */
static void part(int lo, int hi) {
	int w = hi - lo;
	gemm("N", "N", &n, &w, &n, one, a, &n, b + size * n * lo, &n, zero, c + size * n * lo, &n, 1, 1);
}

static void await(long seen) {
	for (double from = now(); now() - from < 1e6;)
		if (atomic_load(&turn) != seen)
			return;
	pthread_mutex_lock(&lock);
	atomic_store(&asleep, 1);
	while (atomic_load(&turn) == seen)
		pthread_cond_wait(&bell, &lock);
	atomic_store(&asleep, 0);
	pthread_mutex_unlock(&lock);
}

static void *second(void *unused) {
	for (long seen = 0;; atomic_store(&done, seen)) {
		await(seen++);
		part(n / 2, n);
	}
	return unused;
}

static void product(void) {
	if (threads == 1) {
		part(0, n);
		return;
	}
	long mine = atomic_fetch_add(&turn, 1) + 1;
	if (atomic_load(&asleep)) {
		pthread_mutex_lock(&lock);
		pthread_cond_signal(&bell);
		pthread_mutex_unlock(&lock);
	}
	part(0, n / 2);
	while (atomic_load(&done) != mine)
		;
}

static void call(void) {
	for (int i = 0; i < count; i++)
		product();
}

static char *fill(int single, int is_complex) {
	size_t reals = (size_t)n * n * (is_complex ? 2 : 1), bytes = reals * (single ? 4 : 8);
	char *p = aligned_alloc(64, (bytes + 63) / 64 * 64);
	if (!p)
		exit(1);
	for (size_t i = 0; i < reals; i++)
		if (single)
			((float *)p)[i] = 0.5f + i % 7;
		else
			((double *)p)[i] = 0.5 + i % 7;
	return p;
}

static int ascending(const void *x, const void *y) {
	double d = *(const double *)x - *(const double *)y;
	return (d > 0) - (d < 0);
}

static void tail(void) {
	static double took[products];
	for (int i = 0; i < products; i++) {
		double t = now();
		product();
		took[i] = now() - t;
	}
	qsort(took, products, sizeof *took, ascending);
	printf("%.4f\n", took[products * 99 / 100] / took[products / 2]);
}

int main(int argc, char **argv) {
	if (argc < 6 || !strchr("sdcz", argv[2][0]) || (n = atoi(argv[3])) < 2 || (threads = atoi(argv[5])) < 1 || threads > 2) {
		fprintf(stderr, "usage: %s library s|d|c|z n coretype 1|2 [tail|count]\n", argv[0]);
		return 2;
	}
	setenv("OPENBLAS_NUM_THREADS", "1", 1);
	setenv("OPENBLAS_CORETYPE", argv[4], 1);
	void *lib = dlopen(argv[1], RTLD_NOW | RTLD_LOCAL);
	char name[16];
	snprintf(name, sizeof name, "%cgemm_", argv[2][0]);
	if (!lib || !(gemm = (gemm_fn *)dlsym(lib, name))) {
		fprintf(stderr, "%s: %s\n", argv[0], dlerror());
		return 1;
	}
	int single = argv[2][0] == 's' || argv[2][0] == 'c', is_complex = argv[2][0] == 'c' || argv[2][0] == 'z';
	static float sone[2] = {1, 0};
	static double done_one[2] = {1, 0}, none[2] = {0, 0};
	one = single ? (void *)sone : (void *)done_one, zero = none;
	size = (single ? 4 : 8) * (is_complex ? 2 : 1);
	a = fill(single, is_complex), b = fill(single, is_complex), c = fill(single, is_complex);
	pthread_t t;
	if (threads == 2 && pthread_create(&t, NULL, second, NULL))
		return 1;
	product();
	if (argc > 6 && (count = atoi(argv[6])) < 1) {
		tail();
		return 0;
	}
	long calls = 1;
	for (;; calls *= 2) { /* enough calls for a sample */
		double from = now();
		for (long i = 0; i < calls; i++)
			call();
		if (now() - from > 2e6)
			break;
	}
	for (int ch; (ch = getchar()) != EOF;) {
		if (ch != '\n')
			continue;
		double from = now();
		do
			call();
		while (now() - from < warm);
		from = now();
		for (long i = 0; i < calls; i++)
			call();
		printf("%.2f\n", (now() - from) / calls);
		fflush(stdout);
	}
	return 0;
}
