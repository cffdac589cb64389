#!/usr/bin/env bash
# Prepares a fresh Debian 12, Debian 13 or Ubuntu 24.04: system packages, .venv with groupflow, and the Rust
# programs; as root and with --browser also the browser that tests the live page. Looks before it
# installs; run again, it does only what changed.
set -euo pipefail
cd -P "$(dirname "${BASH_SOURCE[0]}")/.."

MIN_RUST_MINOR=75   # dataplane/Cargo.toml: rust-version
VENV=.venv
LIBRARY=controller/groupflow/_native.abi3.so
PYTHON=/usr/bin/python3   # Debian's own: Mininet is one of its packages
browser=${1:-}
# Installed first and alone, so that nothing starts while libc is replaced.
first_packages=(python3-venv libc6-dev)
build_packages=(gcc protobuf-compiler libprotobuf-dev)
run_packages=(
    mininet iproute2 iputils-ping ethtool make procps curl iperf3 tcpdump netcat-openbsd rsync graphviz
)

say() { printf 'setup: %3d s: %s\n' "$SECONDS" "$*"; }
fail() { echo "setup: $*" >&2; exit 1; }

# Reads the output of a long step, and says every 15 s that it goes on.
follow() {
    local line status=0 count=0 told=$SECONDS
    until [ "$status" -eq 1 ]; do   # 1: the end of the output; above 128: no line within 5 s
        status=0
        IFS= read -r -t 5 line || status=$?
        [ "$status" -ne 0 ] || count=$((count + 1))
        if [ $((SECONDS - told)) -ge 15 ]; then
            say "$1 ($count steps so far)"
            told=$SECONDS
        fi
    done
}

rust_is_recent() {
    local minor
    command -v cargo >/dev/null && command -v rustc >/dev/null || return 1
    minor=$(rustc --version 2>/dev/null | sed -nE 's/^rustc 1\.([0-9]+)\..*/\1/p')
    [ -n "$minor" ] && [ "$minor" -ge "$MIN_RUST_MINOR" ]
}

missing_packages() {
    local package
    for package; do
        dpkg-query -W -f '${db:Status-Status}\n' "$package" 2>/dev/null | grep -qx installed \
            || echo "$package"
    done
}

rust_packages() {
    rust_is_recent || case "$ID-$VERSION_ID" in
        debian-12) printf 'cargo-web\nrustc-web\n' ;;
        *) printf 'cargo\nrustc\n' ;;
    esac
}

# All that is missing is known, and the lists of packages are read, before the first is installed.
prepare_packages() {
    local missing
    mapfile -t missing < <(missing_packages "$@")
    [ "${#missing[@]}" -eq 0 ] && return
    [ "$(id -u)" -eq 0 ] || fail "missing packages: ${missing[*]}; run 'sudo make setup'"
    apt-get update -q | follow "reading the lists of packages" \
        || say "apt-get update reported errors; going on with the lists there are"
}

install_packages() {
    local missing
    mapfile -t missing < <(missing_packages "$@")
    [ "${#missing[@]}" -eq 0 ] && return
    say "installing ${missing[*]}"
    DEBIAN_FRONTEND=noninteractive apt-get install -y -q --no-install-recommends \
        -o DPkg::Lock::Timeout=300 "${missing[@]}" \
        | follow "installing Debian packages" || fail "apt-get could not install ${missing[*]}"
}

# No module is compiled here: Python does that at the first import, and most modules are never imported.
pip_install() {
    $VENV/bin/python -m pip install --no-compile --disable-pip-version-check --progress-bar off "$@"
}

# The scripts of a virtual environment name their interpreter by its whole path, and groupflow is installed
# there as the path of this checkout: both are wrong once it has moved.
prepare_venv() {
    local old site pin
    old=$(sed -n "s|^command = .* -m venv \(.*\)/$VENV\$|\1|p" $VENV/pyvenv.cfg 2>/dev/null) || old=
    if [ -n "$old" ] && [ "$old" != "$PWD" ]; then
        say "this checkout was at $old: repairing $VENV"
        # The last two are not there in an environment that was never finished.
        { grep -slIF "$old" $VENV/{bin/*,pyvenv.cfg,lib/*/site-packages/groupflow{.pth,-*/direct_url.json}} || true
        } | OLD=$old NEW=$PWD xargs -r perl -pi -e 's|\Q$ENV{OLD}\E(?=[/"])|$ENV{NEW}|g'
        # Such as where the new path has a blank.
        $VENV/bin/pip --version >/dev/null 2>&1 || rm -rf $VENV
    fi
    if [ ! -x $VENV/bin/python ]; then
        say "making $VENV"
        $PYTHON -m venv $VENV
    fi
    site=$($VENV/bin/python -c 'import site; print(site.getsitepackages()[0])')
    # Mininet comes from the system's Python; nothing else of it is let in.
    ln -sfn /usr/lib/python3/dist-packages/mininet "$site/mininet"
    # gfswitch is built from the .proto files of finsy's wheel: it is up to date before the compiler starts.
    pin=$(sed -n 's/^finsy==\([^ ]*\).*/\1/p' requirements.txt)
    [ -d "$site/finsy-$pin.dist-info" ] || pip_install -q --no-deps --require-hashes \
        -r <(sed -n '/^finsy==/,/[^\\]$/p' requirements.txt) \
        || fail "pip could not install finsy: is PyPI reachable?"
}

install_requirements() {
    cmp -s requirements.txt $VENV/.requirements && return
    say "installing Python packages into $VENV"
    pip_install --only-binary :all: --require-hashes -r requirements.txt | follow "installing Python packages" \
        || fail "pip could not install requirements.txt: is PyPI reachable?"
    # A user who called sudo cannot store compiled modules here later.
    [ -z "${SUDO_USER:-}" ] || $VENV/bin/python -m compileall -q $VENV/lib controller >/dev/null || true
    cp requirements.txt $VENV/.requirements
}

# The programs, and what they were built from. Cargo compares times and whole paths: in a copied checkout it
# would compile the whole workspace again.
sources() {
    rustc --version
    grep '^finsy==' requirements.txt
    find dataplane \( -name target -o -name tests \) -prune -o -type f -print0 | LC_ALL=C sort -z \
        | xargs -0 sha256sum
}

programs() { sha256sum $VENV/bin/gfswitch $VENV/bin/gfagent $LIBRARY 2>/dev/null; }

is_built() { cmp -s <(sources 2>/dev/null; programs) $VENV/.built; }

build_rust() {
    local program built
    is_built && return
    [ -d dataplane/target/release ] || say "building the Rust programs"
    # As they are before the build: what changes meanwhile is built the next time.
    mkdir -p dataplane/target
    sources >dataplane/target/.sources
    if [ -t 2 ]; then
        (cd dataplane && cargo build --release --locked)
    else
        (cd dataplane && cargo build --release --locked --quiet --message-format json-render-diagnostics) \
            | follow "building the Rust programs"
    fi || fail "cargo build failed (messages above)"
    # Copies: Cargo puts programs with the tests' checks at the same place.
    for program in gfswitch gfagent; do
        built=dataplane/target/release/$program
        { [ ! -L $VENV/bin/$program ] && cmp -s $built $VENV/bin/$program; } \
            || install $built $VENV/bin/$program
    done
}

install_groupflow() {
    local built=dataplane/target/release/lib_native.so
    if ! cmp -s <(cat pyproject.toml dataplane/Cargo.toml) $VENV/.groupflow; then
        say "installing groupflow into $VENV"
        # maturin finds built all that it would compile.
        PATH=$PWD/$VENV/bin:$PATH pip_install -q --no-deps --no-build-isolation -e . \
            || fail "pip could not install groupflow itself"
        cat pyproject.toml dataplane/Cargo.toml >$VENV/.groupflow
    fi
    is_built && return
    cmp -s $built $LIBRARY || install -m 755 $built $LIBRARY
    { cat dataplane/target/.sources; programs; } >$VENV/.built
}

[ -r /etc/os-release ] || fail "unknown system: Debian 12 or 13 or Ubuntu 24.04 is needed"
# shellcheck source=/dev/null
. /etc/os-release
case "$ID-${VERSION_ID:-}" in
    debian-12 | debian-13 | ubuntu-24.04) ;;
    *) fail "${PRETTY_NAME:-this system} is not known: use Debian 12, Debian 13 or Ubuntu 24.04" ;;
esac

# Ubuntu has Chromium only as a snap: there the test of the page takes Google Chrome, or is skipped.
if [ "$browser" = --browser ] && [ "$ID" = debian ] && [ "$(id -u)" -eq 0 ]; then
    run_packages+=(chromium chromium-driver)
fi
mapfile -t -O ${#build_packages[@]} build_packages < <(rust_packages)
prepare_packages "${first_packages[@]}" "${build_packages[@]}" "${run_packages[@]}"
install_packages "${first_packages[@]}"
trap wait EXIT   # the script does not end while apt or pip is running
# apt, pip and the compiler run side by side: the first two spend most of their time waiting for the network and
# the disk.
install_packages "${build_packages[@]}" &
apt=$!
prepare_venv
install_requirements &
pip=$!
wait $apt || exit 1
rust_is_recent || fail "Rust 1.$MIN_RUST_MINOR or newer is needed and $(
    rustc --version 2>/dev/null || echo none) is there"
install_packages "${run_packages[@]}" &
apt=$!
build_rust
wait $apt || exit 1
wait $pip || exit 1
install_groupflow
say "ready: $VENV/bin/groupflow, gfswitch, gfagent"
