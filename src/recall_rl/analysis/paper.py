"""The paper's published results, as printed: what this project's own runs are held against.

Zhang et al., Replay-enhanced Continual Reinforcement Learning, TMLR 2023. Misprints are kept.
"""

from __future__ import annotations

from typing import NamedTuple

STEPS_PER_TASK = 1_000_000
"""Steps the paper trains on each task."""

EVALUATE_EVERY = 20_000
"""Steps between two of the paper's evaluations."""

SEEDS = 5
"""Runs behind each of the paper's numbers."""

LEVEL = 0.9
"""Confidence of the paper's bootstrapped intervals."""


class Figure(NamedTuple):
    """One printed number, with the ends of its interval where there are any."""

    value: float
    low: float | None = None
    high: float | None = None


def _table(text: str) -> dict[tuple[str, str], Figure]:
    """The figures of a text block by row and column; a cell is a value, or a value, low and high."""
    head, *lines = (line.split("|") for line in text.strip("\n").splitlines())
    columns = [name.strip() for name in head[1:]]
    return {
        (row.strip(), column): Figure(*map(float, cell.split()))
        for row, *cells in lines
        for column, cell in zip(columns, cells, strict=True)
    }


# Rows are the eight triplets, and their mean as printed. The interval of clonex's forward transfer on cw3-8
# does not hold its value; the printed mean goes with the value.
_TRIPLETS = {
    ("cw3", "average_performance"): _table("""
     | fine-tuning      | ewc              | packnet          | clonex           | perfect-memory   | recall
1    | 0.30  0.29  0.31 | 0.71  0.56  0.85 | 0.70  0.60  0.82 | 0.84  0.77  0.91 | 0.52  0.40  0.59 | 0.90  0.88  0.92
2    | 0.31  0.29  0.33 | 0.58  0.54  0.62 | 0.86  0.83  0.89 | 0.90  0.79  0.96 | 0.74  0.65  0.83 | 0.92  0.89  0.94
3    | 0.24  0.22  0.26 | 0.42  0.30  0.51 | 0.61  0.53  0.69 | 0.73  0.64  0.81 | 0.26  0.15  0.36 | 0.91  0.90  0.93
4    | 0.33  0.32  0.33 | 0.75  0.62  0.89 | 0.53  0.43  0.62 | 0.88  0.83  0.93 | 0.28  0.24  0.32 | 0.87  0.84  0.89
5    | 0.33  0.33  0.33 | 0.54  0.45  0.62 | 0.74  0.65  0.84 | 0.89  0.79  0.97 | 0.35  0.28  0.46 | 0.92  0.90  0.94
6    | 0.27  0.24  0.29 | 0.82  0.74  0.89 | 0.40  0.32  0.49 | 0.74  0.69  0.80 | 0.33  0.25  0.45 | 0.91  0.89  0.93
7    | 0.33  0.33  0.33 | 0.80  0.68  0.92 | 0.91  0.86  0.95 | 0.90  0.81  0.99 | 0.90  0.78  0.97 | 0.95  0.93  0.96
8    | 0.33  0.33  0.33 | 0.41  0.34  0.52 | 0.81  0.67  0.93 | 0.81  0.62  0.93 | 0.50  0.40  0.61 | 0.95  0.93  0.97
mean | 0.31             | 0.63             | 0.70             | 0.84             | 0.49             | 0.92
"""),
    ("cw3", "forgetting"): _table("""
     | fine-tuning      | ewc              | packnet          | clonex           | perfect-memory   | recall
1    | 0.59  0.58  0.61 | 0.10 -0.02  0.22 | 0.02  0.00  0.04 | 0.02 -0.01  0.07 | 0.02  0.01  0.04 |-0.01 -0.03  0.02
2    | 0.53  0.51  0.55 | 0.26  0.23  0.29 |-0.05 -0.09  0.00 |-0.04 -0.08 -0.01 | 0.04 -0.04  0.14 | 0.00 -0.02  0.02
3    | 0.61  0.59  0.63 | 0.24  0.21  0.27 |-0.06 -0.13  0.01 | 0.01 -0.06  0.09 |-0.02 -0.07  0.02 |-0.04 -0.06 -0.01
4    | 0.53  0.51  0.54 |-0.03 -0.10  0.07 |-0.06 -0.09 -0.02 |-0.03 -0.09  0.04 | 0.02 -0.01  0.05 | 0.01 -0.01  0.03
5    | 0.55  0.49  0.59 | 0.03 -0.01  0.07 | 0.01 -0.05  0.07 |-0.01 -0.05  0.03 | 0.01  0.00  0.02 |-0.03 -0.05 -0.02
6    | 0.58  0.56  0.60 | 0.04 -0.03  0.12 | 0.02  0.01  0.03 | 0.05 -0.02  0.13 |-0.01 -0.03  0.01 |-0.03 -0.05  0.00
7    | 0.55  0.51  0.58 | 0.13  0.00  0.27 | 0.02 -0.01  0.05 | 0.04 -0.04  0.12 |-0.01 -0.03  0.00 |-0.01 -0.03  0.01
8    | 0.57  0.53  0.61 | 0.16  0.04  0.26 | 0.02 -0.04  0.08 | 0.05 -0.01  0.12 | 0.00 -0.02  0.02 |-0.06 -0.09 -0.03
mean | 0.56             | 0.12             |-0.01             | 0.01             | 0.01             |-0.02
"""),
    ("cw3", "forward_transfer"): _table("""
     | fine-tuning      | ewc              | packnet          | clonex           | perfect-memory   | recall
1    | 0.14  0.05  0.21 |-0.10 -0.24  0.02 |-0.23 -0.47  0.03 | 0.32  0.24  0.40 |-0.96 -1.32 -0.62 | 0.35  0.29  0.41
2    | 0.22  0.11  0.32 | 0.03 -0.13  0.19 |-0.10 -0.22  0.01 | 0.32  0.03  0.52 |-0.09 -0.25  0.09 | 0.47  0.44  0.50
3    | 0.33  0.29  0.38 | 0.03 -0.19  0.16 | 0.02 -0.19  0.17 | 0.31  0.16  0.42 |-0.57 -0.68 -0.47 | 0.49  0.45  0.53
4    | 0.40  0.36  0.44 | 0.26  0.21  0.29 |-0.13 -0.34  0.08 | 0.41  0.23  0.53 |-0.29 -0.37 -0.21 | 0.45  0.41  0.48
5    | 0.51  0.42  0.59 | 0.12 -0.08  0.31 | 0.23  0.15  0.31 | 0.48  0.32  0.62 |-0.19 -0.33 -0.07 | 0.52  0.46  0.57
6    | 0.31  0.18  0.42 | 0.19 -0.02  0.35 |-0.15 -0.48  0.08 | 0.41  0.26  0.53 |-0.70 -1.02 -0.42 | 0.55  0.52  0.58
7    | 0.32  0.27  0.38 | 0.28  0.20  0.36 | 0.08 -0.01  0.17 | 0.56  0.50  0.63 |-0.10 -0.43  0.14 | 0.55  0.48  0.62
8    | 0.47  0.39  0.54 |-0.09 -0.42  0.16 |-0.01 -0.50  0.38 | 0.30 -0.81  0.17 |-0.44 -0.78 -0.14 | 0.52  0.47  0.55
mean | 0.34             | 0.09             |-0.03             | 0.39             |-0.42             | 0.49
"""),
    ("cw6", "average_performance"): _table("""
     | fine-tuning      | ewc              | packnet          | clonex           | perfect-memory   | recall
1    | 0.10  0.06  0.14 | 0.71  0.57  0.84 | 0.79  0.71  0.87 | 0.87  0.81  0.92 | 0.47  0.44  0.50 | 0.95  0.94  0.95
2    | 0.16  0.16  0.17 | 0.59  0.41  0.74 | 0.80  0.74  0.86 | 0.90  0.85  0.95 | 0.50  0.45  0.55 | 0.98  0.97  0.99
3    | 0.11  0.09  0.12 | 0.61  0.57  0.65 | 0.50  0.42  0.59 | 0.81  0.75  0.85 | 0.14  0.13  0.14 | 0.87  0.86  0.88
4    | 0.17  0.17  0.17 | 0.56  0.53  0.58 | 0.86  0.82  0.89 | 0.85  0.81  0.88 | 0.17  0.13  0.21 | 0.89  0.86  0.90
5    | 0.17  0.17  0.17 | 0.42  0.33  0.52 | 0.75  0.61  0.87 | 0.91  0.86  0.96 | 0.32  0.29  0.37 | 0.97  0.97  0.98
6    | 0.13  0.13  0.14 | 0.75  0.65  0.85 | 0.64  0.57  0.71 | 0.74  0.70  0.79 | 0.28  0.17  0.39 | 0.95  0.94  0.97
7    | 0.17  0.17  0.17 | 0.96  0.95  0.96 | 0.87  0.79  0.93 | 0.96  0.94  0.98 | 0.85  0.75  0.95 | 0.97  0.95  0.99
8    | 0.17  0.17  0.18 | 0.51  0.43  0.59 | 0.82  0.67  0.96 | 0.97  0.96  0.98 | 0.64  0.61  0.65 | 0.95  0.92  0.97
mean | 0.15             | 0.64             | 0.75             | 0.88             | 0.42             | 0.94
"""),
    ("cw6", "forgetting"): _table("""
     | fine-tuning      | ewc              | packnet          | clonex           | perfect-memory   | recall
1    | 0.71  0.67  0.75 | 0.07  0.00  0.13 | 0.00 -0.02  0.02 | 0.02 -0.01  0.05 | 0.01 -0.02  0.04 |-0.05 -0.06 -0.04
2    | 0.73  0.71  0.75 | 0.20  0.11  0.29 | 0.00 -0.02  0.01 | 0.02 -0.02  0.06 | 0.05  0.00  0.11 |-0.05 -0.06 -0.03
3    | 0.70  0.68  0.72 | 0.02 -0.05  0.08 |-0.03 -0.07 -0.01 | 0.04  0.01  0.08 | 0.00 -0.01  0.01 |-0.05 -0.07 -0.04
4    | 0.59  0.54  0.64 | 0.05  0.03  0.06 |-0.04 -0.07  0.00 | 0.02 -0.01  0.06 |-0.02 -0.05  0.01 |-0.04 -0.06 -0.02
5    | 0.74  0.70  0.77 | 0.01 -0.01  0.02 |-0.04 -0.08 -0.01 | 0.03 -0.02  0.08 |-0.01 -0.04  0.02 |-0.04 -0.05 -0.04
6    | 0.68  0.62  0.74 | 0.01 -0.03  0.06 |-0.01 -0.03  0.00 | 0.08  0.02  0.15 |-0.02 -0.05  0.01 |-0.03 -0.03 -0.02
7    | 0.75  0.73  0.78 |-0.06 -0.09 -0.03 |-0.03 -0.08  0.02 |-0.01 -0.03  0.01 | 0.07  0.00  0.15 |-0.01 -0.03  0.00
8    | 0.71  0.64  0.75 | 0.05 -0.01  0.11 |-0.03 -0.06  0.00 |-0.01 -0.03  0.01 | 0.01  0.00  0.02 |-0.05 -0.06 -0.03
mean | 0.70             | 0.04             |-0.02             | 0.02             | 0.01             |-0.04
"""),
    ("cw6", "forward_transfer"): _table("""
     | fine-tuning      | ewc              | packnet          | clonex           | perfect-memory   | recall
1    | 0.00 -0.11  0.11 |-0.02 -0.18  0.14 |-0.09 -0.19  0.00 | 0.34  0.22  0.45 |-0.92 -1.04 -0.82 | 0.36  0.32  0.40
2    | 0.26  0.19  0.33 |-0.02 -0.27  0.17 |-0.09 -0.20  0.02 | 0.51  0.45  0.57 |-0.65 -0.90 -0.42 | 0.55  0.50  0.59
3    | 0.24  0.18  0.29 |-0.11 -0.26  0.03 |-0.08 -0.19  0.03 | 0.46  0.43  0.49 |-0.66 -0.74 -0.60 | 0.48  0.45  0.50
4    | 0.28  0.25  0.31 | 0.13  0.05  0.20 | 0.41  0.36  0.45 | 0.54  0.51  0.57 |-0.49 -0.57 -0.42 | 0.53  0.50  0.56
5    | 0.42  0.30  0.53 |-0.12 -0.28  0.05 | 0.18  0.02  0.34 | 0.67  0.61  0.72 |-0.25 -0.34 -0.18 | 0.67  0.64  0.70
6    | 0.39  0.32  0.45 | 0.18 -0.03  0.34 | 0.02 -0.15  0.17 | 0.33  0.15  0.51 |-0.73 -1.07 -0.42 | 0.65  0.59  0.70
7    | 0.45  0.41  0.48 | 0.25  0.12  0.37 |-0.27 -0.59  0.06 | 0.55  0.48  0.62 |-0.05 -0.30  0.19 | 0.64  0.59  0.68
8    | 0.43  0.35  0.50 |-0.20 -0.42 -0.02 | 0.05 -0.38  0.42 | 0.68  0.62  0.73 | 0.11  0.02  0.18 | 0.61  0.56  0.66
mean | 0.31             | 0.01             | 0.02             | 0.51             |-0.46             | 0.56
"""),
}

_LONG = {
    "cw10": _table("""
               | average_performance | forgetting       | forward_transfer
fine-tuning    | 0.10  0.10  0.10    | 0.74  0.72  0.76 | 0.29  0.25  0.32
ewc            | 0.61  0.59  0.63    | 0.06  0.05  0.08 | 0.03 -0.04  0.09
packnet        | 0.87  0.83  0.91    |-0.04 -0.06 -0.02 | 0.29  0.22  0.35
clonex         | 0.85  0.80  0.90    | 0.00 -0.02  0.03 | 0.39  0.36  0.43
perfect-memory | 0.26  0.23  0.28    | 0.02 -0.01  0.06 |-1.23 -1.37 -1.10
recall         | 0.89  0.86  0.91    |-0.03 -0.04 -0.03 | 0.40  0.35  0.43
"""),
    "cw20": _table("""
               | average_performance | forgetting       | forward_transfer
fine-tuning    | 0.05  0.05  0.05    | 0.73  0.69  0.76 | 0.20  0.14  0.26
ewc            | 0.61  0.55  0.68    | 0.02 -0.01  0.06 |-0.13 -0.21 -0.04
packnet        | 0.79  0.75  0.82    |-0.01 -0.03  0.00 | 0.16  0.08  0.22
clonex         | 0.82  0.79  0.86    | 0.05  0.04  0.06 | 0.39  0.35  0.42
perfect-memory | 0.09  0.03  0.15    | 0.10  0.04  0.16 |-1.36 -1.44 -1.29
recall         | 0.90  0.87  0.92    |-0.04 -0.05 -0.03 | 0.42  0.39  0.44
"""),
}

RESULTS: dict[tuple[str, str, str], Figure] = {
    **{
        (f"{family}-{row}", method, metric): figure
        for (family, metric), table in _TRIPLETS.items()
        for (row, method), figure in table.items()
        if row != "mean"
    },
    **{
        (sequence, method, metric): figure
        for sequence, table in _LONG.items()
        for (method, metric), figure in table.items()
    },
}
"""The main tables (CW3, CW6, CW10 and CW20), by sequence, method and metric."""

MEANS: dict[tuple[str, str, str], Figure] = {
    (family, method, metric): figure
    for (family, metric), table in _TRIPLETS.items()
    for (row, method), figure in table.items()
    if row == "mean"
}
"""The mean rows of the main tables, by cw3 or cw6, method and metric."""

NETWORK_SHARING: dict[tuple[str, str], Figure] = _table("""
                                | first_task_performance | second_task_performance
shared actor, shared critic     | 0.96  0.94  0.97       | 0.00  0.00  0.00
unshared actor, shared critic   | 0.96  0.95  0.97       | 0.00  0.00  0.00
shared actor, unshared critic   | 0.95  0.93  0.98       | 0.93  0.90  0.95
unshared actor, unshared critic | 0.96  0.95  0.98       | 0.94  0.92  0.97
""")
"""Final success of Perfect Memory on a pair that the text does not name, by which networks its tasks share."""

OFFLINE_REPLAY: dict[tuple[str, str], Figure] = _table("""
         | first_task_performance | first_task_forgetting
pair-1-3 | 0.62  0.60  0.64       | 0.14  0.09  0.19
pair-1-4 | 0.57  0.54  0.59       | 0.13  0.10  0.15
pair-2-2 | 0.84  0.79  0.88       | 0.11  0.09  0.12
pair-2-3 | 0.86  0.84  0.89       | 0.10  0.08  0.13
pair-2-8 | 0.85  0.80  0.90       | 0.11  0.09  0.12
pair-3-6 | 0.78  0.72  0.85       | 0.11  0.08  0.12
pair-4-3 | 0.58  0.55  0.63       | 0.32  0.23  0.39
pair-7-1 | 0.82  0.79  0.84       | 0.10  0.07  0.12
pair-7-9 | 0.66  0.63  0.68       | 0.24  0.21  0.28
pair-8-0 | 0.85  0.81  0.87       | 0.11  0.07  0.16
pair-8-2 | 0.75  0.72  0.79       | 0.19  0.15  0.23
pair-8-4 | 0.80  0.80  0.81       | 0.12  0.09  0.16
pair-8-6 | 0.77  0.75  0.78       | 0.15  0.11  0.18
""")
"""Perfect Memory on the pairs whose first task it forgets, by pair and metric."""

ONLINE_REPLAY: dict[tuple[str, str], Figure] = _table("""
         | first_task_performance | first_task_forgetting
pair-1-3 | 0.90  0.90  0.91       |-0.10 -0.11 -0.08
pair-1-4 | 0.76  0.73  0.80       | 0.00 -0.02  0.01
pair-2-2 | 0.96  0.95  0.97       | 0.00 -0.01  0.00
pair-2-3 | 0.95  0.95  0.97       |-0.04 -0.06 -0.01
pair-2-8 | 0.98  0.97  0.98       | 0.01 -0.03  0.03
pair-3-6 | 0.98  0.96  0.98       |-0.03 -0.05 -0.01
pair-4-3 | 0.90  0.88  0.93       |-0.15 -0.19 -0.12
pair-7-1 | 0.87  0.85  0.88       |-0.02 -0.05  0.01
pair-7-9 | 0.90  0.88  0.93       |-0.04 -0.05 -0.02
pair-8-0 | 0.98  0.96  0.98       |-0.08 -0.12 -0.05
pair-8-2 | 0.94  0.93  0.96       |-0.07 -0.09 -0.04
pair-8-4 | 0.90  0.87  0.92       | 0.02  0.00  0.04
pair-8-6 | 0.91  0.85  0.93       |-0.03 -0.05 -0.01
""")
"""The same pairs when old tasks are met again instead of replayed."""

_LAMBDA = _table("""
     | average_performance | forgetting       | forward_transfer
0.01 | 0.84  0.82  0.86    | 0.02  0.01  0.04 | 0.37  0.34  0.39
0.1  | 0.84  0.82  0.87    | 0.01  0.00  0.02 | 0.39  0.38  0.40
1    | 0.87  0.86  0.88    |-0.01 -0.01  0.00 | 0.34  0.33  0.36
10   | 0.95  0.94  0.95    |-0.05 -0.06 -0.04 | 0.36  0.32  0.40
100  | 0.88  0.86  0.89    |-0.05 -0.06 -0.03 | 0.18  0.16  0.20
""")

LAMBDA: dict[tuple[float, str], Figure] = {(float(lam), metric): figure for (lam, metric), figure in _LAMBDA.items()}
"""RECALL on cw6-1, by the coefficient of its distillation and by metric."""

PAIR_MEANS: dict[tuple[str, str], Figure] = _table("""
               | first_task_performance | second_task_performance | first_task_forgetting
perfect-memory | 0.87                   | 0.44                    | 0.02
recall         | 0.91                   | 0.85                    |-0.02
""")
"""Means over the 100 pairs, from the captions of the two figures that show them, by method and metric."""


class PairCounts(NamedTuple):
    """How many of the 100 pairs the text counts."""

    second_below_half: int
    """Pairs whose second task ends with a success rate below 0.5."""
    first_kept: int
    """Pairs whose first task loses less than 0.1."""


PAIR_COUNTS = {"perfect-memory": PairCounts(56, 87), "recall": PairCounts(4, 100)}
"""The counts of the text, by method."""

FORGOTTEN_PAIRS = 13
"""Pairs whose first task Perfect Memory forgets by more than 0.1; rounded, two of them print as 0.10."""

_PRINTED_AS = {"recall-paper": "recall", "recall-as-released": "recall"}


def published(sequence: str, method: str, metric: str) -> Figure | None:
    """The paper's number for this sequence, method and metric, if it prints one.

    Pairs have `first_task_performance` and `first_task_forgetting`: the paper's forgetting is a mean over all tasks,
    so that of a whole pair is half its first task's.
    """
    name = _PRINTED_AS.get(method, method)
    if name == "perfect-memory" and (sequence, metric) in OFFLINE_REPLAY:
        return OFFLINE_REPLAY[sequence, metric]
    return RESULTS.get((sequence, name, metric))
