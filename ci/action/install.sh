#!/usr/bin/env bash
# Installs the command into TYPELOOM_FOLDER/bin: from a release, whose checksum is compared, or from sources.
#
# Reads TYPELOOM_VERSION, TYPELOOM_TARGET, TYPELOOM_SOURCE and RUNNER_TEMP. TYPELOOM_DOWNLOADS replaces the address of releases.
set -euo pipefail

bin="$TYPELOOM_FOLDER/bin"
mkdir -p "$bin"

if [ -n "$TYPELOOM_SOURCE" ]; then
    cargo install --quiet --locked --path "$TYPELOOM_SOURCE/crates/cli" --root "$TYPELOOM_FOLDER"
    exit
fi

downloads="${TYPELOOM_DOWNLOADS:-https://github.com/typeloom/typeloom/releases/download}"
case "$TYPELOOM_TARGET" in
    *windows*) archive="typeloom-$TYPELOOM_TARGET.zip" ;;
    *) archive="typeloom-$TYPELOOM_TARGET.tar.gz" ;;
esac

work="$(mktemp -d "$RUNNER_TEMP/typeloom.XXXXXX")"
trap 'rm -rf "$work"' EXIT
cd "$work"
for file in "$archive" "$archive.sha256"; do
    curl --fail --silent --show-error --location --retry 3 --output "$file" "$downloads/v$TYPELOOM_VERSION/$file"
done
if command -v sha256sum > /dev/null; then
    sha256sum --check --quiet "$archive.sha256"
else
    shasum --algorithm 256 --check --quiet "$archive.sha256"
fi
case "$archive" in
    *.zip) unzip -q "$archive" ;;
    *) tar -xzf "$archive" ;;
esac
mv "typeloom-$TYPELOOM_TARGET"/typeloom* "$bin/"
