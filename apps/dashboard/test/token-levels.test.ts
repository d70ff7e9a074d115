import { expect, test } from 'vitest';
import type { CallTokens } from '../src/api/rollout-views.ts';
import { legendOf, policyVersionsOf, policyVersionText, tokenLevel } from '../web/data/token-levels.ts';

/** A call of policy version 3 whose response has these versions; null for those of the call. */
function callOf(policyVersions: readonly number[] | null): CallTokens {
  return {
    spanId: '00f067aa0ba902b7',
    promptTokenIds: [1],
    choices: [{ index: 0, tokenIds: [4, 5], logprobs: [-1, -1], policyVersions, finishReason: 'stop' }],
    texts: null,
    temperature: 1,
    policyVersion: 3,
    isTrainable: true,
    untrainableReason: null,
    training: [],
  };
}

test.each([
  [null, [['version-3', 'policy version 3']], 'policy version 3'],
  [
    [4, 3],
    [
      ['version-3', 'policy version 3'],
      ['version-4', 'policy version 4'],
    ],
    'policy versions 3 to 4',
  ],
] as const)('the response tokens of the versions %j', (policyVersions, legend, text) => {
  const call = callOf(policyVersions);
  const versions = policyVersionsOf(call);
  expect(legendOf('version', call)).toEqual(legend);
  expect(policyVersionText(versions[0] ?? null, versions.at(-1) ?? null)).toBe(text);
  const token = { position: 1, logprob: -1, policyVersion: policyVersions?.[1] ?? call.policyVersion };
  expect(tokenLevel('version', call, token)).toBe('version-3');
});
