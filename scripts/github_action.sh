#!/usr/bin/env bash
# The step of action.yml that runs a suite. Inputs come as INPUT_... variables, never as shell text.
# Writes runs/, report.html and junit.xml into $RUNNER_TEMP/toolmark, and the summary of the job.
# The exit code is that of `toolmark run` and of the comparison: 130, 2, 1, 3 or 0, whichever is first.
set -u +e

results=$RUNNER_TEMP/toolmark
rm -rf "$results"
mkdir -p "$results"

options=(
    --model="$INPUT_MODEL"
    --log-dir="$results/runs"
    --junit="$results/junit.xml"
    --markdown="$GITHUB_STEP_SUMMARY"
)
[ -z "${INPUT_FAIL_UNDER:-}" ] || options+=(--fail-under="$INPUT_FAIL_UNDER")
[ -z "${INPUT_FAIL_UNDER_LOW:-}" ] || options+=(--fail-under-low="$INPUT_FAIL_UNDER_LOW")
while IFS= read -r line; do
    [ -z "$line" ] || options+=("$line")
done <<<"${INPUT_ARGS:-}"

toolmark run "${options[@]}" -- "$INPUT_SUITE"
codes=($?)

run_dir=
for summary in "$results"/runs/*/summary.json; do
    [ ! -f "$summary" ] || run_dir=${summary%/summary.json}
done

if [ -n "$run_dir" ]; then
    toolmark report --output="$results/report.html" -- "$run_dir"
    codes+=($?)
    if [ -n "${INPUT_BASELINE:-}" ]; then
        baseline=$INPUT_BASELINE
        # an artifact of this action has its run below runs/
        for info in "$baseline"/runs/*/run.json; do
            [ ! -f "$info" ] || baseline=${info%/run.json}
        done
        toolmark compare --fail-if="${INPUT_FAIL_IF:-worse}" --markdown="$GITHUB_STEP_SUMMARY" \
            -- "$baseline" "$run_dir"
        codes+=($?)
    fi
fi

exit_code=0
for code in 3 1 2 130; do
    for each in "${codes[@]}"; do
        [ "$each" -ne "$code" ] || exit_code=$code
    done
done
for each in "${codes[@]}"; do
    case $each in 0 | 1 | 2 | 3 | 130) ;; *) exit_code=$each ;; esac
done
{
    echo "run-dir=$run_dir"
    echo "exit-code=$exit_code"
} >>"$GITHUB_OUTPUT"
exit "$exit_code"
