import { createHash } from 'node:crypto';
import type { OptimizerMessage, OptimizerRequest } from '@agentlightning/core/algorithm';
import { addUsage } from '@agentlightning/core/store';
import type { SearchSession } from './search-session.ts';

/**
 * Requests a completion of the optimiser model, and stores the reply until the search has saved its next state: a search
 * that is killed and resumed gets the same reply to the same request, finds the rollouts that followed from it, and does
 * not pay for it twice.
 */
export async function requestCompletion(
  session: SearchSession,
  messages: readonly OptimizerMessage[],
  request: OptimizerRequest,
): Promise<string> {
  const { record, optimizer, progress } = session;
  const question = questionKey(messages, request);
  const known = record.state.replies[question];
  const reply = known ?? (await optimizer.complete(messages, request.temperature));
  if (known === undefined) {
    const { replies, optimizerUsage: spent } = record.state;
    const used = optimizer.takeUsage();
    const optimizerUsage = spent === null || used === null ? (used ?? spent) : addUsage(spent, used);
    await record.change({ replies: { ...replies, [question]: reply }, optimizerUsage });
  }
  progress.optimizerResponded();
  return reply;
}

function questionKey(messages: readonly OptimizerMessage[], { occasion, temperature }: OptimizerRequest): string {
  const text = JSON.stringify([occasion, temperature, messages]);
  return `${occasion} ${createHash('sha256').update(text).digest('hex').slice(0, 16)}`;
}
