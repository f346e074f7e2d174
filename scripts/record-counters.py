#!/usr/bin/env python3
"""Makes the records that tests compare the simulator's counters with, from the tables of profile-counters.sh:

    python3 scripts/record-counters.py FOLDER DATE

FOLDER is what profile-counters.sh wrote, DATE the day (2026-11-30). Of the stages that it has, writes

    kernels-common/ptx-sim/tests/profile/accesses.csv   wavefronts or sectors of each pattern, by kind of access
    kernels-common/ptx-sim/tests/profile/launches.csv   the hardware's totals of launches of sixteen patterns
    examples/bench/src/counters/kernels.csv             the kernels of the workspace
"""

import collections
import csv
import pathlib
import re
import sys

SLOTS = 16

REQUESTS = "l1tex__t_requests_pipe_lsu_mem_{}_op_{}.sum"
SECTORS = "l1tex__t_sectors_pipe_lsu_mem_{}_op_{}.sum"
WAVEFRONTS = "l1tex__data_pipe_lsu_wavefronts_mem_shared_op_{}.sum"
GLOBAL = [name.format("global", op) for op in ("ld", "st", "red", "atom") for name in (REQUESTS, SECTORS)]
LOCAL = [name.format("local", op) for op in ("ld", "st") for name in (REQUESTS, SECTORS)]
EXECUTED = "smsp__sass_inst_executed_op_shared_{}.sum"
SHARED = [name.format(op) for op in ("ld", "st", "atom") for name in (EXECUTED, WAVEFRONTS)]

SHARED_EACH = "memory_l1_wavefronts_shared"
GLOBAL_EACH = "memory_l2_theoretical_sectors_global"
LOCAL_EACH = "memory_l2_theoretical_sectors_local"

# For each kind of access, by the beginning of its name: the machine instructions that are its slots, which of them in
# address order, and what is recorded of each. Of the kinds left out the assembler makes loops, or nothing that counts.
FIRST, LAST = slice(0, SLOTS), slice(-SLOTS, None)
KINDS = [
    (r"ld_shared_", r"LDS", FIRST, SHARED_EACH),
    (r"st_shared_", r"STS", FIRST, SHARED_EACH),
    (r"(atom|red)_shared_(add_u32|exch_b32|cas_b32|cas_b64)", r"ATOMS", FIRST, SHARED_EACH),
    (r"ld_generic_shared_", r"LD\.", FIRST, SHARED_EACH),
    (r"ld_(volatile_)?global_", r"LDG(?!.*CONSTANT)", FIRST, GLOBAL_EACH),
    (r"ld_generic_global_", r"LD\.", FIRST, GLOBAL_EACH),
    (r"st_global_", r"STG", FIRST, GLOBAL_EACH),
    (r"atom_global_", r"ATOMG", FIRST, GLOBAL_EACH),
    (r"red_global_", r"RED", FIRST, GLOBAL_EACH),
    (r"ld_local_", r"LDL", FIRST, LOCAL_EACH),
    # Stores before them clear the memory.
    (r"st_local_", r"STL", LAST, LOCAL_EACH),
]


def rows(path):
    with open(path, newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


def opcode(row):
    words = row["instruction"].split()
    return words[1] if words[0].startswith("@") else words[0]


def write(path, head, header, table):
    with open(path, "w", newline="", encoding="utf-8") as file:
        file.writelines(f"# {line}\n" for line in head)
        out = csv.writer(file, lineterminator="\n")
        out.writerow(header)
        out.writerows(table)
    print(path, path.stat().st_size)


def accesses(instructions):
    """A column for each kind, a row for each pattern: its number, its active lanes, and what each kind counts."""
    by_subject = collections.defaultdict(list)
    for row in instructions:
        by_subject[row["subject"]].append(row)
    columns = {}
    for subject, group in by_subject.items():
        kind = subject.split("/")[0]
        for name, code, which, metric in KINDS:
            if re.match(name, kind):
                slots = [row for row in group if re.match(code, opcode(row))][which]
                if len(slots) != SLOTS:
                    sys.exit(f"{subject}: {len(slots)} instructions instead of {SLOTS}")
                active = [int(row["thread_inst_executed_true"]) for row in slots]
                columns.setdefault(kind, []).extend((row[metric], count) for row, count in zip(slots, active) if count)
    lanes = [active for _, active in next(iter(columns.values()))]
    for kind, column in columns.items():
        if [active for _, active in column] != lanes:
            sys.exit(f"{kind}: its lanes are not those of the others")
    table = zip(range(len(lanes)), lanes, *([value for value, _ in column] for column in columns.values()))
    return ["pattern", "lanes", *columns], table


def kernels(totals, instructions):
    """A row for each subject: how it was launched, the hardware's totals, and sums over instructions."""
    sums = collections.Counter()
    for row in instructions:
        for metric in (SHARED_EACH, "inst_executed"):
            sums[row["subject"], opcode(row).split(".")[0], metric] += int(row[metric])
    names = ["kernels", "grid", "block", "registers", "smsp__warps_launched.sum", *GLOBAL, *SHARED]
    each = [(code, metric) for code in ("LDS", "STS") for metric in (SHARED_EACH, "inst_executed")]
    header = ["subject", *names, *(f"{code} {metric}" for code, metric in each)]
    table = (
        [row["subject"], *(row[name] for name in names), *(sums[row["subject"], code, metric] for code, metric in each)]
        for row in totals
    )
    return header, table


def main():
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    folder, date = pathlib.Path(sys.argv[1]), sys.argv[2]
    root = pathlib.Path(__file__).resolve().parent.parent
    about = (folder / "ncu.txt").read_text(encoding="utf-8")
    version = re.search(r"^Version ([0-9.]+)", about, re.MULTILINE).group(1)
    gpu, driver, _ = about.strip().splitlines()[-1].split(", ")
    stages = [stage for stage in ("accesses", "kernels") if (folder / f"{stage}.csv").exists()]
    if not stages:
        sys.exit(f"record-counters.py: {folder} has neither accesses.csv nor kernels.csv: see profile-counters.sh")
    head = [
        f"{gpu}, driver {driver}, Nsight Compute {version}, {date}:",
        f"bash gpu-bundle/profile-counters.sh gpu-bundle/examples/bench FOLDER metrics {' '.join(stages)}",
        f"python3 scripts/record-counters.py FOLDER {date}",
    ]
    if "accesses" in stages:
        tests = root / "kernels-common/ptx-sim/tests/profile"
        by_kind = [
            f"Of each instruction: {SHARED_EACH} for shared memory,",
            f"{GLOBAL_EACH} and {LOCAL_EACH} for the others.",
        ]
        write(tests / "accesses.csv", head + by_kind, *accesses(rows(folder / "accesses.instructions.csv")))
        names = [*GLOBAL, *LOCAL, *SHARED]
        totals = rows(folder / "accesses.csv")
        table = ([row["subject"], *(row[name] for name in names)] for row in totals)
        write(tests / "launches.csv", head, ["subject", *names], table)
    if "kernels" in stages:
        record = root / "examples/bench/src/counters/kernels.csv"
        write(record, head, *kernels(rows(folder / "kernels.csv"), rows(folder / "kernels.instructions.csv")))


main()
