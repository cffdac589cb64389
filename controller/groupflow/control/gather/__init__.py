"""Receiver-side tuning: a server that gathers from many clients divides its buffer and connections among
them.

After Sakajiri, Tanigawa and Tode, "Adaptive QoS Control Adjusting Receive Buffer Sizes and Parallel TCP
Connections on Information Gathering Server". Every decision is a pure function of the measurements;
`model` has the words.
"""
