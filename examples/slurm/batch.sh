#!/bin/bash
# A batch script that lets a program end in good order before its time is up:
#
#   sbatch --ntasks=64 --time=12:00:00 examples/slurm/batch.sh ./program --its flags
#
# Slurm sends USR1 to this shell alone (B:) that many seconds before the limit. The shell hands it to srun, which passes it
# to every rank; mpi.Main cancels the context, the call ends on all ranks, and the job has status 138 = 128 + USR1.
# SRUN_MPI chooses the interface: --mpi=pmix (Open MPI, default) or --mpi=pmi2 (MPICH). -K1 ends all ranks when one is lost.
#SBATCH --signal=B:USR1@60
srun -K1 ${SRUN_MPI:---mpi=pmix} "$@" &
step=$!
trap 'kill -USR1 $step' USR1
# A trapped signal ends wait early: wait again until srun itself has ended.
while wait $step; status=$?; kill -0 $step 2>/dev/null; do :; done
exit $status
