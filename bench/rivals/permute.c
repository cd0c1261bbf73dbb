/* Times permutations of float64 tensors written for the cache.
 *
 *   cc -O3 -march=native -o permute permute.c
 *   ./permute reverse BASE RANK     reversed axes of a tensor of BASE^RANK elements
 *   ./permute copy ELEMENTS         a copy
 *
 * For each line of its input the program takes one sample and prints the time
 * of one call in nanoseconds. One thread.
 *
 * A tensor of two or three long axes is transposed in tiles. One of many short
 * axes is taken as digits: with a the first and c the last few digits of an
 * index, and b those between, the tiles of all a and c at one b are
 * transposed by way of a buffer, after L. Carter and K. S. Gatlin, Towards an
 * optimal bit-reversal permutation program (1998). */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static size_t base, rank, n;
static double *src, *dst;

static double now(void) {
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1e9 + t.tv_nsec;
}

static void copy(void) { memcpy(dst, src, n * sizeof(double)); }

#define TILE 32
static void tiles(size_t rows, size_t cols, const double *in, size_t ldin, double *out, size_t ldout) {
	for (size_t i = 0; i < rows; i += TILE)
		for (size_t j = 0; j < cols; j += TILE)
			for (size_t y = j; y < j + TILE && y < cols; y++)
				for (size_t x = i; x < i + TILE && x < rows; x++)
					out[y * ldout + x] = in[x * ldin + y];
}

static void reverse2(void) { tiles(base, base, src, base, dst, base); }

static void reverse3(void) {
	for (size_t j = 0; j < base; j++)
		tiles(base, base, src + j * base, base * base, dst + j * base, base * base);
}

static size_t reversed(size_t x, size_t digits) {
	size_t r = 0;
	while (digits--)
		r = r * base + x % base, x /= base;
	return r;
}

static size_t q, edge, middle, *rev;
static double *buffer;

static void digits(void) {
	for (size_t b = 0; b < middle; b++) {
		size_t rb = reversed(b, rank - 2 * q);
		for (size_t a = 0; a < edge; a++) {
			const double *in = src + (a * middle + b) * edge;
			double *row = buffer + rev[a] * edge;
			for (size_t c = 0; c < edge; c++)
				row[c] = in[c];
		}
		for (size_t c = 0; c < edge; c++) {
			double *out = dst + (rev[c] * middle + rb) * edge;
			for (size_t a = 0; a < edge; a++)
				out[a] = buffer[a * edge + c];
		}
	}
}

int main(int argc, char **argv) {
	void (*f)(void) = copy;
	if (argc == 3 && strcmp(argv[1], "copy") == 0) {
		n = strtoull(argv[2], 0, 10);
	} else if (argc == 4 && strcmp(argv[1], "reverse") == 0) {
		base = strtoull(argv[2], 0, 10), rank = strtoull(argv[3], 0, 10);
		n = 1;
		for (size_t i = 0; i < rank; i++)
			n *= base;
		f = rank == 2 ? reverse2 : rank == 3 ? reverse3 : digits;
		edge = 1;
		while (rank > 3 && edge * base <= 81 && 2 * (q + 1) <= rank)
			edge *= base, q++;
		middle = n / edge / edge;
		rev = malloc(edge * sizeof *rev);
		for (size_t i = 0; i < edge; i++)
			rev[i] = reversed(i, q);
		buffer = aligned_alloc(64, (edge * edge * sizeof(double) + 63) / 64 * 64);
	} else {
		fprintf(stderr, "usage: permute reverse BASE RANK | copy ELEMENTS\n");
		return 2;
	}
	src = aligned_alloc(64, (n * sizeof(double) + 63) / 64 * 64);
	dst = aligned_alloc(64, (n * sizeof(double) + 63) / 64 * 64);
	for (size_t i = 0; i < n; i++)
		src[i] = (double)i, dst[i] = 0;
	f();
	if (f == digits || rank > 0)
		for (size_t i = 0; i < n; i += n / 1000 + 1)
			if (dst[reversed(i, rank)] != (double)i) {
				fprintf(stderr, "permute: wrong element %zu\n", i);
				return 1;
			}
	char line[64];
	for (size_t calls = 1; fgets(line, sizeof line, stdin);) {
		for (;;) {
			double start = now();
			for (size_t i = 0; i < calls; i++)
				f();
			double d = now() - start;
			if (d > 3e6) {
				printf("%.1f\n", d / calls);
				fflush(stdout);
				break;
			}
			calls *= 2;
		}
	}
	return 0;
}
