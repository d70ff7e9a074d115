import { startScriptedEndpoint } from '@agentlightning/example-scripted-endpoint';
import { traceFetch } from '@agentlightning/fetch';
import OpenAI from 'openai';
import { emitOutcome, type GameTask, playGame, type Seat } from './agent.ts';
import { playByRules } from './rule-player.ts';

/** The outside model: that of WEREWOLF_OPPONENT_URL, or the model of rules. */
const rulesUrl = (await startScriptedEndpoint(playByRules)).baseUrl;
const apiKey = process.env['OPENAI_API_KEY'] ?? 'none';

/** A model that is not in training: its calls are recorded, not redirected. */
function fixedSeat(model: string, baseURL: string): Seat {
  return { client: new OpenAI({ apiKey, baseURL, fetch: traceFetch({ redirect: false }) }), model };
}

/** The model in training. */
export const policy: Seat = { client: new OpenAI({ apiKey, fetch: traceFetch() }), model: 'werewolf' };

/** The fixed opponent. */
export const outside: Seat = fixedSeat(
  process.env['WEREWOLF_OPPONENT_MODEL'] ?? 'rules',
  process.env['WEREWOLF_OPPONENT_URL'] ?? rulesUrl,
);

/** The model of rules without its reasoning, whose responses are imitated in the warm-up. */
export const demonstrator: Seat = fixedSeat('rules-quiet', rulesUrl);

/**
 * A game as the trainer runs it: 1 when the policy's team wins; in self-play, 1 for a game with a winner. The win rate of each
 * team and the share of legal decisions are parts of the reward.
 */
export async function playTask(task: GameTask, seat: Seat = policy): Promise<Record<string, number>> {
  const { state, decisions } = await playGame(task.roles, {
    wolves: task.policy === 'village' ? outside : seat,
    village: task.policy === 'wolves' ? outside : seat,
  });
  const winner = emitOutcome(state);
  const reward = (task.policy === 'both' ? winner !== null : winner === task.policy) ? 1 : 0;
  const own = task.policy === 'both' ? Object.values(decisions) : [decisions[task.policy]];
  const sum = (key: 'made' | 'legal'): number => own.reduce((total, counts) => total + counts[key], 0);
  return { primary: reward, [`${task.policy}_won`]: reward, legal: sum('legal') / Math.max(1, sum('made')) };
}
