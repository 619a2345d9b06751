#!/usr/bin/env bash
# All that has to be seen on a card, without a network:
#
#     scripts/gpu_check.sh OUT [GIVEN] [options of harness.gpu_check]
#
# OUT is the folder for the results. GIVEN may hold tree/ (an unpacked release of SGLang, with
# tree/sglang) and wheels/ (packages that this machine may lack: those that it has stay as they
# are). The exit codes are those of harness.gpu_check; PYTHON names another interpreter.
set -eu
if [ $# -eq 0 ]; then
    echo "usage: $0 OUT [GIVEN] [options of harness.gpu_check]" >&2
    exit 2
fi
out=$1
shift
given=
if [ $# -gt 0 ] && [ "${1#-}" = "$1" ]; then
    given=$(cd "$1" && pwd)
    shift
fi
mkdir -p "$out"
out=$(cd "$out" && pwd)
cd "$(dirname "$0")/.."
python=${PYTHON:-python3}
site=$(mktemp -d)
trap 'rm -rf "$site"' EXIT
for wheel in "$given"/wheels/*.whl; do
    # Without wheels the pattern stands for itself.
    [ -f "$wheel" ] || continue
    name=$(basename "$wheel" | cut -d- -f1)
    "$python" -c "import importlib.metadata as m; m.version('$name')" 2>/dev/null && continue
    "$python" -m pip install -q --no-index --no-deps --target "$site" "$wheel"
done
source=()
if [ -n "$given" ] && [ -d "$given/tree" ]; then
    source=(--source "$given/tree")
fi
PYTHONPATH="$PWD:$site${PYTHONPATH:+:$PYTHONPATH}" \
    "$python" -m harness.gpu_check "$out" ${source[@]+"${source[@]}"} "$@"
