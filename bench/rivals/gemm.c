/* Times the matrix product of a BLAS library called from C.
 *
 *   cc -O2 -o gemm gemm.c -ldl
 *   ./gemm LIBRARY TYPE N [CORETYPE [PLUS]]
 *
 * LIBRARY is the path of the shared library, TYPE one of s, d, c, z, N the
 * order of the square matrices. For each line of its input the program takes
 * one sample, of enough calls for some 3 ms after a millisecond of calls (unless one is long),
 * and prints the time of one call in nanoseconds, plus PLUS. CORETYPE, if given
 * and not empty, goes into OPENBLAS_CORETYPE before the library loads. One
 * thread, LP64 integers. */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

typedef void gemm_fn(const char *, const char *, const int *, const int *, const int *,
                     const void *, const void *, const int *, const void *, const int *,
                     const void *, void *, const int *, size_t, size_t);

static const double warm = 1e6; /* ns of calls before a sample */

static double now(void) {
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1e9 + t.tv_nsec;
}

static void fill(void *p, size_t reals, int single) {
	unsigned long long s = 88172645463325252ull;
	for (size_t i = 0; i < reals; i++) {
		s ^= s << 13, s ^= s >> 7, s ^= s << 17;
		double v = (double)(s >> 11) / 9007199254740992.0 - 0.5;
		if (single)
			((float *)p)[i] = (float)v;
		else
			((double *)p)[i] = v;
	}
}

int main(int argc, char **argv) {
	if (argc < 4) {
		fprintf(stderr, "usage: %s library s|d|c|z n [coretype [plus]]\n", argv[0]);
		return 2;
	}
	char type = argv[2][0];
	int n = atoi(argv[3]);
	if (!strchr("sdcz", type) || argv[2][1] || n < 1) {
		fprintf(stderr, "%s: bad type or n\n", argv[0]);
		return 2;
	}
	setenv("OPENBLAS_NUM_THREADS", "1", 1);
	setenv("MKL_NUM_THREADS", "1", 1);
	setenv("BLIS_NUM_THREADS", "1", 1);
	if (argc > 4 && argv[4][0])
		setenv("OPENBLAS_CORETYPE", argv[4], 1);
	double plus = argc > 5 ? atof(argv[5]) : 0;
	void *lib = dlopen(argv[1], RTLD_NOW | RTLD_LOCAL);
	if (!lib) {
		fprintf(stderr, "%s: %s\n", argv[0], dlerror());
		return 1;
	}
	char name[16];
	snprintf(name, sizeof name, "%cgemm_", type);
	gemm_fn *gemm = (gemm_fn *)dlsym(lib, name);
	if (!gemm) {
		fprintf(stderr, "%s: %s\n", argv[0], dlerror());
		return 1;
	}
	int single = type == 's' || type == 'c', cplx = type == 'c' || type == 'z';
	size_t reals = (size_t)n * n * (cplx ? 2 : 1), bytes = reals * (single ? 4 : 8);
	void *a = aligned_alloc(64, (bytes + 63) / 64 * 64), *b = aligned_alloc(64, (bytes + 63) / 64 * 64);
	void *c = aligned_alloc(64, (bytes + 63) / 64 * 64);
	if (!a || !b || !c) {
		fprintf(stderr, "%s: out of memory\n", argv[0]);
		return 1;
	}
	fill(a, reals, single), fill(b, reals, single), fill(c, reals, single);
	float sone[2] = {1, 0}, szero[2] = {0, 0};
	double done[2] = {1, 0}, dzero[2] = {0, 0};
	const void *one = single ? (void *)sone : (void *)done, *zero = single ? (void *)szero : (void *)dzero;
#define CALL() gemm("N", "N", &n, &n, &n, one, a, &n, b, &n, zero, c, &n, 1, 1)
	CALL();
	long calls = 1;
	double took;
	for (;; calls *= 2) { /* enough calls for a sample */
		double t = now();
		for (long i = 0; i < calls; i++)
			CALL();
		if ((took = now() - t) > 2e6)
			break;
	}
	for (int ch; (ch = getchar()) != EOF;) {
		if (ch != '\n')
			continue;
		double t = now();
		if (took < 200e6)
			do
				CALL();
			while (now() - t < warm);
		t = now();
		for (long i = 0; i < calls; i++)
			CALL();
		printf("%.2f\n", (now() - t) / calls + plus);
		fflush(stdout);
	}
	return 0;
}
