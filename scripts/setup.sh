#!/usr/bin/env bash
# Prepares a fresh Debian 12, Debian 13 or Ubuntu 24.04: system packages, .venv with groupflow, and the Rust programs.
# Looks before it installs; run again, it does only what changed.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

MIN_RUST_MINOR=75   # dataplane/Cargo.toml: rust-version
VENV=.venv
PYTHON=/usr/bin/python3   # Debian's own: Mininet is one of its packages

fail() { echo "setup: $*" >&2; exit 1; }
say() { echo "setup: $*"; }

rust_is_recent() {
    local minor
    command -v cargo >/dev/null && command -v rustc >/dev/null || return 1
    minor=$(rustc --version 2>/dev/null | sed -nE 's/^rustc 1\.([0-9]+)\..*/\1/p')
    [ -n "$minor" ] && [ "$minor" -ge "$MIN_RUST_MINOR" ]
}

# Debian package and the file or command that shows it is there.
missing_packages() {
    local package
    while read -r package; do
        dpkg-query -W -f '${db:Status-Status}\n' "$package" 2>/dev/null | grep -qx installed || echo "$package"
    done <<<"python3-venv
mininet
iproute2
iputils-ping
ethtool
protobuf-compiler
libprotobuf-dev
gcc
libc6-dev
make
procps
curl
iperf3
netcat-openbsd
rsync
graphviz"
    rust_is_recent || rust_packages
}

rust_packages() {
    case "$ID-$VERSION_ID" in
        debian-12) printf 'cargo-web\nrustc-web\n' ;;
        *) printf 'cargo\nrustc\n' ;;
    esac
}

install_packages() {
    local missing
    mapfile -t missing < <(missing_packages)
    [ "${#missing[@]}" -eq 0 ] && return
    [ "$(id -u)" -eq 0 ] || fail "missing packages: ${missing[*]}; run 'sudo make setup'"
    say "installing ${missing[*]}"
    export DEBIAN_FRONTEND=noninteractive
    apt-get update -q >/dev/null || say "apt-get update reported errors; going on with the lists there are"
    apt-get install -y -q --no-install-recommends "${missing[@]}" >/dev/null \
        || fail "apt-get could not install ${missing[*]}"
    rust_is_recent || fail "Rust 1.$MIN_RUST_MINOR or newer is needed and $(rustc --version 2>/dev/null || echo none) is there"
}

install_python() {
    local stamp=$VENV/.requirements
    [ -x $VENV/bin/python ] || $PYTHON -m venv $VENV
    if ! cmp -s requirements.txt $stamp; then
        say "installing Python packages into $VENV"
        $VENV/bin/python -m pip install -q --disable-pip-version-check --require-hashes -r requirements.txt \
            || fail "pip could not install requirements.txt: is PyPI reachable?"
        cp requirements.txt $stamp
    fi
    # Mininet comes from the system's Python; nothing else of it is let in.
    ln -sfn /usr/lib/python3/dist-packages/mininet "$($VENV/bin/python -c 'import site; print(site.getsitepackages()[0])')/mininet"
}

build_rust() {
    # No-op in a fraction of a second when nothing changed.
    (cd dataplane && cargo build --release --locked --quiet) || fail "cargo build failed (messages above)"
    local program
    for program in gfswitch gfagent; do
        ln -sfn "../../dataplane/target/release/$program" $VENV/bin/$program
    done
}

install_groupflow() {
    local stamp=$VENV/.groupflow library=dataplane/target/release/lib_native.so
    if ! cmp -s pyproject.toml $stamp; then
        say "installing groupflow into $VENV"
        $VENV/bin/python -m pip install -q --disable-pip-version-check --no-deps --no-build-isolation -e . \
            || fail "pip could not install groupflow itself"
        cp pyproject.toml $stamp
    fi
    cmp -s $library controller/groupflow/_native.abi3.so || install -m 755 $library controller/groupflow/_native.abi3.so
}

[ -r /etc/os-release ] || fail "unknown system: Debian 12 or 13 or Ubuntu 24.04 is needed"
# shellcheck source=/dev/null
. /etc/os-release
case "$ID-${VERSION_ID:-}" in
    debian-12 | debian-13 | ubuntu-24.04) ;;
    *) fail "${PRETTY_NAME:-this system} is not known: use Debian 12, Debian 13 or Ubuntu 24.04" ;;
esac

install_packages
install_python
build_rust
install_groupflow
say "ready: $VENV/bin/groupflow, gfswitch, gfagent"
