import { startScriptedEndpoint } from '@agentlightning/example-scripted-endpoint';
import { traceFetch } from '@agentlightning/fetch';
import OpenAI from 'openai';
import { emitOutcome, type GameTask, playGame, type Seat } from './agent.ts';
import { playByRules } from './rule-player.ts';

/** The outside model: that of WEREWOLF_OPPONENT_URL, or the model of rules. */
const rulesUrl = (await startScriptedEndpoint(playByRules)).baseUrl;
const apiKey = process.env['OPENAI_API_KEY'] ?? 'none';

/** The model in training. */
const policy: Seat = { client: new OpenAI({ apiKey, fetch: traceFetch() }), model: 'werewolf' };

/** The fixed opponent: not in training, so its calls are recorded, not redirected. */
export const outside: Seat = {
  client: new OpenAI({
    apiKey,
    baseURL: process.env['WEREWOLF_OPPONENT_URL'] ?? rulesUrl,
    fetch: traceFetch({ redirect: false }),
  }),
  model: process.env['WEREWOLF_OPPONENT_MODEL'] ?? 'rules',
};

/**
 * A game as the trainer runs it: 1 when the policy's team wins; in self-play, 1 for a game with a winner. The win rate of each
 * team and the share of legal decisions are parts of the reward.
 */
export async function playTask(task: GameTask): Promise<Record<string, number>> {
  const { state, decisions } = await playGame(task.roles, {
    wolves: task.policy === 'village' ? outside : policy,
    village: task.policy === 'wolves' ? outside : policy,
  });
  const winner = emitOutcome(state);
  const reward = (task.policy === 'both' ? winner !== null : winner === task.policy) ? 1 : 0;
  const own = task.policy === 'both' ? Object.values(decisions) : [decisions[task.policy]];
  const sum = (key: 'made' | 'legal'): number => own.reduce((total, counts) => total + counts[key], 0);
  return { primary: reward, [`${task.policy}_won`]: reward, legal: sum('legal') / Math.max(1, sum('made')) };
}
