"""All evaluations of many runs as one table: in memory, as a Parquet file, and queried with DuckDB."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from recall_rl.analysis.read import Result, read
from recall_rl.errors import UsageError

if TYPE_CHECKING:
    import pandas

COLUMNS = (
    "run",
    "identity",
    "method",
    "sequence",
    "seed",
    "protocol",
    "budget",
    "results_version",
    "finished",
    "step",
    "position",
    "task",
    "success",
    "total",
)
"""One row an evaluation and task; what makes figures comparable stands in every row."""


def needs_report() -> UsageError:
    """What is said where the packages of the extra are missing."""
    return UsageError("This needs packages that are not installed: pip install 'recall-rl[report]'.")


def table(results: Iterable[Result]) -> Any:
    """Every evaluation of every task of these runs, as a PyArrow table."""
    try:
        import pyarrow as arrow
    except ImportError as error:
        raise needs_report() from error
    schema = arrow.schema([(name, _kind(name, arrow)) for name in COLUMNS])
    batches = [_batch(result, schema, arrow) for result in results]
    return arrow.Table.from_batches(batches, schema).unify_dictionaries()


def _kind(name: str, arrow: Any) -> Any:
    numbers = {"seed": arrow.int64(), "results_version": arrow.int32(), "step": arrow.int64()}
    numbers |= {
        "position": arrow.int32(),
        "success": arrow.float64(),
        "total": arrow.float64(),
        "finished": arrow.bool_(),
    }
    return numbers.get(name) or arrow.dictionary(arrow.int32(), arrow.string())


def _batch(result: Result, schema: Any, arrow: Any) -> Any:
    k, position = np.nonzero(result.played)
    n = len(k)
    same: dict[str, Any] = {
        "run": result.name,
        "identity": result.identity,
        "method": result.method,
        "sequence": result.sequence,
        "seed": result.seed,
        "protocol": result.setting.protocol,
        "budget": result.setting.budget,
        "results_version": result.setting.results_version,
        "finished": result.finished,
    }
    each: dict[str, Any] = {
        "step": result.at[k],
        "position": position.astype(np.int32),
        "success": result.success[k, position],
        "total": result.total[k, position],
    }

    def column(name: str, kind: Any) -> Any:
        if name in each:
            return arrow.array(each[name], type=kind)
        if name == "task":
            return arrow.DictionaryArray.from_arrays(position.astype(np.int32), list(result.tasks))
        if arrow.types.is_dictionary(kind):
            return arrow.DictionaryArray.from_arrays(np.zeros(n, np.int32), [same[name]])
        return arrow.array(np.full(n, same[name]), type=kind)

    return arrow.record_batch([column(field.name, field.type) for field in schema], schema=schema)


def write(results: Iterable[Result], path: Path) -> None:
    """The table as a Parquet file."""
    made = table(results)
    import pyarrow.parquet as parquet

    parquet.write_table(made, path, compression="zstd")


def results(*paths: str | Path, query: str | None = None) -> pandas.DataFrame:
    """The evaluations of all runs below these paths, or of a Parquet file of them, as a data frame.

    `query` is SQL, answered by DuckDB over a table called `results`. Runs that cannot be read are left out; `recall
    report` names them. Average only rows that agree in protocol, budget and results_version.
    """
    try:
        import duckdb
    except ImportError as error:
        raise needs_report() from error
    files = [str(path) for path in paths if Path(path).suffix == ".parquet"]
    runs = [path for path in paths if Path(path).suffix != ".parquet"]
    if files and runs:
        raise UsageError("Give either run folders or Parquet files, not both.")
    with duckdb.connect() as connection:
        if files:
            missing = next((file for file in files if not Path(file).is_file()), None)
            if missing:
                raise UsageError(f"There is no file {missing}.")
            connection.read_parquet(files).create("results")
        else:
            connection.from_arrow(table(read(runs).results)).create("results")
        try:
            return connection.sql(query or "select * from results").df()
        except duckdb.Error as error:
            raise UsageError(f"DuckDB cannot answer: {str(error).splitlines()[0]}") from error
