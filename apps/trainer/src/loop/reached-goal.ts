/** Whether the reward of the last three steps is at or above the goal. */
export function hasReachedGoal(rewardCurve: readonly number[], goal: number | null): boolean {
  const last = rewardCurve.slice(-3);
  return goal !== null && last.length === 3 && last.every((reward) => reward >= goal);
}
