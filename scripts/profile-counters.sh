#!/usr/bin/env bash
# Profiles with Nsight Compute what the simulator's counters are compared with, and writes tables:
#
#   bash scripts/profile-counters.sh PROGRAM FOLDER [STAGE...]
#
# PROGRAM is `bench` (target/release/bench, or gpu-bundle/examples/bench). The stages, by default all of them in turn:
#
#   metrics          which metrics the profiler knows: metrics.txt, source.txt, and missing.txt with those it lacks
#   accesses         accesses of one warp in many patterns, sixteen a launch, each an instruction of its own
#   kernels          the kernels of the workspace
#   single-accesses  the shared ones of the accesses again, a pattern a launch, for the hardware's own totals
#
# A stage writes STAGE.csv, the totals of each subject, and STAGE.instructions.csv, the memory instructions of its
# machine code with what was counted for each; record-counters.py makes the tests' records of them. Needs ncu (or
# NCU=/path/to/ncu) of 2023 or later with its Python module, python3, and a driver that lets the user read the counters.
# LIMIT: seconds that a stage may take, 1800 by default.
set -euo pipefail

if [ $# -lt 2 ]; then
    echo "usage: bash profile-counters.sh PROGRAM FOLDER [STAGE...]" >&2
    exit 2
fi
program=$(realpath "$1")
folder=$2
shift 2
stages=("$@")
[ ${#stages[@]} -gt 0 ] || stages=(metrics accesses kernels single-accesses)
mkdir -p "$folder"
folder=$(realpath "$folder")
ncu=${NCU-$(command -v ncu || true)}
if [ -z "$ncu" ]; then
    echo "profile-counters.sh: there is no ncu on the PATH; NCU=/path/to/ncu names one elsewhere" >&2
    exit 1
fi

# Counted by the hardware, for a launch as a whole; `.sum` is added.
hardware=(
    smsp__inst_executed smsp__thread_inst_executed smsp__warps_launched
    l1tex__t_requests_pipe_lsu_mem_global_op_{ld,st,red,atom}
    l1tex__t_sectors_pipe_lsu_mem_global_op_{ld,st,red,atom}
    l1tex__t_requests_pipe_lsu_mem_local_op_{ld,st}
    l1tex__t_sectors_pipe_lsu_mem_local_op_{ld,st}
    l1tex__data_pipe_lsu_wavefronts_mem_shared
    l1tex__data_pipe_lsu_wavefronts_mem_shared_op_{ld,st,atom}
    l1tex__data_bank_conflicts_pipe_lsu_mem_shared
    l1tex__data_bank_conflicts_pipe_lsu_mem_shared_op_{ld,st,atom}
    smsp__inst_executed_op_{shared,global,local}_{ld,st}
    smsp__inst_executed_op_{shared,global,local}_{ld,st}_pred_on_any
    smsp__inst_executed_op_{shared_atom,shared_atom_dot_alu,shared_atom_dot_cas,global_red}
    smsp__inst_executed_op_{generic_ld,generic_st,generic_atom_dot_alu,generic_atom_dot_cas}
    smsp__sass_inst_executed_op_{shared,global,local}_{ld,st}
    smsp__sass_inst_executed_op_{shared_atom,global_atom,global_red,branch}
    smsp__sass_branch_targets smsp__sass_branch_targets_threads_divergent
)
# Counted for each instruction. Named as in the section SourceCounters.
source=(
    inst_executed thread_inst_executed thread_inst_executed_true
    memory_l1_wavefronts_shared memory_l1_wavefronts_shared_ideal
    memory_l1_tag_requests_global
    memory_l2_theoretical_sectors_global memory_l2_theoretical_sectors_global_ideal
    memory_l2_theoretical_sectors_local
)
launch=(launch__grid_size launch__block_size launch__registers_per_thread)
# The totals that say how often shared memory was busy.
wavefronts=(
    l1tex__data_pipe_lsu_wavefronts_mem_shared
    l1tex__data_pipe_lsu_wavefronts_mem_shared_op_{ld,st,atom}
)
singles=(ld_shared_8 ld_shared_16 st_shared_8 st_shared_16 atom_shared_add_u32 ld_shared_4 st_shared_4
    atom_shared_cas_b64 atom_shared_add_u64 atom_shared_add_f32 ld_shared_2)

# The folder of the newest ncu_report.py, which stands beside ncu in `extras/python`.
module=$(find -L "$(dirname "$(realpath "$ncu")")" /opt/nvidia/nsight-compute /usr/local/cuda*/nsight-compute* \
    -maxdepth 4 -name ncu_report.py -printf '%h\n' 2>/dev/null | sort -V | tail -n 1) || true
[ -n "$module" ] || echo "no ncu_report.py was found near $ncu: there will be no tables"

join() {
    local IFS=,
    echo "$*"
}

# The names among the arguments that the profiler knows, with `.sum`.
known() {
    local name
    for name in "$@"; do
        if grep -qw -- "$name" "$folder/metrics.txt"; then
            echo "$name.sum"
        else
            echo "$name" >>"$folder/missing.txt"
        fi
    done
}

find_metrics() {
    "$ncu" --version >"$folder/ncu.txt"
    nvidia-smi --query-gpu=name,driver_version,compute_cap --format=csv >>"$folder/ncu.txt" || true
    "$ncu" --query-metrics >"$folder/metrics.txt" 2>&1 || true
    # Where the query itself fails, the profiler shall say what it lacks.
    if ! grep -q smsp__inst_executed "$folder/metrics.txt"; then
        printf '%s\n' "${hardware[@]}" >>"$folder/metrics.txt"
    fi
}

# Profiles `PROGRAM counters ARGUMENTS...` for some metrics: profile NAME METRICS ARGUMENTS...
profile() {
    local name=$1 metrics=$2 began=$SECONDS status=0
    shift 2
    timeout -s INT "${LIMIT-1800}" "$ncu" --metrics "$metrics" --clock-control none --cache-control none \
        --target-processes application-only --log-file "$folder/$name.log" --force-overwrite \
        --export "$folder/$name.ncu-rep" \
        "$program" counters "$@" --device cuda:0 >"$folder/$name.subjects" || status=$?
    echo "$name: exit status $status, $((SECONDS - began)) s; the profiler's last lines:"
    tail -n 3 "$folder/$name.log"
    [ -s "$folder/$name.ncu-rep" ] && ! grep -q 'Failed to find metric' "$folder/$name.log" || return 1
    tables "$name"
}

# Finds which metrics by instruction the profiler knows, which no query lists: by the profile of one launch.
find_source() {
    local name
    : >"$folder/source.txt"
    if profile probe "$(join "${launch[@]}" "${counted[@]}" "${source[@]}")" single-accesses --only ld_shared_8:3; then
        printf '%s\n' "${source[@]}" >"$folder/source.txt"
        return
    fi
    for name in "${source[@]}"; do
        if profile "probe-$name" "$(join "${launch[@]}" "$name")" single-accesses --only ld_shared_8:3; then
            echo "$name" >>"$folder/source.txt"
        else
            echo "$name" >>"$folder/missing.txt"
        fi
    done
}

# Writes the tables of a report.
tables() {
    if PYTHONPATH=$module python3 - "$folder/$1" <<'PYTHON'
"""Writes the totals and the memory instructions of each subject of a report."""
import collections, csv, sys

import ncu_report

path = sys.argv[1]
MEMORY = ("LD", "ST", "ATOM", "RED")
BY_INSTRUCTION = ("inst_executed", "thread_inst_executed", "memory_")


def actions():
    context = ncu_report.load_report(path + ".ncu-rep")
    for index in range(context.num_ranges()):
        launches = context.range_by_idx(index)
        for at in range(launches.num_actions()):
            yield launches.action_by_idx(at)


def number(value):
    return int(value) if value == int(value) else value


def by_instruction(metric):
    """The values of a metric by address of the instruction."""
    addresses = metric.correlation_ids()
    return {addresses.as_uint64(i): number(metric.as_double(i)) for i in range(metric.num_instances())}


def opcode(sass):
    words = sass.split()
    return words[1] if words[0].startswith("@") else words[0]


# Each launch that is not the marker belongs to the subject that the last marker tells, or else to the next one.
with open(path + ".subjects", encoding="utf-8") as file:
    subjects = [line.strip().split(",")[0] for line in file][1:]
launches, marked, next_subject = collections.defaultdict(list), None, 0
for action in actions():
    if action.name() == "marker":
        marked = int(action.metric_by_name("launch__grid_size").as_double()) - 1
    elif marked is not None:
        launches[marked].append(action)
    else:
        launches[next_subject].append(action)
        next_subject += 1
if len(launches) != len(subjects):
    print(f"{path}: {len(subjects)} subjects and {len(launches)} launches in the profile", file=sys.stderr)

names = sorted({name for group in launches.values() for action in group for name in action.metric_names()})
totals = [name for name in names if name.endswith(".sum") or name.startswith("memory_l")]
each = [name for name in names if name.startswith(BY_INSTRUCTION) and not name.endswith(".sum")]
with open(path + ".csv", "w", newline="", encoding="utf-8") as whole, \
        open(path + ".instructions.csv", "w", newline="", encoding="utf-8") as parts:
    whole, parts = csv.writer(whole, lineterminator="\n"), csv.writer(parts, lineterminator="\n")
    whole.writerow(["subject", "kernels", "grid", "block", "registers", *totals])
    parts.writerow(["subject", "kernel", "address", "instruction", *each])
    for index, group in sorted(launches.items()):
        subject = subjects[index] if index < len(subjects) else f"launch {index}"
        value = lambda action, name: number(m.as_double()) if (m := action.metric_by_name(name)) is not None else 0
        lists = ["launch__grid_size", "launch__block_size", "launch__registers_per_thread"]
        whole.writerow([subject, "+".join(action.name() for action in group)]
                       + ["+".join(str(value(action, name)) for action in group) for name in lists]
                       + [sum(value(action, name) for action in group) for name in totals])
        for action in group:
            metrics = {name: action.metric_by_name(name) for name in each}
            columns = {name: by_instruction(metric) for name, metric in metrics.items()
                       if metric is not None and metric.has_correlation_ids()}
            for address in sorted(set().union(*columns.values())) if columns else []:
                sass = action.sass_by_pc(address)
                if opcode(sass).startswith(MEMORY):
                    counted = [columns.get(name, {}).get(address, 0) for name in each]
                    parts.writerow([subject, action.name(), address, sass.strip(), *counted])
PYTHON
    then
        return
    fi
    echo "$1: the tables could not be made; what the profiler itself prints is in $1.raw.csv and $1.source.csv"
    "$ncu" --import "$folder/$1.ncu-rep" --page raw --csv --print-units base >"$folder/$1.raw.csv" || true
    "$ncu" --import "$folder/$1.ncu-rep" --page source --csv --print-source sass >"$folder/$1.source.csv" ||
        "$ncu" --import "$folder/$1.ncu-rep" --page source --csv >"$folder/$1.source.csv" || true
}

[ -s "$folder/metrics.txt" ] || find_metrics
rm -f "$folder/missing.txt"
mapfile -t counted < <(known "${hardware[@]}")
mapfile -t busy < <(known "${wavefronts[@]}")
[ -s "$folder/source.txt" ] || find_source
mapfile -t each <"$folder/source.txt"
[ ! -s "$folder/missing.txt" ] || echo "not known to the profiler: $(sort -u "$folder/missing.txt" | tr '\n' ' ')"
all=$(join "${launch[@]}" "${counted[@]}" "${each[@]}")

failed=()
for stage in "${stages[@]}"; do
    case $stage in
        metrics) ;;
        accesses | kernels) profile "$stage" "$all" "$stage" || failed+=("$stage") ;;
        single-accesses)
            # One report a kind, so that a limit of time costs the last ones only.
            for kind in "${singles[@]}"; do
                profile "single-$kind" "$(join "${launch[@]}" "${busy[@]}")" single-accesses --only "$kind:" ||
                    failed+=("single-$kind")
            done
            ;;
        *)
            echo "profile-counters.sh: no stage is named $stage" >&2
            exit 2
            ;;
    esac
done
if [ ${#failed[@]} -gt 0 ]; then
    printf 'profile-counters.sh: nothing was profiled for %s\n' "${failed[*]}" >&2
    exit 1
fi
