#!/bin/sh
# Make the virtual environment that the product and its tests run in. Usage: setup_venv.sh PYTHON FOLDER
set -eu
python=$1
folder=$2
if ! "$python" -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null; then
  echo "setup: $python is missing or older than 3.11; name another one: make setup PYTHON=/path/to/python3.11" >&2
  exit 1
fi
if ! "$folder/bin/python" -c 'import pip' 2>/dev/null; then
  rm -rf "$folder"
  "$python" -m venv "$folder" || {
    echo "setup: $python cannot make a virtual environment (on Debian: apt install python3-venv)" >&2
    exit 1
  }
fi
"$folder/bin/python" -m pip install --quiet --disable-pip-version-check 'setuptools>=77'
"$folder/bin/python" - pyproject.toml > "$folder/requirements.txt" <<'P'
import sys, tomllib
project = tomllib.load(open(sys.argv[1], "rb"))["project"]
print(*project["dependencies"], *project["optional-dependencies"]["dev"], sep="\n")
P
"$folder/bin/python" -m pip install --quiet --disable-pip-version-check -r "$folder/requirements.txt"
