import { respondWith } from '@agentlightning/core/testing';
import { expect, test } from 'vitest';
import { startGateway } from '../gateway-fixture.ts';
import { describeInterop } from './describe-interop.ts';
import { startPythonServer, type TrainingOutcome, trainInPython } from './python-peer.ts';

const timeout = 120_000;

describeInterop('the trainer and the controller of Python 1.0', (python) => {
  test(
    'get the same results from the gateway as from agl-server',
    async () => {
      await using fixture = await startGateway({
        script: () => respondWith('5'),
        upstream: [],
        aglServer: true,
        adminKey: 'secret',
      });
      await using server = await startPythonServer(python, { key: 'secret', model: 'policy' });
      const order = {
        key: 'secret',
        model: 'policy',
        endpoint: fixture.model.baseUrl,
        questions: ['2 + 3', 'fail'],
        n: 2,
        is_train: true,
      };
      const theirs = await trainInPython(python, { ...order, url: server.url });
      const ours = await trainInPython(python, { ...order, url: fixture.gateway.url });
      expect(comparable(ours)).toEqual(comparable(theirs));
      expect(ours.completed.map(({ rollout_state }) => rollout_state).sort()).toEqual([
        'failed',
        'failed',
        'succeeded',
        'succeeded',
      ]);
      expect(ours.completed[0]?.triplets.map(({ reward }) => reward)).toEqual([null, 0.5]);
    },
    timeout,
  );
});

/** Removes ids, times and the order of completion. */
function comparable(outcome: TrainingOutcome): object {
  const completed = outcome.completed.map((rollout) => ({
    input: rollout.input,
    state: rollout.rollout_state,
    error: rollout.error_message,
    reward: rollout.final_reward,
    triplets: rollout.triplets,
    tripletEvents: rollout.triplet_events.map(({ event_type, attempt_id, data }) => ({ event_type, attempt_id, data })),
    events: rollout.events.map(({ event_type, attempt_id, data }) => ({
      event_type,
      attempt_id,
      fields: Object.keys(data).sort(),
      status: data.status,
      usage: data.usage,
    })),
  }));
  const { registered, pause, left, deleted } = outcome;
  return {
    completed: completed.sort((one, other) => (one.state < other.state ? -1 : 1)),
    registered,
    pause,
    left,
    deleted,
  };
}
