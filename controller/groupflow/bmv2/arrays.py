"""`gfswitch-cli`: counters, meters, registers, queues and ports."""

from time import time_ns
from typing import Any, cast

from finsy.proto import p4d, p4i, p4r

from groupflow.bmv2.remote import MODIFY, RefusedError, Remote, integer, lookup
from groupflow.bmv2.tables import Tables
from groupflow.bmv2.values import Lines

_MICROSECONDS = 1_000_000
"""in a second: BMv2's rates are per microsecond, P4Runtime's per second"""


class Arrays:
    def __init__(self, remote: Remote, tables: Tables) -> None:
        self._remote = remote
        self._info = remote.p4info
        self._tables = tables

    def _cell(self, array: object, index: str) -> p4r.Entity:
        """A counter's or meter's cell; of direct ones, that of the entry with a handle."""
        match array:
            case p4i.DirectCounter():
                entry = self._entry(array.direct_table_id, index)
                return p4r.Entity(direct_counter_entry=p4r.DirectCounterEntry(table_entry=entry))
            case p4i.DirectMeter():
                entry = self._entry(array.direct_table_id, index)
                return p4r.Entity(direct_meter_entry=p4r.DirectMeterEntry(table_entry=entry))
            case p4i.Counter():
                cell = p4r.CounterEntry(counter_id=array.preamble.id, index=_index(index))
                return p4r.Entity(counter_entry=cell)
            case _:
                assert isinstance(array, p4i.Meter)
                cell = p4r.MeterEntry(meter_id=array.preamble.id, index=_index(index))
                return p4r.Entity(meter_entry=cell)

    def _entry(self, table: int, handle: str) -> p4r.TableEntry:
        found = next(each for each in self._info.tables if each.preamble.id == table)
        entry = self._tables.entry(found, handle)
        return p4r.TableEntry(table_id=table, match=entry.match, priority=entry.priority)

    def _counter(self, name: str) -> p4i.Counter | p4i.DirectCounter:
        return lookup("counter", [*self._info.counters, *self._info.direct_counters], name)

    def _of_table(self, counter: p4i.Counter | p4i.DirectCounter) -> str | None:
        """The name of the table whose entries it counts."""
        tables = {each.preamble.id: each.preamble.name for each in self._info.tables}
        return tables[counter.direct_table_id] if isinstance(counter, p4i.DirectCounter) else None

    def counter_read(self, name: str, index: str) -> Lines:
        counter = self._counter(name)
        if table := self._of_table(counter):
            yield f"this is the direct counter for table {table}"
        data = _part(self._remote.read(self._cell(counter, index))[0]).data
        yield f"{name}[{int(index, 0)}]= ({data.byte_count} bytes, {data.packet_count} packets)"

    def counter_write(self, name: str, index: str, packets: str, size: str) -> Lines:
        counter = self._counter(name)
        if table := self._of_table(counter):
            yield f"writing to direct counter for table {table}"
        cell = self._cell(counter, index)
        most = (1 << 63) - 1
        data = p4r.CounterData(
            packet_count=integer(packets, "packets", most), byte_count=integer(size, "bytes", most)
        )
        _part(cell).data.CopyFrom(data)
        self._remote.write(MODIFY, cell)
        yield f"{name}[{int(index, 0)}] has been updated"

    def counter_reset(self, name: str) -> Lines:
        counter, zero = self._counter(name), p4r.CounterData()
        table = self._of_table(counter)
        if table is None:
            cells = p4r.CounterEntry(counter_id=counter.preamble.id, data=zero)
            self._remote.write(MODIFY, p4r.Entity(counter_entry=cells))
            return
        yield f"this is the direct counter for table {table}"
        for handle in self._tables.entries(self._tables.table(table)):
            cell = self._cell(counter, str(handle))
            cell.direct_counter_entry.data.CopyFrom(zero)
            self._remote.write(MODIFY, cell)

    def _meter(self, name: str) -> p4i.Meter | p4i.DirectMeter:
        return lookup("meter", [*self._info.meters, *self._info.direct_meters], name)

    def meter_set(self, name: str, index: str, *rates: str) -> None:
        cell = self._cell(self._meter(name), index)
        _part(cell).config.CopyFrom(_config(rates))
        self._remote.write(MODIFY, cell)

    def meters_set(self, name: str, *rates: str) -> None:
        """Sets rates: of a direct meter, for the entries that are there."""
        meter = self._meter(name)
        if isinstance(meter, p4i.DirectMeter):
            table = next(each for each in self._info.tables if each.preamble.id == meter.direct_table_id)
            for handle in self._tables.entries(table):
                self.meter_set(name, str(handle), *rates)
            return
        cells = p4r.MeterEntry(meter_id=meter.preamble.id, config=_config(rates))
        self._remote.write(MODIFY, p4r.Entity(meter_entry=cells))

    def meter_get(self, name: str, index: str) -> Lines:
        config = _part(self._remote.read(self._cell(self._meter(name), index))[0]).config
        for number, (rate, burst) in enumerate(((config.cir, config.cburst), (config.pir, config.pburst))):
            yield f"{number}: info rate = {rate / _MICROSECONDS}, burst size = {burst}"

    def _register(self, name: str) -> p4i.Register:
        return lookup("register", self._info.registers, name)

    def register_read(self, name: str, index: str | None = None) -> Lines:
        cells = p4r.RegisterEntry(register_id=self._register(name).preamble.id)
        if index is not None:
            cells.index.CopyFrom(_index(index))
        found = [each.register_entry for each in self._remote.read(p4r.Entity(register_entry=cells))]
        found.sort(key=lambda cell: cell.index.index)
        shown = ", ".join(str(int.from_bytes(cell.data.bitstring, "big")) for cell in found)
        yield f"{name}= {shown}" if index is None else f"{name}[{int(index, 0)}]= {shown}"

    def register_write(self, name: str, index: str, value: str) -> None:
        self._write_register(name, integer(value, "value", (1 << 2048) - 1), _index(index))

    def register_reset(self, name: str) -> None:
        self._write_register(name, 0, None)

    def _write_register(self, name: str, value: int, index: p4r.Index | None) -> None:
        register = self._register(name)
        width = max(1, (value.bit_length() + 7) // 8)
        data = p4d.P4Data(bitstring=value.to_bytes(width, "big"))
        cells = p4r.RegisterEntry(register_id=register.preamble.id, index=index, data=data)
        self._remote.write(MODIFY, p4r.Entity(register_entry=cells))

    def _ports(self) -> list[dict[str, Any]]:
        return cast(list[dict[str, Any]], self._remote.control(op="stats")["ports"])

    def queue_rate(self, rate: str, port: str | None = None, queue: str | None = None) -> None:
        """0 is no limit, as in BMv2; for gfswitch it would be a pause."""
        number = integer(rate, "rate_pps")
        self._queue(f"rate={number}pps" if number else "rate=unlimited", port, queue)

    def queue_depth(self, depth: str, port: str | None = None, queue: str | None = None) -> None:
        self._queue(f"packets={integer(depth, 'nb_pkts')}", port, queue)

    def _queue(self, spec: str, port: str | None, queue: str | None) -> None:
        ports = self._ports()
        wanted = integer(port, "egress_port") if port is not None else None
        chosen = [each for each in ports if wanted in (None, each["port"])]
        if not chosen:
            raise RefusedError(f"no port {port} has an interface" if port else "no port has an interface")
        for each in chosen:
            numbers = [found["priority"] for found in each["out"]["queues"]]
            for number in numbers if queue is None else [integer(queue, "priority")]:
                self._remote.control(op="queue", port=each["port"], queue=number, spec=spec)

    def show_ports(self) -> Lines:
        yield f"{'port #':^10}{'iface name':^20}{'status':^10}extra info"
        yield "=" * 50
        for port in self._ports():
            status = "UP" if port["up"] else "DOWN"
            yield f"{port['port']:^10}{port['interface']:^20}{status:^10}"

    def port_remove(self, port: str) -> None:
        """The port's link is down from then on."""
        self._remote.control(op="link", port=integer(port, "port_num"), spec="down")

    def time_since_epoch(self) -> Lines:
        """Since 1970, as on BMv2."""
        yield str(time_ns() // 1000)

    def time(self) -> Lines:
        """Since the start of the switch."""
        yield str(cast(int, self._remote.control(op="stats")["uptime_ns"]) // 1000)


def _part(entity: p4r.Entity) -> Any:
    """The counter's or meter's entry, direct or not."""
    return getattr(entity, entity.WhichOneof("entity") or "")


def _index(text: str) -> p4r.Index:
    return p4r.Index(index=integer(text, "index"))


def _config(rates: tuple[str, ...]) -> p4r.MeterConfig:
    if len(rates) != 2:
        raise RefusedError(f"Invalid number of rates, expected 2 but got {len(rates)}")
    try:
        pairs = [rate.split(":") for rate in rates]
        (cir, cburst), (pir, pburst) = ((round(float(r) * _MICROSECONDS), int(b)) for r, b in pairs)
        return p4r.MeterConfig(cir=cir, cburst=cburst, pir=pir, pburst=pburst)
    except (ValueError, OverflowError):
        raise RefusedError("Error while parsing rates: each is RATE:BURST, as in 0.5:1500") from None
