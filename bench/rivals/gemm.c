/* Times the matrix product of a BLAS library called from C.
 *
 *   cc -O2 -o gemm gemm.c -ldl
 *   ./gemm LIBRARY TYPE N [REPEATS [CORETYPE]]
 *
 * LIBRARY is the path of the shared library, TYPE one of s, d, c, z, N the
 * order of the square matrices. REPEATS (default 15) samples are taken, each of
 * enough calls for about 20 ms; printed is the median time of one call in
 * nanoseconds, the least and the greatest. CORETYPE, if given, goes into
 * OPENBLAS_CORETYPE before the library loads. One thread, LP64 integers. */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

typedef void gemm_fn(const char *, const char *, const int *, const int *, const int *,
                     const void *, const void *, const int *, const void *, const int *,
                     const void *, void *, const int *, size_t, size_t);

static double now(void) {
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1e9 + t.tv_nsec;
}

static int ascending(const void *x, const void *y) {
	double a = *(const double *)x, b = *(const double *)y;
	return (a > b) - (a < b);
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
		fprintf(stderr, "usage: %s library s|d|c|z n [repeats [coretype]]\n", argv[0]);
		return 2;
	}
	char type = argv[2][0];
	int n = atoi(argv[3]), repeats = argc > 4 ? atoi(argv[4]) : 15;
	if (!strchr("sdcz", type) || argv[2][1] || n < 1 || repeats < 1) {
		fprintf(stderr, "%s: bad type, n or repeats\n", argv[0]);
		return 2;
	}
	setenv("OPENBLAS_NUM_THREADS", "1", 1);
	setenv("MKL_NUM_THREADS", "1", 1);
	setenv("BLIS_NUM_THREADS", "1", 1);
	if (argc > 5 && argv[5][0])
		setenv("OPENBLAS_CORETYPE", argv[5], 1);
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
	double *sample = malloc(repeats * sizeof *sample);
	if (!a || !b || !c || !sample) {
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
	for (;;) { /* enough calls for a sample; also warms up */
		double t = now();
		for (long i = 0; i < calls; i++)
			CALL();
		if (now() - t > 10e6)
			break;
		calls *= 2;
	}
	for (int r = 0; r < repeats; r++) {
		double t = now();
		for (long i = 0; i < calls; i++)
			CALL();
		sample[r] = (now() - t) / calls;
	}
	qsort(sample, repeats, sizeof *sample, ascending);
	printf("%.1f %.1f %.1f\n", sample[repeats / 2], sample[0], sample[repeats - 1]);
	return 0;
}
