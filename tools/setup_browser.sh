#!/bin/sh
# The driver for the browser tests of the matrix page, where there is a Chromium; else say why they are left out. Usage: setup_browser.sh FOLDER
set -eu
folder=$1
for name in chromium chromium-browser google-chrome google-chrome-stable; do
  if command -v "$name" >/dev/null 2>&1; then
    "$folder/bin/python" -c 'import playwright' 2>/dev/null ||
      "$folder/bin/python" -m pip install --quiet --disable-pip-version-check 'playwright>=1.50' ||
      echo "browser: playwright cannot be installed, so the matrix page is not tested in a browser" >&2
    exit 0
  fi
done
echo "browser: there is no Chromium on PATH, so the matrix page is not tested in a browser (on Debian: apt install chromium)" >&2
