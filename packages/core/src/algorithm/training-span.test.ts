import { expect, test } from 'vitest';
import { aSpan } from '../testing/a-span.ts';
import { type RecordedTraining, trainingFromSpan, trainingToSpan } from './training-span.ts';

const fields = { spanId: '00000000000000a1', traceId: '0'.repeat(31).concat('1'), endTimeMs: 1000 };
const training: RecordedTraining = {
  rolloutId: 'ro-1',
  attemptId: 'at-1',
  step: 3,
  policy: null,
  calls: [
    { sequenceId: 1, advantage: 0.5, tokenAdvantages: null, trainerLogprobs: null, exclusion: null },
    { sequenceId: 2, advantage: null, tokenAdvantages: null, trainerLogprobs: null, exclusion: 'stale' },
    { sequenceId: 4, advantage: -0.25, tokenAdvantages: [-0.5, 0], trainerLogprobs: [-0.25, -1.5], exclusion: null },
  ],
};

test('a training is read from its span as it was recorded', () => {
  expect(trainingFromSpan(trainingToSpan(training, fields))).toEqual(training);
  const named = { ...training, policy: 'writer', calls: [] };
  expect(trainingFromSpan(trainingToSpan(named, fields))).toEqual(named);
});

test('advantages are recorded with five digits', () => {
  const call = { sequenceId: 1, tokenAdvantages: null, trainerLogprobs: null, exclusion: null };
  const calls = [{ ...call, advantage: 1 / 3 }];
  expect(trainingFromSpan(trainingToSpan({ ...training, calls }, fields))?.calls[0]?.advantage).toBe(0.33333);
});

test('another span records no training', () => {
  expect(trainingFromSpan(aSpan())).toBeNull();
  expect(trainingFromSpan(aSpan({ name: 'agentlightning.training', attributes: {} }))).toBeNull();
});
