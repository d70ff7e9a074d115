/**
 * A game of werewolf among language models: the policy plays all seats, or one team against another model.
 *
 * @module
 */
import { emitReward, withAgent } from '@agentlightning/core';
import type OpenAI from 'openai';
import { z } from 'zod';
import {
  type Action,
  advance,
  type Decision,
  type GameState,
  legalTargets,
  openTurns,
  playerNamed,
  startGame,
  type Team,
  type Turn,
  teamOf,
} from './game.ts';
import { turnReward } from './rewards.ts';
import { decisionOf, messagesOf, toolOf } from './view.ts';

/** The roles by seat, and the team that the policy plays; the other team is an outside model. `both` is self-play. */
export const gameTask = z.object({
  roles: z.record(z.string(), z.enum(['wolf', 'seer', 'doctor', 'villager'])),
  policy: z.enum(['wolves', 'village', 'both']),
});

export type GameTask = z.infer<typeof gameTask>;

/** A model that plays: a client and a model name. */
export interface Seat {
  readonly client: OpenAI;
  readonly model: string;
}

/** The model of each team. */
export type Seats = Readonly<Record<Team, Seat>>;

/** Limits of a game. A game that reaches one has no winner. */
export interface GameLimits {
  /** Maximum number of days. @default 3 */
  readonly days?: number;
  /** Maximum number of model calls, that is transitions. @default 64 */
  readonly calls?: number;
  /** Maximum number of tokens, of prompts and responses together. @default 10000 */
  readonly tokens?: number;
}

export interface PlayedGame {
  readonly state: GameState;
  readonly calls: number;
  readonly tokens: number;
  /** The decisions of each team, without speeches: how many there were, and how many were legal. */
  readonly decisions: Readonly<Record<Team, { readonly made: number; readonly legal: number }>>;
}

/** Plays a game to its end or to a limit. Each decision is a model call of the agent `<role> <name>`, with its reward. */
export async function playGame(roles: GameTask['roles'], seats: Seats, limits: GameLimits = {}): Promise<PlayedGame> {
  const { days = 3, calls: maxCalls = 64, tokens: maxTokens = 10_000 } = limits;
  let state = startGame(roles);
  let [calls, tokens] = [0, 0];
  let decisions: PlayedGame['decisions'] = { wolves: { made: 0, legal: 0 }, village: { made: 0, legal: 0 } };
  while (state.winner === null && state.day <= days) {
    const turns = openTurns(state);
    if (calls + turns.length > maxCalls || tokens >= maxTokens) break;
    const made = await Promise.all(turns.map((turn) => decide(state, turn, seats)));
    calls += made.length;
    tokens += made.reduce((sum, { usedTokens }) => sum + usedTokens, 0);
    decisions = {
      wolves: counted(decisions.wolves, made, 'wolves'),
      village: counted(decisions.village, made, 'village'),
    };
    state = advance(state, made);
  }
  return { state, calls, tokens, decisions };
}

/** A decision with what the counters of a game need. */
interface MadeDecision extends Decision {
  readonly team: Team;
  readonly action: Action;
  readonly isLegal: boolean;
  readonly usedTokens: number;
}

function counted(
  { made, legal }: { readonly made: number; readonly legal: number },
  decisions: readonly MadeDecision[],
  team: Team,
): { readonly made: number; readonly legal: number } {
  const own = decisions.filter((decision) => decision.team === team && decision.action !== 'accuse');
  return { made: made + own.length, legal: legal + own.filter(({ isLegal }) => isLegal).length };
}

async function decide(state: GameState, turn: Turn, seats: Seats): Promise<MadeDecision> {
  const role = playerNamed(state, turn.player)?.role ?? 'villager';
  const team = teamOf(role);
  const { client, model } = seats[team];
  return await withAgent(`${role} ${turn.player}`, async () => {
    const completion = await client.chat.completions.create({
      model,
      messages: messagesOf(state, turn),
      tools: [toolOf(turn.action)],
      max_tokens: 200,
    });
    const message = completion.choices[0]?.message;
    const decision = message === undefined ? { player: turn.player, target: null } : decisionOf(state, turn, message);
    emitReward(turnReward(state, turn, decision));
    const isLegal = decision.target !== null && legalTargets(state, turn).includes(decision.target);
    return { ...decision, team, action: turn.action, isLegal, usedTokens: completion.usage?.total_tokens ?? 0 };
  });
}

/** What winning and losing is worth to each player of a team. */
export const outcomes = { won: 1, lost: 0 } as const;

/** Gives every player the outcome of its team, and returns the winner; null when the game had none. */
export function emitOutcome({ players, winner }: GameState): Team | null {
  for (const { name, role } of players) {
    withAgent(`${role} ${name}`, () => emitReward(teamOf(role) === winner ? outcomes.won : outcomes.lost));
  }
  return winner;
}
