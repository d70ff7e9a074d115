import { serveWorker } from '@agentlightning/runner/internal/workers';
import { scoringOf } from '../config/sections/reward-config.ts';
import { silenceExpectedWarnings } from '../doctor/node-version.ts';
import { loadAgent } from '../user-modules/load-agent.ts';

/*
 * A process that runs the agent of a module, for the supervisor that started it. The argument is the file of the module.
 */

silenceExpectedWarnings(process);

const [file = ''] = process.argv.slice(2);

void serveWorker(async () => {
  const { agent, reward } = await loadAgent(file);
  return { agent, reward: scoringOf(reward) };
});
