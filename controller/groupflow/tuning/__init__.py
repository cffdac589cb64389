"""Receiver-side tuning: how a server that gathers from many clients divides its buffer and connections among
them.

After Sakajiri, Tanigawa and Tode, "Adaptive QoS Control Adjusting Receive Buffer Sizes and Parallel TCP
Connections on Information Gathering Server". Everything that decides is a pure function of what was measured;
`model` has the words.
"""
