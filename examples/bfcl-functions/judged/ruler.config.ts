import { rewards, ruler } from '@agentlightning/rewards';
import { defineConfig } from '@agentlightning/trainer';
import type { FunctionCall } from '../checker/check-calls.ts';
import type { BfclTask } from '../task.ts';
import config from './judge.config.ts';
import { scriptedJudge, truth } from './scripted-judge.ts';

/** The same training by a ranking of the 8 responses to a question; the true reward is recorded only. */
export default defineConfig({
  ...config,
  run: { ...config.run, name: 'bfcl-functions by a ranking' },
  reward: rewards<BfclTask, readonly FunctionCall[]>({
    ranked: ruler({ judge: scriptedJudge('1') }),
    truth: { score: ({ task, output }) => truth(task, output), weight: 0, range: [0, 1] },
  }),
});
