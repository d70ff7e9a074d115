import type { ModelCall } from '@agentlightning/core';
import type { CollectedGroup } from '@agentlightning/core/algorithm';
import type { CollectOptions } from '../trajectory/collect-trajectories.ts';
import { CallChooser } from '../transition/call-choice.ts';
import { capturedCalls } from '../transition/captured-calls.ts';
import { turnRewards } from '../transition/turn-rewards.ts';
import { Turns } from '../transition/turns.ts';

/** Selection of model calls for a data set. */
export type DatasetOptions = Omit<CollectOptions, 'rowLength'>;

/** The model calls and the reward of a finished rollout. */
export interface RolloutCalls {
  readonly rolloutId: string;
  readonly groupId: string;
  /** Null without a reward, which is not zero. */
  readonly reward: number | null;
  /** In order of sequence id, including calls without token ids. */
  readonly calls: readonly ModelCall[];
}

/** The model calls and rewards of the rollouts that succeeded. */
export function rolloutCalls(groups: readonly CollectedGroup[], options: DatasetOptions): readonly RolloutCalls[] {
  return groups.flatMap(({ groupId, rollouts }) =>
    rollouts
      .filter(({ rollout }) => rollout.status === 'succeeded')
      .map(({ rollout, attemptId, spans }) => {
        const own = spans.filter((span) => span.attemptId === attemptId);
        const captured = capturedCalls(own);
        const chooser = new CallChooser(captured, options);
        return {
          rolloutId: rollout.rolloutId,
          groupId,
          reward: turnRewards(own, new Turns(captured), options).final ?? options.missingReward ?? null,
          calls: captured.calls.filter((call) => chooser.reasonAgainst(call) === null),
        };
      }),
  );
}
