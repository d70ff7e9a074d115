/** Scores by task; null without a score. */
export interface ScoredByTask {
  readonly scores: readonly (number | null)[];
}

/** A member of the front and its number of best tasks. */
export interface FrontMember<TMember> {
  readonly member: TMember;
  readonly tasks: number;
}

/**
 * The members that have the best score, possibly shared, on at least one task, without dominated members, whose best tasks
 * are a subset of another member's. A version that is the only best one on some task remains in the search, regardless of
 * its mean.
 *
 * GEPA: Agrawal et al., arXiv 2507.19457, algorithm 2.
 */
export function paretoFront<TMember extends ScoredByTask>(
  members: readonly TMember[],
): readonly FrontMember<TMember>[] {
  const tasks = Math.max(0, ...members.map(({ scores }) => scores.length));
  const bestAt = new Map<TMember, Set<number>>(members.map((member) => [member, new Set()]));
  for (let task = 0; task < tasks; task += 1) {
    const best = Math.max(...members.map(({ scores }) => scores[task] ?? Number.NEGATIVE_INFINITY));
    if (best === Number.NEGATIVE_INFINITY) continue;
    for (const member of members) if (member.scores[task] === best) bestAt.get(member)?.add(task);
  }
  const front = members.filter((member) => (bestAt.get(member)?.size ?? 0) > 0);
  return withoutDominated(front, bestAt).map((member) => ({ member, tasks: bestAt.get(member)?.size ?? 0 }));
}

/** Removes dominated members in ascending order of mean score, so that the better of two with the same tasks is kept. */
function withoutDominated<TMember extends ScoredByTask>(
  front: readonly TMember[],
  bestAt: ReadonlyMap<TMember, ReadonlySet<number>>,
): readonly TMember[] {
  const left = new Set(front);
  for (const member of front.toSorted((one, other) => total(one) - total(other))) {
    const own = [...(bestAt.get(member) ?? [])];
    const isDominated = [...left].some(
      (other) => other !== member && own.every((task) => bestAt.get(other)?.has(task) === true),
    );
    if (isDominated) left.delete(member);
  }
  return front.filter((member) => left.has(member));
}

function total({ scores }: ScoredByTask): number {
  return scores.reduce<number>((sum, score) => sum + (score ?? 0), 0);
}
