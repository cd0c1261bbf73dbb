#!/usr/bin/env bash
# Prints every measure beside its rival, in alternation in the same run:
#
#   scripts/bench.sh [NAME…]     NAME: farm, engine, contraction, store; default all. NAME/ROW is one row, ROW may be a pattern: 'contraction/chain-*'
#
# One line a measure: BENCH name ours=… rival=… ratio=… [quartiles] pairs=… bar=… holds|short
# A bar that is missed is a figure, not a fault; the status is 1 when a measure could not be taken.
set -u
. "$(dirname "$0")/lib.sh"
status=0

# pairs NAME BAR PAIRS OURS [RIVAL] [NOTE]: commands that print a figure and end.
pairs() { [[ $1 == $row ]] || return 0; "$build/pairs" -name "$1" -bar "$2" -pairs "$3" -ours "$4" -rival "${5:-}" -note "${6:-}" || status=1; }
# served NAME BAR PAIRS OURS [RIVAL] [NOTE] [BUDGET]: commands that stay and print a figure for each line; pairs that do not fit in the
# budget of time are left out, but for fifteen.
served() { [[ $1 == $row ]] || return 0; "$build/pairs" -serve -name "$1" -bar "$2" -pairs "$3" -ours "$4" -rival "${5:-}" -note "${6:-}" -budget "${7:-0}" || status=1; }

# single: served on one processor, for work of one thread.
single() { [[ $1 == $row ]] || return 0; "$build/pairs" -serve -pin -name "$1" -bar "$2" -pairs "$3" -ours "$4" -rival "${5:-}" -note "${6:-}" -budget "${7:-0}" || status=1; }

# race PAIRS FILE [FLAGS]: the rows in rows, "name|ours|rival|bar|note", over one alternation of the commands in commands,
# "key=command"; FLAGS are those of pairs. Lines go to FILE too. A row may have "|twin|its rival" behind: where the twin, C that
# does the same, misses the bar too, the bar is what the twin reaches, to a twentieth.
race() {
  local args=() c r
  ((${#rows[@]})) || return 0
  for r in "${rows[@]}"; do [[ ${r%%|*} != $row ]] || args+=(-compare "$r"); done
  ((${#args[@]})) || return 0
  for c in "${commands[@]}"; do args+=(-command "$c"); done
  "$build/pairs" -pairs "$1" "${@:3}" "${args[@]}" | tee -a "$2"
  ((PIPESTATUS[0] == 0)) || status=1
}
# mean NAME BAR FILE NOTE: the geometric mean of the rows NAME/… in FILE.
mean() {
  [[ $1 == $row || $1/x == $row ]] && grep -q "^BENCH $1/" "$3" || return 0
  grep "^BENCH $1/" "$3" | "$build/pairs" -mean -name "$1" -bar "$2" -note "$4" || status=1
}

prepare() {
  need_packages gcc libc6-dev "$@" || exit 1
  CGO_ENABLED=0 go build -o "$build/pairs" ./bench/pairs || exit 1
}

bench_farm() {
  prepare libopenmpi-dev openmpi-bin python3-mpi4py
  CGO_ENABLED=0 go build -o "$build/farm" ./bench/farm && mpicc.openmpi -O2 -o "$build/farm-c" bench/rivals/farm.c &&
    mpicc.openmpi -O2 -pthread -o "$build/reply-c" bench/rivals/reply.c || { status=1; return; }
  export OMPI_MCA_rmaps_base_oversubscribe=1
  local mpi="mpirun.openmpi --bind-to none" f=$build/farm
  local futures="$mpi -n 2 /usr/bin/python3 -m mpi4py.futures bench/rivals/farm.py"
  local one="$mpi -n 2 $f null -items 300000 -batch 1 -depth 1 -coordinate" auto="$mpi -n 2 $f null -items 10000000"
  pairs null-batch1-mpi4py '>=30' 5 "$one" "$futures 5000 1" 'items/s, 2 ranks, one worker, chunksize 1'
  pairs null-batch1-c '>=0.15' 15 "$one" "$mpi -n 2 $build/farm-c 300000 1" 'items/s, C master/worker, one in flight'
  pairs null-auto-mpi4py '>=3' 5 "$auto" "$futures 300000 100" 'items/s, 2 ranks, chunksize 100'
  pairs null-auto-c '>=1' 5 "$auto" "$mpi -n 2 $build/farm-c 1000000 8" 'items/s, C master/worker, 8 in flight'
  pairs handout '<=60' 9 "$f handout -items 20000000 -lanes 2" '' 'ns per item, one process, 2 lanes'
  pairs handout-allocs '<=0.001' 3 "$f allocs -items 20000000 -lanes 2" '' 'allocations per item'
  pairs items-1ms '>=0.95' 15 "$mpi -n 2 $f work -items 2000 -spin 700000" "$mpi -n 2 $f static -items 2000 -spin 700000" \
    'items/s, both cores; rival: the same items in equal blocks, no scheduler'
  pairs items-100us '>=0.90' 15 "$mpi -n 2 $f work -items 20000 -spin 70000" "$mpi -n 2 $f static -items 20000 -spin 70000" \
    'items/s, both cores; rival: the same items in equal blocks, no scheduler'
  local tail="-items 4000 -spin 140000 -tail 1.5"
  pairs heavy-tail '<=1.03' 9 "$mpi -n 2 $f greedy $tail" '' 'makespan / greedy schedule of the same measured times, Pareto 1.5, 2 ranks'
  pairs heavy-tail-static '>=1' 9 "$mpi -n 2 $f work $tail" "$mpi -n 2 $f static $tail" 'items/s; rival: the same items in equal blocks, no scheduler'
  local commands=("ours=$mpi -n 2 $f reply -items 4000 -spin 700000 -lanes $(nproc)" "c=$mpi -n 2 $build/reply-c 1000 700000 $(nproc) 50")
  local rows=('root-reply-p99|ours||<=200|µs from the start of a request to the end of the answer, while as many lanes as cores compute on the root; twin: a thread of C that looks every 50 µs|c|')
  race 5 /dev/null
  pairs idle-rank '<=5' 5 "$mpi -n 2 $f idle" '' '% of a core over 2 s, a rank without work'
  pairs error-to-return '<=1' 9 "$mpi -n 2 $f failing $tail" '' 'time / ((unfinished lower work)/lanes + longest item + 50 ms)'
  pairs coordinator '<=2' 5 "$mpi -n 2 $f coordinator -items 2000 -spin 700000" '' "% of the items' processor time beyond what lanes of one process take, items of 1 ms, the worse of 2 ranks"
  pairs progress '<=1.01' 15 "$mpi -n 2 $f spent -items 10000000 -progress" "$mpi -n 2 $f spent -items 10000000" \
    'ns of processor time per null item, told every 10 ms; rival: not told'
}

bench_engine() {
  bench_products
  bench_vocabulary
}

# contractions builds what measures products and contractions, here and in C, and finds the BLAS: $ours, $lib, $kernel.
contractions() {
  prepare libopenblas0-pthread python3-numpy
  CGO_ENABLED=0 go build -o "$build/contraction-go" ./bench/contraction && cc -O2 -o "$build/gemm" bench/rivals/gemm.c -ldl &&
    cc -O2 -march=native -o "$build/contraction-c" bench/rivals/contraction.c -ldl &&
    cc -O2 -pthread -o "$build/split" bench/rivals/split.c -ldl && cc -O3 -march=native -pthread -o "$build/workers" bench/rivals/workers.c || return
  ours=$build/contraction-go
  read -r lib kernel own < <("$ours" blas) || return
  echo "# BLAS: $lib, kernels $kernel on both sides; the engine's own: $own"
}

# Single products with BLAS, beside the same BLAS called from C.
bench_products() {
  local ours lib kernel own t n
  contractions || { status=1; return; }
  for t in d s z c; do
    for n in 4 16 64 128; do
      single "product-$t$n" '<=1' 151 "$ours product -dtype $t -n $n" "$build/gemm $lib $t $n $kernel 350" "ns; rival: $kernel from C, plus 350 ns" 3s
    done
    for n in 256 512 1024; do
      single "product-$t$n" '<=1.02' 151 "$ours product -dtype $t -n $n" "$build/gemm $lib $t $n $kernel" "ns; rival: $kernel from C" 4s
    done
  done
}

# Elementwise operations, reductions and structure, beside numpy, C and one worker: some six minutes.
bench_vocabulary() {
  prepare python3-numpy
  CGO_ENABLED=0 go build -o "$build/vocabulary" ./bench/vocabulary && cc -O3 -march=native -o "$build/permute" bench/rivals/permute.c &&
    cc -O3 -march=native -pthread -o "$build/workers" bench/rivals/workers.c &&
    cc -O3 -march=native -ffast-math -funroll-loops -o "$build/reads" bench/rivals/reads.c && cc -O2 -o "$build/overhead" bench/rivals/overhead.c || { status=1; return; }
  local v=$build/vocabulary numpy="/usr/bin/python3 bench/rivals/vocabulary.py" p=$build/permute name shape commands rows
  commands=("run=$v run" "into=$v into" "c=$build/overhead")
  rows=("overhead-run|run||<=60|ns, two elements into a given output" "overhead-into|into||<=150|ns, two elements by AddInto"
    "overhead-run-c|run|c|<=2.5|ns; rival: C that takes a lock, compares, adds and gives it back: what the processor gives in this hour")
  race 151 /dev/null -serve
  for name in {add,mul,exp,tanh,log}-f64 {add,mul,exp,tanh,log,sum}-c128; do
    served "$name" '<=0.9' 31 "$v $name" "$numpy $name" 'ns, 10^6 elements, one worker; rival: numpy'
  done
  for name in tan asin acos atan sinh cosh pow atan2 logaddexp; do
    served "$name-f64" '<=1' 31 "$v $name-f64" "$numpy $name-f64" 'ns, 10^6 elements, one worker; rival: numpy' 2s
  done
  for name in sum max; do # which wait for memory: the loop in C shows what it has to give
    commands=("ours=$v $name-f64" "numpy=$numpy $name-f64" "c=$build/reads $name")
    rows=("$name-f64|ours|numpy|<=0.9|ns, 10^6 elements, one worker; rival: numpy, twin: C|c|numpy" "$name-f64-c|ours|c|<=1.05|ns, 10^6 elements; rival: the loop in C")
    race 61 /dev/null -serve
  done
  served permute-64 '<=1.3' 15 "$v permute-64" "$p copy $((512 * 256 * 64))" 'ns, runs of 64; rival: a copy'
  for shape in 3x15 2x23 2x24 2048x2 256x3; do
    commands=("ours=$v permute-$shape" "c=$p reverse ${shape/x/ }" "numpy=$numpy permute-$shape")
    rows=("permute-$shape-c|ours|c|<=1|ns, reversed axes; rival: C in tiles" "permute-$shape-numpy|ours|numpy|<=0.6|ns, reversed axes; rival: numpy")
    race 15 /dev/null -serve
  done
  for name in gather scatter-add slice concat; do
    served "$name" '<=1' 31 "$v $name" "$numpy $name" 'ns, 10^6 elements; rival: numpy' 4s
  done
  # What a second processor gives is the machine's own: by the hour another, on a virtual one, and at times nothing.
  # Never slower than one: equal times come out equal to a twentieth.
  for name in exp-4M:0.55 add-4M:0.95 {add,mul,exp,tanh,log,sum,max}-f64:1.05 {add,mul,exp,tanh,log,sum}-c128:1.05 \
    permute-{2048x2,256x3,2x23,64}:1.05 {gather,scatter-add,slice,concat}:1.05; do
    commands=("two=$v ${name%:*} -workers 2" "one=$v ${name%:*}" "c-two=$build/workers 2" "c-one=$build/workers 1")
    rows=("workers-${name%:*}|two|one|<=${name#*:}|ns, two workers; rival: one; twin: two threads of C on work like exp|c-two|c-one")
    race 45 /dev/null -serve -budget 5s
  done
  pairs lanes-engines '>=0.97' 15 "$v lanes -engines 2" "( $v lanes -engines 1 & $v lanes -engines 1 & wait ) | awk '{s += \$1} END {print s}'" \
    'rounds/s, two engines in two lanes; rival: two processes'
}

bench_store() {
  prepare hdf5-tools python3-h5py
  CGO_ENABLED=0 go build -o "$build/store" ./bench/store || { status=1; return; }
  local tmp kind rows pairs
  tmp=$(mktemp -d) || exit 1
  while read -r kind rows pairs; do
    pairs "store-rows-h5py-$kind" '>=1' "$pairs" "$build/store rows $tmp/ours.h5 -rows $rows" \
      "/usr/bin/python3 bench/rivals/store.py $tmp/h5py.h5 $rows 10 $kind" "rows of 10 float64 per second, compressed, on disk at the end, $rows rows"
  done <<<$'resize 20000 5\nsized 20000 5\nblocks 200000 15'
  pairs store-cost '<=2' 5 "$build/store cost $tmp/ours.h5" '' '% of the time of items of 1 ms, by the clock'
  pairs store-cost-processor '<=2' 5 "$build/store cost $tmp/ours.h5 -processor" '' '% of the time of items of 1 ms, processor time'
  rm -rf "$tmp"
}

bench_contraction() {
  local ours lib kernel own t n commands rows
  [ -n "${all:-}" ] || bench_products # which engine has shown
  contractions || { status=1; return; }
  for t in d s z c; do
    for n in 32 64 128 256 512 1024 2048; do
      single "native-$t$n" '<=1.25' 151 "$ours product -provider native -dtype $t -n $n" "$build/gemm $lib $t $n $kernel" "ns; rival: $kernel from C" 2s
    done
    for n in 2 4 8 16; do
      [[ $t$n == [sd]16 ]] || single "batched-$t$n" '<=0.7' 151 "$ours batched -provider native -dtype $t -n $n" "$build/contraction-c $lib batched $t $n $kernel" \
        "ns for 1024 products; rival: a C loop of calls, $kernel" 2s
    done
    # The same without AVX-512, on both sides.
    for n in 2 4 8 16; do
      single "batched-avx2-$t$n" '<=0.7' 151 "env GODEBUG=cpu.avx512f=off $ours batched -provider native -dtype $t -n $n" \
        "$build/contraction-c $lib batched $t $n Haswell" "ns for 1024 products; rival: a C loop of calls, Haswell" 1s
    done
    # These wait for memory: beside sums of the same bytes by C. Complex products are more arithmetic.
    [[ $t == [sd] ]] || continue
    commands=("ours=$ours batched -provider native -dtype $t -n 16" "c=$build/contraction-c $lib batched $t 16 $kernel" "bytes=$build/contraction-c $lib bytes $t 16 $kernel")
    rows=("batched-${t}16|ours|c|<=0.7|ns for 1024 products; rival: a C loop of calls, $kernel; twin: C adds arrays of the same bytes|bytes|c"
      "batched-${t}16-bytes|ours|bytes|<=1.25|ns for 1024 products; rival: C adds arrays of the same bytes")
    race 151 /dev/null -serve -pin -budget 3s
  done
  for n in 4:1.0 8:0.8 16:0.95; do
    single "chain-${n%:*}" "<=${n#*:}" 31 "$ours chain -dtype z -bond ${n%:*}" "$build/contraction-c $lib chain ${n%:*} $kernel" "ns; rival: a C loop, $kernel" 3s
  done
  # The twin is held against our one worker, which is faster than one thread of C: two may take what two of C take.
  for n in 256 512 1024; do
    commands=("one=$ours product -n $n" "two=$ours product -n $n -width 2" "c=$build/split $lib d $n $kernel 1" "c-two=$build/split $lib d $n $kernel 2")
    rows=("workers-d$n|two|one|<=0.6|ns, two workers; rival: one; twin: two threads of C beside it|c-two|one"
      "workers-d$n-c|c-two|c|<=0.6|ns, two threads of C, half a product each; rival: one: what the machine has to give"
      "workers-d$n-beside-c|two|c-two|<=1.05|ns, two workers; rival: the two threads of C")
    race 151 /dev/null -serve -budget 25s
  done
  commands=("polls=$ours beside -n 512" "nobody=$ours beside -n 512 -alone"
    "c=$build/split $lib d 512 $kernel 2 tail" "c-one=$build/split $lib d 512 $kernel 1 tail")
  rows=("beside-coordinator|polls||<=1.2|p99 / median of products of 512 on two workers beside a coordinator that polls; twin: two threads of C|c|"
    "beside-nobody|polls|nobody|<=1.2|the same over that without a coordinator, which is what the machine does by itself"
    "beside-c|c||<=1.2|p99 / median of the same products on two threads of C with nobody beside"
    "beside-c-one|c-one||<=1.2|the same on one thread of C")
  race 15 /dev/null
  bench_einsum
}

# Problems of the einsum benchmark, beside numpy and torch, the planner beside the stored paths.
bench_einsum() {
  local problems=../shared/einsum file name t path better bar kind order count rivals=numpy
  [ -d "$problems" ] || { echo "no einsum problems at $problems: rows of files and of the planner are left out" >&2; return; }
  if /usr/bin/python3 -c 'import torch' 2>/dev/null; then rivals='numpy torch'; else echo 'no torch (apt install python3-torch): its rows are left out' >&2; fi
  local python="env OPENBLAS_CORETYPE=$kernel OPENBLAS_NUM_THREADS=1 MKL_NUM_THREADS=1 OMP_NUM_THREADS=1 /usr/bin/python3 bench/rivals/einsum.py"
  : >"$build/einsum-rows"
  for file in "$problems"/*_*.json; do
    name=$(basename "$file" .json)
    kind=networks bar='<=0.85' paths='stored own'
    if [[ $name == bin_* ]]; then kind=product bar='<=1.05' paths=stored; fi
    better=$("$ours" stored -file "$file") || { status=1; continue; }
    order=${name##*_} # of the matrices, where there are no other tensors
    [[ $name == *matmul_"$order" || $name == *matmul_chain_"$order" ]] || order=
    for t in d z; do
      local o="$ours file -file $file -dtype $t" commands=() rows=()
      for rival in $rivals; do commands+=("$rival=$python $file $better $t $rival"); done
      local beside=c twin="two threads of C on work like exp"
      if [ -n "$order" ]; then
        twin="two threads of C"
        count=$(grep -o '"num_tensors": *[0-9]*' "$file" | grep -o '[0-9]*$') count=$((count - 1)) # products
        commands+=("c-two=$build/split $lib $t $order $kernel 2 $count")
        beside=stored twin+=' beside it'
      else
        commands+=("c=$build/workers 1" "c-two=$build/workers 2")
      fi
      for path in $paths; do
        local p=$path; [ "$path" = own ] || p=$better
        commands+=("$path=$o -path $p" "$path-2=$o -path $p -width 2")
        for rival in $rivals; do
          rows+=("einsum-$kind-$path-$t-$rival/$name|$path|$rival|$bar|ns; rival: $rival by $better, a matmul a step, $kernel")
        done
        [[ einsum-$kind-$path-$t-width2/$name != $row ]] ||
          rows+=("einsum-$kind-$path-$t-width2/$name|$path-2|$path|<=$("$ours" bar -file "$file" -dtype $t -path $p)|ns, two workers; rival: one; twin: $twin|c-two|$beside")
      done
      race 151 "$build/einsum-rows" -serve -budget 6s -limit 60s # fewer than fifteen where a pair takes more than four seconds
    done
    [ $kind = networks ] || continue
    pairs "planner/$name" '<=1.1' 1 "$ours plan -file $file" '' 'operations over those of the better stored path'
  done
  for t in d z; do
    for path in stored own; do
      for rival in $rivals; do mean "einsum-networks-$path-$t-$rival" '<=0.85' "$build/einsum-rows" 'geometric mean over the networks'; done
    done
  done
  name=$problems/tensornetwork_permutation_light_415.json
  pairs planning-415 '<=1' 15 "$ours planning -file $name" '' 'seconds for 415 tensors'
  pairs allocations '<=0.001' 1 "$ours allocs -file $name" '' 'of a warm contraction of 415 tensors'
}

[ $# -gt 0 ] || { set -- farm engine contraction store; all=yes; }
for name in "$@"; do
  declare -F "bench_${name%%/*}" >/dev/null || { echo "no measure is called $name: farm, engine, contraction, store" >&2; exit 2; }
done
for name in "$@"; do
  row="*"
  [[ $name != */* ]] || row=${name#*/}
  "bench_${name%%/*}"
done
exit $status
