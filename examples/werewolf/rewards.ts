import { type Decision, type GameState, legalTargets, playerNamed, type Turn, teamOf } from './game.ts';

/**
 * The reward of one decision, from -0.2 to 0.5: a legal decision is worth 0.2, and one against the other team 0.3 more; an
 * accusation of the own team costs 0.2. The village learns of its mistakes only here: players do not see rewards.
 */
export function turnReward(state: GameState, turn: Turn, decision: Decision): number {
  const { target } = decision;
  if (target === null || !legalTargets(state, turn).includes(target)) return 0;
  const self = playerNamed(state, turn.player);
  const other = playerNamed(state, target);
  if (self === undefined || other === undefined) return 0;
  const isOpponent = teamOf(self.role) !== teamOf(other.role);
  switch (turn.action) {
    case 'kill':
      return other.role === 'villager' ? 0.3 : 0.5;
    case 'check':
      return state.checked.includes(target) ? 0.2 : 0.5;
    case 'guard':
      return 0.2;
    case 'vote':
      return isOpponent ? 0.5 : 0.2;
    case 'accuse':
      return isOpponent ? 0.5 : -0.2;
  }
}
