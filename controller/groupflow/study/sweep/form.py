"""The form of a sweep's file, and the runs that it asks for."""

import hashlib
import math
import re
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from importlib.metadata import version
from itertools import product
from pathlib import Path
from typing import Annotated, Any, Literal, Self, TypeAlias, cast

import yaml
from pydantic import Field, PlainValidator, model_validator

from groupflow import units
from groupflow.compiler import compiled_files
from groupflow.files import forms, variants
from groupflow.files.forms import Form, naming, refusal, refuse
from groupflow.files.topology import load
from groupflow.model.topology import TopologyError
from groupflow.sim import Scenario, ScenarioError, parse

MOST_RUNS = 100_000
_TRIED = 1000
"""runs that are read before the first one begins, until one can be a scenario"""
Metric: TypeAlias = Literal[
    "goodput", "delivered", "sent", "retransmitted", "repairs", "timeouts", "delay", "start", "end",
    "completed", "dropped", "cache_peak", "simulated", "took",
]  # fmt: skip
OF_NETWORK: dict[Metric, str] = {"dropped": "packets", "cache_peak": "bytes", "simulated": "s", "took": "s"}
METRICS: dict[Metric, str] = {
    "goodput": "bit/s", "delivered": "bytes", "sent": "packets", "retransmitted": "packets",
    "repairs": "packets", "timeouts": "1", "delay": "s", "start": "s", "end": "s", "completed": "s",
    **OF_NETWORK,
}  # fmt: skip
"""what a run measures of each flow, and of the whole network, with the unit"""
Value: TypeAlias = str | int | float | bool


class RangeForm(Form):
    start: float = Field(alias="from", description="a number")
    to: float = Field(description="a number")
    step: float | None = Field(None, gt=0, description="a number above 0")
    count: int | None = Field(None, ge=2, le=MOST_RUNS, description="a number of values from 2 on")
    spacing: Literal["linear", "log"] = "linear"
    unit: str = Field("", description="a unit that follows each value, as mbit")

    @model_validator(mode="after")
    def _check(self) -> Self:
        if (self.step is None) == (self.count is None):
            raise refusal("write a step, as in {from: 1, to: 5, step: 2}, or a count")
        if self.to < self.start or (self.spacing == "log" and (self.start <= 0 or self.count is None)):
            raise refusal("write `to` not below `from`; a log spacing needs a count, and `from` above 0")
        if self.step is not None and (self.to - self.start) / self.step > MOST_RUNS:
            raise refusal(f"gives more than {MOST_RUNS} values; write a larger step")
        return self

    def values(self) -> tuple[Value, ...]:
        low, high, step = self.start, self.to, self.step
        last = self.count - 1 if self.count is not None else 0
        if step is not None:
            found = [low + step * at for at in range(int((high - low) / step + 1e-9) + 1)]
        elif self.spacing == "log":
            found = [low * math.pow(high / low, at / last) for at in range(last + 1)]
        else:
            found = [low + (high - low) * at / last for at in range(last + 1)]
        return tuple(
            f"{value:.10g}{self.unit}" if self.unit else int(value) if value == int(value) else value
            for value in found
        )


def _values(value: object) -> tuple[Value, ...]:
    if isinstance(value, dict):
        return RangeForm.model_validate(value).values()
    items = cast(list[object], value) if isinstance(value, list) else []
    if not items or not all(isinstance(item, str | int | float) for item in items):
        raise refusal("no values; write a list, as [5mbit, 10mbit], or {from: 1, to: 5, step: 2}")
    return tuple(dict.fromkeys(cast(list[Value], items)))


def _seeds(value: object) -> tuple[int, ...]:
    """A number of seeds, from 1 on; or each."""
    if type(value) is int:
        value = list(range(1, value + 1)) if 0 < value <= MOST_RUNS else [-1]
    each = _values(value)
    if not all(type(seed) is int and seed >= 0 for seed in each):
        raise refusal("write a number of seeds, or a list or range of whole numbers")
    return cast(tuple[int, ...], each)


_LIST: dict[str, Any] = {"type": "array", "items": {"type": ["string", "number", "boolean"]}, "minItems": 1}
_MANY: dict[str, Any] = {"anyOf": [_LIST, RangeForm.model_json_schema()]}
_COUNT: dict[str, Any] = {"anyOf": [{"type": "integer", "minimum": 1}, *_MANY["anyOf"]]}
Values: TypeAlias = Annotated[tuple[Value, ...], PlainValidator(_values, json_schema_input_type=Any),
                              Field(json_schema_extra=_MANY)]  # fmt: skip
Seeds: TypeAlias = Annotated[tuple[int, ...], PlainValidator(_seeds, json_schema_input_type=Any),
                             Field(json_schema_extra=_COUNT)]  # fmt: skip


class SweepForm(Form):
    """The file of `groupflow sim sweep`."""

    scenario: str = Field(description="the path of a scenario's file")
    where: Literal["netsim", "real"] = "netsim"
    vary: Mapping[str, Values] = Field({}, description="`links.s1-s2.rate: [5mbit, 10mbit]`")
    seeds: Seeds = (1,)
    show: list[Metric] = Field(["goodput"], min_length=1, description="a list of metrics")
    x: str | None = Field(None, description="a parameter: the horizontal axis of the plots")
    confidence: float = Field(0.95, gt=0, lt=1, description="a fraction, as 0.95")


@dataclass(frozen=True)
class Run:
    """A scenario with one value of each parameter, and one seed."""

    values: tuple[Value, ...]
    seed: int
    text: str
    """the scenario, as YAML, with a digest of its P4 program"""
    source: str
    where: Literal["netsim", "real"]

    @property
    def key(self) -> str:
        """The same for the same scenario, metrics and version of groupflow, whatever else is swept."""
        parts = f"{version('groupflow')} {self.where} {' '.join(METRICS)} {self.text}"
        return hashlib.sha256(parts.encode()).hexdigest()[:16]

    def scenario(self) -> Scenario:
        return parse(self.text, self.source, Path(self.source).parent)


@dataclass(frozen=True)
class Sweep:
    form: SweepForm
    runs: tuple[Run, ...]

    def name(self, run: Run) -> str:
        pairs = (f"{key}={value}" for key, value in zip(self.form.vary, run.values, strict=True))
        return ", ".join((*pairs, f"seed={run.seed}"))


def read(path: Path) -> Sweep:
    """Reads the file of a sweep. Raises ScenarioError."""
    with naming(str(path), ScenarioError):
        written = forms.read_yaml(forms.load_text(path, ScenarioError))
        forms.refuse_other("sweep", written, str(path))
        form = forms.validate(SweepForm, written)
        if form.x is not None and form.x not in form.vary:
            refuse("x", f"{form.x!r} is not varied; name one of {', '.join(form.vary) or 'vary'}")
        many = math.prod(map(len, form.vary.values())) * len(form.seeds)
        if many > MOST_RUNS:
            refuse("vary", f"{many} runs are more than {MOST_RUNS}; write fewer values or seeds")
        if "seed" in form.vary:
            refuse("vary.seed", "each run has a seed of `seeds`; write them there")
        source = path.parent / form.scenario
        base = _whole(source)
        runs = [_run(base, form, source, *case) for case in product(product(*form.vary.values()), form.seeds)]
        _check(form, runs[:: len(form.seeds)])
        return Sweep(form, tuple(runs))


def _check(form: SweepForm, runs: Sequence[Run]) -> None:
    """Raises ScenarioError where no run can be a scenario: a parameter is not one. A value that will not do
    costs only its runs."""
    refusals: list[ScenarioError] = []
    for run in runs[:_TRIED]:
        try:
            scenario = run.scenario()
            if run.where == "real":
                check_real(replace(scenario, name=run.source))
            return
        except ScenarioError as error:
            refusals.append(error)
    said = str(refusals[0]).removeprefix(f"{runs[0].source}: ")
    for path in form.vary:
        if re.search(rf"(?<!\w){re.escape(path.rpartition('.')[2])}(?!\w)", said.partition(": ")[0]):
            refuse(f"vary.{path}", said)
    raise refusals[0]


def check_real(scenario: Scenario) -> None:
    """Raises ScenarioError where a real network cannot run the scenario."""
    simulated = scenario.flows or scenario.splits or scenario.extras
    if simulated or not scenario.sessions or set(scenario.kinds.values()) > {"p4"}:
        raise ScenarioError(
            f"{scenario.name}: a real network runs `sessions`, over P4 switches and links without bursts,"
            " downtimes and byte bounds; leave all else out, or write `where: netsim`"
        )


def _whole(source: Path) -> str:
    """The scenario as YAML that names no topology's file: its network stands in it. Raises ScenarioError."""
    text = forms.load_text(source, ScenarioError)
    parse(text, str(source), source.parent)
    form = cast(dict[str, object], yaml.safe_load(text))
    if "topology" in form:
        try:
            network = yaml.safe_load(variants.render(load(cast(str, form.pop("topology")), source.parent)))
        except TopologyError as error:
            raise ScenarioError(str(error)) from None
        form |= {key: network[key] for key in ("switches", "hosts", "links")}
    return yaml.safe_dump(form)


def _run(base: str, form: SweepForm, source: Path, values: tuple[Value, ...], seed: int) -> Run:
    scenario: object = yaml.safe_load(base)
    for path, value in zip(form.vary, values, strict=True):
        *way, last = path.split(".")
        places = [scenario]
        for step in way:
            places = [found for place in places for found in _inside(place, step, path)]
        for place in places:
            if not isinstance(place, dict):
                refuse(f"vary.{path}", f"{last} would be in a list; name the entry before it")
            cast(dict[str, object], place)[last] = value
    written = cast(dict[str, object], scenario) | {"seed": seed}
    text = yaml.safe_dump(written) + _digest(source.parent / str(written.get("program", "")))
    return Run(values, seed, text, str(source), form.where)


def _digest(program: Path) -> str:
    """A line about a P4 program with what it includes; none if it has errors, of which its runs tell."""
    with suppress(ValueError, OSError):
        blob = compiled_files(program)[0] if program.suffix == ".p4" else program
        return f"# {hashlib.sha256(blob.read_bytes()).hexdigest()}\n"
    return ""


def _inside(place: object, step: str, path: str) -> list[object]:
    """The step of a parameter's path: a key, a place in a list, the ends of a link, or `*`, all."""
    found: dict[str, object] = {}
    if isinstance(place, dict):
        found = cast(dict[str, object], place)
    if isinstance(place, list):
        for at, each in enumerate(cast(list[object], place)):
            ends = cast(dict[str, list[str]], each).get("ends", []) if isinstance(each, dict) else []
            found |= dict.fromkeys([str(at), "-".join(ends), "-".join(reversed(ends))], cast(object, each))
    chosen = list(found.values()) if step == "*" else [found[step]] if step in found else []
    if not chosen:
        known = ", ".join(key for key in found if key) or "nothing"
        refuse(f"vary.{path}", f"{step!r} is not in the scenario; there are {known}")
    return chosen


def quantity(value: object) -> tuple[float, str] | None:
    """A value as a number and its unit; None for other words."""
    if isinstance(value, int | float):
        return float(value), "1"
    scaled = ((units.parse_rate, 1.0, "bit/s"), (units.parse_delay, 1e9, "s"), (units.parse_loss, 1e9, "1"))
    counted = ((units.parse_size, 1.0, "bytes"), (units.parse_packets, 1.0, "packets"))
    for read, scale, unit in (*scaled, *counted):
        with suppress(units.UnitError):
            found = read(str(value))
            return None if found is None else (found / scale, unit)
    return None
