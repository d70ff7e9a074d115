import { expect, test } from 'vitest';
import type { JsonObject } from '../base/json.ts';
import type { ScriptedCall } from '../testing/scripted-model-request.ts';
import { completionBody, completionChunks, prepareResponse } from '../testing/scripted-model-response.ts';
import type { ScriptedResponse } from '../testing/scripted-model-step.ts';
import { CapturedResponse } from './captured-response.ts';
import { StreamedMessage } from './streamed-message.ts';
import { untrainableReason } from './untrainable-reason.ts';

const call: ScriptedCall = {
  model: 'tiny',
  messages: [{ role: 'user', content: 'What is 2 + 3?' }],
  isStreamed: true,
  includeUsage: true,
  maxTokens: Number.POSITIVE_INFINITY,
  choices: 2,
  logprobs: true,
  returnTokenIds: true,
};

const step: ScriptedResponse = {
  type: 'response',
  content: 'Größe: five apples',
  reasoning: 'Two and three.',
  toolCalls: [
    { name: 'add', arguments: { a: 2, b: 3 } },
    { name: 'say', arguments: '"broken' },
  ],
};

function captured(...bodies: readonly JsonObject[]): CapturedResponse {
  const response = new CapturedResponse();
  for (const body of bodies) response.add(body);
  return response;
}

/** The body of a whole response, with changes to its first choice. */
function bodyWith(choice: JsonObject, body: JsonObject = {}): JsonObject {
  const whole = completionBody(prepareResponse(step, { ...call, choices: 1 }, 0));
  const [first] = whole.choices as readonly JsonObject[];
  return { ...whole, choices: [{ ...first, ...choice }], ...body };
}

test('the chunks of a stream give the body of the non-streamed response', () => {
  const prepared = prepareResponse(step, call, 0);
  const streamed = new StreamedMessage();
  for (const chunk of completionChunks(prepared)) streamed.add(chunk);
  const visible = (body: JsonObject): unknown => ({
    ...body,
    choices: (body.choices as readonly JsonObject[]).map(({ logprobs: _l, token_ids: _t, ...choice }) => choice),
  });
  expect(visible(streamed.toBody())).toEqual(visible(completionBody(prepared)));
});

test('the tokens of a stream equal those of the whole response, for every choice', () => {
  const prepared = prepareResponse(step, call, 0);
  const whole = captured(completionBody(prepared));
  const streamed = captured(...completionChunks(prepared));
  expect(streamed.choices).toHaveLength(2);
  expect(streamed.choices).toEqual(whole.choices);
  expect(streamed.promptTokenIds).toEqual(whole.promptTokenIds);
  expect(streamed.usage).toEqual(whole.usage);
  expect(streamed.responseTokens).toEqual(whole.responseTokens);
  expect(untrainableReason(whole)).toBeNull();
  expect(untrainableReason(streamed)).toBeNull();
});

test.each([
  ['no prompt ids', bodyWith({}, { prompt_token_ids: null }), 'no prompt token ids'],
  ['no response ids', bodyWith({ token_ids: null }), 'no response token ids'],
  ['an invalid token id', bodyWith({ token_ids: [1.5] }), 'not a whole number'],
  [
    'fewer log-probabilities',
    bodyWith({ logprobs: { content: [{ token: 'a', logprob: -1 }] } }),
    '1 log-probabilities',
  ],
  ['fewer policy versions', bodyWith({ policy_versions: [2, 3] }, { policy_version: 2 }), 'but 2 policy versions'],
  ['no finish reason', bodyWith({ finish_reason: null }), 'without a finish reason'],
  ['other usage', bodyWith({}, { usage: { prompt_tokens: 1, completion_tokens: 1 } }), 'but the usage says 1'],
])('%s makes a response untrainable', (_name, body, reason) => {
  expect(untrainableReason(captured(body))).toContain(reason);
});

test('each token has its policy version, in a whole response and in a stream', () => {
  const prepared = prepareResponse(step, call, 0);
  const { choices, ...whole } = completionBody(prepared);
  const [first, second] = choices as readonly JsonObject[];
  const versions = captured({ ...whole, choices: [first ?? {}] }).choices[0]?.responseTokenIds.map((_, at) => 3 + at);
  const versioned = { ...first, policy_versions: versions ?? [] };
  const body = { ...whole, policy_version: 3, choices: [versioned, { ...second, policy_versions: [3] }] };
  const response = captured(body);
  expect(untrainableReason(response)).toBeNull();
  expect(response.policyVersion).toBe(3);
  expect(response.choices[0]?.responsePolicyVersions).toEqual(versions);
  expect(response.choices[1]).not.toHaveProperty('responsePolicyVersions');
});

test('the policy versions of the chunks of a stream are joined', () => {
  const chunk = (token: number): JsonObject => ({
    policy_version: 1,
    choices: [{ index: 0, token_ids: [token], policy_versions: [token], delta: { content: 'a' } }],
  });
  expect(captured(chunk(1), chunk(2)).choices[0]).toMatchObject({ responsePolicyVersions: [1, 2] });
  const message = new StreamedMessage();
  for (const token of [1, 2]) message.add(chunk(token));
  expect(JSON.stringify(message.toBody())).not.toContain('policy_versions');
});

test('a response with mixed policy versions is untrainable', () => {
  const response = captured(bodyWith({}));
  response.addPolicyVersion(3);
  expect(untrainableReason(response)).toBeNull();
  response.addPolicyVersion(4);
  expect(response.policyVersion).toBe(3);
  expect(untrainableReason(response)).toBe('the weights changed while the response was generated');
});

test.each([
  [{ messages: [{ role: 'user', content: [{ type: 'text', text: 'What is it?' }] }] }, null],
  [{ messages: [{ role: 'tool', content: [{ type: 'image_url', image_url: { url: 'x' } }] }] }, '`image_url`'],
  [{ messages: [{ role: 'user', content: [{ type: 'input_audio', input_audio: {} }] }] }, '`input_audio`'],
  [{ messages: [], prompt_embeds: 'x' }, 'prompt_embeds'],
])('a prompt that its token ids do not represent makes a response untrainable: %j', (request, reason) => {
  const found = untrainableReason(captured(bodyWith({})), request);
  if (reason === null) expect(found).toBeNull();
  else expect(found).toContain(reason);
});
