/** Number of measurements of each contender. */
export interface Rounds {
  readonly rounds: number;
  /** Rounds before the first that counts. @default 0 */
  readonly warmUps?: number;
}

/**
 * Measures all contenders in every round, in turns, so that other load on the machine affects all alike. Every round
 * begins with another contender, so that none always follows the same one.
 *
 * @param measure - called with the number of the round, from 0, including warm-ups
 * @returns the samples of each contender by round, without warm-ups
 */
export async function measureInTurns<TContender, TSample>(
  contenders: readonly TContender[],
  { rounds, warmUps = 0 }: Rounds,
  measure: (contender: TContender, round: number) => Promise<TSample>,
): Promise<Map<TContender, TSample[]>> {
  const samples = new Map<TContender, TSample[]>(contenders.map((contender) => [contender, []]));
  for (let round = 0; round < warmUps + rounds; round += 1) {
    const first = round % contenders.length;
    for (const contender of [...contenders.slice(first), ...contenders.slice(0, first)]) {
      const sample = await measure(contender, round);
      if (round >= warmUps) samples.get(contender)?.push(sample);
    }
  }
  return samples;
}
