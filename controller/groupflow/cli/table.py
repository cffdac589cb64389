"""The table of commands: noun, verb, function, and what the help says of each."""

from collections.abc import Iterator
from dataclasses import dataclass


@dataclass(frozen=True)
class Verb:
    """A command. Its function, `module:name` below `groupflow.cli`, is imported when the command is used."""

    name: str
    function: str
    summary: str
    example: str
    """words behind `groupflow NOUN VERB`; several lines: several examples"""
    uses: tuple[str, ...] = ("json",)
    """the common options that the command uses: `common.EVERYWHERE`"""


@dataclass(frozen=True)
class Noun:
    name: str
    summary: str
    verbs: tuple[Verb, ...]


API = ("json", "net", "api")
"""of a command that asks a controller"""

NOUNS = (
    Noun("net", "networks of your own under Mininet (root)", (
        Verb("up", "net:up", "start switches, controller, agents and hosts of a topology, until Ctrl-C or `net down`",
             "fig5 --cli", ()),
        Verb("down", "net:down", "end a network", "fig5", ("net",)),
        Verb("list", "net:list_all", "list the networks that run", ""),
        Verb("show", "net:show", "show a running network, or a topology's file with all that groupflow chose",
             "fig5\nhall.yaml\nAbilene.graphml > abilene.yaml", ("json", "net")),
        Verb("exec", "net:execute", "run a program in a host, or beside the switches",
             "h1 ping -c 3 10.0.2.1", ("net",)),
        Verb("play", "net:play", "show a recording of a network or a simulation in a browser (no root)",
             "lecture.rec", ()),
    )),
    Noun("controller", "the controller of a network of switches", (
        Verb("run", "controller:run", "connect to every switch of a topology and serve its sessions, until stopped",
             "--topology net.yaml --store groupflow.db", ()),
        Verb("show", "status:show", "show the whole system on one page", "", API),
        Verb("watch", "controller:watch", "follow all events, until Ctrl-C", "--recent 20", API),
    )),
    Noun("switch", "the switches of a network", (
        Verb("list", "switch:list_all", "list the switches", "", API),
        Verb("show", "switch:show", "show a switch, and with --table the entries that it holds",
             "s1 --table streams", API),
        Verb("counters", "switch:counters", "show the counters of a switch", "s1 drops", API),
        Verb("trace", "trace:trace", "show the way of packets through a switch: headers, tables, queues, and the "
             "reason of a drop (root)", "s1 --dropped\ns2 --match ipv4.dst=10.0.2.1 --next 3 --json", ("json", "net")),
        Verb("bmv2-agent", "bmv2_agent:run", "give BMv2 the ticks and queue rates of diffusion-type flow control, "
             "until Ctrl-C", "s1 --thrift 127.0.0.1:9091 --iface s1-tick", ("net", "api")),
    )),
    Noun("session", "sessions: groups with an id, members and senders", (
        Verb("list", "session:list_all", "list the sessions", "", API),
        Verb("show", "session:show", "show a session, its members and its trees", "7", API),
        Verb("create", "session:create", "create a session and print its token", "7 --mode n2n --policy isolate", API),
        Verb("set", "session:change", "change a session while it runs", "7 --policy isolate", API),
        Verb("delete", "session:delete", "end a session for all its members", "7", API),
        Verb("token", "session:token", "print a session's token", "7 --role receiver", API),
        Verb("stats", "session:stats", "show a TCP session's agents, streams and receipts", "7", API),
        Verb("watch", "session:watch", "follow a TCP session's streams and receipts, until Ctrl-C", "7", API),
        Verb("send", "transfer:send", "send a file or stdin to every receiver of a session",
             "7 --file big.iso --members 3"),
        Verb("recv", "transfer:recv", "receive the stream of a session", "7 --output copy.iso"),
        Verb("join", "transfer:join", "let a program that listens on this host take the streams of a TCP session, "
             "until stopped", "7 --listen 9000"),
    )),
    Noun("member", "the members of sessions", (
        Verb("list", "session:list_members", "list the members of one session or of all", "7", API),
        Verb("create", "session:create_member", "make a program that listens on a host a member of a TCP session",
             "7 h2 9000", API),
        Verb("set", "session:change_member", "change the rate that a receiver is to get, in a session that isolates",
             "7 3 --target 20mbit --priority 1", API),
        Verb("delete", "session:delete_member", "remove a member from its session", "7 3", API),
    )),
    Noun("flow", "flows under diffusion-type flow control", (
        Verb("list", "flow:list_all", "list the controlled flows", "", API),
        Verb("show", "flow:show", "show a flow and its hops", "1", API),
        Verb("create", "flow:create", "control a flow, a session or a link",
             "--flow h1 h2 --protocol tcp --dst-port 5001 --d 0.1", API),
        Verb("delete", "flow:delete", "end the control of a flow", "1", API),
        Verb("delays", "flow:delays", "measure the delays of the links between switches", "", API),
    )),
    Noun("agent", "cache and split agents, hubs, rims and dispatchers", (
        Verb("list", "agents:list_all", "list all agents and the bytes that they hold", "", API),
        Verb("set", "agents:change", "set an agent's bound, which outlives the agent", "rim h3 --bytes 64MiB", API),
        Verb("place", "placement:place", "choose the switches where a session's agents cost least",
             "--topology fig5 --sender ma1 --member mb1 --member mc1 --agents 2", API),
    )),
    Noun("gather", "a server that gathers the streams of many clients, and tunes them", (
        Verb("serve", "gather:serve", "receive the streams of listed clients and tune them, until stopped",
             "--clients clients.yaml --out gathered --policy sakajiri", ("json", "api")),
        Verb("send", "gather:send", "send a file, or stdin, to a server that gathers",
             "--to 10.0.0.1:26490 --client cam1 --file video.mp4"),
        Verb("show", "gather_clients:show", "show the policy, the limits and the server", "", API),
        Verb("set", "gather_clients:change_settings", "change the policy and the limits, while clients send",
             "--policy sakajiri --link 10mbit --buffer 100000", API),
    )),
    Noun("client", "the clients of a server that gathers", (
        Verb("list", "gather_clients:list_all", "list clients with their targets and throughputs", "", API),
        Verb("create", "gather_clients:create", "let a client send, and print its token", "cam3 --target 2mbit", API),
        Verb("set", "gather_clients:change", "change the targets of a client while it sends", "cam1 --target 2mbit",
             API),
        Verb("delete", "gather_clients:delete", "let a client send no more, and end its stream", "cam3", API),
    )),
    Noun("bone", "a cache bone: a hub sends files to many caches at once, in rounds", (
        Verb("hub", "bone:hub", "send new files of a folder, files that a rim asks for, and ordered files, until "
             "stopped", "--dir outbox --iface eth0 --rate 96kbit\n--dir outbox --session 7\n"
             "--dir outbox --method unicast --rim 10.0.1.1:26500", ("json", "api")),
        Verb("rim", "bone:rim", "cache the files that a hub sends and serve them over HTTP, until stopped",
             "--dir cache --iface eth0 --max-bytes 10GiB", ("json", "api")),
        Verb("send", "bone:send", "have a hub send a file of its folder", "video.mp4 --wait"),
        Verb("list", "bone:list_all", "list the files of a hub or a rim", "--to 10.0.1.1:26503"),
    )),
    Noun("tree", "a tree of hosts, which pass a stream on where no switch replicates it", (
        Verb("serve", "tree:serve", "run the dispatchers of a tree until stopped: they give each host its parent",
             "--store tree.sqlite", ("json", "api")),
        Verb("send", "tree:send", "send a file or stdin to all hosts of a tree",
             "--to 10.0.0.1:26495 --tls-pin $PIN --file big.iso"),
        Verb("recv", "tree:recv", "receive the stream of a tree, and pass it on",
             "--to 10.0.0.1:26495 --tls-pin $PIN --output big.iso"),
        Verb("island", "tree:island", "hand a tree's stream to a session, whose switches replicate it; or the other "
             "way", "--to 10.0.0.1:26495 --tls-pin $PIN --session 7 --members 3"),
        Verb("show", "tree:show", "show the hosts of a tree, each below its parent",
             "--to 10.0.0.1:26495 --tls-pin $PIN"),
    )),
    Noun("probe", "the best socket buffers and number of connections for the way to a host", (
        Verb("serve", "probe:serve", "let others measure the way to this host, one at a time, until stopped", ""),
        Verb("run", "probe:run", "measure the way to a host that runs `groupflow probe serve`",
             "10.0.2.1 --token-file token"),
    )),
    Noun("sim", "networks in virtual time", (
        Verb("run", "sim:run", "run scenarios and keep their results", "line.yaml star.yaml --out out/sim --jobs 2"),
        Verb("sweep", "sweep:sweep", "run a scenario with many values of its parameters and many seeds",
             "experiment.yaml --jobs 2"),
    )),
)  # fmt: skip

ALONE = (
    Verb("reproduce", "reproduce:parser", "reproduce a paper in netsim and compare the result with its claims",
         "takano --only figure-8"),
    Verb("experiment", "experiments:parser", "run an experiment on a real network under Mininet (root)",
         "diffusion --quick"),
    Verb("demo", "experiments:demo", "send a file to a whole group, and to compare, over TCP (root)",
         "--members 3 --loss 1%"),
    Verb("bench", "experiments:bench", "measure how fast switches, agents and netsim are on this machine",
         "split tree"),
    Verb("validate", "experiments:validate", "compare netsim's TCP with that of ns-2", "line4 --reuse"),
    Verb("schema", "schema:show", "print the JSON schema of a YAML file, with which editors check and complete it",
         "topology > topology.schema.json", ()),
    Verb("completion", "completion:show", "print the script with which a shell completes commands and options",
         "bash", ()),
)  # fmt: skip
"""commands without a noun"""


def commands() -> Iterator[tuple[str, Verb]]:
    """All commands, each with its words."""
    for noun in NOUNS:
        for verb in noun.verbs:
            yield f"{noun.name} {verb.name}", verb
    for verb in ALONE:
        yield verb.name, verb
