/* Times contractions that call a BLAS library from C, in the order of the
 * operations of bench/contraction.
 *
 *   cc -O2 -o contraction contraction.c -ldl
 *   ./contraction LIBRARY batched TYPE N [CORETYPE]   1024 products of N×N
 *   ./contraction LIBRARY bytes TYPE N [CORETYPE]     sums of arrays of as many bytes
 *   ./contraction LIBRARY chain BOND [CORETYPE]       the overlap of two matrix
 *                                                     product states of 32 sites
 *
 * LIBRARY is the path of the shared library, TYPE one of s, d, c, z. For each
 * line of its input the program takes one sample of some 3 ms and prints the
 * time of one contraction in nanoseconds. One thread, LP64 integers. */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

typedef void gemm_fn(const char *, const char *, const int *, const int *, const int *,
                     const void *, const void *, const int *, const void *, const int *,
                     const void *, void *, const int *, size_t, size_t);

enum { members = 1024, sites = 32, spin = 2 };

static gemm_fn *gemm;
static const void *one, *zero;
static size_t size;
static int n;
static char *x[3], *state[2], *left, *mid;

static const double warm = 1e6; /* ns of calls before a sample */

static double now(void) {
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1e9 + t.tv_nsec;
}

static void batched(void) {
	size_t step = size * n * n;
	for (size_t i = 0; i < members; i++)
		gemm("N", "N", &n, &n, &n, one, x[1] + i * step, &n, x[0] + i * step, &n, zero, x[2] + i * step, &n, 1, 1);
}

/* As many bytes as the products read and write, added up: what memory allows. */
static void bytes(void) {
	typedef float vector __attribute__((vector_size(64), aligned(64)));
	size_t count = size * n * n * members / sizeof(vector);
	const vector *a = (const vector *)x[0], *b = (const vector *)x[1];
	vector *c = (vector *)x[2];
	for (size_t i = 0; i < count; i++)
		c[i] = a[i] + b[i];
}

/* Row-major, with E the environment, A and B the tensors of a site:
 * T[a,(s,b')] = E[a,b] B[b,(s,b')], then E[a',b'] = A[(a,s),a'] T[(a,s),b']. */
static void chain(void) {
	int wide = spin * n;
	size_t step = size * n * spin * n;
	const char *e = left;
	for (int i = 0; i < sites; i++) {
		char *to = i % 2 ? x[1] : x[0];
		gemm("N", "N", &wide, &n, &n, one, state[1] + i * step, &wide, e, &n, zero, mid, &wide, 1, 1);
		gemm("N", "T", &n, &n, &wide, one, mid, &n, state[0] + i * step, &n, zero, to, &n, 1, 1);
		e = to;
	}
}

/* Numbers of a size that keeps a chain's values near 1. */
static char *fill(size_t count, double scale) {
	char *p = aligned_alloc(64, (count * size + 63) / 64 * 64);
	if (!p)
		exit(1);
	unsigned long long s = 88172645463325252ull;
	memset(p, 0, count * size);
	for (size_t i = 0; i < count; i++) {
		s ^= s << 13, s ^= s >> 7, s ^= s << 17;
		double v = ((double)(s >> 11) / 9007199254740992.0 + 0.5) * scale;
		if (*(const float *)one == 1)
			*(float *)(p + i * size) = (float)v;
		else
			*(double *)(p + i * size) = v;
	}
	return p;
}

int main(int argc, char **argv) {
	int is_chain = argc > 2 && !strcmp(argv[2], "chain");
	int used = is_chain ? 4 : 5;
	if (argc < used) {
		fprintf(stderr, "usage: %s library batched|bytes type n [coretype] | library chain bond [coretype]\n", argv[0]);
		return 2;
	}
	char type = is_chain ? 'z' : argv[3][0];
	n = atoi(argv[used - 1]);
	if (!strchr("sdcz", type) || n < 1)
		return 2;
	setenv("OPENBLAS_NUM_THREADS", "1", 1);
	if (argc > used && argv[used][0])
		setenv("OPENBLAS_CORETYPE", argv[used], 1);
	void *lib = dlopen(argv[1], RTLD_NOW | RTLD_LOCAL);
	char name[16];
	snprintf(name, sizeof name, "%cgemm_", type);
	if (!lib || !(gemm = (gemm_fn *)dlsym(lib, name))) {
		fprintf(stderr, "%s: %s\n", argv[0], dlerror());
		return 1;
	}
	static float sone[2] = {1, 0};
	static double done[2] = {1, 0}, none[2] = {0, 0};
	int single = type == 's' || type == 'c';
	one = single ? (void *)sone : (void *)done, zero = none;
	size = (single ? 4 : 8) * (type == 'c' || type == 'z' ? 2 : 1);
	size_t square = (size_t)n * n;
	if (is_chain) {
		left = fill(square, 1), mid = fill(square * spin, 1), x[0] = fill(square, 1), x[1] = fill(square, 1);
		for (int k = 0; k < 2; k++)
			state[k] = fill(square * spin * sites, 1.0 / n);
	} else
		for (int k = 0; k < 3; k++)
			x[k] = fill(square * members, 1);
	void (*f)(void) = is_chain ? chain : !strcmp(argv[2], "bytes") ? bytes : batched;
	long calls = 1;
	for (;;) {
		double t = now();
		for (long i = 0; i < calls; i++)
			f();
		if (now() - t > 2e6)
			break;
		calls *= 2;
	}
	for (int ch; (ch = getchar()) != EOF;) {
		if (ch != '\n')
			continue;
		double t = now();
		do
			f();
		while (now() - t < warm);
		t = now();
		for (long i = 0; i < calls; i++)
			f();
		printf("%.2f\n", (now() - t) / calls);
		fflush(stdout);
	}
	return 0;
}
