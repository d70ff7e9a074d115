/**
 * The rules of the house that no other tool checks. Run by `pnpm verify`; alone: `node tools/house-rules.ts`.
 *
 * @module
 */
import { documentRules } from './house-rules/document-rules.ts';
import { fileRules } from './house-rules/file-rules.ts';
import { matrixRules } from './house-rules/matrix-rules.ts';
import { packageRules } from './house-rules/package-rules.ts';
import type { HouseRule } from './house-rules/rule.ts';

/** Every rule, in the order of the report. */
export const houseRules: readonly HouseRule[] = [...fileRules, ...packageRules, ...documentRules, ...matrixRules];

if (import.meta.main) {
  for (const { name, findProblems } of houseRules) {
    const problems = findProblems();
    console.log(`${problems.length === 0 ? 'kept  ' : 'BROKEN'}  ${name}`);
    for (const problem of problems) console.log(`  ${problem}`);
    if (problems.length > 0) process.exitCode = 1;
  }
}
