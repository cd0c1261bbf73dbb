/* What the machine has to give a coordinator that naps while as many threads as cores compute: the twin of "farm reply".
 *
 *   reply ANSWERS STEPS THREADS NAP
 *
 * On rank 0 THREADS threads work on items of STEPS steps of arithmetic, one after the other, and one thread looks for requests, sleeps
 * for NAP µs where there is none, and answers. Rank 1, which is nice, as if it were on another host, sleeps for a millisecond, asks,
 * and waits for the answer by the same naps. It prints the 99th percentile, in µs, of the time from the start of a request to the end
 * of its answer. Built with mpicc of the MPI under test. */
#include <mpi.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <time.h>

enum { REQUEST = 1, ANSWER = 2 };
static atomic_int over;
static atomic_ullong sink;
static long steps;

static int64_t now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

static void nap(long us) {
    struct timespec t = {us / 1000000, us % 1000000 * 1000};
    nanosleep(&t, NULL);
}

static void *compute(void *arg) {
    uint64_t x = (uintptr_t)arg;
    while (!atomic_load(&over)) {
        for (long k = 0; k < steps; k++) x = x * 6364136223846793005u + 1442695040888963407u;
        atomic_fetch_add(&sink, x);
    }
    return NULL;
}

/* wait_for looks for a message with the tag until it is there. */
static void wait_for(int tag, long us) {
    for (int there = 0;;) {
        MPI_Iprobe(MPI_ANY_SOURCE, tag, MPI_COMM_WORLD, &there, MPI_STATUS_IGNORE);
        if (there) return;
        nap(us);
    }
}

static int ascending(const void *a, const void *b) {
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return (x > y) - (x < y);
}

int main(int argc, char **argv) {
    int rank, level;
    MPI_Init_thread(&argc, &argv, MPI_THREAD_SERIALIZED, &level);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    if (argc < 5) MPI_Abort(MPI_COMM_WORLD, 2);
    long n = atol(argv[1]), us = atol(argv[4]);
    int threads = atoi(argv[3]);
    steps = atol(argv[2]);
    int64_t msg[6] = {0}, *took = malloc(n * sizeof *took);
    if (rank == 0) {
        pthread_t t[threads];
        for (int i = 0; i < threads; i++) pthread_create(&t[i], NULL, compute, (void *)(intptr_t)(i + 1));
        for (long k = 0; k < n; k++) {
            wait_for(REQUEST, us);
            MPI_Recv(msg, 6, MPI_INT64_T, 1, REQUEST, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
            MPI_Send(msg, 6, MPI_INT64_T, 1, ANSWER, MPI_COMM_WORLD);
            took[k] = now() - msg[0];
        }
        atomic_store(&over, 1);
        for (int i = 0; i < threads; i++) pthread_join(t[i], NULL);
        qsort(took, n, sizeof *took, ascending);
        printf("%g\n", took[n * 99 / 100] / 1000.0);
    } else {
        setpriority(PRIO_PROCESS, 0, 10);
        for (long k = 0; k < n; k++) {
            nap(1000);
            msg[0] = now();
            MPI_Send(msg, 6, MPI_INT64_T, 0, REQUEST, MPI_COMM_WORLD);
            wait_for(ANSWER, us);
            MPI_Recv(msg, 6, MPI_INT64_T, 0, ANSWER, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        }
    }
    MPI_Finalize();
    return 0;
}
