import { spawn } from 'node:child_process';
import path from 'node:path';
import { text } from 'node:stream/consumers';
import type { FunctionCall } from '../checker/check-calls.ts';
import type { BfclTask } from '../task.ts';

/** Calls for a task, to be judged. */
export interface CheckerCase {
  readonly task: BfclTask;
  readonly calls: readonly FunctionCall[];
}

/** The judgements of the leaderboard's own checker. */
export async function judgeOfficially(
  python: string,
  { leaderboard, cases }: { readonly leaderboard: string; readonly cases: readonly CheckerCase[] },
): Promise<readonly boolean[]> {
  const child = spawn(python, [path.join(import.meta.dirname, 'official_checker.py'), leaderboard], {
    stdio: ['pipe', 'pipe', 'inherit'],
  });
  const output = text(child.stdout);
  child.stdin.end(
    cases
      .map(({ task, calls }) => `${JSON.stringify({ functions: task.functions, expected: task.expected, calls })}\n`)
      .join(''),
  );
  return (await output)
    .trim()
    .split('\n')
    .map((line) => line === 'true');
}
