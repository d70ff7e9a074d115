/**
 * The rules of werewolf as a pure state machine: {@link openTurns} lists the decisions that a state waits for,
 * {@link advance} applies them. Randomness and models are outside.
 *
 * A night: each wolf names a victim, the seer checks a player, the doctor guards one. A day: the living players speak in
 * order, each hearing the speakers before, then all vote at the same time.
 *
 * @module
 */

export type Role = 'wolf' | 'seer' | 'doctor' | 'villager';
export type Team = 'wolves' | 'village';

/** What a player can be asked to decide. */
export const actions = ['kill', 'check', 'guard', 'accuse', 'vote'] as const;

export type Action = (typeof actions)[number];

export interface Player {
  readonly name: string;
  readonly role: Role;
  readonly isAlive: boolean;
}

/** A decision that the state waits for. */
export interface Turn {
  readonly player: string;
  readonly action: Action;
}

/** A decision: an illegal or missing target counts as none. `text` is what others hear, for a speech. */
export interface Decision {
  readonly player: string;
  readonly target: string | null;
  readonly text?: string;
}

export interface Speech {
  readonly speaker: string;
  readonly text: string;
  /** The accused player; null for none. */
  readonly accused: string | null;
}

export interface GameState {
  readonly players: readonly Player[];
  /** From 1. */
  readonly day: number;
  readonly phase: 'night' | 'speeches' | 'vote' | 'over';
  /** Speeches of this day. */
  readonly speeches: readonly Speech[];
  /** The players that the seer checked, in order. */
  readonly checked: readonly string[];
  /** The last player who died; null for none. */
  readonly lastDeath: string | null;
  readonly winner: Team | null;
}

/** A night before the first day. */
export function startGame(roles: Readonly<Record<string, Role>>): GameState {
  const players = Object.entries(roles).map(([name, role]) => ({ name, role, isAlive: true }));
  return { players, day: 1, phase: 'night', speeches: [], checked: [], lastDeath: null, winner: null };
}

export function teamOf(role: Role): Team {
  return role === 'wolf' ? 'wolves' : 'village';
}

export function living(state: GameState): readonly Player[] {
  return state.players.filter(({ isAlive }) => isAlive);
}

export function playerNamed(state: GameState, name: string): Player | undefined {
  return state.players.find((player) => player.name === name);
}

const nightActions: Readonly<Record<Role, Action | null>> = {
  wolf: 'kill',
  seer: 'check',
  doctor: 'guard',
  villager: null,
};

/** The decisions that the state waits for, to be made at the same time; empty when the game is over. */
export function openTurns(state: GameState): readonly Turn[] {
  const alive = living(state);
  switch (state.phase) {
    case 'night':
      return alive.flatMap(({ name, role }) => {
        const action = nightActions[role];
        return action === null ? [] : [{ player: name, action }];
      });
    case 'speeches':
      return alive
        .slice(state.speeches.length, state.speeches.length + 1)
        .map(({ name }) => ({ player: name, action: 'accuse' }));
    case 'vote':
      return alive.map(({ name }) => ({ player: name, action: 'vote' }));
    case 'over':
      return [];
  }
}

/** The legal targets of a turn: living players; not oneself, except to guard; no fellow wolf to kill. */
export function legalTargets(state: GameState, { player, action }: Turn): readonly string[] {
  return living(state)
    .filter(({ name, role }) => action === 'guard' || (name !== player && !(action === 'kill' && role === 'wolf')))
    .map(({ name }) => name);
}

/** Applies one decision per open turn, in any order; absent ones count as decisions without a target. */
export function advance(state: GameState, decisions: readonly Decision[]): GameState {
  const legal = openTurns(state).map((turn) => {
    const decision = decisions.find(({ player }) => player === turn.player);
    const target = decision?.target ?? null;
    const isLegal = target !== null && legalTargets(state, turn).includes(target);
    return { ...turn, target: isLegal ? target : null, text: decision?.text ?? '' };
  });
  switch (state.phase) {
    case 'night':
      return endNight(state, legal);
    case 'speeches':
      return hear(state, legal);
    case 'vote':
      return judged({
        ...withDeath(state, mostNamed(legal, 'vote', true)),
        phase: 'night',
        day: state.day + 1,
        speeches: [],
      });
    case 'over':
      return state;
  }
}

type LegalDecision = Turn & { readonly target: string | null; readonly text: string };

function endNight(state: GameState, decisions: readonly LegalDecision[]): GameState {
  const victim = mostNamed(decisions, 'kill', false);
  const guarded = decisions.find(({ action }) => action === 'guard')?.target ?? null;
  const checked = decisions.flatMap(({ action, target }) => (action === 'check' && target !== null ? [target] : []));
  return judged({
    ...withDeath(state, victim === guarded ? null : victim),
    phase: 'speeches',
    checked: [...new Set([...state.checked, ...checked])],
  });
}

function hear(state: GameState, decisions: readonly LegalDecision[]): GameState {
  const heard = decisions.map(({ player, text, target }) => ({ speaker: player, text, accused: target }));
  const speeches = [...state.speeches, ...heard];
  return { ...state, speeches, phase: speeches.length < living(state).length ? 'speeches' : 'vote' };
}

/** The most frequent target; on a tie none, or the one that was named first. */
function mostNamed(decisions: readonly LegalDecision[], action: Action, isTieNone: boolean): string | null {
  const counts = new Map<string, number>();
  for (const decision of decisions) {
    if (decision.action !== action || decision.target === null) continue;
    counts.set(decision.target, (counts.get(decision.target) ?? 0) + 1);
  }
  const [first, second] = [...counts].sort(([, one], [, other]) => other - one);
  return first === undefined || (isTieNone && first[1] === second?.[1]) ? null : first[0];
}

function withDeath(state: GameState, name: string | null): GameState {
  const players = state.players.map((player) => (player.name === name ? { ...player, isAlive: false } : player));
  return { ...state, players, lastDeath: name };
}

/** The village wins without wolves, the wolves win when they are at least as many as the others. */
function judged(state: GameState): GameState {
  const wolves = living(state).filter(({ role }) => role === 'wolf').length;
  const winner = wolves === 0 ? 'village' : wolves * 2 >= living(state).length ? 'wolves' : null;
  return winner === null ? state : { ...state, winner, phase: 'over' };
}
