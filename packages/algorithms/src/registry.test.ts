import { AgentLightningError } from '@agentlightning/core';
import { describe, expect, test } from 'vitest';
import { meanCentredAdvantage } from './advantage/mean-centred-advantage.ts';
import { algorithmTypes, createAlgorithm, parseAlgorithmOptions } from './registry.ts';

test('an algorithm is made by name, with the vetted defaults', () => {
  expect(algorithmTypes).toContain('grpo');
  const algorithm = createAlgorithm({ type: 'grpo' });
  expect([algorithm.name, algorithm.groupSize]).toEqual(['grpo', 8]);
});

test('options come back as they were given', () => {
  const options = { type: 'grpo', groupSize: 4, agents: ['writer'], advantage: meanCentredAdvantage() } as const;
  expect(parseAlgorithmOptions(options)).toEqual(options);
});

describe('wrong options are refused with the name and the value', () => {
  const messageOf = (options: unknown): string => {
    try {
      parseAlgorithmOptions(options);
    } catch (error) {
      if (AgentLightningError.isInstance(error) && error.code === 'CONFIG') return error.message;
      throw error;
    }
    return 'nothing was thrown';
  };

  test.each([
    [undefined, /type must be one of grpo, .*, not undefined/],
    ['grpo', /type must be one of grpo, .*, not undefined/],
    [{ type: 'gpro' }, /type must be one of grpo, .*, not "gpro"/],
    [{ type: 'toString' }, /type must be one of grpo, .*, not "toString"/],
    [{ type: 'grpo', learningrate: 1 }, /no option "learningrate"; there are .*learningRate/],
    [{ type: 'grpo', groupSize: 1 }, /groupSize: must be >=2: the advantage grpo compares/],
    [{ type: 'grpo', learningRate: -1 }, /learningRate: .*>0, not -1/],
    [{ type: 'grpo', optimizer: { beta1: 1 } }, /optimizer\.beta1: .*<1, not 1/],
    [{ type: 'grpo', loss: 'cispo', dualClip: 3 }, /dualClip: the loss cispo does not have it/],
    [{ type: 'grpo', loss: 'importance_sampling', clipLow: 0.1 }, /clipLow: the loss importance_sampling does not/],
    [{ type: 'grpo', dualClip: 0.5 }, /dualClip: .*>1, not 0.5/],
    [{ type: 'grpo', advantage: { type: 'unknown' } }, /advantage: must be .*dr-grpo.*, not {"type":"unknown"}/],
    [{ type: 'grpo', creditAssignment: { type: 'per-turn', discount: 2 } }, /creditAssignment\.discount: .*<=1, not 2/],
    [{ type: 'grpo', learningRateSchedule: { type: 'step' } }, /learningRateSchedule/],
  ])('%j', (options, message) => {
    expect(messageOf(options)).toMatch(message);
  });

  test('all of them at once', () => {
    expect(messageOf({ type: 'grpo', groupSize: 0, epochs: 0 })).toMatch(/groupSize: .*; epochs: /);
  });
});
