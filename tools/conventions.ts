/**
 * Conventions of this repository that no other tool checks. Run by `pnpm verify`; alone: `node tools/conventions.ts`.
 *
 * @module
 */
import type { Convention } from './conventions/convention.ts';
import { documentRules } from './conventions/document-rules.ts';
import { englishRules } from './conventions/english-rules.ts';
import { fileRules } from './conventions/file-rules.ts';
import { matrixRules } from './conventions/matrix-rules.ts';
import { metricRules } from './conventions/metric-rules.ts';
import { packageRules } from './conventions/package-rules.ts';

/** Every rule, in the order of the report. */
export const conventions: readonly Convention[] = [
  ...fileRules,
  ...packageRules,
  ...documentRules,
  ...englishRules,
  ...matrixRules,
  ...metricRules,
];

if (import.meta.main) {
  for (const { name, findProblems } of conventions) {
    const problems = findProblems();
    console.log(`${problems.length === 0 ? 'kept  ' : 'BROKEN'}  ${name}`);
    for (const problem of problems) console.log(`  ${problem}`);
    if (problems.length > 0) process.exitCode = 1;
  }
}
