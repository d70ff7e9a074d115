import { rewards, rubric } from '@agentlightning/rewards';
import { defineConfig } from '@agentlightning/trainer';
import { callsOf, respond } from '../agent.ts';
import config from '../agl.config.ts';
import type { FunctionCall } from '../checker/check-calls.ts';
import { type BfclTask, bfclTask } from '../task.ts';
import { criterion, scriptedJudge, truth } from './scripted-judge.ts';

/** Returns the calls, which the reward grades. */
async function functionCaller({ question, functions }: BfclTask): Promise<readonly FunctionCall[]> {
  return callsOf(await respond([{ role: 'user', content: question }], functions));
}

/** The same training by the verdicts of a judge of which a tenth is wrong; the true reward is recorded only. */
export default defineConfig({
  ...config,
  // The store of the warm-up.
  run: { ...config.run, name: 'bfcl-functions by a judge', dataDir: '../.agl' },
  agent: functionCaller,
  tasks: {
    train: '../node_modules/.cache/tasks/train.jsonl',
    test: '../node_modules/.cache/tasks/test.jsonl',
    schema: bfclTask,
  },
  reward: rewards<BfclTask, readonly FunctionCall[]>({
    judged: rubric({ judge: scriptedJudge(process.env['JUDGE_SEED'] ?? '1'), criteria: { [criterion]: criterion } }),
    truth: { score: ({ task, output }) => truth(task, output), weight: 0, range: [0, 1] },
  }),
});
