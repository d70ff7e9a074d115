/** The result of one game between two players. */
export interface GameResult {
  readonly winner: string;
  readonly loser: string;
  /** Whether neither won. @default false */
  readonly isDraw?: boolean;
}

/** Draws added to every pair, so that a player without a win or a loss has a finite rating. */
const priorDraws = 1;

/**
 * Elo ratings, with a mean of 1500: the maximum-likelihood ratings of the Bradley-Terry model, `P(i beats j) = 1 / (1 +
 * 10^((R_j - R_i) / 400))`, by Hunter's minorisation (2004). They do not depend on the order of the games. A draw counts as half a
 * win.
 */
export function eloRatings(players: readonly string[], results: readonly GameResult[]): ReadonlyMap<string, number> {
  const score = (one: string, other: string): number =>
    results.reduce(
      (sum, { winner, loser, isDraw = false }) =>
        sum +
        (winner === one && loser === other ? (isDraw ? 0.5 : 1) : 0) +
        (winner === other && loser === one && isDraw ? 0.5 : 0),
      priorDraws / 2,
    );
  const opponents = new Map(players.map((one) => [one, players.filter((other) => other !== one)]));
  const wins = new Map(players.map((one) => [one, sum(opponentsOf(one).map((other) => score(one, other)))]));
  let strengths = new Map(players.map((one) => [one, 1]));
  for (let iteration = 0; iteration < 1000; iteration += 1) {
    const strength = (name: string): number => strengths.get(name) ?? 1;
    strengths = new Map(
      players.map((one) => {
        const weight = sum(
          opponentsOf(one).map((other) => (score(one, other) + score(other, one)) / (strength(one) + strength(other))),
        );
        return [one, (wins.get(one) ?? 0) / weight];
      }),
    );
  }
  const logs = [...strengths].map(([name, strength]): [string, number] => [name, 400 * Math.log10(strength)]);
  const mean = sum(logs.map(([, rating]) => rating)) / logs.length;
  return new Map(logs.map(([name, rating]) => [name, 1500 + rating - mean]));

  function opponentsOf(name: string): readonly string[] {
    return opponents.get(name) ?? [];
  }
}

function sum(values: readonly number[]): number {
  return values.reduce((total, value) => total + value, 0);
}
