import { createHash } from 'node:crypto';
import type { Judge } from '@agentlightning/rewards';
import { gradeCalls } from '../agent.ts';
import type { FunctionCall } from '../checker/check-calls.ts';
import type { BfclTask } from '../task.ts';

/** The share of wrong verdicts. */
const wrongShare = 0.1;

/** The true reward of calls: the one that the agent without a judge is trained by. */
export function truth(task: BfclTask, calls: readonly FunctionCall[]): number {
  return gradeCalls(task, calls).primary;
}

/** The one criterion of the rubric. */
export const criterion = 'calls the right function with the right arguments';

/** What `rubric` and `ruler` send, beside their prompts. */
interface Material {
  readonly task: BfclTask;
  readonly output: readonly FunctionCall[];
  readonly trajectories?: readonly { readonly id: string; readonly output: readonly FunctionCall[] }[];
}

/**
 * A judge that knows the truth. Of the verdicts by a criterion, a tenth is inverted, always the same for the same output. Rankings
 * have no errors.
 *
 * @param seed - which verdicts are wrong
 */
export function scriptedJudge(seed: string): Judge {
  const usage = { calls: 0, cached: 0, inputTokens: 0, outputTokens: 0, cost: 0 };
  return {
    model: 'scripted',
    usage,
    ask: async ({ prompt }, read) => {
      usage.calls += 1;
      const material = JSON.parse(prompt) as Material;
      return read(material.trajectories === undefined ? grade(material, `${seed}/${prompt}`) : rank(material));
    },
  };
}

function grade({ task, output }: Material, key: string): object {
  const isWrong = createHash('sha256').update(key).digest().readUInt32BE(0) / 2 ** 32 < wrongShare;
  const score = truth(task, output);
  const reason = isWrong ? 'a wrong verdict' : 'the truth';
  return { criteria: [{ name: criterion, reason, score: isWrong ? 1 - score : score }] };
}

/** Scores by the rank among the siblings; equal ones have equal scores. */
function rank({ task, trajectories = [] }: Material): object {
  const values = trajectories.map(({ output }) => truth(task, output));
  const scores = trajectories.map(({ id }, index) => ({
    id,
    explanation: 'by its rank',
    score: values.filter((value) => value < (values[index] ?? 0)).length / Math.max(1, values.length - 1),
  }));
  return { scores };
}
