/* A hand-written master/worker loop over int64 items, the rival of the scheduler's null-item rows.
 *
 *   farm ITEMS DEPTH     one item per message, DEPTH messages in flight per worker
 *
 * Rank 0 hands out indices and stores the doubled values in order; the others compute. It prints items per
 * second. Built with mpicc of the MPI under test. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { WORK = 1, RESULT = 2, STOP = 3 };

static void master(long n, int depth, int size, long *out) {
    long next = 0, done = 0;
    for (int d = 0; d < depth; d++)
        for (int r = 1; r < size && next < n; r++, next++) {
            long msg[2] = {next, next};
            MPI_Send(msg, 2, MPI_LONG, r, WORK, MPI_COMM_WORLD);
        }
    while (done < n) {
        long msg[2];
        MPI_Status st;
        MPI_Recv(msg, 2, MPI_LONG, MPI_ANY_SOURCE, RESULT, MPI_COMM_WORLD, &st);
        out[msg[0]] = msg[1];
        done++;
        if (next < n) {
            long grant[2] = {next, next};
            MPI_Send(grant, 2, MPI_LONG, st.MPI_SOURCE, WORK, MPI_COMM_WORLD);
            next++;
        }
    }
    for (int r = 1; r < size; r++) MPI_Send(NULL, 0, MPI_LONG, r, STOP, MPI_COMM_WORLD);
}

static void worker(void) {
    for (;;) {
        long msg[2];
        MPI_Status st;
        MPI_Recv(msg, 2, MPI_LONG, 0, MPI_ANY_TAG, MPI_COMM_WORLD, &st);
        if (st.MPI_TAG == STOP) return;
        msg[1] *= 2;
        MPI_Send(msg, 2, MPI_LONG, 0, RESULT, MPI_COMM_WORLD);
    }
}

int main(int argc, char **argv) {
    int rank, size;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    long n = argc > 1 ? atol(argv[1]) : 100000;
    int depth = argc > 2 ? atoi(argv[2]) : 1;
    long *out = rank == 0 ? malloc(n * sizeof *out) : NULL;
    MPI_Barrier(MPI_COMM_WORLD);
    double t = MPI_Wtime();
    if (rank == 0) master(n, depth, size, out);
    else worker();
    MPI_Barrier(MPI_COMM_WORLD);
    t = MPI_Wtime() - t;
    if (rank == 0) {
        for (long i = 0; i < n; i++)
            if (out[i] != 2 * i) { fprintf(stderr, "item %ld: %ld\n", i, out[i]); MPI_Abort(MPI_COMM_WORLD, 3); }
        printf("%.0f\n", n / t);
    }
    MPI_Finalize();
    return 0;
}
