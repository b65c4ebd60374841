#!/usr/bin/env bash
# Runs once, as root, when Gradescope builds the image.
set -euo pipefail
source=${1:-/autograder/source}
environment=${2:-/opt/autograder}
export DEBIAN_FRONTEND=noninteractive
apt-get update
for version in 3.13 3.12 3.11; do
    if apt-get install -y "python$version" "python$version-venv"; then
        python=python$version
        break
    fi
done
if [ -z "${python:-}" ]; then
    echo "This image has no Python from 3.11 to 3.13. Choose a newer base image of Ubuntu." >&2
    exit 1
fi
"$python" -m venv "$environment"
"$environment/bin/python" -m pip install --no-cache-dir -r "$source/requirements.txt" \
    -c "$source/constraints.txt"
chown -R root:root "$source"
chmod -R go= "$source"
chmod 700 "$source/expected"
chmod 600 "$source/expected/"*
