import { mainCells } from '../matrix/cell.ts';
import { failuresOf, nameOf } from '../matrix/matrix-report.ts';
import { playMatrix } from '../matrix/play-matrix.ts';
import type { Step, StepContext, StepResult } from './step.ts';

/**
 * Plays the adapter contract from the packed archives: the current version of each framework, on the main runtime.
 * `pnpm test:matrix` plays the rest. Each scene counts.
 */
export const matrixStep: Step = {
  name: 'matrix',
  description: 'adapters from their archives, in projects of users (pnpm test:matrix plays all)',
  run: playMainColumn,
};

async function playMainColumn({ report, flash }: StepContext): Promise<StepResult> {
  const results = await playMatrix(mainCells(), {
    mayRemember: true,
    onProgress: flash,
    onResult: ({ cell, passed, failed }) => report(`${nameOf(cell)}: ${passed.length} passed, ${failed.length} failed`),
  });
  const passed = results.reduce((sum, result) => sum + result.passed.length, 0);
  const failed = results.reduce((sum, result) => sum + result.failed.length, 0);
  return { passed, failed, remark: `${passed} scenes`, output: failuresOf(results) };
}
