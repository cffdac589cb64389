"""The table of commands: noun, verb, function. The docstring of a function is the summary in the help."""

from collections.abc import Iterator
from dataclasses import dataclass


@dataclass(frozen=True)
class Verb:
    """A command. Its function, `module:name` below `groupflow.cli`, is imported when the command is used."""

    name: str
    function: str
    example: str
    """words behind `groupflow NOUN VERB`; several lines: several examples"""
    uses: tuple[str, ...] = ("json",)
    """the common options that the command uses: `common.EVERYWHERE`"""
    summary: str = ""
    """of a command without a noun: the first page of the help imports no command"""


@dataclass(frozen=True)
class Noun:
    name: str
    summary: str
    verbs: tuple[Verb, ...]


API = ("json", "net", "api")
"""of a command that asks a controller"""

NOUNS = (
    Noun("net", "networks of your own under Mininet (root)", (
        Verb("up", "net:up", "fig5 --cli", ()),
        Verb("down", "net:down", "fig5", ("net",)),
        Verb("list", "net:list_all", ""),
        Verb("show", "net:show", "fig5\nhall.yaml\nAbilene.graphml > abilene.yaml", ("json", "net")),
        Verb("set", "net:change", "s1-s2 rate=10mbit delay=5ms loss=1%\ns1-eth3 down", ("json", "net")),
        Verb("exec", "net:execute", "h1 ping -c 3 10.0.2.1", ("net",)),
        Verb("play", "net:play", "lecture.rec", ()),
    )),
    Noun("controller", "the controller of a network of switches", (
        Verb("run", "controller:run", "--topology net.yaml --store groupflow.db", ()),
        Verb("show", "status:show", "", API),
        Verb("watch", "controller:watch", "--recent 20", API),
    )),
    Noun("switch", "the switches of a network", (
        Verb("list", "switch:list_all", "", API),
        Verb("show", "switch:show", "s1 --table streams", API),
        Verb("counters", "switch:counters", "s1 drops", API),
        Verb("trace", "switch:trace",
             "s1 --dropped\n"
             "s2 --match ipv4.dst=10.0.2.1 --next 3 --json", ("json", "net")),
        Verb("bmv2-agent", "switch:bmv2_agent", "s1 --thrift 127.0.0.1:9091 --iface s1-tick", ("net", "api")),
    )),
    Noun("p4", "P4 programs of your own", (
        Verb("check", "p4:check", "prog.p4"),
        Verb("compile", "p4:compile_", "prog.p4 --out build"),
    )),
    Noun("session", "sessions: groups with an id, members and senders", (
        Verb("list", "session:list_all", "", API),
        Verb("show", "session:show", "7", API),
        Verb("create", "session:create", "7 --mode n2n --policy isolate", API),
        Verb("set", "session:change", "7 --policy isolate", API),
        Verb("delete", "session:delete", "7", ("net", "api")),
        Verb("token", "session:token", "7 --role receiver", API),
        Verb("stats", "session:stats", "7", API),
        Verb("watch", "session:watch", "7", API),
        Verb("send", "transfer:send", "7 --file big.iso --members 3"),
        Verb("recv", "transfer:recv", "7 --output copy.iso"),
        Verb("join", "transfer:join", "7 --listen 9000"),
    )),
    Noun("member", "the members of sessions", (
        Verb("list", "session:list_members", "7", API),
        Verb("create", "session:create_member", "7 h2 9000", API),
        Verb("set", "session:change_member", "7 3 --target 20mbit --priority 1", API),
        Verb("delete", "session:delete_member", "7 3", ("net", "api")),
    )),
    Noun("flow", "flows under diffusion-type flow control", (
        Verb("list", "flow:list_all", "", API),
        Verb("show", "flow:show", "1", API),
        Verb("create", "flow:create", "--flow h1 h2 --protocol tcp --dst-port 5001 --d 0.1", API),
        Verb("delete", "flow:delete", "1", ("net", "api")),
        Verb("delays", "flow:delays", "", API),
    )),
    Noun("agent", "cache and split agents, hubs, rims and dispatchers", (
        Verb("list", "agents:list_all", "", API),
        Verb("set", "agents:change", "rim h3 --bytes 64MiB", API),
        Verb("place", "agents:place",
             "--topology fig5 --sender ma1 --member mb1 --member mc1 --agents 2", API),
    )),
    Noun("gather", "a server that gathers the streams of many clients, and tunes them", (
        Verb("serve", "gather:serve",
             "--clients clients.yaml --out gathered --policy sakajiri", ("json", "api")),
        Verb("send", "gather:send", "--to 10.0.0.1:26490 --client cam1 --file video.mp4"),
        Verb("show", "gather_clients:show", "", API),
        Verb("set", "gather_clients:change_settings",
             "--policy sakajiri --link 10mbit --buffer 100000", API),
    )),
    Noun("client", "the clients of a server that gathers", (
        Verb("list", "gather_clients:list_all", "", API),
        Verb("create", "gather_clients:create", "cam3 --target 2mbit", API),
        Verb("set", "gather_clients:change", "cam1 --target 2mbit", API),
        Verb("delete", "gather_clients:delete", "cam3", ("net", "api")),
    )),
    Noun("bone", "a cache bone: a hub sends files to many caches at once, in rounds", (
        Verb("hub", "bone:hub",
             "--dir outbox --iface eth0 --rate 96kbit\n"
             "--dir outbox --session 7\n"
             "--dir outbox --method unicast --rim 10.0.1.1:26500", ("json", "api")),
        Verb("rim", "bone:rim", "--dir cache --iface eth0 --max-bytes 10GiB", ("json", "api")),
        Verb("send", "bone:send", "video.mp4 --wait"),
        Verb("list", "bone:list_all", "--to 10.0.1.1:26503"),
    )),
    Noun("tree", "a tree of hosts, which pass a stream on where no switch replicates it", (
        Verb("serve", "tree:serve", "--store tree.sqlite", ("json", "api")),
        Verb("send", "tree:send", "--to 10.0.0.1:26495 --tls-pin $PIN --file big.iso"),
        Verb("recv", "tree:recv", "--to 10.0.0.1:26495 --tls-pin $PIN --output big.iso"),
        Verb("island", "tree:island", "--to 10.0.0.1:26495 --tls-pin $PIN --session 7 --members 3"),
        Verb("show", "tree:show", "--to 10.0.0.1:26495 --tls-pin $PIN"),
    )),
    Noun("probe", "the best socket buffers and number of connections for the way to a host", (
        Verb("run", "probe:run", "10.0.2.1"),
    )),
    Noun("sim", "networks in virtual time", (
        Verb("run", "sim:run", "line.yaml star.yaml --out out/sim --jobs 2"),
        Verb("sweep", "experiments:sweep", "experiment.yaml --jobs 2"),
    )),
)  # fmt: skip

ALONE = (
    Verb("reproduce", "experiments:reproduce", "takano --only figure-8",
         summary="reproduce a paper in netsim and compare the result with its claims"),
    Verb("experiment", "experiments:experiment", "diffusion --quick",
         summary="run an experiment on a real network under Mininet (root)"),
    Verb("demo", "experiments:demo", "--members 3 --loss 1%",
         summary="send a file to a whole group, and to compare, over TCP (root)"),
    Verb("bench", "experiments:bench", "split tree",
         summary="measure how fast switches, agents and netsim are on this machine"),
    Verb("fit", "fit:fit", "out/ --svg stages.svg",
         summary="show how a P4 program for Tofino fits its chip, from its compiler's logs"),
    Verb("schema", "completion:show_schema", "topology > topology.schema.json", (),
         summary="print the JSON schema of a YAML file, with which editors check and complete it"),
    Verb("completion", "completion:show", "bash", (),
         summary="print the script with which a shell completes commands and options"),
)  # fmt: skip
"""commands without a noun"""


def commands() -> Iterator[tuple[str, Verb]]:
    """All commands, each with its words."""
    for noun in NOUNS:
        for verb in noun.verbs:
            yield f"{noun.name} {verb.name}", verb
    for verb in ALONE:
        yield verb.name, verb
