import { createHash } from 'node:crypto';
import type { FineTuneExample } from '@agentlightning/algorithms';
import type { JsonObject, Span } from '@agentlightning/core';
import { CapturedResponse, primaryRewardName, promptImages } from '@agentlightning/core/internal';
import { modelCallToSpan, rewardAttributes, spanNames } from '@agentlightning/core/spans';
import { type ForcedEndpoint, forceMessage } from './forced-call.ts';

/** The rollout that encoded model calls belong to. */
export interface EncodedOwner {
  readonly rolloutId: string;
  readonly attemptId: string;
}

/**
 * The model calls of a conversation, as spans with token ids: one for each assistant message without `weight: 0`. The endpoint of
 * the model encodes them, with its own chat template and tokenizer.
 *
 * @throws AgentLightningError UPSTREAM_FAILED when the endpoint cannot encode messages
 */
export async function encodeConversation(
  { messages, tools }: FineTuneExample,
  owner: EncodedOwner,
  endpoint: ForcedEndpoint,
): Promise<readonly Span[]> {
  const spans: Span[] = [];
  for (const [index, message] of messages.entries()) {
    if (message['role'] !== 'assistant' || message['weight'] === 0) continue;
    const history = messages.slice(0, index).map(({ weight: _, ...shown }) => shown);
    const request: JsonObject = JSON.parse(
      JSON.stringify({ messages: history, ...(tools === undefined ? {} : { tools }) }),
    );
    const { weight: _, ...response } = message;
    const body = await forceMessage(response, endpoint, {
      ...request,
      temperature: 1,
      logprobs: true,
      return_token_ids: true,
    });
    const captured = new CapturedResponse();
    captured.add(body);
    const call = modelCallToSpan({
      ...owner,
      spanId: spanIdOf(owner, index),
      responseId: null,
      model: endpoint.model,
      // The versions of the run that encodes them: the tokens were not sampled by it.
      policyVersion: null,
      agentName: null,
      agentPath: null,
      promptTokenIds: captured.promptTokenIds,
      imageCount: promptImages(request).length,
      choices: captured.choices.map(({ responsePolicyVersions: _versions, ...choice }) => choice),
      temperature: 1,
      isTrainable: true,
      untrainableReason: null,
      request,
      response: null,
      startTimeMs: 0,
      endTimeMs: 0,
    });
    spans.push({ ...call, sequenceId: spans.length + 1 });
  }
  return spans;
}

/** The span of a reward after the model calls of a rollout. */
export function rewardSpan(value: number, owner: EncodedOwner, sequenceId: number): Span {
  return {
    ...owner,
    spanId: spanIdOf(owner, sequenceId, 'reward'),
    traceId: '0'.repeat(32),
    parentId: null,
    sequenceId,
    name: spanNames.annotation,
    status: { code: 'OK', message: null },
    attributes: rewardAttributes([{ name: primaryRewardName, value }]),
    events: [],
    links: [],
    startTimeMs: 0,
    endTimeMs: 0,
    resource: { attributes: {}, schemaUrl: '' },
  };
}

function spanIdOf(owner: EncodedOwner, index: number, kind = 'call'): string {
  return createHash('sha256')
    .update(JSON.stringify([owner, index, kind]))
    .digest('hex')
    .slice(0, 16);
}
