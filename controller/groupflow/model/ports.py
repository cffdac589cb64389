"""The ports at which programs listen unless told otherwise. All differ, so that one host can run them all."""

IPERF3 = 5201
API = 9580
"""of the controller"""
GATHER_API = 9590
"""of a server that gathers, which may run beside a controller"""
SPLIT = 26480
GATHER = 26490
TREE = 26495
BONE_GROUP = 26500
"""UDP, where rims hear the group"""
BONE_HUB = 26501
"""UDP, where rims answer to"""
HUB_HTTP = 26502
RIM_HTTP = 26503
