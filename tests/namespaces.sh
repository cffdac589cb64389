#!/bin/sh
# Runs a program with a network, processes and mounts of its own: its interfaces, ports, /run/groupflow and
# leftovers cannot collide with those of others, and /proc shows the program's own processes only. Needs root.
# The shell stays as the first process: it reaps those whose parent is gone.
exec unshare --net --mount --pid --fork --kill-child --mount-proc sh -c '
    mount -t sysfs sysfs /sys && mkdir -p /run/groupflow && mount -t tmpfs -o mode=755 tmpfs /run/groupflow &&
        ip link set lo up && "$@"' sh "$@"
