#!/bin/sh
# Runs the tests on virtual networks that have the markers in $1: several networks at one time, each in
# namespaces of its own, since most tests wait most of the time; then, one after another, the
# tests that measure speed.
set -u
: "${PYTHON:=.venv/bin/python}" "${NETWORKS:=3}" "${RESULTS:=out/tests}"
marked=${1:+ and ($1)}
namespaces=tests/namespaces.sh

if $namespaces true 2>/dev/null; then
    $PYTHON -m pytest -q --dist loadfile --tx "$NETWORKS*popen//python=$namespaces $PYTHON" \
        --junitxml "$RESULTS/network.xml" -m "not alone$marked" tests/network tests/conformance tests/ptf
    together=$?
    $namespaces $PYTHON -m pytest -q --junitxml "$RESULTS/alone.xml" -m "alone$marked" \
        tests/network tests/conformance tests/ptf
    exit $((together | $?))
fi
echo "network: no right to make namespaces here (unshare, mount): one test after another"
exec $PYTHON -m pytest -q --junitxml "$RESULTS/network.xml" -m "$1" tests/network tests/conformance tests/ptf
