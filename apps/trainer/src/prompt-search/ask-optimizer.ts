import { createHash } from 'node:crypto';
import type { OptimizerMessage, OptimizerRequest } from '@agentlightning/core/algorithm';
import type { SearchSession } from './search-session.ts';

/**
 * Asks the optimiser model, and keeps its answer until the search has saved what it made of it: a search that is killed
 * gets the same answer to the same question, so that what was tried because of it is found, and nothing is paid twice.
 */
export async function askOptimizer(
  session: SearchSession,
  messages: readonly OptimizerMessage[],
  request: OptimizerRequest,
): Promise<string> {
  const { record, optimizer, progress } = session;
  const question = questionKey(messages, request);
  const known = record.state.replies[question];
  const reply = known ?? (await optimizer.ask(messages, request.temperature));
  if (known === undefined) await record.change({ replies: { ...record.state.replies, [question]: reply } });
  progress.answered();
  return reply;
}

function questionKey(messages: readonly OptimizerMessage[], { occasion, temperature }: OptimizerRequest): string {
  const text = JSON.stringify([occasion, temperature, messages]);
  return `${occasion} ${createHash('sha256').update(text).digest('hex').slice(0, 16)}`;
}
