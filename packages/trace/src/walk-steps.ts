import type { TraceStep } from './trace-step.ts';

/** A step with its position in the tree. */
export interface WalkedStep {
  /** The step. */
  readonly step: TraceStep;
  /** 0 for a root. */
  readonly depth: number;
  /** The position of the parent in the walk; null for a root. */
  readonly parent: number | null;
  /** Whether it is the last child of its parent. */
  readonly isLast: boolean;
}

/** All steps in the order in which a tree is drawn: parents before children. Iterative, so that any depth fits the stack. */
export function walkSteps(roots: readonly TraceStep[]): readonly WalkedStep[] {
  const walked: WalkedStep[] = [];
  const pending: WalkedStep[] = [];
  const push = (steps: readonly TraceStep[], depth: number, parent: number | null): void => {
    for (let index = steps.length - 1; index >= 0; index -= 1) {
      const step = steps[index];
      if (step !== undefined) pending.push({ step, depth, parent, isLast: index === steps.length - 1 });
    }
  };
  push(roots, 0, null);
  for (let next = pending.pop(); next !== undefined; next = pending.pop()) {
    walked.push(next);
    push(next.step.children, next.depth + 1, walked.length - 1);
  }
  return walked;
}
