#!/usr/bin/env bash
# Finds the target of the runner, the folder of the command, and the key of its cache. Writes them as outputs of the step.
#
# Reads TYPELOOM_VERSION, TYPELOOM_SOURCE, RUNNER_OS, RUNNER_ARCH and RUNNER_TOOL_CACHE.
set -euo pipefail

case "$RUNNER_OS-$RUNNER_ARCH" in
    Linux-X64) target=x86_64-unknown-linux-gnu ;;
    Linux-ARM64) target=aarch64-unknown-linux-gnu ;;
    macOS-X64) target=x86_64-apple-darwin ;;
    macOS-ARM64) target=aarch64-apple-darwin ;;
    Windows-X64) target=x86_64-pc-windows-msvc ;;
    *)
        echo "::error title=typeloom::there is no release for $RUNNER_OS on $RUNNER_ARCH; set the input \`source\`"
        exit 2
        ;;
esac

# The version becomes a part of paths and addresses.
if ! [[ "$TYPELOOM_VERSION" =~ ^[0-9]+\.[0-9]+\.[0-9]+([-+][0-9A-Za-z.]+)?$ ]]; then
    echo "::error title=typeloom::the input \`version\` is no version such as 0.1.0"
    exit 2
fi
name="$TYPELOOM_VERSION"
if [ -n "$TYPELOOM_SOURCE" ]; then
    name="source-$(git -C "$TYPELOOM_SOURCE" rev-parse HEAD)"
fi

{
    echo "target=$target"
    echo "folder=$RUNNER_TOOL_CACHE/typeloom/$name/$target"
    echo "key=typeloom-$name-$target"
} >> "$GITHUB_OUTPUT"
