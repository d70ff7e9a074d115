import { emitMessage } from '@agentlightning/core';
import { defineConfig } from '@agentlightning/trainer';
import { callsOf, gradeCalls, type Rewards, respond } from './agent.ts';
import config, { grpo } from './agl.config.ts';
import { checkCalls } from './checker/check-calls.ts';
import type { BfclTask } from './task.ts';

/** The feedback on a wrong call is what is wrong with it, without the right one. */
async function functionCaller(task: BfclTask): Promise<Rewards> {
  const calls = callsOf(await respond([{ role: 'user', content: task.question }], task.functions));
  const { problem } = checkCalls(task, calls);
  if (problem !== null) emitMessage(problem);
  return gradeCalls(task, calls);
}

/** The options of GRPO; half of an advantage is that of the reward, half that of the model that sees the feedback. */
export const feedback = { ...grpo, feedback: ['messages'], weight: 0.5 } as const;

/** The same training, with feedback of the checker in addition to the reward. */
export default defineConfig({
  ...config,
  run: { ...config.run, name: 'bfcl-functions from feedback' },
  agent: functionCaller,
  algorithm: { ...feedback, type: 'sdpo' },
});
