import { AgentLightningError } from '@agentlightning/core';
import { describe, expect, test } from 'vitest';
import { meanCentredAdvantage } from './advantage/group-advantages.ts';
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
    [undefined, /algorithm: type must be a name, not undefined/],
    ['grpo', /algorithm: type must be a name, not undefined/],
    [{ type: 'gpro' }, /there is no algorithm "gpro"; did you mean "grpo"\?/],
    [{ type: 'toString' }, /algorithm: there is no algorithm "toString"$/],
    [{ type: 'grpo', learningrate: 1 }, /grpo: there is no option "learningrate"; did you mean "learningRate"\?/],
    [{ type: 'grpo', groupSize: 1 }, /groupSize: must be >=2: the advantage grpo compares/],
    [{ type: 'grpo', learningRate: -1 }, /learningRate: must be at least 0, not -1/],
    [{ type: 'grpo', optimizer: { beta1: 1 } }, /optimizer\.beta1: must be less than 1, not 1/],
    [{ type: 'grpo', loss: 'cispo', dualClip: 3 }, /dualClip: the loss cispo does not have it/],
    [{ type: 'grpo', loss: 'importance_sampling', clipLow: 0.1 }, /clipLow: the loss importance_sampling does not/],
    [{ type: 'grpo', dualClip: 0.5 }, /dualClip: must be 0 or more than 1, not 0.5/],
    [{ type: 'grpo', advantage: { type: 'unknown' } }, /advantage: must be .*dr-grpo.*, not {"type":"unknown"}/],
    [{ type: 'grpo', advantage: { type: 'dr-gpro' } }, /not {"type":"dr-gpro"}; did you mean "dr-grpo"\?/],
    [
      { type: 'grpo', creditAssignment: { type: 'per-turn', discont: 1 } },
      /no option "creditAssignment\.discont"; did you mean "discount"\?/,
    ],
    [{ type: 'grpo', optimizer: { beta: 1 } }, /no option "optimizer\.beta"; did you mean "beta1"\?/],
    [
      { type: 'grpo', level: 'transitions' },
      /level: must be one of .*, not "transitions"; did you mean "transition"\?/,
    ],
    [{ type: 'grpo', groupSize: '8' }, /groupSize: must be a (whole )?number, not "8"/],
    [
      { type: 'grpo', creditAssignment: { type: 'per-turn', discount: 2 } },
      /creditAssignment\.discount: must be at most 1, not 2/,
    ],
    [
      { type: 'grpo', learningRate: { schedule: 'cosin', peak: 1 } },
      /learningRate\.schedule: must be one of "constant", "linear", "cosine", not "cosin"; did you mean "cosine"\?/,
    ],
    [{ type: 'grpo', learningRate: { schedule: 'cosine' } }, /learningRate\.peak: is missing; it must be a number/],
    [
      { type: 'grpo', learningRate: { schedule: 'linear', peak: 1, finalratio: 0 } },
      /no option "learningRate\.finalratio"; did you mean "finalRatio"\?/,
    ],
    [{ type: 'grpo', learningRate: 'fast' }, /learningRate: must be a number or an object, not "fast"/],
  ])('%j', (options, message) => {
    expect(messageOf(options)).toMatch(message);
  });

  test('all of them at once', () => {
    expect(messageOf({ type: 'grpo', groupSize: 0, epochs: 0 })).toMatch(/groupSize: .*; epochs: /);
  });
});
