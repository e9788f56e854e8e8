#!/usr/bin/env bash
# Checks models: annotations on standard output, a summary of the step, and a report in SARIF.
#
# Reads TYPELOOM_FOLDER, TYPELOOM_FILES and TYPELOOM_ARGUMENTS (one a line), and RUNNER_TEMP. Writes GITHUB_STEP_SUMMARY, and the outputs
# `exit-code` and `sarif`. The exit code is that of the command. Works with bash 3.2, which macOS has.
set -euo pipefail

# A host refuses summaries of more than 1 MiB, and with them the step.
max_summary=1000000

arguments=()
lines() {
    while IFS= read -r line || [ -n "$line" ]; do
        line="${line%$'\r'}"
        if [ -n "$line" ]; then
            arguments+=("$line")
        fi
    done <<< "$1"
}
lines "$TYPELOOM_ARGUMENTS"
# After this mark, a file whose name begins with a dash is no option.
arguments+=(--)
lines "$TYPELOOM_FILES"

sarif="$RUNNER_TEMP/typeloom.sarif"
summary="$RUNNER_TEMP/typeloom.md"
rm -f "$sarif" "$summary"

code=0
"$TYPELOOM_FOLDER/bin/typeloom" check --format github --format "sarif=$sarif" --format "markdown=$summary" "${arguments[@]}" || code=$?

if [ -f "$summary" ]; then
    if [ "$(wc -c < "$summary")" -le "$max_summary" ]; then
        cat "$summary" >> "$GITHUB_STEP_SUMMARY"
    else
        # Whole lines only: a part of one would break the table.
        head -c "$max_summary" "$summary" | sed '$d' >> "$GITHUB_STEP_SUMMARY"
        printf '\nThe summary is longer than the page allows. The log has all problems.\n' >> "$GITHUB_STEP_SUMMARY"
    fi
fi
{
    echo "exit-code=$code"
    if [ -f "$sarif" ]; then
        echo "sarif=$sarif"
    fi
} >> "$GITHUB_OUTPUT"
exit "$code"
