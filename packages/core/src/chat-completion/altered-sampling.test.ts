import { expect, test } from 'vitest';
import type { JsonObject } from '../base/json.ts';
import { alteredSampling } from './altered-sampling.ts';

test.each<readonly [JsonObject, readonly string[]]>([
  [{ temperature: 0.5, top_p: 1, presence_penalty: 0, repetition_penalty: 1, stop: ['\n'], top_k: -1 }, []],
  [{ logit_bias: {}, response_format: { type: 'text' }, tool_choice: 'auto', guided_json: null }, []],
  [{ top_p: 0.9, top_k: 20, min_p: 0.1 }, ['top_p', 'top_k', 'min_p']],
  [
    { frequency_penalty: 0.5, repetition_penalty: 1.1, logit_bias: { 5: -100 } },
    ['frequency_penalty', 'repetition_penalty', 'logit_bias'],
  ],
  [{ response_format: { type: 'json_object' }, tool_choice: 'required' }, ['response_format', 'tool_choice']],
])('%j alters %j', (request, expected) => {
  expect(alteredSampling(request)).toEqual(expected);
});
