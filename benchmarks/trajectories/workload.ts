import type { JsonObject } from '@agentlightning/core';
import type { CollectedGroup } from '@agentlightning/core/algorithm';
import { modelCallToSpan, rewardAttributes, spanNames } from '@agentlightning/core/spans';
import { newSpanId } from '@agentlightning/core/store';
import { aRollout, aSpan } from '@agentlightning/core/testing';

/** Size of a workload. */
export interface WorkloadSize {
  readonly rollouts: number;
  /** Model calls per rollout; each prompt continues the previous one. */
  readonly turns: number;
  /** Tokens of the first prompt. */
  readonly promptTokens: number;
  /** Tokens of each answer. */
  readonly responseTokens: number;
  /** Tokens that a tool adds after each answer. */
  readonly observationTokens: number;
}

/** The same calls and rewards in the form of each side. */
export interface Workload {
  readonly groups: readonly CollectedGroup[];
  /** Events of the Python server, one list per rollout. */
  readonly events: readonly (readonly JsonObject[])[];
  /** Tokens of all prompts and answers. */
  readonly tokens: number;
}

interface Call {
  readonly prompt: readonly number[];
  readonly response: readonly number[];
  readonly logprobs: readonly number[];
}

/** Rollouts of an agent with tools, as recorded by the gateway and by the Python server. */
export function workloadOf(size: WorkloadSize): Workload {
  const rollouts = Array.from({ length: size.rollouts }, (_, index) => callsOf(size, index));
  return {
    groups: Array.from({ length: Math.ceil(rollouts.length / 8) }, (_, group) => ({
      groupId: `gr-${group}`,
      rollouts: rollouts.slice(group * 8, group * 8 + 8).map((calls, place) => collected(calls, group * 8 + place)),
    })),
    events: rollouts.map(eventsOf),
    tokens: rollouts.flat().reduce((sum, { prompt, response }) => sum + prompt.length + response.length, 0),
  };
}

function callsOf(size: WorkloadSize, rollout: number): readonly Call[] {
  // Ids as large as those of a real vocabulary, different in every rollout.
  let next = rollout * 7919;
  const draw = (): number => {
    next = (Math.imul(next, 1_664_525) + 1_013_904_223) >>> 0;
    return next % 150_000;
  };
  const tokens = (count: number): number[] => Array.from({ length: count }, draw);
  const calls: Call[] = [];
  let context = tokens(size.promptTokens);
  for (let turn = 0; turn < size.turns; turn += 1) {
    const response = tokens(size.responseTokens);
    calls.push({ prompt: context, response, logprobs: response.map((id) => -(1 + id) / 150_001) });
    context = [...context, ...response, ...tokens(size.observationTokens)];
  }
  return calls;
}

/** About four characters to a token, as in English. */
const textOf = (tokens: number): string => 'word'.repeat(tokens);

/** The conversation so far; each side keeps it with the call. */
function requestOf({ prompt }: Call): JsonObject {
  return { model: 'policy', messages: [{ role: 'user', content: textOf(prompt.length) }], max_tokens: 512 };
}

function collected(calls: readonly Call[], index: number): CollectedGroup['rollouts'][number] {
  const ids = { rolloutId: `ro-${index}`, attemptId: `at-${index}` };
  const spans = calls.map((call, turn) => {
    const text = textOf(call.response.length);
    const span = modelCallToSpan(
      {
        ...ids,
        spanId: newSpanId(),
        responseId: `chatcmpl-${index}-${turn}`,
        model: 'policy',
        policyVersion: 3,
        agentName: null,
        agentPath: null,
        promptTokenIds: call.prompt,
        choices: [{ index: 0, responseTokenIds: call.response, responseLogprobs: call.logprobs, finishReason: 'stop' }],
        temperature: 1,
        isTrainable: true,
        untrainableReason: null,
        request: requestOf(call),
        response: { id: `chatcmpl-${index}-${turn}`, choices: [{ index: 0, message: { content: text } }] },
        startTimeMs: 1_700_000_000_000 + turn * 1000,
        endTimeMs: 1_700_000_000_500 + turn * 1000,
      },
      { responseTokens: call.response.map(() => 'word') },
    );
    return { ...span, sequenceId: turn + 1 };
  });
  const attributes = rewardAttributes([{ name: 'primary', value: index % 2 }]);
  const reward = aSpan({ ...ids, name: spanNames.annotation, attributes, sequenceId: calls.length + 1 });
  const rollout = aRollout({ rolloutId: ids.rolloutId, status: 'succeeded' });
  return { rollout, attemptId: ids.attemptId, spans: [...spans, reward] };
}

/** As the proxy and the runner of 1.0 post them. */
function eventsOf(calls: readonly Call[], index: number): readonly JsonObject[] {
  const ids = { rollout_id: `ro-${index}`, attempt_id: '0' };
  const requests = calls.map((call, turn) => ({
    ...ids,
    event_type: 'model_request',
    timestamp: 1_700_000_000 + turn,
    data: {
      model: 'policy',
      model_version: 0,
      request: requestOf(call),
      response: {
        id: `chatcmpl-${index}-${turn}`,
        prompt_token_ids: [...call.prompt],
        choices: [
          {
            index: 0,
            message: { role: 'assistant', content: textOf(call.response.length) },
            finish_reason: 'stop',
            token_ids: [...call.response],
            logprobs: { content: call.logprobs.map((logprob) => ({ token: 'word', logprob, top_logprobs: [] })) },
          },
        ],
      },
      server: { model: 'policy', endpoint: 'http://engine/v1', version: 0 },
      latency_ms: 500,
      http_status: 200,
      status: 'success',
    },
  }));
  return [
    ...requests,
    { ...ids, event_type: 'reward', timestamp: 1_700_000_999, data: { value: index % 2, source: 'agent' } },
  ];
}
