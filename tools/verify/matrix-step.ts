import { cellsOf, mainCells } from '../matrix/cell.ts';
import { failuresOf, nameOf } from '../matrix/matrix-report.ts';
import { runMatrix } from '../matrix/run-matrix.ts';
import type { Step, StepContext, StepResult } from './step.ts';

/**
 * Runs the adapter contract from the packed archives: the current version of each framework on the main runtime, or with
 * `--all` every version on every runtime. Each scene counts.
 */
export const matrixStep: Step = {
  name: 'matrix',
  description: 'adapter contract on packed packages',
  after: ['build'],
  run: runMatrixStep,
};

async function runMatrixStep({ scope, report, flash }: StepContext): Promise<StepResult> {
  const results = await runMatrix(scope === 'all' ? cellsOf({ only: [], on: [] }) : mainCells(), {
    useCache: true,
    onProgress: flash,
    onResult: ({ cell, passed, failed }) => report(`${nameOf(cell)}: ${passed.length} passed, ${failed.length} failed`),
  });
  const passed = results.reduce((sum, result) => sum + result.passed.length, 0);
  const failed = results.reduce((sum, result) => sum + result.failed.length, 0);
  return { passed, failed, remark: `${passed} scenes`, output: failuresOf(results) };
}
