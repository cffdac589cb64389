"""Chooses the values that a topology's file leaves out: device ids, ports, addresses, cache agents."""

from dataclasses import replace

from groupflow.files.forms import refuse
from groupflow.files.topology_forms import END, NetworkForm, RealNetworkForm
from groupflow.model.topology import (
    LAST_DEVICE_ID,
    NAME,
    HostSettings,
    RealHostSettings,
    grpc_address,
    read_address,
)

FIRST_PORT = 9561
"""of switches for which a file names none"""
MOST_ADDRESSES = (1 << 16) - 1
"""networks 10.X.Y.0/24, one for each host without an address of its own"""


def chosen(form: NetworkForm) -> NetworkForm:
    """The form with what it leaves out: the lowest free device ids, ports from 9561 on, addresses 10.X.Y.1,
    and with `agents: auto` a cache agent beside each switch with hosts."""
    switches, hosts, links = dict(form.switches), dict(form.hosts), list(form.links)
    real = isinstance(form, RealNetworkForm)
    agent_link = replace(form.defaults.link, rate=None, delay_ns=0)
    for name in _without_agent(form) if form.agents == "auto" else ():
        agent = f"{name}c"
        if agent in switches or agent in hosts or not NAME.fullmatch(agent):
            refuse("agents", f"{agent!r} cannot be the agent of {name}; rename a node, or write agents: none")
        switches[name] = replace(switches[name], agent=agent)
        hosts[agent] = RealHostSettings() if real else HostSettings()
        links.append(type(links[0])(ends=(agent, name), spec=agent_link))
    ids = {switch.device_id for switch in switches.values()}
    free_ids = (number for number in range(1, LAST_DEVICE_ID) if number not in ids)
    ports = {switch.grpc for switch in switches.values()}
    free_ports = (text for text in map(grpc_address, range(FIRST_PORT, 1 << 16)) if text not in ports)
    addresses = {host.address for host in hosts.values()}
    every = (read_address(f"10.{n >> 8}.{n & 0xFF}.1/24") for n in range(1, MOST_ADDRESSES + 1))
    free_addresses = (address for address in every if address not in addresses)
    most = 255 if real else LAST_DEVICE_ID
    for name, switch in switches.items():
        number = next(free_ids, LAST_DEVICE_ID) if switch.device_id is None else switch.device_id
        if number > most:
            refuse(f"switches.{name}", f"no device id is left up to {most}; name fewer switches")
        # No socket is opened for a simulated switch, of which there may be more than ports.
        grpc = switch.grpc or (next(free_ports) if most == 255 else f"{name}:9559")
        switches[name] = replace(switch, device_id=number, grpc=grpc)
    for name, host in hosts.items():
        if host.address is None:
            if (address := next(free_addresses, None)) is None:
                refuse(f"hosts.{name}", f"no address is left after {MOST_ADDRESSES}; give it an `ip`")
            hosts[name] = replace(host, address=address)
    return form.model_copy(update={"switches": switches, "hosts": hosts, "links": links})


def _without_agent(form: NetworkForm) -> list[str]:
    """The switches that have hosts, and no agent."""
    ends = [{END.sub(r"\1", text) for text in item.ends} for item in form.links]
    linked = {name for pair in ends if pair & form.hosts.keys() for name in pair}
    return [name for name, switch in form.switches.items() if name in linked and switch.agent is None]
