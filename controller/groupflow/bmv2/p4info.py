"""P4Info of a program that has none: what p4c's JSON for BMv2 says of tables, actions and arrays.

Programs for BMv2 are often started without P4Info, which P4Runtime needs. Names and widths are the JSON's;
ids are P4Info's number of the object's kind with the place among them.
"""

import json
from collections.abc import Iterable, Mapping
from typing import Any, TypeAlias, cast

from finsy.proto import p4i

Json: TypeAlias = Mapping[str, Any]

_ACTION, _TABLE, _PROFILE, _COUNTER, _DIRECT_COUNTER, _METER, _DIRECT_METER, _REGISTER = (
    number << 24 for number in (0x01, 0x02, 0x11, 0x12, 0x13, 0x14, 0x15, 0x16)
)
_KINDS = {
    "exact": p4i.MatchField.EXACT,
    "valid": p4i.MatchField.EXACT,
    "lpm": p4i.MatchField.LPM,
    "ternary": p4i.MatchField.TERNARY,
    "range": p4i.MatchField.RANGE,
    "optional": p4i.MatchField.OPTIONAL,
}


def derived(program: bytes) -> p4i.P4Info:
    """Raises ValueError for what is not p4c's JSON."""
    try:
        form = cast(Json, json.loads(program))
        return _P4Info(form).made()
    except (KeyError, TypeError, AttributeError, IndexError, RecursionError) as error:
        raise ValueError(f"it is not p4c's JSON for BMv2: {error!r}") from None


class _P4Info:
    def __init__(self, form: Json) -> None:
        self._form = form
        self._info = p4i.P4Info(pkg_info=p4i.PkgInfo(arch="v1model"))
        self._actions: dict[str, int] = {}
        self._tables: dict[str, p4i.Table] = {}
        types = {each["name"]: each for each in form["header_types"]}
        self._widths = {
            (header["name"], field[0]): int(field[1])
            for header in form["headers"]
            for field in types[header["header_type"]]["fields"]
            if field[1] != "*"
        }

    def made(self) -> p4i.P4Info:
        used = {name for table in self._listed("tables") for name in table["actions"]}
        for action in self._form["actions"]:
            # p4c makes an action for each table that has it, all of one name.
            if action["name"] in used and action["name"] not in self._actions:
                self._action(action)
        for table in self._listed("tables"):
            self._table(table)
        # JSON of 2016 describes a table's profile in the table.
        old = [table for table in self._listed("tables") if "act_prof_name" in table]
        for profile in (*self._listed("action_profiles"), *old):
            self._profile(profile)
        for form in self._form["counter_arrays"]:
            spec = p4i.CounterSpec(unit=p4i.CounterSpec.BOTH)
            indirect, direct = (self._info.counters, _COUNTER), (self._info.direct_counters, _DIRECT_COUNTER)
            self._array(form, spec, indirect, direct)
        for form in self._form["meter_arrays"]:
            unit = p4i.MeterSpec.PACKETS if form["type"] == "packets" else p4i.MeterSpec.BYTES
            indirect, direct = (self._info.meters, _METER), (self._info.direct_meters, _DIRECT_METER)
            self._array(form, p4i.MeterSpec(unit=unit), indirect, direct)
        for register in self._form["register_arrays"]:
            added = self._info.registers.add(size=register["size"])
            added.type_spec.bitstring.bit.bitwidth = register["bitwidth"]
            _name(added, _REGISTER + len(self._info.registers), register["name"])
        return self._info

    def _listed(self, kind: str) -> Iterable[Json]:
        return [each for pipeline in self._form["pipelines"] for each in pipeline.get(kind, ())]

    def _action(self, form: Json) -> None:
        action = self._info.actions.add()
        _name(action, _ACTION + len(self._info.actions), form["name"])
        for number, param in enumerate(form["runtime_data"], 1):
            action.params.add(id=number, name=param["name"], bitwidth=param["bitwidth"])
        self._actions[form["name"]] = action.preamble.id

    def _table(self, form: Json) -> None:
        table = self._info.tables.add(size=form["max_size"])
        self._tables[form["name"]] = table
        _name(table, _TABLE + len(self._info.tables), form["name"])
        for number, key in enumerate(form["key"], 1):
            header, field = key["target"] if isinstance(key["target"], list) else (key["target"], "$valid$")
            table.match_fields.add(
                id=number,
                name=key.get("name") or f"{header}.{field}",
                bitwidth=1 if field == "$valid$" else self._widths[header, field],
                match_type=_KINDS[key["match_type"]],
            )
        table.action_refs.extend(
            p4i.ActionRef(id=number) for number in sorted({self._actions[name] for name in form["actions"]})
        )
        default = form.get("default_entry")
        if default and default["action_const"]:
            names = {each["id"]: each["name"] for each in self._form["actions"]}
            table.const_default_action_id = self._actions[names[default["action_id"]]]
        table.is_const_table = bool(form.get("entries")) and bool(form.get("is_const", True))
        if form.get("support_timeout"):
            table.idle_timeout_behavior = p4i.Table.NOTIFY_CONTROL

    def _profile(self, form: Json) -> None:
        profile = self._info.action_profiles.add(size=form["max_size"], with_selector="selector" in form)
        name = form.get("act_prof_name", form["name"])
        _name(profile, _PROFILE + len(self._info.action_profiles), name)
        for user in self._listed("tables"):
            if name in (user.get("action_profile"), user.get("act_prof_name")):
                table = self._tables[user["name"]]
                table.implementation_id = profile.preamble.id
                profile.table_ids.append(table.preamble.id)

    def _array(self, form: Json, spec: object, *kinds: tuple[Any, int]) -> None:
        """Adds a counter or meter: an array, or a direct one of the table that it is bound to."""
        is_direct = bool(form.get("is_direct"))
        arrays, number = kinds[is_direct]
        added = arrays.add(spec=spec) if is_direct else arrays.add(spec=spec, size=form["size"])
        _name(added, number + len(arrays), form["name"])
        if is_direct:
            table = self._tables[form["binding"]]
            added.direct_table_id = table.preamble.id
            table.direct_resource_ids.append(added.preamble.id)


def _name(added: Any, number: int, name: str) -> None:
    added.preamble.id, added.preamble.name, added.preamble.alias = number, name, name
